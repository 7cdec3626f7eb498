"""The columns of the dashboard's lists: cells, widths, orders and filters. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from math import ceil
from types import MappingProxyType
from typing import Any, TypeVar

from rich.cells import cell_len

from shared.api.words import GROUPINGS
from shared.domain import evidence, totals
from shared.domain.card import Tone
from shared.domain.health import Thresholds, by_score
from shared.domain.local_zone import local
from shared.domain.wall_clock import moment
from shared.text.formats import show_count, show_rate
from shared.text.sanitize import visible
from tui.model.lines import InboxLine, Line, SequenceLine, StatsLine
from tui.theme.palette import RESTING, RUNNING, SIGNS, STOPPED, TONE_INK, WARMING, Ink
from tui.theme.words import BLOCKS, REST, Piece, Words, bar, fit, width_of

Render = Callable[[Any, int], Sequence[Piece]]
"""A line and the width in cells -> pieces of text."""
T = TypeVar("T", bound=Line)
SIGN = "sign"
"""The id of the column of signs, which always stands first."""
GAP = 2
MEASURED = 40
"""Lines whose cells are measured: those that are seen first."""
WIDE = 200
"""Cells in which nothing that people look for is cut."""


@dataclass(frozen=True, slots=True)
class Column:
    """One column: `width` in cells, `grow` for the ones that share what is left, `rank` for who leaves first."""

    id: str
    """What filters and orders name it by; the same in every list."""
    title: str
    width: int
    render: Render
    _: KW_ONLY
    sort: Callable[[Any], Any] | None = None
    least: int = 0
    """The width it can do with when all that could leave has left."""
    rank: int = 0
    """0 always stays; the highest leaves first when the room is short."""
    grow: int = 0
    right: bool = False

    def cell(self, line: Line, width: int) -> Words:
        return Words(tuple(fit(self.render(line, width), width, right=self.right)))


@dataclass(frozen=True, slots=True)
class Placed:
    """A column and the width it got."""

    column: Column
    width: int


def place(
    columns: Sequence[Column], room: int, needs: Mapping[str, int] = MappingProxyType({})
) -> tuple[Placed, ...]:
    """The columns that fit into so many cells, with their widths.

    What is left goes to those that grow: first to cells that would be cut, by `needs` (cells by id of a column).
    """
    kept = [
        replace(c, width=min(c.width, max(c.least, needs[c.id]))) if c.id in needs else c for c in columns
    ]
    while len(kept) > 1 and _needed(kept) > room:
        last = max(kept, key=lambda column: column.rank)
        if not last.rank:
            break
        kept.remove(last)
    if (short := _needed(kept) - room) > 0:  # each gives up the same share of what it can spare
        spared = sum(c.width - c.least for c in kept if c.least) or 1
        share = min(1.0, short / spared)
        kept = [replace(c, width=c.width - ceil((c.width - c.least) * share)) if c.least else c for c in kept]
    while len(kept) > 1 and _needed(kept) > room:
        kept.pop()
    spare = max(0, room - _needed(kept))
    wants = {c.id: max(0, needs.get(c.id, 0) - c.width) for c in kept if c.grow or c.least}
    for number, (name, want) in enumerate(sorted(wants.items(), key=lambda item: item[1])):
        wants[name] = min(want, spare // (len(wants) - number))
        spare -= wants[name]
    # What is as wide as its content stays so: figures far from their names can't be read.
    growers = {c.id: c.grow for c in kept if not (c.least and c.id in needs)}
    shares = sum(growers.values()) or 1
    return tuple(
        Placed(c, c.width + wants.get(c.id, 0) + spare * growers.get(c.id, 0) // shares) for c in kept
    )


def _needed(columns: Sequence[Column]) -> int:
    return sum(column.width for column in columns) + GAP * (len(columns) - 1)


def needs_of(columns: Sequence[Column], lines: Sequence[Line]) -> dict[str, int]:
    """The cells that the longest content of each flexible column takes."""
    flexible = [column for column in columns if column.grow or column.least]
    needs = {column.id: cell_len(column.title) for column in flexible}
    for line in lines[:MEASURED]:
        for column in flexible:
            needs[column.id] = max(needs[column.id], width_of(column.render(line, WIDE)))
    return {name: cells for name, cells in needs.items() if cells < WIDE}


def on_paper(
    lines: Sequence[Line], columns: Sequence[Column], *, width: int, most: int
) -> Sequence[Sequence[Piece]]:
    """Titles and lines as they stand on the screen."""
    placed = place(columns, width, needs_of(columns, lines[:most]))
    titles = _beside([fit([(p.column.title, Ink.MUTED)], p.width, right=p.column.right) for p in placed])
    rows = [_beside([p.column.cell(line, p.width).pieces for p in placed]) for line in lines[:most]]
    return [titles, *rows]


def _beside(found: Sequence[Sequence[Piece]]) -> Sequence[Piece]:
    pieces: list[Piece] = []
    for number, cell in enumerate(found):
        pieces += [(" " * GAP, Ink.TEXT)] if number else []
        pieces += cell
    return pieces


# -- order and filter ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrangement:
    """What a person asked of a list; `order` is a column's id, and none is the list's own order."""

    find: str = ""
    """Words that must all occur; `!word` must not, and `status:resting` must in that column. Case is ignored."""
    order: str = ""
    descending: bool = False

    def of(self, lines: Sequence[T], columns: Sequence[Column]) -> Sequence[T]:
        """The lines to show. Sorting is stable, so equal lines stay in the list's own order."""
        shown = lines
        if self.find.strip():
            tests = [_test(word, columns) for word in self.find.casefold().split()]
            shown = [line for line in shown if all(test(line) for test in tests)]
        order = {column.id: column.sort for column in columns}.get(self.order)
        return sorted(shown, key=order, reverse=self.descending) if order else shown

    def next_order(self, columns: Sequence[Column]) -> Arrangement:
        """Each column upwards, then downwards, then the list's own order."""
        if self.order and not self.descending:
            return replace(self, descending=True)
        ids = ["", *(column.id for column in columns if column.sort)]
        at = ids.index(self.order) if self.order in ids else 0
        return replace(self, order=ids[(at + 1) % len(ids)], descending=False)


