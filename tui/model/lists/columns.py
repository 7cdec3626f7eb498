"""The columns of the dashboard's lists: cell contents and sort keys. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from math import ceil
from types import MappingProxyType
from typing import Any

from rich.cells import cell_len, set_cell_size

from shared.api.models import Lead
from shared.api.words import GROUPINGS
from shared.domain import evidence, totals
from shared.domain.card import Tone
from shared.domain.health import Thresholds, by_score
from shared.domain.local_zone import local
from shared.text.formats import show_count, show_rate
from shared.text.sanitize import visible
from tui.model.lists.lines import ChangeLine, DomainLine, InboxLine, LeadLine, Line, SequenceLine, StatsLine
from tui.theme import drawing
from tui.theme.palette import TONE_INK, Glyphs, Ink, Piece

CellRenderer = Callable[[Any, int, Glyphs], Sequence[Piece]]
"""A line, the width in cells, and the signs to use -> pieces of text."""


@dataclass(frozen=True, slots=True)
class Column:
    """One column: `width` in cells, `grow` for the ones that share what is left, `rank` for who leaves first."""

    id: str
    """What filters and orders name it by, whatever its title says; the same in every list."""
    title: str
    width: int
    render: CellRenderer
    _: KW_ONLY
    sort: Callable[[Any], Any] | None = None
    least: int = 0
    """The width it can do with when all that could leave has left."""
    rank: int = 0
    """0 always stays; the highest leaves first when the room is short."""
    grow: int = 0
    wide: int = 0
    """The width at which it says more, where half of what is left suffices."""
    right: bool = False


@dataclass(frozen=True, slots=True)
class Placed:
    """A column and the width it got."""

    column: Column
    width: int


SIGN = "sign"
"""The id of the column of signs, which always stands first."""
GAP = 2


MEASURED, WIDE = 40, 200
"""Lines whose cells are measured, those that are seen first, with every poll; cells in which nothing that people look for is cut."""


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
    for number, column in enumerate(kept):
        if column.wide > column.width and 2 * (column.wide - column.width) <= room - _needed(kept):
            kept[number] = replace(column, width=column.wide)
    spare = max(0, room - _needed(kept))
    wants = {c.id: max(0, needs.get(c.id, 0) - c.width) for c in kept if c.grow or c.least}
    for number, (name, want) in enumerate(sorted(wants.items(), key=lambda item: item[1])):
        wants[name] = min(want, spare // (len(wants) - number))
        spare -= wants[name]
    growers = sum(column.grow for column in kept)
    return tuple(
        Placed(c, c.width + wants.get(c.id, 0) + (spare * c.grow // growers if growers else 0)) for c in kept
    )


def needs_of(columns: Sequence[Column], lines: Sequence[Line], *, glyphs: Glyphs) -> dict[str, int]:
    """The cells that the longest content of each flexible column takes; without those that fill any width."""
    flexible = [column for column in columns if column.grow or column.least]
    needs = {column.id: cell_len(column.title) for column in flexible}
    for line in lines[:MEASURED]:
        for column in flexible:
            pieces = column.render(line, WIDE, glyphs)
            needs[column.id] = max(needs[column.id], sum(cell_len(text) for text, _ in pieces))
    return {name: cells for name, cells in needs.items() if cells < WIDE}


def side_by_side(
    placed: Sequence[Placed], cell: Callable[[Placed], Sequence[Piece]], *, more: str = ""
) -> list[Piece]:
    """What `cell` says for each column, each in exactly its width."""
    pieces: list[Piece] = []
    for number, one in enumerate(placed):
        if number:
            pieces.append((" " * GAP, Ink.TEXT))
        pieces += drawing.fit(cell(one), one.width, right=one.column.right, more=more)
    return pieces


def line_pieces(line: Line, placed: Sequence[Placed], *, glyphs: Glyphs) -> list[Piece]:
    """A line of a list, on the screen and on paper."""
    return side_by_side(placed, lambda p: p.column.render(line, p.width, glyphs), more=glyphs.more)


def _needed(columns: Sequence[Column]) -> int:
    return sum(column.width for column in columns) + GAP * (len(columns) - 1)


def known(value: float | None, *, lowest: float = -1) -> float:
    return lowest if value is None else value


def _text(of: Callable[[Any], str | None], ink: Ink = Ink.TEXT) -> CellRenderer:
    return lambda line, _, __: ((visible(of(line) or ""), ink),)


def _sign(line: Any, _: int, glyphs: Glyphs) -> Sequence[Piece]:
    """The tone; what can't send has its own sign."""
    is_stopped = (isinstance(line, InboxLine) and line.inbox.status == "resting") or (
        isinstance(line, DomainLine) and line.domain.paused
    )
    return ((glyphs.paused, Ink.STOPPED),) if is_stopped else ((glyphs.of(line.tone), TONE_INK[line.tone]),)


