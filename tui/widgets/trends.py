"""Plots of the last 14 days, where there is room."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, time, timedelta

from textual.strip import Strip
from textual.widget import Widget

from tui.model.workspace.board import Figure
from tui.theme import drawing, plotting
from tui.theme.error_boundary import ErrorBoundary
from tui.theme.palette import PALETTES, Glyphs, Ink, Piece
from tui.theme.plotting import Plot

DAYS = 14
EACH = 6
"""Lines for a plot, its title included."""


class TrendsPanel(ErrorBoundary, Widget):
    """Sends, replies, positive replies and meetings by day, as many as there is room for."""

    DEFAULT_CSS = "TrendsPanel { background: $o-panel; display: none; }"

    def __init__(self, name: str, *, glyphs: Glyphs) -> None:
        super().__init__(id=name)
        self._glyphs = glyphs
        self._plots: tuple[Plot, ...] = ()
        self._empty = ""
        self._drawn: list[list[Piece]] = []

    def show(self, figures: Sequence[Figure], *, now: datetime, empty: str) -> None:
        """Draw the known values, or show `empty`."""
        plots = tuple(_plot(figure, now=now) for figure in figures)
        if [one.values for one in plots] != [one.values for one in self._plots] or empty != self._empty:
            self._plots, self._empty = plots, empty
            self._draw()

    def on_resize(self) -> None:
        self._draw()

    def _draw(self) -> None:
        width, height = self.size
        number = max(1, min(len(self._plots), height // EACH))
        self._drawn = []
        for plot in self._plots[:number]:
            is_known = any(value is not None for value in plot.values)
            about = "by day, 14 days" if is_known else self._empty
            lines = plotting.draw(plot, width=width - 2, height=height // number - 1, glyphs=self._glyphs)
            self._drawn += [[(plot.title.upper(), Ink.STRONG), (f"  {about}", Ink.MUTED)], *lines]
        self.refresh()

    def render_line(self, y: int) -> Strip:
        palette = PALETTES[self.app.theme]
        pieces: list[Piece] = [(" ", Ink.TEXT), *(self._drawn[y] if y < len(self._drawn) else ())]
        return drawing.line(pieces, palette=palette, ground=palette.panel, width=self.size.width)


def _plot(figure: Figure, *, now: datetime) -> Plot:
    """With the days that are not known yet left open, so that the plot has its place and its axis of times."""
    days = figure.days if len(figure.days) > 1 else (None,) * DAYS
    low, high = plotting.axis([float(value) for value in days if value is not None])
    end = datetime.combine(now.astimezone(UTC).date(), time(), UTC) + timedelta(days=1)
    return Plot(
        title=figure.label,
        values=days,
        start=end - timedelta(days=len(days)),
        end=end,
        times="%d %b",
        low=low,
        high=high,
        by_day=True,
        last="today",
    )