def _test(word: str, columns: Sequence[Column]) -> Callable[[Line], bool]:
    """Whether a line fits one word of a filter; one that names no column is looked for in all of the line."""
    if len(word) > 1 and word.startswith("!"):
        excluded = _test(word[1:], columns)
        return lambda line: not excluded(line)
    name, colon, value = word.partition(":")
    column = next((c for c in columns if name in {c.id, c.title.casefold().replace(" ", "-")}), None)
    if column is not None and colon and value:
        render = column.render
        return lambda line: value in "".join(text for text, _ in render(line, WIDE)).casefold()
    return lambda line: word in line.words.casefold()


# -- cells -----------------------------------------------------------------------------------------


def known(value: float | None, *, lowest: float = -1) -> float:
    """For sorting: the unknown is below everything."""
    return lowest if value is None else value


def text_of(of: Callable[[Any], str | None], ink: Ink = Ink.TEXT) -> Render:
    return lambda line, _: ((visible(of(line) or ""), ink),)


def sign_of(line: Line, _: int = 0) -> Sequence[Piece]:
    """The tone; what can't send has its own sign."""
    if isinstance(line, InboxLine) and line.inbox.status == "resting":
        return ((STOPPED, Ink.STOPPED),)
    return ((SIGNS[line.tone], TONE_INK[line.tone]),)


