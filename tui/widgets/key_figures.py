"""The four figures, large where there is room and in a line or two where there is none."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len
from rich.segment import Segment
from textual.strip import Strip
from textual.widget import Widget

from shared.text.formats import show_change, show_count, show_rate
from tui.model.board import Figure
from tui.theme import formatting, text_bars
from tui.theme.error_boundary import ErrorBoundary
from tui.theme.palette import PALETTES, Glyphs, Ink, Piece
from tui.widgets import paint

BRIEF = {"Replies": "Repl.", "Positive": "Pos.", "Meetings": "Meet."}
"""Labels where the columns are narrow: a number without a name says nothing."""
BIG = 6
"""Lines of the large form: label, a gap, three of digits, the rates."""


def rates(figure: Figure, *, glyphs: Glyphs) -> list[Piece]:
    """The share of the sends, and the change against the period before."""
    pieces: list[Piece] = []
    if figure.share is not None:
        pieces.append((f"{show_rate(figure.share)}  ", Ink.TEXT))
    if figure.change is not None:
        said = show_change(figure.change).replace("▲", glyphs.up).replace("▼", glyphs.down)
        pieces.append((said, Ink.GOOD if figure.change >= 0 else Ink.WARN))
    return pieces


class KeyFigures(ErrorBoundary, Widget):
    """Sends, replies, positive replies and meetings."""

    DEFAULT_CSS = "KeyFigures { height: 5; background: $o-panel; padding: 0; }"

    def __init__(self, *, glyphs: Glyphs, id: str = "figures") -> None:  # noqa: A002 # the framework's word
        super().__init__(id=id)
        self._glyphs = glyphs
        self._figures: tuple[Figure, ...] = ()
        self._faded = False

    @property
    def text(self) -> str:
        return "   ".join("".join(text for text, _ in self._compact(figure)) for figure in self._figures)

    def show(self, figures: tuple[Figure, ...], *, stale: bool) -> None:
        if (figures, stale) != (self._figures, self._faded):
            self._figures, self._faded = figures, stale
            self.refresh()

    def render_line(self, y: int) -> Strip:
        palette = PALETTES[self.app.theme]
        width = self.size.width
        column = max(1, width // max(1, len(self._figures)))
        segments: list[Segment] = []
        for figure in self._figures:
            pieces = self._line(figure, y, column)
            fitted = text_bars.fit([("  ", Ink.TEXT), *pieces], column, more="")
            segments += paint.strip(fitted, palette=palette, ground=palette.panel, faded=self._faded)
        return Strip(segments).adjust_cell_length(width, paint.style(palette, Ink.TEXT, palette.panel))

    def _line(self, figure: Figure, y: int, room: int) -> Sequence[Piece]:
        if self.size.height < BIG:
            return (
                self._compact(figure, room)
                if self.size.height == 1
                else self._two_lines(figure, room)[min(y, 1)]
            )
        if y == 0:
            return [(figure.label.upper(), Ink.MUTED), ("  30 days", Ink.FAINT)]
        return self._large(figure, y - 1, room) if 1 <= y <= 4 else ()

    def _large(self, figure: Figure, y: int, room: int) -> Sequence[Piece]:
        """Three lines of digits with the rates beside them where they fit, and today's count below."""
        rows = self._numeral(figure.value, room)
        beside = cell_len(rows[2]) + 20 <= room
        today: list[Piece] = (
            [] if figure.today is None else [(f"{show_count(figure.today)} today", Ink.MUTED)]
        )
        if y == 3:
            return today if beside else [*rates(figure, glyphs=self._glyphs), ("  ", Ink.TEXT), *today]
        return [
            (rows[y], Ink.STRONG),
            ("  ", Ink.TEXT),
            *(rates(figure, glyphs=self._glyphs) if y == 2 and beside else ()),
        ]

    def _numeral(self, value: int | None, room: int) -> Sequence[str]:
        if not self._glyphs.ascii:
            for text in (show_count(value), formatting.short_count(value)):
                rows = text_bars.numeral(text)
                if cell_len(rows[0]) + 3 <= room:
                    return rows
        return ["", "", show_count(value)]

    def _compact(self, figure: Figure, room: int = 80) -> list[Piece]:
        number: Piece = (f"{formatting.short_count(figure.value)} ", Ink.STRONG)
        return _whole([(f"{figure.label} ", Ink.MUTED), number, *rates(figure, glyphs=self._glyphs)], room)

    def _two_lines(self, figure: Figure, room: int) -> tuple[list[Piece], list[Piece]]:
        label: Piece = (f"{figure.label} ", Ink.MUTED)
        long: Piece = (show_count(figure.value), Ink.STRONG)
        short: Piece = (formatting.short_count(figure.value), Ink.STRONG)
        brief: Piece = (f"{BRIEF.get(figure.label, figure.label)} ", Ink.MUTED)
        pairs = ([label, long], [label, short], [brief, short])
        fitting = [pair for pair in pairs if _whole(pair, room) == pair]
        return (fitting[0] if fitting else [short]), _whole(rates(figure, glyphs=self._glyphs), room)


def _whole(pieces: list[Piece], room: int) -> list[Piece]:
    """The first pieces, as many as fit whole beside a margin."""
    kept: list[Piece] = []
    for piece in pieces:
        if sum(cell_len(text) for text, _ in (*kept, piece)) + 2 > room:
            break
        kept.append(piece)
    return kept
