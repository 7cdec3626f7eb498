"""A list with a title: name, count, filter and sort order, and age."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from rich.cells import cell_len
from rich.text import Text
from textual import events
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget
from textual.widgets import Static

from tui.model.lists.columns import Column
from tui.model.lists.lines import Freshness, Line, Stamp
from tui.theme import drawing
from tui.theme.error_boundary import ErrorBoundary
from tui.theme.palette import PALETTES, Glyphs, Ink, Piece
from tui.widgets.line_table import WAITING, LineTable


class TextLine(ErrorBoundary, Widget):
    """One line: something on the left, something on the right, in any inks."""

    DEFAULT_CSS = "TextLine { height: 1; }"

    def __init__(self, *, id: str | None = None, ground: str = "panel") -> None:  # noqa: A002 # the framework's word
        super().__init__(id=id)
        self._left: tuple[Piece, ...] = ()
        self._right: tuple[Piece, ...] = ()
        self._ground = ground

    @property
    def text(self) -> str:
        return "".join(text for text, _ in (*self._left, ("  ", Ink.TEXT), *self._right))

    def set_text(self, left: Sequence[Piece], right: Sequence[Piece] = ()) -> None:
        if (tuple(left), tuple(right)) != (self._left, self._right):
            self._left, self._right = tuple(left), tuple(right)
            self.refresh()

    def tint(self, ground: str) -> None:
        """Paint on another ground of the palette."""
        if ground != self._ground:
            self._ground = ground
            self.refresh()

    def render_line(self, y: int) -> Strip:
        """The right side stays whole as long as it can; the left is cut."""
        palette = PALETTES[self.app.theme]
        ground = str(getattr(palette, self._ground))
        width = self.size.width
        tail = min(width, sum(cell_len(text) for text, _ in self._right))
        pieces = [*drawing.fit(self._left, max(0, width - tail)), *drawing.fit(self._right, tail)]
        return drawing.line(pieces, palette=palette, ground=ground, width=width)


class WrappedText(ErrorBoundary, Static):
    """Lines in any inks, which go on below where they are longer than the width: nothing of them is cut."""

    DEFAULT_CSS = "WrappedText { height: auto; max-height: 50%; padding: 0 1; background: $o-panel; }"

    def __init__(self, *, id: str) -> None:  # noqa: A002 # the framework's word
        super().__init__("", id=id)
        self.text = ""

    def set_lines(self, lines: Sequence[Sequence[Piece]]) -> None:
        palette = PALETTES[self.app.theme]
        shown = Text("\n").join(
            Text.assemble(*((text, palette.ink(ink)) for text, ink in pieces)) for pieces in lines
        )
        self.text = shown.plain
        self.update(shown)


class LinkLine(TextLine):
    """A line of parts that can be clicked."""

    @dataclass
    class Clicked(Message):
        """A part was clicked: its number, from 0."""

        line: LinkLine
        number: int

        @property
        def control(self) -> LinkLine:
            return self.line

    def __init__(self, *, id: str) -> None:  # noqa: A002 # the framework's word
        super().__init__(id=id, ground="ground")
        self._ends: list[int] = []

    def set_links(self, links: Iterable[Sequence[Piece]]) -> list[Piece]:
        """Remember where each part ends; their pieces in one list."""
        pieces: list[Piece] = []
        self._ends = []
        for link in links:
            pieces += link
            self._ends.append(sum(cell_len(text) for text, _ in pieces))
        return pieces

    def on_click(self, event: events.Click) -> None:
        number = next((number for number, end in enumerate(self._ends) if event.x < end), None)
        if number is not None:
            self.post_message(self.Clicked(self, number))


class Panel(ErrorBoundary, Vertical):
    """A head over a grid."""

    DEFAULT_CSS = """
    Panel { height: 1fr; background: $o-panel; }
    """

    def __init__(
        self, name: str, *, title: str, columns: Sequence[Column], glyphs: Glyphs, empty: str, key: str = ""
    ) -> None:
        super().__init__(id=f"panel-{name}")
        self.panel = name
        self._title = title
        self._key = key
        self._glyphs = glyphs
        self._stamp: Stamp | None = None
        self._unstamped = Freshness.NEVER
        self._aside = ""
        self._counted: int | None = None
        self.grid = LineTable(columns, glyphs=glyphs, empty=empty, id=name)
        self.head = TextLine()

    def compose(self) -> ComposeResult:
        yield self.head
        yield self.grid

    def show(
        self,
        lines: Sequence[Line],
        *,
        stamp: Stamp | None,
        now: datetime,
        aside: str = "",
        count: int | None = None,
    ) -> None:
        """Other lines, with their age; `aside` stands beside the title, and `count` in place of the number of lines."""
        self._stamp, self._aside, self._counted = stamp, aside, count
        self._unstamped = Freshness.FRESH
        self.grid.show(lines)
        self.tick(now)

    def rename(self, title: str) -> None:
        self._title = title

    def tick(self, now: datetime) -> None:
        freshness = self._stamp.freshness(now) if self._stamp else self._unstamped
        cause = self._stamp.cause if self._stamp else ""
        self.grid.set_freshness(freshness, waiting=f"Not loaded yet: {cause}." if cause else WAITING)
        self.head.set_text(self._left(freshness), self._age(now, freshness))

    def _left(self, freshness: Freshness) -> list[Piece]:
        grid, focused = self.grid, self.grid.has_focus
        asked = grid.arrangement
        pieces: list[Piece] = [
            (self._glyphs.focus if focused else " ", Ink.ACCENT),
            (self._title.upper(), Ink.ACCENT if focused else Ink.STRONG),
            (self._count(freshness), Ink.MUTED),
            (f"  {self._aside}" if self._aside else "", Ink.MUTED),
            (f"  {self._key}" if not focused else "", Ink.ACCENT),  # as in the line of keys
        ]
        if asked.problems:
            pieces.append(("  problems only", Ink.WARN))
        if asked.find.strip():
            pieces.append((f"  /{asked.find.strip()}", Ink.WARN))
        marked = [line for line in grid.chosen if line is not grid.line]
        if marked:
            pieces.append((f"  {self._glyphs.marked} {len(grid.chosen)} marked", Ink.ACCENT))
        return pieces

    def _count(self, freshness: Freshness) -> str:
        """The number of lines; marked if it is only a page of a longer list, and empty before the first read."""
        shown = self.grid.shown
        if freshness is Freshness.NEVER and not shown:
            return ""
        total = self.grid.total
        if self._counted is not None and len(shown) == total:
            return f" {self._counted:,}"
        counted = self._stamp.counted(total) if self._stamp else f"{total:,}"
        return f" {counted}" if len(shown) == total else f" {len(shown):,} of {counted}"

    def _age(self, now: datetime, freshness: Freshness) -> list[Piece]:
        if self._stamp is None:
            return []
        sign = self._glyphs.warn + " " if freshness >= Freshness.LATE or self._stamp.failed_since else ""
        ink = Ink.WARN if sign else Ink.MUTED
        return [(f" {sign}{self._stamp.words(now)} ", ink)]


class PanelArea(Horizontal):
    """The columns of panels; they share its room again whenever that changes, as when the banner appears."""

    class Resized(Message):
        """There is more room, or less."""

    def on_resize(self) -> None:
        self.post_message(self.Resized())
