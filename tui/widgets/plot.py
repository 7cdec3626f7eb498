"""A plot, rendered only when it changes, with a cursor that reads its values."""

from __future__ import annotations

from textual import events
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from tui.theme import drawing, palette, plotting
from tui.theme.error_boundary import ErrorBoundary
from tui.theme.palette import PALETTES, Glyphs, Ink, Piece
from tui.theme.plotting import Plot, PlotReading


class PlotArea(ErrorBoundary, Widget):
    """The line and its axes, or a sentence where there is nothing to draw."""

    DEFAULT_CSS = "PlotArea { height: 1fr; background: $o-panel; }"

    class CursorMoved(Message):
        """The cursor reads another value, or none any more."""

    def __init__(self, *, glyphs: Glyphs) -> None:
        super().__init__(id="plot")
        self._glyphs = glyphs
        self.plot: Plot | None = None
        self.cursor: int | None = None
        """The column that is read."""
        self._empty = ""
        self._drawn: list[list[Piece]] = []
        self._bands: list[str] = []

    @property
    def columns(self) -> int:
        return max(1, self.size.width - plotting.GUTTER - 2)

    @property
    def points(self) -> int:
        """As many values as the line has dots."""
        return self.columns * plotting.WIDE

    @property
    def reading(self) -> PlotReading | None:
        if self.plot is None or self.cursor is None:
            return None
        return plotting.read_at(self.plot, min(self.cursor, self.columns - 1), columns=self.columns)

    def show(self, plot: Plot | None, *, empty: str) -> None:
        if (plot, empty) != (self.plot, self._empty):
            self.plot, self._empty = plot, empty
            self._draw()

    def move(self, by: int) -> None:
        """From the right end first."""
        place = self.columns if self.cursor is None else self.cursor
        self._point(min(max(place + by, 0), self.columns - 1))

    def leave(self) -> None:
        self._point(None)

    def on_resize(self) -> None:
        self._draw()

    def on_mouse_move(self, event: events.MouseMove) -> None:
        place = event.x - 1 - plotting.GUTTER
        self._point(place if 0 <= place < self.columns else None)

    def on_leave(self) -> None:
        self.leave()

    def _point(self, column: int | None) -> None:
        if column != self.cursor:
            self.cursor = column
            self._draw()
            self.post_message(self.CursorMoved())

    def _draw(self) -> None:
        self._drawn, self._bands = [], []
        if self.plot and self.size.height > 1:
            width, height = self.size.width - 2, self.size.height
            cursor = None if self.cursor is None else min(self.cursor, self.columns - 1)
            self._drawn = plotting.draw(
                self.plot, width=width, height=height, glyphs=self._glyphs, cursor=cursor
            )
            self._bands = plotting.bands(self.plot, height=height)
        self.refresh()

    def render_line(self, y: int) -> Strip:
        colors = PALETTES[self.app.theme]
        if y >= len(self._drawn):
            is_message = self.plot is None and y == self.size.height // 2
            pieces: list[Piece] = [("   " + self._empty, Ink.MUTED)] if is_message else []
            return drawing.line(pieces, palette=colors, ground=colors.panel, width=self.size.width)
        ground = palette.band(colors, self._bands[y]) if y < len(self._bands) else colors.panel
        label, *line = self._drawn[y]
        width = plotting.GUTTER + 1
        gutter = drawing.line([(" ", Ink.TEXT), label], palette=colors, ground=colors.panel, width=width)
        drawn = drawing.line(line, palette=colors, ground=ground, width=self.columns)
        end = drawing.line(
            [], palette=colors, ground=colors.panel, width=self.size.width - width - self.columns
        )
        return Strip.join([gutter, drawn, end])