def score_bar(score: float | None, width: int, thresholds: Thresholds) -> Sequence[Piece]:
    """A bar and the number, with its decimal where it has one: 59.7 is not 60, and 64.1 not bad."""
    tone, _, _ = by_score(score, thresholds=thresholds)
    number = "–" if score is None else f"{score:g}" if score < 100 else "100"
    bar_pieces = bar(None if score is None else score / 100, width - 5, TONE_INK[tone])
    ink = Ink.UNKNOWN if score is None else Ink.TEXT if tone is Tone.GOOD else TONE_INK[tone]
    return (*bar_pieces, (f"{number[:4]:>5}", ink))


def _address(line: InboxLine, width: int) -> Sequence[Piece]:
    """In a narrow column the local part is cut, the domain stays."""
    name, at, domain = visible(line.inbox.email).rpartition("@")
    room = max(3, width - cell_len(at + domain))
    return (*fit([(name, Ink.TEXT)], min(room, cell_len(name))), (at + domain, Ink.MUTED))


def _inbox_status(line: InboxLine, _: int) -> Sequence[Piece]:
    status = line.inbox.status or "unknown"
    signs = {"active": ("●", Ink.TEXT), "warming": (WARMING, Ink.ACCENT), "resting": (RESTING, Ink.MUTED)}
    sign, ink = signs.get(status, ("?", Ink.UNKNOWN))
    return ((f"{sign} {visible(status)}", ink),)


TREND_FROM, TREND_TO = 40.0, 100.0
"""The scale of every trend: two inboxes of one health look the same."""


def _trend(line: InboxLine, width: int) -> Sequence[Piece]:
    """Health, each sample in the ink of its threshold."""
    shown = line.trend[-width:]
    if len(shown) < 2:
        return ((REST * width, Ink.FAINT),)
    return tuple((BLOCKS[_level(value)], _trend_ink(value, line.thresholds)) for value in shown)


def _level(value: float) -> int:
    share = (value - TREND_FROM) / (TREND_TO - TREND_FROM)
    return min(len(BLOCKS) - 2, max(0, int(share * (len(BLOCKS) - 1))))


def _trend_ink(value: float, thresholds: Thresholds) -> Ink:
    tone, _, _ = by_score(value, thresholds=thresholds)
    return Ink.MUTED if tone is Tone.GOOD else TONE_INK[tone]


def _reason(line: InboxLine, _: int) -> Sequence[Piece]:
    return ((visible("; ".join(line.verdict.reasons)), TONE_INK[line.tone]),)


Counted = InboxLine | SequenceLine | StatsLine


def _rate(column: str, title: str, name: str, *, rank: int = 0) -> Column:
    """A count of the stats as a share of the sends, with its margin; a rough one is dimmed."""

    def of(line: Counted) -> float | None:
        return totals.rate(getattr(line.stats, name), line.stats.sends) if line.stats else None

    def render(line: Counted, _: int) -> Sequence[Piece]:
        share, sends = of(line), (line.stats.sends if line.stats else None) or 0
        if share is None or sends < evidence.LEAST_SENDS:
            return ((show_rate(None) if share is None else evidence.TOO_FEW, Ink.MUTED),)
        found = evidence.rate_of(getattr(line.stats, name), sends)
        margin = f" ±{found.margin_points}" if found and found.margin_points else ""
        ink = Ink.MUTED if found is None or found.is_rough else Ink.TEXT
        return ((show_rate(share), ink), (margin, Ink.MUTED))

    width = max(12, len(title))
    return Column(column, title, width, render, sort=lambda line: known(of(line)), right=True, rank=rank)


def _count(column: str, title: str, name: str, *, width: int = 7, rank: int = 0) -> Column:
    return number(
        column, title, lambda line: getattr(line.stats, name) if line.stats else None, width=width, rank=rank
    )


def number(
    column: str, title: str, of: Callable[[Any], int | None], *, width: int = 5, rank: int = 0
) -> Column:
    def render(line: Any, _: int) -> Sequence[Piece]:
        return ((show_count(of(line)), Ink.MUTED if of(line) is None else Ink.TEXT),)

    return Column(column, title, width, render, sort=lambda line: known(of(line)), right=True, rank=rank)


