"""The heatmap of health, laid out again only when inboxes or the room change."""

from __future__ import annotations

from textual import events
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from tui.model.lists.lines import InboxLine
from tui.model.plots import heatmap
from tui.model.plots.heatmap import Group, HeatLayout
from tui.model.workspace.board import Board
from tui.theme import drawing
from tui.theme.error_boundary import ErrorBoundary
from tui.theme.palette import PALETTES, Glyphs, Ink, Piece


class HeatArea(ErrorBoundary, Widget):
    """One cell an inbox; one of them is selected."""

    DEFAULT_CSS = "HeatArea { height: 1fr; background: $o-panel; }"
    can_focus = True

    class Moved(Message):
        """Another inbox is selected."""

    class Picked(Message):
        """The selected inbox was clicked."""

    def __init__(self, *, glyphs: Glyphs) -> None:
        super().__init__(id="heat")
        self._glyphs = glyphs
        self._groups: tuple[Group, ...] = ()
        self._shown: tuple[InboxLine, ...] | None = None
        self.lines: tuple[InboxLine, ...] = ()
        """In the order of the cells."""
        self.key = ""
        """Of the selected inbox: it stays selected when the order changes."""
        self._layout: HeatLayout | None = None
        self._drawn: list[list[Piece]] = []
        self._faded = False
        self._empty = ""

    @property
    def selected(self) -> int:
        found = (number for number, line in enumerate(self.lines) if line.key == self.key)
        return next(found, 0 if self.lines else -1)

    @property
    def line(self) -> InboxLine | None:
        return self.lines[self.selected] if self.lines else None

    def show(self, board: Board | None, *, stale: bool, empty: str) -> None:
        inboxes = board.inboxes if board else ()
        if (inboxes, stale, empty) == (self._shown, self._faded, self._empty):
            return
        self._shown, self._faded, self._empty = inboxes, stale, empty
        self._groups = heatmap.groups_of(inboxes, board.domains) if board else ()
        self.lines = tuple(line for group in self._groups for line in group.inboxes)
        self._arrange()

    def move(self, *, right: int = 0, down: int = 0) -> None:
        if self._layout and self.lines:
            self._select(heatmap.beside(self._layout.places, self.selected, right=right, down=down))

    def _select(self, number: int) -> None:
        self.key = self.lines[number].key
        self._draw()
        self.post_message(self.Moved())

    def on_resize(self) -> None:
        self._arrange()

    def on_click(self, event: events.Click) -> None:
        if self._layout is None or self._layout.height > self.size.height:
            return
        for number, (x, y) in enumerate(self._layout.places):
            if y == event.y and x <= event.x - 1 < x + self._layout.cell:
                was = self.selected
                self._select(number)
                if number == was:
                    self.post_message(self.Picked())
                return

    def _arrange(self) -> None:
        width, height = self.size.width - 2, self.size.height
        self._layout = (
            heatmap.arrange(self._groups, width=width, height=height) if width > 0 < height else None
        )
        self._draw()

    def _draw(self) -> None:
        self._drawn = []
        if self._layout and self.lines:
            self._drawn = heatmap.draw(
                self._groups,
                self._layout,
                width=self.size.width - 2,
                height=self.size.height,
                glyphs=self._glyphs,
                selected=self.selected,
            )
        self.refresh()

    def render_line(self, y: int) -> Strip:
        palette = PALETTES[self.app.theme]
        pieces: list[Piece] = self._drawn[y] if y < len(self._drawn) else []
        if not self.lines and y == self.size.height // 2:
            pieces = [(f"   {self._empty}", Ink.MUTED)]
        return drawing.line(
            [(" ", Ink.TEXT), *pieces],
            palette=palette,
            ground=palette.panel,
            width=self.size.width,
            faded=self._faded,
        )
