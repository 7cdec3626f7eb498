"""The columns of the lists: what each shows of a line, in which ink and width, and what it sorts by. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from math import ceil
from typing import Any, TypeVar

from rich.cells import cell_len

from shared.api.words import GROUPINGS
from shared.domain import evidence
from shared.domain.card import Tone
from shared.domain.health import Thresholds, by_score
from shared.domain.wall_clock import moment
from shared.frozen import frozen
from shared.text.formats import show_count, show_rate
from shared.text.sanitize import visible
from tui.model.lines import InboxLine, Line, SequenceLine, StatsLine, Toned
from tui.theme.palette import RESTING, RUNNING, SIGNS, STOPPED, TONE_INK, WARMING, Ink
from tui.theme.words import BLOCKS, REST, Piece, Words, bar, day_and_time, fit, width_of

Render = Callable[[Any, int], Sequence[Piece]]
"""A line and the width in cells -> pieces of text."""
T = TypeVar("T", bound=Line)
SIGN = "sign"
"""The id of the column of signs, which always stands first."""
GAP = 2
MEASURED_LINES = 40
"""Lines whose cells are measured: those that are seen first."""
WIDE = 200
"""Cells in which nothing that people look for is cut."""


@dataclass(frozen=True, slots=True)
class Column:
    """One column, by whose `id` filters and orders name it in every list; `width` in cells."""

    id: str
    title: str
    width: int
    render: Render
    _: KW_ONLY
    sort: Callable[[Any], Any] | None = None
    least: int = 0
    """The width it can do with when all that could leave has left; 0: its width is fixed."""
    rank: int = 0
    """0 always stays; the highest leaves first when the room is short."""
    grow: int = 0
    """Its share of the room that is left."""
    right: bool = False

    def cell(self, line: Line, width: int) -> Words:
        return Words(tuple(fit(self.render(line, width), width, right=self.right)))

    def text(self, line: Line) -> str:
        """All that it says of a line."""
        return "".join(text for text, _ in self.render(line, WIDE)).strip()


@dataclass(frozen=True, slots=True)
class Placed:
    """A column and the width it got."""

    column: Column
    width: int


def place(columns: Sequence[Column], room: int, needs: Mapping[str, int]) -> tuple[Placed, ...]:
    """The columns that fit into so many cells, with their widths.

    What is left goes to those that grow: first to cells that would be cut, by `needs` (cells by id of a column).
    """
    kept = list(columns)
    widths = {c.id: min(c.width, max(c.least, needs.get(c.id, c.width))) for c in columns}

    def spare() -> int:
        return room - sum(widths[c.id] for c in kept) - GAP * (len(kept) - 1)

    # Whole columns leave before any is cut: half a number is worse than none.
    while spare() < 0 and (last := max(kept, key=lambda column: column.rank)).rank:
        kept.remove(last)
    if (short := -spare()) > 0:  # each gives up the same share of what it can spare
        spared = sum(widths[c.id] - c.least for c in kept if c.least) or 1
        for column in kept:
            if column.least:
                given = (widths[column.id] - column.least) * min(1.0, short / spared)
                widths[column.id] -= ceil(given)
    while len(kept) > 1 and spare() < 0:
        kept.pop()
    flexible = [c for c in kept if c.id in needs]
    flexible.sort(key=lambda column: needs[column.id] - widths[column.id])
    for number, column in enumerate(flexible):
        want = max(0, needs[column.id] - widths[column.id])
        widths[column.id] += min(want, max(0, spare()) // (len(flexible) - number))
    # What is as wide as its content stays so: figures far from their names can't be read.
    growers = [c for c in kept if c.grow and not (c.least and c.id in needs)]
    left, shares = max(0, spare()), sum(c.grow for c in growers)
    for column in growers:
        widths[column.id] += left * column.grow // shares
    return tuple(Placed(c, widths[c.id]) for c in kept)


def needs_of(columns: Sequence[Column], lines: Sequence[Line]) -> dict[str, int]:
    """The cells that the longest content of each flexible column takes."""
    needs = {column.id: cell_len(column.title) for column in columns if column.grow or column.least}
    for line in lines[:MEASURED_LINES]:
        for column in columns:
            if column.id in needs:
                needs[column.id] = max(needs[column.id], width_of(column.render(line, WIDE)))
    return {name: cells for name, cells in needs.items() if cells < WIDE}


# -- order and filter ------------------------------------------------------------------------------------


@frozen
class Arrangement:
    """The order and filter that a person asked of a list; `order` is a column's id, and none is the list's own order."""

    find: str = ""
    """Words that must all occur; `!word` must not, and `status:resting` must in that column. Case is ignored."""
    order: str = ""
    descending: bool = False

    def of(self, lines: Sequence[T], columns: Sequence[Column]) -> Sequence[T]:
        """The lines to show. Sorting is stable, so equal lines stay in the list's own order."""
        for word in self.find.casefold().split():
            lines = [line for line in lines if _fits(line, word, columns)]
        order = next((column.sort for column in columns if column.id == self.order), None)
        return sorted(lines, key=order, reverse=self.descending) if order else lines

    def next_order(self, columns: Sequence[Column]) -> Arrangement:
        """Each column upwards, then downwards, then the list's own order."""
        if self.order and not self.descending:
            return replace(self, descending=True)
        ids = ["", *(column.id for column in columns if column.sort)]
        return replace(self, order=ids[(ids.index(self.order) + 1) % len(ids)], descending=False)


