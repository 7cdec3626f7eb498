"""The page of comparisons: which sequence, step or variant does better, and whether that is real."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.strip import Strip
from textual.widget import Widget

from shared.domain.evidence import Rate
from tui.model.input.keys import COMPARISON, bindings, common, foot_of
from tui.model.lists.lines import PageRef
from tui.model.pages.page_status import PageStatus
from tui.model.plots import comparison
from tui.model.plots.comparison import GROUPINGS, RATES, ComparedRow
from tui.model.workspace.board import Board
from tui.screens.headed import HeadedScreen
from tui.theme import drawing
from tui.theme.error_boundary import ErrorBoundary
from tui.theme.palette import PALETTES, Glyphs, Ink, Piece
from tui.widgets.panel import TextLine
from tui.widgets.status_lines import Foot

EMPTY = "Nothing was sent in the last 30 days."


class ComparisonArea(ErrorBoundary, Widget):
    """One row a group over a common axis."""

    DEFAULT_CSS = "ComparisonArea { height: 1fr; background: $o-panel; }"
    can_focus = True

    def __init__(self, *, glyphs: Glyphs) -> None:
        super().__init__(id="comparison")
        self._glyphs = glyphs
        self.rows: tuple[ComparedRow, ...] = ()
        self.key = ""
        """Of the selected row: it stays selected when the order changes."""
        self._empty = ""
        self._faded = False
        self._drawn: list[list[Piece]] = []

    @property
    def selected(self) -> int:
        found = (number for number, row in enumerate(self.rows) if row.key == self.key)
        return next(found, 0)

    def show(self, rows: tuple[ComparedRow, ...], *, stale: bool, empty: str) -> None:
        if (rows, stale, empty) != (self.rows, self._faded, self._empty):
            self.rows, self._faded, self._empty = rows, stale, empty
            self._draw()

    def move(self, by: int) -> None:
        if self.rows:
            self.key = self.rows[min(max(self.selected + by, 0), len(self.rows) - 1)].key
            self._draw()

    def on_resize(self) -> None:
        self._draw()

    def _draw(self) -> None:
        self._drawn = []
        if self.rows and self.size.height > 1:
            width, height = self.size
            self._drawn = comparison.draw(
                self.rows, width=width, height=height, glyphs=self._glyphs, selected=self.selected
            )
        self.refresh()

    def render_line(self, y: int) -> Strip:
        palette = PALETTES[self.app.theme]
        pieces: list[Piece] = self._drawn[y] if y < len(self._drawn) else []
        if not self.rows and y == self.size.height // 2:
            pieces = [(f"   {self._empty}", Ink.MUTED)]
        return drawing.line(
            pieces, palette=palette, ground=palette.panel, width=self.size.width, faded=self._faded
        )


class ComparisonScreen(HeadedScreen[None]):
    """Compares again with every board; that takes a thread, for there may be hundreds of sequences."""

    path = ("Comparison",)
    keys = COMPARISON
    BINDINGS: ClassVar[list[BindingType]] = [
        *bindings(COMPARISON, group="comparison"),
        *bindings(common(COMPARISON)),
    ]

    def __init__(self, *, glyphs: Glyphs, remapped: Mapping[str, str], notes: Mapping[str, str]) -> None:
        super().__init__(glyphs=glyphs)
        self._remapped, self._notes = remapped, notes
        self._grouping, self._count = 0, 0
        self._compared: tuple[Sequence[object], int, int] | None = None
        self.title_line = TextLine(id="comparison-title")
        self.area = ComparisonArea(glyphs=glyphs)
        self.note = TextLine(id="comparison-note")
        self.foot = Foot()
        self._status: PageStatus | None = None

    def compose(self) -> ComposeResult:
        yield self.head
        yield self.title_line
        yield self.area
        yield self.note
        yield self.foot

    def on_mount(self) -> None:
        self.area.focus()

    def on_resize(self) -> None:
        self.call_after_refresh(lambda: self.foot.show(foot_of(self.keys_here, remapped=self._remapped)))

    @property
    def grouping(self) -> str:
        return GROUPINGS[self._grouping]

    def tick(self, status: PageStatus) -> None:
        super().tick(status)
        self.set_class(status.is_past, "-replay")
        self._status = status
        self._update()

    def _update(self) -> None:
        status = self._status
        board = status.board if status else None
        if status is None or board is None:
            self.area.show((), stale=False, empty="Loading…")
            return
        title = list(RATES.values())[self._count]
        stamp = board.stamps.get(self.grouping)
        stale = board.is_stale(self.grouping, status.now)
        age: list[Piece] = (
            [(f" {stamp.words(status.now)} ", Ink.WARN if stale else Ink.MUTED)] if stamp else []
        )
        about: list[Piece] = [
            (f" {title.upper()} BY {self.grouping.upper()}", Ink.STRONG),
            ("  30 days", Ink.MUTED),
        ]
        self.title_line.set_text(about, age)
        self.note.set_text([(f" {self._notes.get(self.grouping, '')}", Ink.MUTED)])
        if stamp is None or stamp.read_at is None:
            self.area.show((), stale=False, empty="Loading…")
            return
        groups = comparison.named_rates(board, grouping=self.grouping, count=list(RATES)[self._count])
        asked = (groups, self._grouping, self._count)
        if asked != self._compared:
            self._compared = asked
            self.run_worker(
                self._compare(groups, board), group="compare", exclusive=True, exit_on_error=False
            )
        else:
            self.area.show(self.area.rows, stale=stale, empty=EMPTY)

    async def _compare(
        self, groups: Sequence[tuple[str, str, int | None, Rate | None]], board: Board
    ) -> None:
        rows = await asyncio.to_thread(comparison.compare, groups)
        stale = self._status is not None and board.is_stale(self.grouping, self._status.now)
        self.area.show(rows, stale=stale, empty=EMPTY)

    # -- keys ------------------------------------------------------------------------------------------

    def action_grouping(self) -> None:
        self._grouping = (self._grouping + 1) % len(GROUPINGS)
        self._update()

    def action_rate(self) -> None:
        self._count = (self._count + 1) % len(RATES)
        self._update()

    def action_move(self, by: int) -> None:
        self.area.move(by)

    def action_open(self) -> None:
        if self.area.rows and self.grouping != "variant":
            key = self.area.rows[self.area.selected].key
            self.post_message(self.PageWanted(PageRef(kind=self.grouping, key=key)))

    def action_back(self) -> None:
        self.dismiss(None)
