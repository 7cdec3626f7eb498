"""A value's course out of the history, as a plot, and where it leads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from shared.domain import reports
from shared.domain.card import Fact, Tone
from shared.domain.health import Thresholds
from shared.text import formats
from tui.feed.history_access import HistoryAccess
from tui.model.page_content import Metric
from tui.theme.plotting import Plot, Range, axis, share_of, spread_out

if TYPE_CHECKING:
    from shared.history import Sample

MOST_POINTS = 240
"""However wide the screen: the database thins out the rest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrendPlots:
    """Reads plots for pages; `points` is how many columns there are."""

    history: HistoryAccess
    thresholds: Thresholds

    async def plot(
        self, metric: Metric, *, keys: Sequence[str], over: Range, points: int, now: datetime
    ) -> tuple[Plot | None, tuple[Fact, ...]]:
        """The plot of the first key that has one, and what its trend says; None where nothing is known."""
        points = max(8, min(points, MOST_POINTS))
        for key in keys:
            samples = await self._read(metric, metric.metric, key=key, over=over, points=points, now=now)
            values = spread_out(samples, start=now - over.span, end=now, points=points)
            if metric.of:
                whole = await self._read(metric, metric.of, key=key, over=over, points=points, now=now)
                values = share_of(values, spread_out(whole, start=now - over.span, end=now, points=points))
            if any(value is not None for value in values):
                return self._plot(metric, values, over=over, now=now), self._ahead(metric, samples)
        return None, ()

    async def _read(
        self, metric: Metric, name: str, *, key: str, over: Range, points: int, now: datetime
    ) -> Sequence[Sample]:
        return await self.history.samples(
            kind=metric.kind, key=key, metric=name, start=now - over.span, end=now, points=points
        )

    def _plot(self, metric: Metric, values: tuple[float | None, ...], *, over: Range, now: datetime) -> Plot:
        known = [value for value in values if value is not None]
        low, high = axis(known, health=metric.is_health, thresholds=self.thresholds)
        return Plot(
            title=metric.title,
            values=values,
            start=now - over.span,
            end=now,
            times=over.times,
            low=low,
            high=high,
            share=bool(metric.of),
            judged=self.thresholds if metric.is_health else None,
        )

    def _ahead(self, metric: Metric, samples: Sequence[Sample]) -> tuple[Fact, ...]:
        """`Below 70 in 2 days`: the next threshold that a falling health is going to pass."""
        known = [(sample.at, sample.value) for sample in samples if sample.value is not None]
        if not metric.is_health or not known:
            return ()
        for threshold in (self.thresholds.healthy, self.thresholds.bad):
            if known[-1][1] >= threshold and (falls := reports.below_in(known, threshold=threshold)):
                value = f"in {formats.show_span(falls)}, as it goes"
                return (Fact(label=f"Below {threshold:g}", value=value, tone=Tone.WARN),)
        return ()
