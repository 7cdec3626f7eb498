"""Plots of the service's counts by day, over the days that are known. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, date, datetime, time, timedelta

from shared.api.models import StatsRow
from tui.model.pages.page_content import Metric
from tui.theme.plotting import Plot, axis

DAY = timedelta(days=1)


def plot_of_days(
    metric: Metric, counts: Mapping[date, StatsRow], *, days: int, today: date, last: str = "today"
) -> Plot | None:
    """One count over the last days, from the first that is known; a day that isn't is a gap. None: nothing is known."""
    end = max([today, *counts])  # the service may be ahead of this machine's clock
    start = end - DAY * (days - 1)
    known = {
        day: float(count)
        for day, row in counts.items()
        if day >= start and (count := getattr(row, metric.metric)) is not None
    }
    if not known:
        return None
    first = min(known)
    values = tuple(known.get(first + DAY * number) for number in range((end - first).days + 1))
    low, high = axis(list(known.values()))
    return Plot(
        title=metric.title,
        values=values,
        start=_midnight(first),
        end=_midnight(end + DAY),
        times="%d %b",
        low=low,
        high=high,
        by_day=True,
        last=last,
    )


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time(), UTC)
