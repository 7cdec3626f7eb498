"""A list: the framework's table, whose cells are updated by key, under a title with count, filter, order and age."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, ClassVar

from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.cache import LRUCache
from textual.containers import Vertical
from textual.coordinate import Coordinate
from textual.message import Message
from textual.strip import Strip
from textual.widgets import DataTable
from textual.widgets.data_table import RowKey

from shared.domain.card import Tone
from tui.model.columns import GAP, Arrangement, Column, Placed, needs_of, place
from tui.model.lines import Freshness, Line, Stamp
from tui.theme.error_boundary import ErrorBoundary
from tui.theme.palette import SIGNS, Ink
from tui.theme.words import Piece, Words, palette_now
from tui.widgets.text import TextLine

MOST_PAINTED = 64
"""Cells and lines that are kept as they were painted: as many as a screen has lines."""
FEW = 0.5
"""The share of lines up to which single ones are taken out; of more, the table is filled again, which is faster."""

UNUSED_PARTS = {f"datatable--{part}" for part in ("fixed", "fixed-cursor", "odd-row", "even-row")}


class ListTable(ErrorBoundary, DataTable[Words]):
    """The lines of one list; the cursor stays on its line wherever that moves, and at the top until it was moved."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j", "cursor_down", show=False),
        Binding("k", "cursor_up", show=False),
    ]

    @dataclass
    class Moved(Message):
        """The cursor is on another line."""

        table: ListTable

    @dataclass
    class Picked(Message):
        """A line was opened."""

        table: ListTable
        line: Any

    def __init__(self, columns: Sequence[Column], *, id: str) -> None:  # noqa: A002 # the framework's word
        super().__init__(id=id, cursor_type="row", cell_padding=0, cursor_foreground_priority="renderable")
        # Of a list that changes all day the framework would keep ten thousand painted cells.
        self._row_render_cache.maxsize = self._row_renderable_cache.maxsize = MOST_PAINTED
        self._cell_render_cache.maxsize = self._line_cache.maxsize = MOST_PAINTED
        self._strips: LRUCache[object, Strip] = LRUCache(MOST_PAINTED)
        self.list_columns = columns
        self.arrangement = Arrangement()
        self.all: Sequence[Line] = ()
        self.shown: Sequence[Line] = ()
        self._lines: dict[str, Line] = {}
        """The lines in the table, by key."""
        self._needs: dict[str, int] = {}
        self._placed: tuple[Placed, ...] = ()
        self._lit: set[tuple[str, str]] = set()
        self._is_faded = False
        self._is_filling = False
        self._was_moved = False
        self._key = ""

    @classmethod
    @cache
    def _get_component_classes(cls) -> frozenset[str]:
        """Leave out those of fixed and of odd rows: each is styled as a widget of its own whenever the list is."""
        return super()._get_component_classes() - UNUSED_PARTS

    # -- what others may know and ask ------------------------------------------------------------------

    @property
    def line(self) -> Line | None:
        """The chosen one."""
        return self.shown[self.cursor_row] if 0 <= self.cursor_row < len(self.shown) else None

    def show(self, lines: Sequence[Line], *, is_lit: bool = False, is_faded: bool = False) -> None:
        """Other lines; cells that differ are updated, and with `is_lit` stand out."""
        if is_faded is not self._is_faded:
            self._is_faded, self._placed = is_faded, ()
        if lines is self.all and self._placed and not is_lit and not self._lit:
            return
        self.all = lines
        needs = needs_of(self.list_columns, lines)
        # Nothing gets narrower again, so that columns stand still.
        self._needs |= {name: max(cells, self._needs.get(name, 0)) for name, cells in needs.items()}
        self._fill(is_lit=is_lit)

    def rearrange(self, arrangement: Arrangement) -> None:
        if arrangement != self.arrangement:
            self.arrangement = arrangement
            self._placed = ()  # a title says the order
            self._fill()

    def reset(self) -> None:
        """The cursor at the top and no filter: what comes is of something else."""
        self._was_moved, self._key, self.arrangement = False, "", Arrangement()
        self.all, self.shown = (), ()
        self._begin(())

    def place_of(self, column: str) -> tuple[int, int]:
        """The cells before a column, and its own; none where it isn't shown."""
        before = 0
        for placed in self._placed:
            if placed.column.id == column:
                return before, placed.width
            before += placed.width + GAP
        return 0, 0

    def stay(self) -> None:
        """Keep the cursor on its line from now on, also at the top: what is done next is about that line."""
        if self.line:
            self._was_moved, self._key = True, self.line.key

    # -- lines in and out ------------------------------------------------------------------------------

    def _fill(self, *, is_lit: bool = False) -> None:
        # Other columns clear the table, and with it the cursor.
        before, row, width = self.line, self.cursor_row, self.scrollable_content_region.width
        was_placed = self._placed
        self.shown = self.arrangement.of(self.all, self.list_columns)
        if width <= 0:  # it isn't laid out yet
            return
        # The framework moves the cursor while lines come and go; that isn't a person's choice.
        self._is_filling = True
        try:
            placed = place(self.list_columns, width, self._needs)
            lines = {line.key: line for line in self.shown}
            gone = [key for key in self._lines if key not in lines]
            # Columns have fixed widths: with measured ones the framework measures whole columns at each change.
            if placed != self._placed or len(gone) > FEW * len(self._lines):
                self._begin(placed)
                gone = []
            for key in gone:
                self.remove_row(key)
                del self._lines[key]
            self._darken()
            for key, line in lines.items():
                self._put(key, line, is_lit=is_lit)
            if list(lines) != [row.key.value for row in self.ordered_rows]:
                self._order()
            same = (number for number, line in enumerate(self.shown) if line.key == self._key)
            here = next(same, row) if self._was_moved else 0
            self.move_cursor(row=here, scroll=True)
        finally:
            self._is_filling = False
        after = self.line
        if was_placed != self._placed or (before and before.key) != (after and after.key):
            self.post_message(self.Moved(self))

    def _begin(self, placed: tuple[Placed, ...]) -> None:
        """The same table with other columns, or nearly all other lines."""
        self.clear(columns=True)
        self._lines, self._placed, self._lit = {}, placed, set()
        for spot in placed:
            column, asked = spot.column, self.arrangement
            arrow = ("▼" if asked.descending else "▲") if asked.order == column.id else ""
            title = f"{column.title}{arrow}"
            label = title.rjust(spot.width) if column.right else title
            gap = 0 if spot is placed[-1] else GAP
            self.add_column(Text(label), width=spot.width + gap, key=column.id)

    def _put(self, key: str, line: Line, *, is_lit: bool) -> None:
        old = self._lines.get(key)
        if old is line or old == line:  # ten thousand lines are the same objects as before
            return
        cells = {
            spot.column.id: replace(spot.column.cell(line, spot.width), faded=self._is_faded)
            for spot in self._placed
        }
        if old is None:
            self.add_row(*cells.values(), key=key)
        else:
            for name, cell in cells.items():
                if self.get_cell(key, name) != cell:
                    self.update_cell(key, name, replace(cell, lit=is_lit))
                    self._lit |= {(key, name)} if is_lit else set()
        self._lines[key] = line

    def _darken(self) -> None:
        """Take back the light from cells that differed from the moment before the last one."""
        for key, name in self._lit:
            if key in self._lines:
                self.update_cell(key, name, replace(self.get_cell(key, name), lit=False))
        self._lit = set()

    def _order(self) -> None:
        """Put the lines in their order: the table sorts by cells, each of which belongs to one line."""
        first = self._placed[0].column.id
        places = {id(self.get_cell(line.key, first)): number for number, line in enumerate(self.shown)}
        self.sort(first, key=lambda cell: places[id(cell)])

    def _update_dimensions(self, new_rows: Iterable[RowKey]) -> None:
        """Size the table without its new lines: the framework would measure each of their cells, 50 ms of 400 lines.

        A line is one line high and a column has a width that is given, so nothing depends on what is in them.
        """
        super()._update_dimensions(())

    # -- painting --------------------------------------------------------------------------------------

    def _render_line(self, y: int, x1: int, x2: int, base_style: Style) -> Strip:
        """A line by its words; one that says the same as before is the strip of before.

        The framework forgets all painted cells when one changes, and lays each out again: 17 ms for a screen of a list
        that changes once a second, against 2 ms (`10,000 inboxes` of the benchmark).
        """
        try:
            row_key, _ = self._get_offsets(y)
        except LookupError:
            return Strip.blank(self.size.width, base_style)
        if row_key is self._header_row_key:
            return super()._render_line(y, x1, x2, base_style)
        row = self._row_locations.get(row_key) or 0
        style = base_style + Style.from_meta({"row": row, "column": 0})  # by this a click finds its line
        if row == self.cursor_row:
            style += self.get_component_rich_style("datatable--cursor")
        words, width = tuple(self._data[row_key].values()), self.size.width
        key = (words, width, style, palette_now())
        strip = self._strips.get(key)
        if strip is None:
            gap = Segment(" " * GAP, style)
            segments = [segment for cell in words for segment in (*cell.segments(style), gap)]
            strip = Strip(segments).adjust_cell_length(width, style)
            # Hatching spares the blanks of words only where no plain blank is in the same segment.
            strip = self._strips[key] = strip if self._is_faded else strip.simplify()
        return strip

    # -- keys and the mouse ----------------------------------------------------------------------------

    def watch_cursor_coordinate(self, old: Coordinate, new: Coordinate) -> None:
        super().watch_cursor_coordinate(old, new)
        if not self._is_filling and self.line:
            self._was_moved, self._key = True, self.line.key
            self.post_message(self.Moved(self))

    def on_data_table_row_selected(self) -> None:
        if self.line:
            self.post_message(self.Picked(self, self.line))

    def on_data_table_header_selected(self, event: DataTable.HeaderSelected) -> None:
        """A click on a title sorts by it, a second one the other way round."""
        now, order = self.arrangement, event.column_key.value or ""
        if any(column.sort for column in self.list_columns if column.id == order):
            is_second = now.order == order and not now.descending
            self.rearrange(replace(now, order=order, descending=is_second))

    def on_resize(self) -> None:
        self._fill()


