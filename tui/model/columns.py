"""The columns of the dashboard's lists: how a line is said in each, and what sorts by it. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from shared.domain import reports
from shared.domain.card import Tone
from shared.text import formats
from shared.text.formats import show_count, show_rate
from shared.text.sanitize import visible
from tui.model.lines import ChangeLine, DomainLine, InboxLine, SequenceLine, StatsLine
from tui.theme import text_bars
from tui.theme.palette import TONE_INK, Glyphs, Ink, Piece

CellRenderer = Callable[[Any, int, Glyphs], Sequence[Piece]]
"""A line, the width in cells, and the signs to use -> pieces of text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One column: `width` in cells, `grow` for the ones that share what is left, `rank` for who leaves first."""

    title: str
    width: int
    render: CellRenderer
    sort: Callable[[Any], Any] | None = None
    least: int = 0
    """The width it can do with when all that could leave has left."""
    rank: int = 0
    """0 always stays; the highest leaves first when the room is short."""
    grow: int = 0
    right: bool = False


@dataclass(frozen=True, slots=True)
class Placed:
    """A column and the width it got."""

    column: Column
    width: int


GAP = 2


def place(columns: Sequence[Column], room: int) -> tuple[Placed, ...]:
    """The columns that fit into so many cells, with their widths; those that grow share what is left."""
    kept = list(columns)
    while len(kept) > 1 and _needed(kept) > room:
        last = max(kept, key=lambda column: column.rank)
        if not last.rank:
            break
        kept.remove(last)
    if (short := _needed(kept) - room) > 0:
        kept = [replace(c, width=max(c.least, c.width - short)) if c.least else c for c in kept]
    spare, growers = max(0, room - _needed(kept)), sum(column.grow for column in kept)
    return tuple(Placed(c, c.width + (spare * c.grow // growers if growers else 0)) for c in kept)


def _needed(columns: Sequence[Column]) -> int:
    return sum(column.width for column in columns) + GAP * (len(columns) - 1)


def known(value: float | None, *, lowest: float = -1) -> float:
    return lowest if value is None else value


def _text(of: Callable[[Any], str | None], ink: Ink = Ink.TEXT) -> CellRenderer:
    return lambda line, _, __: ((visible(of(line) or ""), ink),)


def _number(of: Callable[[Any], float | None]) -> CellRenderer:
    def render(line: Any, _: int, __: Glyphs) -> Sequence[Piece]:
        value = of(line)
        return ((show_count(value), Ink.UNKNOWN if value is None else Ink.TEXT),)

    return render


def _sign(line: Any, _: int, glyphs: Glyphs) -> Sequence[Piece]:
    return ((glyphs.of(line.tone), TONE_INK[line.tone]),)


def _address(line: InboxLine, _: int, __: Glyphs) -> Sequence[Piece]:
    local, at, domain = visible(line.inbox.email).rpartition("@")
    return ((local, Ink.TEXT), (at + domain, Ink.MUTED))


def _health(line: InboxLine, width: int, glyphs: Glyphs) -> Sequence[Piece]:
    """A bar and the number, rounded down so that 79.6 is not shown as well."""
    score, ink = line.inbox.health_score, TONE_INK[line.tone]
    if score is None:
        return (*text_bars.bar(None, width - 4, ink=ink, glyphs=glyphs), ("   –", Ink.UNKNOWN))
    number = (f"{int(score):4}", Ink.TEXT if line.tone is Tone.GOOD else ink)
    return (*text_bars.bar(score / 100, width - 4, ink=ink, glyphs=glyphs), number)


def _inbox_status(line: InboxLine, _: int, glyphs: Glyphs) -> Sequence[Piece]:
    status = line.inbox.status
    sign = {"active": glyphs.active, "warming": glyphs.warming, "resting": glyphs.resting}.get(status or "")
    if sign is None:
        return ((f"{glyphs.unknown} ", Ink.UNKNOWN), (visible(status or "unknown"), Ink.UNKNOWN))
    ink = {"active": Ink.TEXT, "warming": Ink.ACCENT}.get(status or "", Ink.MUTED)
    return ((f"{sign} ", ink), (str(status), ink))


def _trend(line: InboxLine, width: int, glyphs: Glyphs) -> Sequence[Piece]:
    shown = line.trend[-width:]
    if len(shown) < 2:
        return ()
    return ((_spark(shown, glyphs), TONE_INK[line.tone] if line.tone is not Tone.GOOD else Ink.MUTED),)


def _spark(values: Sequence[float], glyphs: Glyphs) -> str:
    if not glyphs.ascii:
        return formats.sparkline(values)
    low, high = min(values), max(values)
    return "".join("_.-'"[min(3, int((v - low) / (high - low) * 4))] if high > low else "." for v in values)


def _reason(line: InboxLine, _: int, __: Glyphs) -> Sequence[Piece]:
    said = "; ".join(line.verdict.reasons)
    return ((visible(said), TONE_INK[line.tone] if line.tone is not Tone.INFO else Ink.MUTED),)


def _rate_of(name: str) -> CellRenderer:
    def render(line: InboxLine | SequenceLine, _: int, __: Glyphs) -> Sequence[Piece]:
        stats = line.stats
        found = reports.rate(getattr(stats, name), stats.sends) if stats else None
        return ((show_rate(found), Ink.FAINT if found is None else Ink.TEXT),)

    return render


def _count_of(name: str) -> CellRenderer:
    def render(line: SequenceLine | StatsLine | InboxLine, _: int, __: Glyphs) -> Sequence[Piece]:
        value = getattr(line.stats, name) if line.stats else None
        return ((show_count(value), Ink.FAINT if value is None else Ink.TEXT),)

    return render


def _by_count(name: str) -> Callable[[Any], float]:
    return lambda line: known(getattr(line.stats, name) if line.stats else None)


def _by_rate(name: str) -> Callable[[Any], float]:
    return lambda line: known(
        reports.rate(getattr(line.stats, name), line.stats.sends) if line.stats else None
    )


def _domain_key(line: InboxLine) -> tuple[str, str]:
    return line.inbox.domain, line.inbox.email


INBOXES = (
    Column(title="", width=1, render=_sign),
    Column(title="Inbox", width=24, least=12, render=_address, sort=_domain_key, grow=2),
    Column(title="Health", width=11, render=_health, sort=lambda x: known(x.inbox.health_score), right=True),
    Column(title="Lately", width=6, render=_trend, rank=4),
    Column(title="Status", width=9, render=_inbox_status, sort=lambda x: x.inbox.status or ""),
    Column(
        title="Limit",
        width=5,
        render=_number(lambda x: x.inbox.daily_limit),
        sort=lambda x: known(x.inbox.daily_limit),
        right=True,
        rank=1,
    ),
    Column(title="Sent", width=7, render=_count_of("sends"), sort=_by_count("sends"), right=True, rank=5),
    Column(
        title="Replies", width=7, render=_rate_of("replies"), sort=_by_rate("replies"), right=True, rank=3
    ),
    Column(title="Why", width=24, render=_reason, rank=6, grow=1),
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
    Column(title="Status", width=10, render=_sequence_status, sort=lambda x: x.sequence.status or ""),
    Column(
        title="Sequence", width=20, render=_sequence_name, sort=lambda x: x.sequence.label.casefold(), grow=1
    ),
    Column(
        title="Steps",
        width=5,
        render=_number(lambda x: x.sequence.steps),
        sort=lambda x: known(x.sequence.steps),
        right=True,
    ),
    Column(title="Sent", width=7, render=_count_of("sends"), sort=_by_count("sends"), right=True, rank=1),
    Column(
        title="Replies", width=7, render=_rate_of("replies"), sort=_by_rate("replies"), right=True, rank=2
    ),
    Column(
        title="Positive",
        width=8,
        render=_rate_of("positive_replies"),
        sort=_by_rate("positive_replies"),
        right=True,
        rank=3,
    ),
)


def _reply_bar(line: StatsLine, width: int, glyphs: Glyphs) -> Sequence[Piece]:
    fraction = line.reply_rate
    return text_bars.bar(None if fraction is None else fraction * 5, width, ink=Ink.GOOD, glyphs=glyphs)


STATS = (
    Column(
        title="Group",
        width=22,
        least=12,
        render=_text(lambda x: x.name),
        sort=lambda x: x.name.casefold(),
        grow=1,
    ),
    Column(title="Sent", width=7, render=_count_of("sends"), sort=_by_count("sends"), right=True),
    Column(
        title="Repl.", width=6, render=_count_of("replies"), sort=_by_count("replies"), right=True, rank=6
    ),
    Column(title="", width=8, render=_reply_bar, rank=5),
    Column(title="Replies", width=7, render=_rate_of("replies"), sort=_by_rate("replies"), right=True),
    Column(
        title="Positive",
        width=8,
        render=_rate_of("positive_replies"),
        sort=_by_rate("positive_replies"),
        right=True,
        rank=1,
    ),
    Column(
        title="Meet.", width=5, render=_count_of("meetings"), sort=_by_count("meetings"), right=True, rank=3
    ),
    Column(title="Rate", width=6, render=_rate_of("meetings"), sort=_by_rate("meetings"), right=True, rank=4),
)


INTERESTED = (
    Column(title="Lead", width=16, render=_text(lambda x: x.name), sort=lambda x: x.name.casefold(), grow=1),
    Column(
        title="Company",
        width=14,
        render=_text(lambda x: x.lead.company, Ink.MUTED),
        sort=lambda x: x.lead.company or "",
        grow=1,
    ),
    Column(
        title="Address",
        width=24,
        render=_text(lambda x: x.lead.email, Ink.MUTED),
        sort=lambda x: x.lead.email or "",
        grow=1,
        rank=1,
    ),
)


def _when(line: ChangeLine, _: int, __: Glyphs) -> Sequence[Piece]:
    return ((line.at.astimezone().strftime("%a %H:%M"), Ink.MUTED),)


def _what(line: ChangeLine, _: int, __: Glyphs) -> Sequence[Piece]:
    return ((visible(line.subject), Ink.TEXT), (f" {visible(line.text)}", Ink.MUTED))


CHANGES = (
    Column(title="", width=1, render=_sign),
    Column(title="At", width=9, render=_when),
    Column(title="What", width=30, render=_what, grow=1),
)


def _lowest(line: DomainLine, width: int, glyphs: Glyphs) -> Sequence[Piece]:
    lowest, ink = line.domain.lowest, TONE_INK[line.tone]
    if lowest is None:
        return (*text_bars.bar(None, width - 4, ink=ink, glyphs=glyphs), ("   –", Ink.UNKNOWN))
    bar = text_bars.bar(lowest / 100, width - 4, ink=ink, glyphs=glyphs)
    return (*bar, (f"{int(lowest):4}", Ink.STRONG))


def _standing_of(name: str, ink: Ink) -> CellRenderer:
    def render(line: DomainLine, _: int, __: Glyphs) -> Sequence[Piece]:
        number = getattr(line.domain, name)
        return ((f"{number:,}" if number else "·", ink if number else Ink.FAINT),)

    return render


DOMAINS = (
    Column(title="", width=1, render=_sign),
    Column(title="Domain", width=24, least=14, render=_text(lambda x: x.domain.domain, Ink.STRONG), grow=1),
    Column(title="Lowest", width=24, least=12, render=_lowest, right=True, grow=1),
    Column(title="Healthy", width=7, render=_standing_of("healthy", Ink.GOOD), right=True),
    Column(title="At risk", width=7, render=_standing_of("at_risk", Ink.WARN), right=True),
    Column(title="Resting", width=7, render=_standing_of("resting", Ink.MUTED), right=True, rank=1),
    Column(title="Unknown", width=7, render=_standing_of("unknown", Ink.UNKNOWN), right=True, rank=1),
    Column(
        title="Why", width=30, render=_text(lambda x: "; ".join(x.domain.reasons), Ink.MUTED), rank=2, grow=1
    ),
)
UNCHARTED = tuple(column for column in INBOXES if column.render is not _trend)
"""The inboxes' columns while there is too little history for charts."""
LISTS: Mapping[str, Sequence[Column]] = {
    "inboxes": INBOXES,
    "domains": DOMAINS,
    "sequences": SEQUENCES,
    "stats": STATS,
    "interested": INTERESTED,
    "changes": CHANGES,
}
