"""Numbers side by side: the four figures of 30 days, and on a wall how the inboxes stand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from rich.cells import cell_len
from textual.strip import Strip
from textual.widget import Widget

from shared.domain.workspace_verdict import InboxCounts
from shared.text.formats import show_change, show_count, show_rate
from tui.model.board import Figure
from tui.model.lines import Freshness
from tui.theme import drawing, formatting
from tui.theme.error_boundary import ErrorBoundary
from tui.theme.palette import PALETTES, Glyphs, Ink, Piece

T = TypeVar("T")
BRIEF = {"Replies": "Repl.", "Positive": "Pos.", "Meetings": "Meet."}
"""Labels where the columns are narrow: a number without a name says nothing."""
BIG = 6
"""Lines of the large form: label, a gap, three of digits, the rates."""
LARGE = 8
"""Lines of the form with double numerals: a label, a gap, five of digits, one below."""


def rates(figure: Figure, *, glyphs: Glyphs) -> list[Piece]:
    """The share of the sends, and the change against the period before."""
    pieces: list[Piece] = []
    if figure.share is not None:
        pieces.append((f"{show_rate(figure.share)}  ", Ink.TEXT))
    if figure.change is not None:
        said = show_change(figure.change).replace("▲", glyphs.up).replace("▼", glyphs.down)
        pieces.append((said, Ink.GOOD if figure.change >= 0 else Ink.WARN))
    return pieces


class NumberRow(ErrorBoundary, Widget):
    """Numbers side by side, each in an equal share of the width; muted where they are late, and hatched where they are out of date."""

    def __init__(self, *, glyphs: Glyphs, id: str) -> None:  # noqa: A002 # the framework's word
        super().__init__(id=id)
        self._glyphs = glyphs
        self._freshness = Freshness.FRESH
        self._ground = "panel"

    def tint(self, ground: str) -> None:
        """Paint on another ground of the palette."""
        if ground != self._ground:
            self._ground = ground
            self.refresh()

    def _paint(
        self, numbers: Sequence[T], line: Callable[[T, int], Sequence[Piece]], *, margin: int, y: int
    ) -> Strip:
        palette = PALETTES[self.app.theme]
        room = max(1, self.size.width // max(1, len(numbers)))
        pieces: list[Piece] = []
        for number in numbers:
            pieces += drawing.fit([(" " * margin, Ink.TEXT), *line(number, room)], room, more="")
        faded, ground = self._freshness >= Freshness.LATE, str(getattr(palette, self._ground))
        drawn = drawing.line(pieces, palette=palette, ground=ground, width=self.size.width, faded=faded)
        if self._freshness is Freshness.VERY_LATE:
            return drawing.hatched(drawn, y=y, glyphs=self._glyphs, palette=palette, ground=ground)
        return drawn


class KeyFigures(NumberRow):
    """Sends, replies, positive replies and meetings: large where there is room, else in a line or two."""

    DEFAULT_CSS = "KeyFigures { height: 5; background: $o-panel; padding: 0; }"

    def __init__(self, *, glyphs: Glyphs) -> None:
        super().__init__(glyphs=glyphs, id="figures")
        self._figures: tuple[Figure, ...] = ()

    @property
    def text(self) -> str:
        return "   ".join("".join(text for text, _ in self._compact(figure)) for figure in self._figures)

    def show(self, figures: tuple[Figure, ...], *, freshness: Freshness) -> None:
        if (figures, freshness) != (self._figures, self._freshness):
            self._figures, self._freshness = figures, freshness
            self.refresh()

    def render_line(self, y: int) -> Strip:
        return self._paint(self._figures, lambda figure, room: self._line(figure, y, room), margin=2, y=y)

    def _line(self, figure: Figure, y: int, room: int) -> Sequence[Piece]:
        if self.size.height == 1:
            return self._compact(figure, room)
        if self.size.height < BIG:
            return self._two_lines(figure, room)[min(y, 1)]
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
                rows = drawing.numeral(text)
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


class HealthCounts(NumberRow):
    """Healthy, at risk, resting, unknown: each with sign, word and number, read from three metres."""

    DEFAULT_CSS = "HealthCounts { height: 8; background: $o-panel; }"

    def __init__(self, *, glyphs: Glyphs, id: str = "standing") -> None:  # noqa: A002 # the framework's word
        super().__init__(glyphs=glyphs, id=id)
        self._counts = InboxCounts()

    def show(self, counts: InboxCounts, *, freshness: Freshness) -> None:
        if (counts, freshness) != (self._counts, self._freshness):
            self._counts, self._freshness = counts, freshness
            self.refresh()

    def render_line(self, y: int) -> Strip:
        return self._paint(self._parts(), lambda part, room: self._line(part, y, room), margin=3, y=y)

    def _parts(self) -> list[tuple[int, str, str, Ink]]:
        of, signs = self._counts, self._glyphs
        parts = [
            (of.healthy, signs.good, "healthy", Ink.GOOD),
            (of.at_risk, signs.warn, "at risk", Ink.WARN if of.at_risk else Ink.FAINT),
            (of.bad, signs.bad, "bad", Ink.BAD if of.bad else Ink.FAINT),
            (of.resting, signs.resting, "resting", Ink.BAD if of.resting else Ink.FAINT),
        ]
        return [*parts, (of.unknown, signs.unknown, "unknown", Ink.UNKNOWN)] if of.unknown else parts

    def _line(self, part: tuple[int, str, str, Ink], y: int, room: int) -> list[Piece]:
        counted, sign, word, ink = part
        number = None if self._freshness is Freshness.NEVER else counted
        label: list[Piece] = [(f"{sign} ", ink), (word.upper(), Ink.STRONG)]
        if self.size.height < LARGE or self._glyphs.ascii:
            return [*label, (f"  {show_count(number)}", ink)] if y == 0 else []
        if y < 2:
            return label if y == 0 else []
        rows: Sequence[str] = drawing.numeral(show_count(number), scale=2)
        if cell_len(rows[0]) + 3 > room:
            rows = ["", *drawing.numeral(show_count(number)), ""]
        return [(rows[y - 2], ink)] if y - 2 < len(rows) else []
