"""What a page tells: of a domain, an inbox, a sequence or a step, as they are on the board. Pure.

A page is named by a spot and worked out anew with every board, so that it never shows what is no longer so.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from shared.domain import reports
from shared.domain.card import Card, Fact, Tone
from shared.text import formats
from tui.model import details
from tui.model.board import Board
from tui.model.columns import DOMAINS, INBOXES, STATS, Column
from tui.model.lines import ChangeLine, DomainLine, InboxLine, Line, SequenceLine, StatsLine

ALONE = "The service counts by one thing at a time: steps and variants are those of the whole workspace."


@dataclass(frozen=True, slots=True, kw_only=True)
class PageRef:
    """What a page is about: its kind, and the key of the line."""

    kind: str
    key: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """A value with a history: `of` is another one that it is a share of."""

    title: str
    kind: str
    metric: str
    of: str = ""

    @property
    def is_health(self) -> bool:
        return self.metric == "health_score"


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """A list on a page; `source` names the stamp of the board that tells its age."""

    title: str
    columns: Sequence[Column]
    lines: Sequence[Line]
    source: str
    empty: str
    aside: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """Everything on a page but its plot, which is read from the history."""

    name: str
    card: Card
    metrics: tuple[Metric, ...] = ()
    keys: tuple[str, ...] = ()
    """Under which of these the history may have it: an id, or a name."""
    lists: tuple[Listing, ...] = ()
    inbox: InboxLine | None = None


HEALTH = {
    "inbox": Metric(title="Health", kind="inbox", metric="health_score"),
    "domain": Metric(title="Lowest health", kind="domain", metric="health_score"),
}
SEQUENCE = (
    Metric(title="Positive replies a message", kind="sequence", metric="positive_replies", of="sends"),
    Metric(title="Replies a message", kind="sequence", metric="replies", of="sends"),
    Metric(title="Sends in 30 days", kind="sequence", metric="sends"),
    Metric(title="Replies in 30 days", kind="sequence", metric="replies"),
)


def page_ref_of(line: Line, *, grouping: str = "") -> PageRef | None:
    """Where a line leads; None where a card says all there is. `grouping` is what counts are by."""
    if isinstance(line, StatsLine):
        return PageRef(kind=grouping, key=line.key) if grouping in {"sequence", "step", "inbox"} else None
    kinds = {InboxLine: "inbox", SequenceLine: "sequence", DomainLine: "domain"}
    kind = kinds.get(type(line))
    return PageRef(kind=kind, key=line.key) if kind else None


def above(ref: PageRef, *, board: Board) -> PageRef | None:
    """What a thing is part of, for those who came to it directly."""
    if ref.kind == "inbox":
        line = next((line for line in board.inboxes if line.key == ref.key), None)
        return PageRef(kind="domain", key=line.inbox.domain) if line else None
    return PageRef(kind="domains") if ref.kind == "domain" else None


def page(ref: PageRef, *, board: Board, changes: Sequence[ChangeLine]) -> Page | None:
    if ref.kind == "domains":
        return _domains(board)
    if ref.kind == "domain":
        return _domain(ref.key, board)
    if ref.kind == "inbox":
        return _inbox(ref.key, board, changes)
    return _sequence(ref.key, board, changes) if ref.kind == "sequence" else _step(ref.key, board)


def name_of(ref: PageRef, *, board: Board | None) -> str:
    """How a spot is called in the path."""
    if ref.kind == "domains":
        return "Domains"
    if ref.kind == "step":
        return f"Step {ref.key}"
    lines = board.sequences if board and ref.kind == "sequence" else ()
    return next((line.sequence.label for line in lines if line.key == ref.key), ref.key)


def _domains(board: Board) -> Page:
    lines = tuple(map(DomainLine, board.domains))
    listing = Listing(
        title="Domains", columns=DOMAINS, lines=lines, source="inboxes", empty="No inboxes are connected."
    )
    facts = (
        Fact(label="Domains", value=formats.show_count(len(lines))),
        Fact(label="Inboxes", value=formats.show_count(board.spread.all)),
    )
    card = Card(title="Domains, the worst first", tone=board.headline.tone, facts=facts)
    return Page(name="Domains", card=card, lists=(listing,))


def _domain(name: str, board: Board) -> Page | None:
    domain = next((d for d in board.domains if d.domain == name), None)
    if domain is None:
        return None
    lines = tuple(line for line in board.inboxes if line.inbox.domain == name)
    counts = reports.totals((line.stats for line in lines if line.stats), group=name)
    stood = ((word, getattr(domain, word)) for word in ("healthy", "at_risk", "resting", "unknown"))
    facts = (
        Fact(label="Inboxes", value=", ".join(f"{n:,} {word.replace('_', ' ')}" for word, n in stood if n)),
        Fact(label="Lowest health", value=details.score(domain.lowest), tone=domain.tone),
        Fact(label="Daily limit", value=_sum(line.inbox.daily_limit for line in lines)),
        *(details.counts(counts) if any(line.stats for line in lines) else ()),
    )
    listing = Listing(
        title="Its inboxes", columns=INBOXES, lines=lines, source="inboxes", empty="It has no inboxes."
    )
    card = Card(title=name, tone=domain.tone, text=domain.reasons, facts=facts)
    return Page(name=name, card=card, metrics=(HEALTH["domain"],), keys=(name,), lists=(listing,))


def _inbox(email: str, board: Board, changes: Sequence[ChangeLine]) -> Page | None:
    line = next((line for line in board.inboxes if line.key == email), None)
    if line is None:
        return None
    card = details.card_of(line, board=board, changes=changes)
    others = tuple(
        other for other in board.inboxes if other.inbox.domain == line.inbox.domain and other is not line
    )
    listing = Listing(
        title="Same domain",
        columns=INBOXES,
        lines=others,
        source="inboxes",
        empty="It is alone in its domain.",
    )
    limit = Metric(title="Daily limit", kind="inbox", metric="daily_limit")
    return Page(
        name=email,
        card=_plain(card),
        metrics=(HEALTH["inbox"], limit),
        keys=(email,),
        lists=(listing,),
        inbox=line,
    )


def _sequence(key: str, board: Board, changes: Sequence[ChangeLine]) -> Page | None:
    line = next((line for line in board.sequences if line.key == key), None)
    if line is None:
        return None
    steps = tuple(s for s in board.stats.get("step", ()) if _within(s, line.sequence.steps))
    lists = (
        _stats("Steps", steps, source="step"),
        _stats("Variants", board.stats.get("variant", ()), source="variant"),
    )
    card = details.card_of(line, board=board, changes=changes)
    group = (line.stats.group,) if line.stats else ()
    namesakes = sum(other.sequence.label == line.sequence.label for other in board.sequences)
    names = (line.sequence.label,) if namesakes == 1 else ()  # else nobody can tell whose plot it is
    keys = tuple(dict.fromkeys((*group, key, *names)))
    return Page(
        name=line.sequence.label,
        card=_plain(card, ALONE),
        metrics=SEQUENCE,
        keys=keys,
        lists=lists,
    )


def _step(key: str, board: Board) -> Page | None:
    line = next((line for line in board.stats.get("step", ()) if line.key == key), None)
    if line is None:
        return None
    others = _stats("Other steps", [s for s in board.stats["step"] if s is not line], source="step")
    variants = _stats("Variants", board.stats.get("variant", ()), source="variant")
    card = Card(title=f"Step {line.name}", text=(ALONE,), facts=details.counts(line.stats))
    return Page(name=f"Step {line.name}", card=card, lists=(others, variants))


def _stats(title: str, lines: Sequence[StatsLine], *, source: str) -> Listing:
    return Listing(
        title=title,
        columns=STATS,
        lines=lines,
        source=source,
        empty="Nothing was sent.",
        aside="of the workspace",
    )


def _within(line: StatsLine, steps: int | None) -> bool:
    return steps is None or not line.key.isdigit() or int(line.key) <= steps


def _plain(card: Card, *more: str) -> Card:
    facts = tuple(fact for fact in card.facts if fact.label != "Lately")
    return Card(title=card.title, tone=card.tone, text=(*card.text, *more), facts=facts, footer=card.footer)


def _sum(numbers: Iterable[int | None]) -> str:
    known = [number for number in numbers if number is not None]
    return formats.show_count(sum(known) if known else None)


def limit_facts(sent: int | None, limit: int | None, *, since: datetime, now: datetime) -> tuple[Fact, ...]:
    """Today's sends against the limit, and when it will be reached at this pace; nothing where they are unknown."""
    if sent is None:
        return ()
    of = f" of {limit:,}" if limit is not None else ""
    facts: tuple[Fact, ...] = (Fact(label="Sent today", value=f"{sent:,}{of}"),)
    if limit is not None and sent >= limit:
        return (*facts, Fact(label="Limit", value="reached", tone=Tone.WARN))
    at = reports.limit_reached_at(sent, limit, since=since, now=now)
    if at is None or at.date() != now.date():
        return facts
    return (*facts, Fact(label="Limit", value=f"reached at {at.astimezone():%H:%M} at this pace"))