class Panel(ErrorBoundary, Vertical):
    """A title over a list; where the list is empty, why."""

    DEFAULT_CSS = """
    Panel { height: 1fr; background: $o-panel; }
    Panel > .empty { display: none; padding: 1 2; color: $o-muted; height: auto; }
    Panel.-empty > .empty { display: block; }
    Panel.-empty > ListTable { display: none; }
    """

    def __init__(self, name: str, *, title: str, columns: Sequence[Column], empty: str) -> None:
        super().__init__(id=f"panel-{name}")
        self.title = title
        self._empty = empty
        self.table = ListTable(columns, id=name)
        self.head = TextLine(classes="panel-head")
        self.note = TextLine(classes="empty")

    def compose(self) -> ComposeResult:
        yield self.head
        yield self.table
        yield self.note

    def show(
        self,
        lines: Sequence[Line],
        *,
        freshness: Freshness = Freshness.FRESH,
        stamp: Stamp | None = None,
        age: str = "",
        aside: str = "",
        is_lit: bool = False,
    ) -> None:
        """Other lines, with their age in words; `aside` stands beside the title."""
        self.table.show(lines, is_lit=is_lit, is_faded=freshness >= Freshness.LATE)
        self.set_class(freshness is Freshness.VERY_LATE, "-stale")
        self.set_class(not self.table.shown, "-empty")
        cause = stamp.reading.cause if stamp else ""
        if self.table.all:
            why = "No lines match the filter."
        elif freshness is not Freshness.NEVER:
            why = self._empty
        else:
            why = f"Not loaded yet: {cause}." if cause else "Loading…"
        self.note.set(Words.of(why, Ink.MUTED))
        self.head.set(self._titled(freshness, stamp, age, aside))

    def _titled(self, freshness: Freshness, stamp: Stamp | None, age: str, aside: str) -> Words:
        table, has_focus = self.table, self.table.has_focus
        counted = stamp.counted(len(table.all)) if stamp else f"{len(table.all):,}"
        if len(table.shown) != len(table.all):
            counted = f"{len(table.shown):,} of {counted}"
        if freshness is Freshness.NEVER and not table.all:
            counted = ""
        is_late = freshness >= Freshness.LATE or (stamp and stamp.reading.failed_since)
        find = table.arrangement.find.strip()
        parts = (
            (counted, " ", Ink.MUTED),
            (aside, "  ", Ink.MUTED),
            (find, "  /", Ink.WARN),
            (age, f"  {SIGNS[Tone.WARN]} " if is_late else "  ", Ink.WARN if is_late else Ink.MUTED),
        )
        pieces: list[Piece] = [(sign + text, ink) for text, sign, ink in parts if text]
        title: Piece = (self.title.upper(), Ink.ACCENT if has_focus else Ink.STRONG)
        return Words((("▌" if has_focus else " ", Ink.ACCENT), title, *pieces))