def _address(line: InboxLine, _: int, __: Glyphs) -> Sequence[Piece]:
    local, at, domain = visible(line.inbox.email).rpartition("@")
    return ((local, Ink.TEXT), (at + domain, Ink.MUTED))


def _score_bar(score: float | None, width: int, glyphs: Glyphs, *, ink: Ink, number: Ink) -> Sequence[Piece]:
    """A bar and the number, rounded down so that 79.6 is not shown as well."""
    bar = drawing.bar(None if score is None else score / 100, width - 4, ink=ink, glyphs=glyphs)
    return (*bar, ("   –", Ink.UNKNOWN) if score is None else (f"{int(score):4}", number))


def _health(line: InboxLine, width: int, glyphs: Glyphs) -> Sequence[Piece]:
    """In the ink of the score itself: the sign and the status tell what can't send."""
    tone, _, _ = by_score(line.inbox.health_score, thresholds=line.thresholds)
    number = Ink.TEXT if tone is Tone.GOOD else TONE_INK[tone]
    return _score_bar(line.inbox.health_score, width, glyphs, ink=TONE_INK[tone], number=number)


def _inbox_status(line: InboxLine, _: int, glyphs: Glyphs) -> Sequence[Piece]:
    status = line.inbox.status
    sign = {"active": glyphs.active, "warming": glyphs.warming, "resting": glyphs.resting}.get(status or "")
    if sign is None:
        return ((f"{glyphs.unknown} ", Ink.UNKNOWN), (visible(status or "unknown"), Ink.UNKNOWN))
    ink = {"active": Ink.TEXT, "warming": Ink.ACCENT}.get(status or "", Ink.MUTED)
    return ((f"{sign} ", ink), (str(status), ink))


TREND_FROM, TREND_TO = 40.0, 100.0
"""The scale of every trend: two inboxes of one health look the same."""
LEVELS = "▁▂▃▄▅▆▇"
"""None is as high as the line, so that the trends of neighbours don't touch."""
ASCII_LEVELS = "_.-'"


def _trend(line: InboxLine, width: int, glyphs: Glyphs) -> Sequence[Piece]:
    """Health, each sample in the ink of its threshold."""
    shown = line.trend[-width:]
    if len(shown) < 2:
        return ((glyphs.rest * width, Ink.FAINT),)
    levels = ASCII_LEVELS if glyphs.ascii else LEVELS
    return tuple((levels[_level(value, len(levels))], _trend_ink(value, line.thresholds)) for value in shown)


def _level(value: float, levels: int) -> int:
    share = (value - TREND_FROM) / (TREND_TO - TREND_FROM)
    return min(levels - 1, max(0, int(share * levels)))


def _trend_ink(value: float, thresholds: Thresholds) -> Ink:
    tone, _, _ = by_score(value, thresholds=thresholds)
    return Ink.MUTED if tone is Tone.GOOD else TONE_INK[tone]


def _reason(line: InboxLine, _: int, __: Glyphs) -> Sequence[Piece]:
    reasons = "; ".join(line.verdict.reasons)
    return ((visible(reasons), TONE_INK[line.tone] if line.tone is not Tone.INFO else Ink.MUTED),)


RATE = 6
"""Cells of `12.3% `, or of `100.0%`."""
MARGIN = 6
"""Cells of ` ±12.3`."""


def _rate(column: str, title: str, name: str, *, width: int = 7, rank: int = 0) -> Column:
    """A count of the stats as a share of the sends, with its margin; a wide margin stays in a narrow column too."""

    def of(line: InboxLine | SequenceLine | StatsLine) -> float | None:
        return totals.rate(getattr(line.stats, name), line.stats.sends) if line.stats else None

    def render(line: InboxLine | SequenceLine | StatsLine, room: int, glyphs: Glyphs) -> Sequence[Piece]:
        share, sends = of(line), (line.stats.sends if line.stats else None) or 0
        if share is None or sends < evidence.LEAST_SENDS:
            return ((show_rate(None) if share is None else evidence.TOO_FEW, Ink.MUTED),)
        found = evidence.rate_of(getattr(line.stats, name), sends)
        margin = (
            f"{'+-' if glyphs.ascii else '±'}{found.margin_points}" if found and found.margin_points else ""
        )
        is_rough = found is None or found.is_rough
        if room >= RATE + MARGIN:
            shown = f" {margin}" if margin else ""
            return (
                (show_rate(share), Ink.MUTED if is_rough else Ink.TEXT),
                (shown.ljust(MARGIN), Ink.MUTED),
            )
        if not is_rough:
            return ((show_rate(share), Ink.TEXT),)
        forms = (f"{show_rate(share)} {margin}", f"{show_rate(share)}{margin}", show_rate(share))
        return ((next((form for form in forms if len(form) <= room), forms[-1]), Ink.MUTED),)

    wide = max(width, RATE + MARGIN)
    return Column(
        column, title, width, render, sort=lambda line: known(of(line)), right=True, rank=rank, wide=wide
    )