def _fits(line: Line, word: str, columns: Sequence[Column]) -> bool:
    """True where a line fits one word of a filter; one that names no column is looked for in all of the line."""
    if len(word) > 1 and word.startswith("!"):
        return not _fits(line, word[1:], columns)
    name, _, value = word.partition(":")
    for column in columns if value else ():
        if name in {column.id, column.title.casefold().replace(" ", "-")}:
            return value in column.text(line).casefold()
    return word in line.words.casefold()


# -- cells -----------------------------------------------------------------------------------------------


def below_all(value: float | None) -> float:
    """Sort the unknown below everything."""
    return -1 if value is None else value


def text_of(of: Callable[[Any], str | None], ink: Ink) -> Render:
    return lambda line, _: ((visible(of(line) or ""), ink),)


def text_column(
    id: str,  # noqa: A002 # as a column has it
    title: str,
    width: int,
    of: Callable[[Any], str | None],
    ink: Ink = Ink.TEXT,
    **more: Any,
) -> Column:
    """A column of plain text, which sorts without regard to case."""

    def text(line: Any) -> str:
        return (of(line) or "").casefold()

    return Column(id, title, width, text_of(of, ink), sort=text, **more)


def sign_of(line: Toned, _: int = 0) -> Sequence[Piece]:
    """The tone; what can't send has its own sign."""
    if isinstance(line, InboxLine) and line.inbox.status == "resting":
        return ((STOPPED, Ink.STOPPED),)
    return ((SIGNS[line.tone], TONE_INK[line.tone]),)


def score_bar(score: float | None, width: int, thresholds: Thresholds) -> Sequence[Piece]:
    """A bar and the number, with its decimal where it has one: 59.7 is not 60, and 64.1 not bad."""
    tone, _, _ = by_score(score, thresholds=thresholds)
    if score is None:
        return (*bar(None, width - 5, Ink.FAINT), ("    –", Ink.UNKNOWN))
    number = f"{score:g}"[:4]
    ink = Ink.TEXT if tone is Tone.GOOD else TONE_INK[tone]
    return (*bar(score / 100, width - 5, TONE_INK[tone]), (f"{number:>5}", ink))


def _address(line: InboxLine, width: int) -> Sequence[Piece]:
    """Cut the local part in a narrow column, and keep the domain."""
    name, at, domain = visible(line.inbox.email).rpartition("@")
    room = max(3, width - cell_len(at + domain))
    return (*fit([(name, Ink.TEXT)], min(room, cell_len(name))), (at + domain, Ink.MUTED))


INBOX_SIGNS = {"active": ("●", Ink.TEXT), "warming": (WARMING, Ink.ACCENT), "resting": (RESTING, Ink.MUTED)}


def _inbox_status(line: InboxLine, _: int) -> Sequence[Piece]:
    status = line.inbox.status or "unknown"
    sign, ink = INBOX_SIGNS.get(status, ("?", Ink.UNKNOWN))
    return ((f"{sign} {visible(status)}", ink),)


TREND_FROM, TREND_TO = 40.0, 100.0
"""The scale of every trend: two inboxes of one health look the same."""


def _trend(line: InboxLine, width: int) -> Sequence[Piece]:
    """Health, each sample in the ink of its threshold."""
    samples = line.trend[-width:]
    if not samples:
        return ((REST * width, Ink.FAINT),)
    pieces = []
    for score in samples:
        level = int((score - TREND_FROM) / (TREND_TO - TREND_FROM) * (len(BLOCKS) - 1))
        tone, _, _ = by_score(score, thresholds=line.thresholds)
        ink = Ink.MUTED if tone is Tone.GOOD else TONE_INK[tone]
        pieces.append((BLOCKS[min(len(BLOCKS) - 2, max(0, level))], ink))
    return pieces


def number(
    id: str,  # noqa: A002 # as a column has it
    title: str,
    of: Callable[[Any], int | None],
    *,
    width: int = 5,
    rank: int,
    ink: Ink = Ink.TEXT,
) -> Column:
    def render(line: Any, _: int) -> Sequence[Piece]:
        value = of(line)
        return ((show_count(value), Ink.MUTED if value is None else ink),)

    return Column(id, title, width, render, sort=lambda line: below_all(of(line)), right=True, rank=rank)


