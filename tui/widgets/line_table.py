"""A list that renders only visible lines, and only those that changed.

Ten thousand lines cost as much as forty: only the visible lines of a new list are compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from textwrap import wrap
from typing import Any, ClassVar

from rich.segment import Segment
from textual import events, on
from textual.binding import Binding, BindingType
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from tui.model.lists.columns import GAP, Column, Placed, line_pieces, needs_of, place, side_by_side
from tui.model.lists.filter_sort import Arrangement, arranged, next_order
from tui.model.lists.lines import Freshness, Line
from tui.theme import drawing
from tui.theme.error_boundary import ErrorBoundary
from tui.theme.palette import PALETTES, Glyphs, Ink, Palette, Piece

WAITING = "Loading…"
INDENT = "  "
ROOMIEST = 6
"""Lines for each line of a list on a wall, at most."""
MARGIN = 1
"""Cells left and right of a line."""


class LineTable(ErrorBoundary, ScrollView, can_focus=True):
    """Lines under titles, with a cursor, marks, a filter and an order."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move(-1)", "Up", show=False, id="grid.up", priority=True),
        Binding("down,j", "move(1)", "Down", show=False, id="grid.down", priority=True),
        Binding("pageup", "page(-1)", "Page up", show=False, id="grid.page-up", priority=True),
        Binding("pagedown", "page(1)", "Page down", show=False, id="grid.page-down", priority=True),
        Binding("home", "edge(0)", "First", show=False, id="grid.first", priority=True),
        Binding("end", "edge(1)", "Last", show=False, id="grid.last", priority=True),
        Binding("enter", "pick", "Open", show=False, id="grid.open", priority=True),
        Binding("space", "mark", "Mark", show=False, id="grid.mark", priority=True),
    ]

    @dataclass
    class Picked(Message):
        """A line was opened."""

        grid: LineTable
        line: Any

    @dataclass
    class Arranged(Message):
        """Another filter, order or cursor: the panel's head says it."""

        grid: LineTable

    @dataclass
    class Moved(Message):
        """The cursor went to another line."""

        grid: LineTable

    def __init__(self, columns: Sequence[Column], *, glyphs: Glyphs, empty: str, id: str) -> None:  # noqa: A002 # the framework's word
        super().__init__(id=id)
        self._columns = columns
        self._glyphs = glyphs
        self._empty = empty
        self._placed: tuple[Placed, ...] = ()
        self._needs: dict[str, int] = {}
        self._all: Sequence[Line] = ()
        self.shown: Sequence[Line] = ()
        self._cursor = 0
        self._moved = False
        self._key = ""
        self._marked: frozenset[str] = frozenset()
        self.arrangement = Arrangement()
        self.freshness = Freshness.NEVER
        self.waiting = WAITING
        """What stands in place of lines before the first answer."""
        self.roomy = False
        """Leave a line free between lines where there is room, as on a wall."""
        self.painted = 0
        """Lines painted so far, for the benchmark and the tests of the diff."""

    # -- what others may know and ask ------------------------------------------------------------------

    @property
    def columns(self) -> Sequence[Column]:
        return self._columns

    @property
    def line(self) -> Line | None:
        return self.shown[self._cursor] if self._cursor < len(self.shown) else None

    @property
    def total(self) -> int:
        """How many lines there are without a filter."""
        return len(self._all)

    @property
    def chosen(self) -> tuple[Line, ...]:
        marked = tuple(line for line in self._all if line.key in self._marked) if self._marked else ()
        return marked or ((self.line,) if self.line else ())

    def show(self, lines: Sequence[Line]) -> None:
        """Other lines; only those that differ where they are seen are painted again."""
        if lines is self._all and self._needs:
            return
        self._all = lines
        self._measure()
        if self._marked:
            self._marked &= {line.key for line in lines}
        self._rearrange(arranged(lines, self.arrangement, columns=self._columns))

    def set_arrangement(self, arrangement: Arrangement) -> None:
        if arrangement != self.arrangement:
            self.arrangement = arrangement
            self._rearrange(arranged(self._all, arrangement, columns=self._columns))
            self.post_message(self.Arranged(self))
            self.refresh()

    def next_order(self) -> None:
        order = next_order(self.arrangement, columns=self._columns)
        self.set_arrangement(replace(self.arrangement, order=order, descending=False))

    def reverse(self) -> None:
        self.set_arrangement(replace(self.arrangement, descending=not self.arrangement.descending))

    def toggle_problems(self) -> None:
        self.set_arrangement(replace(self.arrangement, problems=not self.arrangement.problems))

    def set_freshness(self, freshness: Freshness, *, waiting: str = WAITING) -> None:
        if freshness is not self.freshness or waiting != self.waiting:
            self.freshness, self.waiting = freshness, waiting
            self.refresh()

    def exchange(self, columns: Sequence[Column]) -> None:
        if columns is self._columns:
            return
        self._columns, self._needs = columns, {}
        self._place()
        self.refresh()

    def stay(self) -> None:
        """Keep the cursor on its line from now on, also at the top: what is done next is about that line."""
        self._moved = bool(self.shown)

    def unmark(self) -> None:
        self._marked = frozenset()
        self.refresh()

    def reset(self) -> None:
        """No lines, no marks, no filter, and the cursor at the top: what comes is of something else."""
        self._marked, self._moved, self._key = frozenset(), False, ""
        self._all, self.arrangement, self._needs = (), Arrangement(), {}
        self._place()
        self._rearrange(())
        self.scroll_to(y=0, animate=False)

    # -- lines in and out ------------------------------------------------------------------------------

    def _measure(self) -> None:
        """Widen what would be cut; nothing gets narrower again, so that columns stand still."""
        found = needs_of(self._columns, self._all, glyphs=self._glyphs)
        needs = self._needs | {name: max(cells, self._needs.get(name, 0)) for name, cells in found.items()}
        if needs != self._needs:
            self._needs = needs
            self._place()
            self.refresh()

    def _place(self) -> None:
        self._placed = place(self._columns, self._room, self._needs)

    def _rearrange(self, shown: Sequence[Line]) -> None:
        before, self.shown = self.shown, shown
        self._follow()
        if len(before) != len(shown):
            self.virtual_size = Size(self.scrollable_content_region.width, len(shown) + 1)
            self.refresh()
            self.post_message(self.Arranged(self))
            return
        top = self.scroll_offset.y
        for row in range(min(self.size.height - 1, len(shown) - top)):
            if before[top + row] is not shown[top + row] and before[top + row] != shown[top + row]:
                self.refresh(Region(0, 1 + row * self._pitch, self.size.width, 1))

    def _follow(self) -> None:
        """Keep the cursor on the chosen line wherever it has moved; otherwise at the top."""
        at = self._cursor if self._moved else 0
        if self._moved and not (at < len(self.shown) and self.shown[at].key == self._key):
            at = next((i for i, line in enumerate(self.shown) if line.key == self._key), at)
        self._put(min(at, max(0, len(self.shown) - 1)))

    def _put(self, at: int) -> None:
        if at != self._cursor:
            self._repaint(self._cursor)
            self._repaint(at)
            self.post_message(self.Moved(self))
        self._cursor = at
        self._key = self.shown[at].key if at < len(self.shown) else self._key

    def _repaint(self, at: int) -> None:
        row = at - self.scroll_offset.y
        if 0 <= row < self.size.height - 1:
            self.refresh(Region(0, 1 + row * self._pitch, self.size.width, 1))

    @property
    def _pitch(self) -> int:
        if not self.roomy or not self.shown:
            return 1
        return min(ROOMIEST, max(1, (self.size.height - 1) // len(self.shown)))

    # -- keys ------------------------------------------------------------------------------------------

    def _go(self, at: int) -> None:
        if not self.shown:
            return
        self._put(min(max(at, 0), len(self.shown) - 1))
        top, room = self.scroll_offset.y, max(1, self.size.height - 1)
        if self._cursor < top:
            self.scroll_to(y=self._cursor, animate=False)
        elif self._cursor >= top + room:
            self.scroll_to(y=self._cursor - room + 1, animate=False)

    def action_move(self, by: int) -> None:
        self._moved = True
        self._go(self._cursor + by)

    def action_page(self, by: int) -> None:
        self._moved = True
        self._go(self._cursor + by * max(1, self.size.height - 2))

    def action_edge(self, end: int) -> None:
        self._moved = bool(end)
        self._go(len(self.shown) - 1 if end else 0)

    def action_pick(self) -> None:
        if self.line:
            self.post_message(self.Picked(self, self.line))

    def action_mark(self) -> None:
        """Mark the line, or take the mark away, and go on."""
        if self.line:
            self._marked ^= {self.line.key}
            self.action_move(1)
            self.refresh()
            self.post_message(self.Arranged(self))

    def on_click(self, event: events.Click) -> None:
        """A click goes to the line, a second one opens it."""
        if event.y < 1:
            self._sort_at(event.x)
            return
        at = event.y - 1 + self.scroll_offset.y
        if at < len(self.shown):
            self._moved = True
            self._go(at)
            if event.chain > 1:
                self.action_pick()

    def _sort_at(self, x: int) -> None:
        """A click on a title sorts by it, a second one the other way round."""
        edge = MARGIN
        for placed in self._placed:
            if edge <= x < edge + placed.width and placed.column.sort:
                now, order = self.arrangement, placed.column.id
                self.set_arrangement(
                    replace(now, order=order, descending=now.order == order and not now.descending)
                )
            edge += placed.width + GAP

    # -- painting --------------------------------------------------------------------------------------

    @property
    def _room(self) -> int:
        return max(1, self.scrollable_content_region.width - 2 * MARGIN)

    def on_resize(self) -> None:
        self._place()
        self.virtual_size = Size(self.scrollable_content_region.width, len(self.shown) + 1)
        self._go(self._cursor)

    @on(events.Focus)
    @on(events.Blur)
    def _focus_changed(self) -> None:
        self._repaint(self._cursor)
        self.post_message(self.Arranged(self))

    def render_line(self, y: int) -> Strip:
        """One line of the screen: the titles, a line, or nothing."""
        width, palette = self.scrollable_content_region.width, PALETTES[self.app.theme]
        self.painted += 1
        if y == 0:
            return self._titles(width, palette)
        at, between = divmod(y - 1, self._pitch)
        at += self.scroll_offset.y
        if at < len(self.shown) and not between:
            row = self._row(self.shown[at], at=at, width=width, palette=palette)
        else:
            row = self._blank(y, width=width, palette=palette)
        if self.freshness is Freshness.VERY_LATE:
            row = drawing.hatched(row, y=y, glyphs=self._glyphs, palette=palette, ground=palette.panel)
        return row.adjust_cell_length(width, drawing.style(palette, Ink.TEXT, palette.panel))

    def _titles(self, width: int, palette: Palette) -> Strip:
        order = self.arrangement.order
        arrow = self._glyphs.down if self.arrangement.descending else self._glyphs.up

        def title(placed: Placed) -> Sequence[Piece]:
            column = placed.column
            return [(column.title + arrow, Ink.ACCENT) if column.id == order else (column.title, Ink.MUTED)]

        pieces = [(" " * MARGIN, Ink.MUTED), *side_by_side(self._placed, title)]
        return drawing.line(pieces, palette=palette, ground=palette.panel, width=width)

    def _row(self, line: Line, *, at: int, width: int, palette: Palette) -> Strip:
        here = at == self._cursor and self.has_focus
        edge = self._glyphs.marked if line.key in self._marked else (self._glyphs.focus if here else " ")
        cells = line_pieces(line, self._placed, glyphs=self._glyphs)
        return drawing.line(
            [(edge, Ink.ACCENT), *cells],
            palette=palette,
            ground=palette.cursor if here else palette.panel,
            width=width,
            faded=self.freshness >= Freshness.LATE,
        )

    def _blank(self, y: int, *, width: int, palette: Palette) -> Strip:
        ground = drawing.style(palette, Ink.MUTED, palette.panel)
        unread = self.freshness is Freshness.NEVER and not self._all
        if unread and not self.shown and y > 3 and y % 2 == 0:
            return self._skeleton(y, width=width, palette=palette)
        if self.shown or y < 2:
            return Strip.blank(width, ground)
        text = "No lines match the filter." if self._all else self.waiting if unread else self._empty
        words = wrap(text, max(1, width - 2 * len(INDENT)))
        if y - 2 >= len(words):
            return Strip.blank(width, ground)
        return Strip([Segment(INDENT + words[y - 2], ground)])

    def _skeleton(self, y: int, *, width: int, palette: Palette) -> Strip:
        """The place of a line that is not known yet."""
        rest = self._glyphs.rest
        pieces = side_by_side(
            self._placed, lambda placed: [(rest * max(1, placed.width * (5 + y * 7 % 5) // 10), Ink.FAINT)]
        )
        return drawing.line(
            [(" " * MARGIN, Ink.FAINT), *pieces], palette=palette, ground=palette.panel, width=width
        )
