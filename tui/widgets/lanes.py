"""The lanes of an incident, drawn only when they change."""

from __future__ import annotations

from dataclasses import dataclass

from textual import events
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from tui.model.plots import lane_drawing
from tui.model.plots.incident import Incident, Lane
from tui.model.plots.lane_drawing import Widths
from tui.theme import drawing
from tui.theme.error_boundary import ErrorBoundary
from tui.theme.palette import PALETTES, Glyphs, Ink, Piece


class LaneArea(ErrorBoundary, Widget):
    """One lane a domain, one of them selected; the cursor reads it."""

    DEFAULT_CSS = "LaneArea { height: 1fr; background: $o-panel; }"
    can_focus = True

    @dataclass
    class Moved(Message):
        """Another lane is selected, or the cursor reads another time."""

    def __init__(self, *, glyphs: Glyphs) -> None:
        super().__init__(id="lanes")
        self._glyphs = glyphs
        self.incident: Incident | None = None
        self.domain = ""
        """Of the selected lane: it stays selected when the order changes."""
        self.cursor: int | None = None
        self._empty = ""
        self._drawn: list[list[Piece]] = []

    @property
    def lane(self) -> Lane | None:
        lanes = self.incident.lanes if self.incident else ()
        return next((lane for lane in lanes if lane.domain == self.domain), lanes[0] if lanes else None)

    @property
    def columns(self) -> int:
        """Of the bars."""
        return Widths.of(self.size.width, self.incident).bar

    def show(self, incident: Incident | None, *, empty: str = "") -> None:
        if (incident, empty) != (self.incident, self._empty):
            self.incident, self._empty = incident, empty
            self._draw()

    def select(self, by: int) -> None:
        if self.incident and (lane := self.lane):
            at = self.incident.lanes.index(lane) + by
            self.domain = self.incident.lanes[max(0, min(at, len(self.incident.lanes) - 1))].domain
            self._draw()
            self.post_message(self.Moved())

    def move(self, by: int) -> None:
        """Move the cursor, from the right end first."""
        place = self.columns if self.cursor is None else self.cursor
        self._point(max(0, min(place + by, self.columns - 1)))

    def reading(self) -> list[Piece]:
        """What the cursor reads in the selected lane."""
        if self.incident is None or self.lane is None or self.cursor is None:
            return []
        cursor = min(self.cursor, self.columns - 1)
        return lane_drawing.reading_words(self.incident, self.lane, cursor, self.columns, glyphs=self._glyphs)

    def on_resize(self) -> None:
        self._draw()

    def on_mouse_move(self, event: events.MouseMove) -> None:
        place = event.x - 1 - Widths.of(self.size.width, self.incident).name
        self._point(place if 0 <= place < self.columns else None)

    def _point(self, column: int | None) -> None:
        if column != self.cursor:
            self.cursor = column
            self._draw()
            self.post_message(self.Moved())

    def _draw(self) -> None:
        self._drawn = []
        incident, lane = self.incident, self.lane
        if incident and self.size.height > 1:
            self._drawn = lane_drawing.draw(
                incident,
                width=self.size.width,
                height=self.size.height,
                glyphs=self._glyphs,
                selected=incident.lanes.index(lane) if lane else 0,
                cursor=self.cursor,
            )
        self.refresh()

    def render_line(self, y: int) -> Strip:
        palette = PALETTES[self.app.theme]
        pieces: list[Piece] = self._drawn[y] if y < len(self._drawn) else []
        if self.incident is None and y == self.size.height // 2:
            pieces = [(f"   {self._empty}", Ink.MUTED)]
        return drawing.line(pieces, palette=palette, ground=palette.panel, width=self.size.width)
