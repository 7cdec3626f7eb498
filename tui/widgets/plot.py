"""A plot, rendered only when it changes."""

from __future__ import annotations

from textual.strip import Strip
from textual.widget import Widget

from tui.theme import drawing, plotting
from tui.theme.error_boundary import ErrorBoundary
from tui.theme.palette import PALETTES, Glyphs, Ink, Piece
from tui.theme.plotting import Plot


class PlotArea(ErrorBoundary, Widget):
    """The columns and their axes, or a sentence where there is nothing to draw."""

    DEFAULT_CSS = "PlotArea { height: 1fr; background: $o-panel; }"

    def __init__(self, *, glyphs: Glyphs) -> None:
        super().__init__(id="plot")
        self._glyphs = glyphs
        self.plot: Plot | None = None
        self._empty = ""
        self._drawn: list[list[Piece]] = []

    @property
    def columns(self) -> int:
        return max(1, self.size.width - plotting.GUTTER - 2)

    def show(self, plot: Plot | None, *, empty: str) -> None:
        if (plot, empty) != (self.plot, self._empty):
            self.plot, self._empty = plot, empty
            self._draw()

    def on_resize(self) -> None:
        self._draw()

    def _draw(self) -> None:
        self._drawn = []
        if self.plot and self.size.height > 1:
            self._drawn = plotting.draw(
                self.plot, width=self.size.width - 2, height=self.size.height, glyphs=self._glyphs
            )
        self.refresh()

    def render_line(self, y: int) -> Strip:
        palette = PALETTES[self.app.theme]
        pieces: list[Piece] = []
        if y < len(self._drawn):
            pieces = self._drawn[y]
        elif self.plot is None and y == self.size.height // 2:
            pieces = [("  " + self._empty, Ink.MUTED)]
        pieces = [(" ", Ink.TEXT), *pieces]
        return drawing.line(pieces, palette=palette, ground=palette.panel, width=self.size.width)
