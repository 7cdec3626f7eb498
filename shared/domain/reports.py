"""Rates, comparisons, trends and projections from counts. Pure; None is unknown and stays unknown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from statistics import linear_regression
from typing import Any

from shared.api.models import COUNTS, StatsRow


def rate(part: float | None, whole: float | None) -> float | None:
    """`part` of `whole` as a fraction; None when either is unknown or there is no whole."""
    if part is None or not whole:
        return None
    return part / whole


def totals(rows: Iterable[StatsRow], *, group: str = "total") -> StatsRow:
    """The sum of the rows; a count that one row does not know is unknown in all."""
    known = list(rows)
    counts: dict[str, Any] = {name: _total([getattr(row, name) for row in known]) for name in COUNTS}
    return StatsRow(group=group, **counts)


def _total(values: list[int | None]) -> int | None:
    numbers = [value for value in values if value is not None]
    return sum(numbers) if len(numbers) == len(values) else None


def change(now: float | None, before: float | None) -> float | None:
    """The change as a fraction of what was before: 0.5 is half as much again; None when it cannot be told."""
    if now is None or not before:
        return None
    return (now - before) / before


def slope(samples: Sequence[tuple[datetime, float]]) -> float | None:
    """The trend of a value, per day (least squares); None from fewer than three samples or no time between them."""
    if len(samples) < 3:
        return None
    began = samples[0][0]
    days = [(at - began) / timedelta(days=1) for at, _ in samples]
    if max(days) == min(days):
        return None
    return linear_regression(days, [value for _, value in samples]).slope


def below_in(samples: Sequence[tuple[datetime, float]], *, threshold: float) -> timedelta | None:
    """How long after the last sample the trend falls below the threshold; None when it does not, or is below already."""
    falling = slope(samples)
    if falling is None or falling >= 0 or samples[-1][1] < threshold:
        return None
    return timedelta(days=min((samples[-1][1] - threshold) / -falling, 3650))


def limit_reached_at(
    sent: float | None, limit: float | None, *, since: datetime, now: datetime
) -> datetime | None:
    """When sending at the pace since `since` reaches the limit; None when that cannot be told, or is reached already."""
    if not sent or limit is None or sent >= limit or now <= since:
        return None
    pace = sent / (now - since).total_seconds()
    remaining = (limit - sent) / pace
    return now + timedelta(seconds=remaining) if remaining < timedelta(days=366).total_seconds() else None