INBOXES = (
    Column(SIGN, "", 1, sign_of),
    Column("inbox", "Inbox", 24, _address, least=12, sort=lambda x: x.inbox.email, grow=2),
    Column(
        "health",
        "Health",
        11,
        lambda x, width: score_bar(x.inbox.health_score, width, x.thresholds),
        sort=lambda x: known(x.inbox.health_score),
        right=True,
    ),
    Column("trend", "Trend", 8, _trend, rank=4),
    Column("status", "Status", 9, _inbox_status, sort=lambda x: x.inbox.status or ""),
    number("limit", "Limit", lambda x: x.inbox.daily_limit, rank=1),
    _count("sent", "Sent", "sends", rank=5),
    _rate("reply-rate", "Reply rate", "replies", rank=3),
    Column("why", "Why", 24, _reason, rank=6, grow=1),
)


def _sequence_status(line: SequenceLine, _: int) -> Sequence[Piece]:
    if line.pending:
        return ((f"{WARMING} {line.pending}", Ink.ACCENT),)
    status = line.sequence.status
    signs = {"active": (RUNNING, Ink.GOOD), "paused": (STOPPED, Ink.WARN)}
    sign, ink = signs.get(status or "", ("?", Ink.UNKNOWN))
    return ((f"{sign} ", ink), (visible(status or "unknown"), Ink.TEXT if status == "active" else ink))


def _sequence_name(line: SequenceLine, _: int) -> Sequence[Piece]:
    name: Piece = (
        visible(line.sequence.label),
        Ink.MUTED if line.sequence.status == "paused" else Ink.TEXT,
    )
    return (name, (f" {line.key}", Ink.MUTED)) if line.is_namesake else (name,)


def _pause_end(line: SequenceLine, _: int) -> Sequence[Piece]:
    if line.pause is None:
        return ()
    by = f" @{visible(line.pause.by)}" if line.pause.by else ""
    return ((f"{local(moment(line.pause.until)):%d %b %H:%M}", Ink.WARN), (by, Ink.MUTED))


SEQUENCES = (
    Column("status", "Status", 11, _sequence_status, sort=lambda x: x.sequence.status or ""),
    Column("sequence", "Sequence", 26, _sequence_name, least=12, sort=lambda x: x.label.casefold(), grow=1),
    Column("until", "Until", 16, _pause_end, least=5, rank=1),
    number("steps", "Steps", lambda x: x.sequence.steps, rank=5),
    _count("sent", "Sent", "sends"),
    _rate("reply-rate", "Reply rate", "replies", rank=2),
    _rate("positive-rate", "Positive rate", "positive_replies", rank=3),
    _count("meetings", "Meetings", "meetings", width=8, rank=4),
)
STATS_BY: Mapping[str, Sequence[Column]] = {
    grouping: (
        Column(
            "group",
            grouping.capitalize(),
            16,
            text_of(lambda x: x.name),
            least=12,
            sort=lambda x: x.name.casefold(),
            grow=1,
        ),
        _count("sent", "Sent", "sends"),
        _count("replies", "Replies", "replies", rank=5),
        _rate("reply-rate", "Reply rate", "replies"),
        _rate("positive-rate", "Positive rate", "positive_replies", rank=1),
        _count("meetings", "Meetings", "meetings", width=8, rank=3),
    )
    for grouping in GROUPINGS
}
"""The columns of counts, by what they are grouped by."""
LEADS = (
    Column("lead", "Lead", 20, text_of(lambda x: x.name), grow=1),
    Column("company", "Company", 20, text_of(lambda x: x.lead.company, Ink.MUTED), grow=1),
    Column("email", "Email", 30, text_of(lambda x: x.lead.email, Ink.MUTED), grow=1),
)
