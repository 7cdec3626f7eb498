"""Rates, comparisons, trends and projections from counts. Pure; None is unknown and stays unknown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date, datetime, timedelta
from statistics import linear_regression

from shared.api.models import StatsRow

BLOCKS = "▁▂▃▄▅▆▇█"
UNKNOWN = "–"


def rate(part: float | None, whole: float | None) -> float | None:
    """`part` of `whole` as a fraction; None when either is unknown or there is no whole."""
    if part is None or not whole:
        return None
    return part / whole


def totals(rows: Iterable[StatsRow], *, group: str = "total") -> StatsRow:
    """The sum of the rows; a count that one row does not know is unknown in all."""
    known = list(rows)
    return StatsRow(
        group=group,
        sends=_total([row.sends for row in known]),
        replies=_total([row.replies for row in known]),
        positive_replies=_total([row.positive_replies for row in known]),
        meetings=_total([row.meetings for row in known]),
    )


def _total(values: list[int | None]) -> int | None:
    numbers = [value for value in values if value is not None]
    return sum(numbers) if len(numbers) == len(values) else None


def change(now: float | None, before: float | None) -> float | None:
    """The change as a fraction of what was before: 0.5 is half as much again; None when it cannot be told."""
    if now is None or not before:
        return None
    return (now - before) / before


def show_count(value: float | None) -> str:
    """`12,345`, or a dash."""
    return UNKNOWN if value is None else f"{value:,.0f}"


def show_number(count: int, noun: str) -> str:
    """`1 inbox`, `12 inboxes`, `3 sequences`: the noun is given in the singular."""
    plural = {"inbox": "inboxes", "reply": "replies"}.get(noun.rpartition(" ")[2], "")
    many = noun.removesuffix(noun.rpartition(" ")[2]) + plural if plural else f"{noun}s"
    return f"{count:,} {noun if count == 1 else many}"


def show_rate(fraction: float | None) -> str:
    """`4.2 %`, or a dash."""
    return UNKNOWN if fraction is None else f"{fraction * 100:.1f} %"


def show_change(fraction: float | None) -> str:
    """`▲ 12 %`, `▼ 3 %`, `=`, or a dash."""
    if fraction is None:
        return UNKNOWN
    percent = round(abs(fraction) * 100)
    return f"{'▲' if fraction > 0 else '▼'} {percent} %" if percent else "="


def sparkline(values: Sequence[float | None]) -> str:
    """One character per value, from the lowest to the highest; a blank for what is unknown."""
    known = [value for value in values if value is not None]
    low, span = min(known, default=0), max(known, default=0) - min(known, default=0)

    def block(value: float | None) -> str:
        if value is None:
            return " "
        return BLOCKS[round((value - low) / span * (len(BLOCKS) - 1))] if span else BLOCKS[3]

    return "".join(map(block, values))


def bar(fraction: float | None, width: int, *, ascii: bool = False) -> str:  # noqa: A002 # the word for it
    """A bar of `width` characters, in eighths where not `ascii`; blank where unknown."""
    if fraction is None or width <= 0:
        return " " * max(width, 0)
    eighths = round(min(max(fraction, 0.0), 1.0) * width * 8)
    full, part = divmod(eighths, 8)
    if ascii:
        return ("#" * (full + (part >= 4))).ljust(width)
    return ("█" * full + " ▏▎▍▌▋▊▉"[part].strip()).ljust(width)


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


def show_days(first: date, last: date) -> str:
    """`Friday 20 November`, `14 to 20 November`, `24 February to 2 March`; with years where they differ."""
    if first == last:
        return f"{last:%A %-d %B}"
    if first.year != last.year:
        return f"{first:%-d %B %Y} to {last:%-d %B %Y}"
    month = "" if first.month == last.month else f"{first: %B}"
    return f"{first.day}{month} to {last:%-d %B}"


def show_span(span: timedelta) -> str:
    """`40 s`, `12 min`, `3 h`, `2 days`: one unit, rounded."""
    seconds = max(span.total_seconds(), 0)
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    if seconds < 129_600:
        return f"{seconds / 3600:.0f} h"
    return f"{seconds / 86_400:.0f} days"