def _count(column: str, title: str, name: str, *, width: int = 7, rank: int = 0) -> Column:
    """A count of the stats."""

    def of(line: InboxLine | SequenceLine | StatsLine) -> int | None:
        return getattr(line.stats, name) if line.stats else None

    return _number(column, title, of, width=width, rank=rank, missing=Ink.MUTED)


def _number(
    column: str,
    title: str,
    of: Callable[[Any], int | None],
    *,
    width: int = 5,
    rank: int = 0,
    missing: Ink = Ink.UNKNOWN,
) -> Column:
    def render(line: Any, _: int, __: Glyphs) -> Sequence[Piece]:
        return ((show_count(of(line)), missing if of(line) is None else Ink.TEXT),)

    return Column(column, title, width, render, sort=lambda line: known(of(line)), right=True, rank=rank)


def _domain_key(line: InboxLine) -> tuple[str, str]:
    return line.inbox.domain, line.inbox.email


INBOXES = (
    Column(SIGN, "", 1, _sign),
    Column("inbox", "Inbox", 24, _address, least=12, sort=_domain_key, grow=2),
    Column("health", "Health", 11, _health, sort=lambda x: known(x.inbox.health_score), right=True),
    Column("trend", "Trend", 6, _trend, rank=4),
    Column("status", "Status", 9, _inbox_status, sort=lambda x: x.inbox.status or ""),
    _number("limit", "Limit", lambda x: x.inbox.daily_limit, rank=1),
    _count("sent", "Sent", "sends", rank=5),
    _rate("reply-rate", "Reply rate", "replies", width=10, rank=3),
    Column("why", "Why", 24, _reason, rank=6, grow=1),
)


def _sequence_status(line: SequenceLine, _: int, glyphs: Glyphs) -> Sequence[Piece]:
    if line.pending:
        return ((f"{glyphs.warming} ", Ink.ACCENT), (line.pending, Ink.ACCENT))
    status = line.sequence.status
    if status == "active":
        return ((f"{glyphs.running} ", Ink.GOOD), ("active", Ink.TEXT))
    if status == "paused":
        return ((f"{glyphs.paused} ", Ink.WARN), ("paused", Ink.WARN))
    return ((f"{glyphs.unknown} ", Ink.UNKNOWN), (visible(status or "unknown"), Ink.UNKNOWN))


def _sequence_name(line: SequenceLine, _: int, __: Glyphs) -> Sequence[Piece]:
    return ((visible(line.sequence.label), Ink.MUTED if line.sequence.status == "paused" else Ink.TEXT),)


SEQUENCES = (
    Column("status", "Status", 10, _sequence_status, sort=lambda x: x.sequence.status or ""),
    Column(
        "sequence",
        "Sequence",
        26,
        _sequence_name,
        least=12,
        sort=lambda x: x.sequence.label.casefold(),
        grow=1,
    ),
    _number("steps", "Steps", lambda x: x.sequence.steps, rank=4),
    _count("sent", "Sent", "sends"),
    _rate("reply-rate", "Reply rate", "replies", width=10, rank=2),
    _rate("positive-rate", "Positive rate", "positive_replies", width=13, rank=3),
    _count("meetings", "Meetings", "meetings", width=8, rank=5),
)


def _reply_bar(line: StatsLine, width: int, glyphs: Glyphs) -> Sequence[Piece]:
    fraction = line.reply_rate
    return drawing.bar(None if fraction is None else fraction * 5, width, ink=Ink.GOOD, glyphs=glyphs)


STATS_BY: Mapping[str, Sequence[Column]] = {
    grouping: (
        Column(
            "group",
            grouping.capitalize(),
            16,
            _text(lambda x: x.name),
            least=12,
            sort=lambda x: x.name.casefold(),
            grow=1,
        ),
        _count("sent", "Sent", "sends"),
        _count("replies", "Replies", "replies", rank=6),
        Column("reply-bar", "", 8, _reply_bar, rank=5),
        _rate("reply-rate", "Reply rate", "replies", width=10),
        _rate("positive-rate", "Positive rate", "positive_replies", width=13, rank=1),
        _count("meetings", "Meetings", "meetings", width=8, rank=3),
        _rate("meeting-rate", "Meeting rate", "meetings", width=12, rank=4),
    )
    for grouping in GROUPINGS
}
"""The columns of counts, by what they are grouped by."""