Counted = InboxLine | SequenceLine | StatsLine


def _count(title: str, name: str, *, width: int = 7, rank: int = 0) -> Column:
    def count(line: Counted) -> int | None:
        return getattr(line.stats, name) if line.stats else None

    return number(title.lower(), title, count, width=width, rank=rank)


def _rate(title: str, name: str, *, rank: int = 0) -> Column:
    """A count of the stats as a share of the sends, with its margin; a rough one is dimmed."""

    def share(line: Counted) -> float | None:
        return evidence.share(getattr(line.stats, name), line.stats.sends) if line.stats else None

    def render(line: Counted, _: int) -> Sequence[Piece]:
        part, sends = (getattr(line.stats, name), line.stats.sends) if line.stats else (None, None)
        rate = evidence.rate_of(part, sends)
        if rate is None or not rate.enough:
            return ((evidence.show(part, sends), Ink.MUTED),)
        margin = f" ±{rate.margin_points}" if rate.margin_points else ""
        return ((show_rate(rate.share), Ink.MUTED if rate.is_rough else Ink.TEXT), (margin, Ink.MUTED))

    column, width = title.lower().replace(" ", "-"), max(12, len(title))
    return Column(
        column, title, width, render, sort=lambda line: below_all(share(line)), right=True, rank=rank
    )


REPLY_RATE, POSITIVE_RATE = ("Reply rate", "replies"), ("Positive rate", "positive_replies")
INBOXES = (
    Column(SIGN, "", 1, sign_of),
    Column("inbox", "Inbox", 24, _address, least=12, sort=lambda x: x.inbox.email, grow=2),
    Column(
        "health",
        "Health",
        11,
        lambda x, width: score_bar(x.inbox.health_score, width, x.thresholds),
        sort=lambda x: below_all(x.inbox.health_score),
        right=True,
    ),
    Column("trend", "Trend", 8, _trend, rank=3),
    Column("status", "Status", 9, _inbox_status, sort=lambda x: x.inbox.status or ""),
    number("limit", "Limit", lambda x: x.inbox.daily_limit, rank=1),
    _count("Sent", "sends", rank=4),
    _rate(*REPLY_RATE, rank=2),
    Column(
        "why",
        "Why",
        24,
        lambda x, _: ((visible("; ".join(x.verdict.reasons)), TONE_INK[x.tone]),),
        rank=5,
        grow=1,
    ),
)


def _sequence_status(line: SequenceLine, _: int) -> Sequence[Piece]:
    if line.pending:
        return ((f"{WARMING} {line.pending}", Ink.ACCENT),)
    status = line.sequence.status or "unknown"
    signs = {"active": (RUNNING, Ink.GOOD), "paused": (STOPPED, Ink.WARN)}
    sign, ink = signs.get(status, ("?", Ink.UNKNOWN))
    return ((f"{sign} ", ink), (visible(status), Ink.TEXT if status == "active" else ink))


def _sequence_name(line: SequenceLine, _: int) -> Sequence[Piece]:
    ink = Ink.MUTED if line.sequence.status == "paused" else Ink.TEXT
    return ((visible(line.sequence.label), ink), (f" {line.key}" if line.is_namesake else "", Ink.MUTED))


def _pause_end(line: SequenceLine, _: int) -> Sequence[Piece]:
    if line.pause is None:
        return ()
    by = f" @{visible(line.pause.by)}" if line.pause.by else ""
    return ((day_and_time(moment(line.pause.until)), Ink.WARN), (by, Ink.MUTED))


SEQUENCES = (
    Column("status", "Status", 11, _sequence_status, sort=lambda x: x.sequence.status or ""),
    Column("sequence", "Sequence", 26, _sequence_name, least=12, sort=lambda x: x.label.casefold(), grow=1),
    Column("until", "Until", 16, _pause_end, least=5, rank=1),
    number("steps", "Steps", lambda x: x.sequence.steps, rank=5),
    _count("Sent", "sends"),
    _rate(*REPLY_RATE, rank=2),
    _rate(*POSITIVE_RATE, rank=3),
    _count("Meetings", "meetings", width=8, rank=4),
)
STATS_COUNTS = (
    _count("Sent", "sends"),
    _count("Replies", "replies", rank=3),
    _rate(*REPLY_RATE),
    _rate(*POSITIVE_RATE, rank=1),
    _count("Meetings", "meetings", width=8, rank=2),
)


STATS_BY: Mapping[str, Sequence[Column]] = {
    grouping: (
        text_column("group", grouping.capitalize(), 16, lambda x: x.name, least=12, grow=1),
        *STATS_COUNTS,
    )
    for grouping in GROUPINGS
}
"""The columns of counts, by what they are grouped by."""
