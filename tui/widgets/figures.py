"""Figures side by side: the four figures of 30 days, and inbox health on a wall."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import TypeVar

from rich.cells import cell_len
from textual.strip import Strip
from textual.widget import Widget

from shared.domain import evidence
from shared.domain.local_zone import local
from shared.domain.workspace_verdict import InboxCounts
from shared.text.formats import show_count
from tui.model.lists.lines import Freshness
from tui.model.workspace.board import Figure
from tui.theme import drawing, formatting
from tui.theme.error_boundary import ErrorBoundary
from tui.theme.palette import PALETTES, Glyphs, Ink, Piece

T = TypeVar("T")
BRIEF = {"Replies": "Repl.", "Positive": "Pos.", "Meetings": "Meet."}
"""Labels where the columns are narrow: a number without a name says nothing."""
BIG = 6
"""Lines of the large form: label, three of digits, today, and the same hour of another day."""
BLOCKS = "▁▂▃▄▅▆▇█"
DAYS = 14
LARGE = 8
"""Lines of the form with double numerals: a label, a gap, five of digits, one below."""


SHORTEST = 7
"""Days of the shortest sparkline."""


def rates(figure: Figure, *, glyphs: Glyphs, long: bool = False) -> list[Piece]:
    """The share of the sends, and the change against the 30 days before; `long` says against what."""
    pieces: list[Piece] = []
    if figure.rate == evidence.TOO_FEW:
        pieces.append((f"{figure.rate}{' sends' if long else ''}  ", Ink.MUTED))
    elif figure.rate:
        rate = figure.rate.replace("±", "+-") if glyphs.ascii else figure.rate
        pieces.append((f"{rate}{' of sends' if long else ''}  ", Ink.TEXT))
    if figure.change:
        pieces.append(_change(figure.change, glyphs=glyphs, long=long))
        if long:
            pieces.append((" vs 30 days before", Ink.MUTED))
    return pieces


def _change(change: str, *, glyphs: Glyphs, long: bool) -> Piece:
    if change == evidence.NO_CHANGE:
        return change if long else "=", Ink.MUTED
    text = change.replace("▲", glyphs.up).replace("▼", glyphs.down)
    return text, Ink.GOOD if change.startswith("▲") else Ink.WARN


def today(figure: Figure) -> list[Piece]:
    """`412 of 2,655 today`: what was sent of what all inboxes may send, unless some that sent rest by now."""
    if figure.today is None:
        return []
    limits = figure.capacity is not None and figure.today <= figure.capacity
    of = f" of {show_count(figure.capacity)}" if limits else ""
    return [(show_count(figure.today), Ink.TEXT), (f"{of} today", Ink.MUTED)]


def compared(figure: Figure, *, now: datetime) -> list[Piece]:
    """`380 by 14:32 last Mon`: the same hour of the last comparable day."""
    if figure.compared is None or figure.compared_at is None:
        return []
    at = local(figure.compared_at)
    day = "yesterday" if now - at < timedelta(days=2) else at.strftime("last %a")
    return [(f"{show_count(figure.compared)} by {at:%H:%M} {day}", Ink.MUTED)]


def days(figure: Figure, room: int, *, glyphs: Glyphs) -> list[Piece]:
    """A sparkline of the last fortnight, or of as many days as there is room for; nothing below a week."""
    shown = figure.days[-room:] if room >= SHORTEST else ()
    known = [value for value in shown if value is not None]
    if len(known) < 2 or glyphs.ascii:
        return []
    highest = max(*known, 1)
    blocks = "".join(" " if v is None else BLOCKS[min(7, v * 8 // (highest + 1))] for v in shown)
    return [(blocks, Ink.ACCENT)]


class NumberRow(ErrorBoundary, Widget):
    """Numbers side by side, each in an equal share of the width; muted where they are late, and hatched where they are stale."""

    def __init__(self, *, glyphs: Glyphs, id: str) -> None:  # noqa: A002 # the framework's word
        super().__init__(id=id)
        self._glyphs = glyphs
        self._freshness = Freshness.NEVER
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
        self._now = datetime.now(UTC)

    @property
    def text(self) -> str:
        return "   ".join("".join(text for text, _ in self._compact(figure)) for figure in self._figures)

    def show(self, figures: tuple[Figure, ...], *, freshness: Freshness, now: datetime) -> None:
        self._now = now
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
            label: list[Piece] = [(figure.label.upper(), Ink.MUTED), ("  30 days  ", Ink.MUTED)]
            return _whole([*label, *rates(figure, glyphs=self._glyphs, long=True)], room)
        if y == 4:
            return today(figure)
        if y > 4:  # while the size changes, more lines may be asked for than there are
            return _whole(compared(figure, now=self._now), room) if y == 5 else []
        rows = self._numeral(figure.value, room)
        spark = days(figure, min(DAYS, room - cell_len(rows[2]) - 4), glyphs=self._glyphs) if y == 3 else []
        return [(rows[y - 1], Ink.STRONG), ("  ", Ink.TEXT), *spark]

    def _numeral(self, value: int | None, room: int) -> Sequence[str]:
        if not self._glyphs.ascii:
            for text in (show_count(value), formatting.short_count(value)):
                rows = drawing.numeral(text)
                if cell_len(rows[0]) + 3 <= room:
                    return rows
        return ["", "", show_count(value)]

    def _compact(self, figure: Figure, room: int = 80) -> list[Piece]:
        number: Piece = (f"{formatting.short_count(figure.value)} ", Ink.STRONG)
        return _whole([*_label(figure), number, *rates(figure, glyphs=self._glyphs)], room)

    def _two_lines(self, figure: Figure, room: int) -> tuple[list[Piece], list[Piece]]:
        label: Piece = (f"{figure.label} ", Ink.MUTED)
        long: Piece = (show_count(figure.value), Ink.STRONG)
        short: Piece = (formatting.short_count(figure.value), Ink.STRONG)
        brief: Piece = (f"{BRIEF.get(figure.label, figure.label)} ", Ink.MUTED)
        pairs = ([label, long], [label, short], [brief, short])
        fitting = next((pair for pair in pairs if _whole(pair, room) == pair), [short])
        left = room - sum(cell_len(text) for text, _ in fitting) - 3
        spark = days(figure, min(DAYS, left - 1), glyphs=self._glyphs)
        first: list[Piece] = [*fitting, (" ", Ink.TEXT), *spark] if spark else fitting
        period: list[Piece] = [("30 days  ", Ink.MUTED)] if figure.share is None else []
        second = [*period, *rates(figure, glyphs=self._glyphs)]
        longer = [*second, ("   ", Ink.TEXT), *today(figure)]
        return first, longer if _whole(longer, room) == longer else _whole(second, room)


def _label(figure: Figure) -> list[Piece]:
    """The first one says over how many days all of them are."""
    period: list[Piece] = [("30 days: ", Ink.MUTED)] if figure.share is None else []
    return [*period, (f"{figure.label} ", Ink.MUTED)]


def _whole(pieces: list[Piece], room: int) -> list[Piece]:
    """The first pieces, as many as fit whole beside a margin."""
    kept: list[Piece] = []
    for piece in pieces:
        if sum(cell_len(text) for text, _ in (*kept, piece)) + 2 > room:
            break
        kept.append(piece)
    return kept


class HealthCounts(NumberRow):
    """Healthy, at risk, resting, unknown: each with sign, word and number, read from three meters."""

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
            (of.at_risk, signs.warn, "at risk", Ink.WARN if of.at_risk else Ink.MUTED),
            (of.bad, signs.bad, "bad", Ink.BAD if of.bad else Ink.MUTED),
            (of.resting, signs.resting, "resting", Ink.STOPPED if of.resting else Ink.MUTED),
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
        if ink is Ink.STOPPED and PALETTES[self.app.theme].plain:
            ink = Ink.STRONG  # reversed, a numeral of blocks is its own ground
        return [(rows[y - 2], ink)] if y - 2 < len(rows) else []