def _lead_text(
    column: str, title: str, width: int, of: Callable[[Lead], str | None], *, rank: int = 0
) -> Column:
    render = _text(lambda x: of(x.lead), Ink.MUTED)
    return Column(column, title, width, render, sort=lambda x: of(x.lead) or "", grow=1, rank=rank)


INTERESTED = (
    Column("lead", "Lead", 16, _text(lambda x: x.name), sort=lambda x: x.name.casefold(), grow=1),
    _lead_text("company", "Company", 14, lambda lead: lead.company),
    _lead_text("email", "Email", 24, lambda lead: lead.email, rank=1),
)


def _replied(line: LeadLine, _: int, __: Glyphs) -> Sequence[Piece]:
    if line.reply is None:
        return (("–", Ink.MUTED),)
    return ((local(line.reply.received_at).strftime("%d %b %H:%M"), Ink.TEXT),)


def _claimed(line: LeadLine, _: int, __: Glyphs) -> Sequence[Piece]:
    if line.reply is None:
        return (("–", Ink.MUTED),)
    by = line.reply.claimed_by
    return ((visible(by), Ink.TEXT) if by else ("unclaimed", Ink.WARN),)


RECORDED = (
    Column(
        "replied", "Replied", 12, _replied, sort=lambda x: x.reply.received_at.timestamp() if x.reply else 0.0
    ),
    INTERESTED[0],
    Column(
        "claimed-by",
        "Claimed by",
        12,
        _claimed,
        least=9,
        sort=lambda x: x.reply.claimed_by if x.reply else "",
    ),
    Column(
        "sequence",
        "Sequence",
        16,
        _text(lambda x: x.reply.sequence if x.reply else "", Ink.MUTED),
        least=10,
        rank=2,
        grow=1,
    ),
    *(replace(column, rank=column.rank + 3) for column in INTERESTED[1:]),
)
"""The columns of interested leads where the bot's database is shared."""


def _when(line: ChangeLine, _: int, __: Glyphs) -> Sequence[Piece]:
    return ((local(line.at).strftime("%a %H:%M"), Ink.MUTED),)


def _what(line: ChangeLine, width: int, glyphs: Glyphs) -> Sequence[Piece]:
    """The status is shown in full; if the column is narrow, the name is cut."""
    subject, text = visible(line.subject), visible(line.text)
    room = max(8, width - cell_len(text) - 1)
    if cell_len(subject) > room:
        subject = set_cell_size(subject, room - 1) + glyphs.more
    return ((subject, Ink.TEXT), (f" {text}", Ink.MUTED))


CHANGES = (
    Column(SIGN, "", 1, _sign),
    Column("at", "At", 9, _when),
    Column("what", "What", 30, _what, grow=1),
)


def _lowest(line: DomainLine, width: int, glyphs: Glyphs) -> Sequence[Piece]:
    tone, _, _ = by_score(line.domain.lowest, thresholds=line.thresholds)
    return _score_bar(line.domain.lowest, width, glyphs, ink=TONE_INK[tone], number=Ink.STRONG)


def _inboxes(column: str, title: str, name: str, ink: Ink, *, width: int = 7, rank: int = 0) -> Column:
    def render(line: DomainLine, _: int, __: Glyphs) -> Sequence[Piece]:
        number = getattr(line.domain, name)
        return ((f"{number:,}" if number else "·", ink if number else Ink.FAINT),)

    return Column(column, title, width, render, right=True, rank=rank)


DOMAINS = (
    Column(SIGN, "", 1, _sign),
    Column("domain", "Domain", 18, _text(lambda x: x.domain.domain, Ink.STRONG), least=14, grow=2),
    Column("lowest", "Lowest", 8, _lowest, least=8, right=True, grow=1),
    _inboxes("healthy", "Healthy", "healthy", Ink.GOOD, rank=3),
    _inboxes("at-risk", "At risk", "at_risk", Ink.WARN, rank=2),
    _inboxes("bad", "Bad", "bad", Ink.BAD, width=4),
    _inboxes("resting", "Resting", "resting", Ink.STOPPED, rank=1),
    _inboxes("unknown", "Unknown", "unknown", Ink.UNKNOWN, rank=4),
    Column("why", "Why", 30, _text(lambda x: "; ".join(x.domain.reasons), Ink.MUTED), rank=5, grow=2),
)
LISTS: Mapping[str, Sequence[Column]] = {
    "inboxes": INBOXES,
    "domains": DOMAINS,
    "sequences": SEQUENCES,
    "interested": INTERESTED,
    "changes": CHANGES,
}
