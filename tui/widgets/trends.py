"""The last fortnight by day as plots, where the lists leave room."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from textual.strip import Strip
from textual.widget import Widget

from tui.model.board import Figure
from tui.theme import drawing, plotting
from tui.theme.error_boundary import ErrorBoundary
from tui.theme.palette import PALETTES, Glyphs, Ink, Piece
from tui.theme.plotting import Plot

EACH = 6
"""Lines for a plot, its title included."""


class TrendsPanel(ErrorBoundary, Widget):
    """Sends, replies, positive replies and meetings by day, as many as there is room for."""

    DEFAULT_CSS = "TrendsPanel { background: $o-panel; display: none; }"

    def __init__(self, name: str, *, glyphs: Glyphs) -> None:
        super().__init__(id=name)
        self._glyphs = glyphs
        self._plots: tuple[Plot, ...] = ()
        self._drawn: list[list[Piece]] = []

    @property
    def is_known(self) -> bool:
        return bool(self._plots)

    def show(self, figures: Sequence[Figure], *, now: datetime) -> None:
        plots = tuple(plot for figure in figures if (plot := _plot(figure, now=now)))
        if [one.values for one in plots] != [one.values for one in self._plots]:
            self._plots = plots
            self._draw()

    def on_resize(self) -> None:
        self._draw()

    def _draw(self) -> None:
        width, height = self.size
        number = max(1, min(len(self._plots), height // EACH))
        self._drawn = []
        for plot in self._plots[:number]:
            lines = plotting.draw(plot, width=width - 2, height=height // number - 1, glyphs=self._glyphs)
            self._drawn += [[(plot.title.upper(), Ink.STRONG), ("  by day, 14 days", Ink.MUTED)], *lines]
        self.refresh()

    def render_line(self, y: int) -> Strip:
        palette = PALETTES[self.app.theme]
        pieces: list[Piece] = [(" ", Ink.TEXT), *(self._drawn[y] if y < len(self._drawn) else ())]
        return drawing.line(pieces, palette=palette, ground=palette.panel, width=self.size.width)


def _plot(figure: Figure, *, now: datetime) -> Plot | None:
    known = [float(value) for value in figure.days if value is not None]
    if len(known) < 2:
        return None
    low, high = plotting.axis(known)
    return Plot(
        title=figure.label,
        values=figure.days,
        start=now - timedelta(days=len(figure.days)),
        end=now,
        times="%d %b",
        low=low,
        high=high,
    )
