"""The content of a page or card: a domain, inbox, sequence, step, lead or change. Pure.

A page is identified by its subject and rebuilt with every board, so that it never shows stale values.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from shared.api.models import StatsRow
from shared.domain import evidence, health, totals
from shared.domain.card import Card, Fact, Tone
from shared.domain.local_zone import local
from shared.domain.wall_clock import moment
from shared.records.replies import InterestedReply, LeadReply
from shared.records.sequence_changes import PauseEnd
from shared.text.formats import show_count
from tui.model.lists.columns import INBOXES, INTERESTED, RECORDED, STATS_BY, Column
from tui.model.lists.lines import (
    ChangeLine,
    DomainLine,
    InboxLine,
    LeadLine,
    Line,
    PageRef,
    SequenceLine,
    StatsLine,
)
from tui.model.workspace.board import Board

ALONE = "The service groups counts by one field only, so steps and variants cover the whole workspace."


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """A value with a history: `of` is another one that it is a share of."""

    title: str
    kind: str
    """`sequence_day` and `inbox_day` are the service's counts of whole days, the others samples of polls."""
    metric: str
    of: str = ""

    @property
    def is_daily(self) -> bool:
        return self.kind in DAILY

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
    aside: str = ""

    @classmethod
    def inboxes(cls, title: str, lines: Sequence[Line]) -> Listing:
        return cls(title=title, columns=INBOXES, lines=lines, source="inboxes")

    @classmethod
    def stats(cls, title: str, lines: Sequence[Line], *, source: str) -> Listing:
        """Counts, which the service has for the whole workspace only."""
        return cls(
            title=title, columns=STATS_BY[source], lines=lines, source=source, aside="of the workspace"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """Everything on a page but its plot, which is read from the history."""

    card: Card
    metrics: tuple[Metric, ...] = ()
    keys: tuple[str, ...] = ()
    """Under which of these the history may have it: an id, or a name."""
    lists: tuple[Listing, ...] = ()
    source: str = ""
    """The stamp of the board that tells the age of the card."""
    inbox: InboxLine | None = None
    lead: LeadLine | None = None


DAILY = ("sequence_day", "inbox_day")


def _by_day(kind: str) -> tuple[Metric, ...]:
    return (
        Metric(title="Sends a day", kind=kind, metric="sends"),
        Metric(title="Replies a day", kind=kind, metric="replies"),
        Metric(title="Positive replies a day", kind=kind, metric="positive_replies"),
    )


HEALTH = {
    "inbox": Metric(title="Health", kind="inbox", metric="health_score"),
    "domain": Metric(title="Lowest health", kind="domain", metric="health_score"),
}
SEQUENCE = (
    *_by_day("sequence_day"),
    Metric(title="Positive reply rate, 30 days", kind="sequence", metric="positive_replies", of="sends"),
    Metric(title="Reply rate, 30 days", kind="sequence", metric="replies", of="sends"),
)
INBOX = (
    HEALTH["inbox"],
    *_by_day("inbox_day"),
    Metric(title="Daily limit", kind="inbox", metric="daily_limit"),
)


def page_ref_of(line: Line, *, grouping: str = "") -> PageRef | None:
    """Where a line leads; None where a card says all there is. `grouping` is what counts are by."""
    if isinstance(line, ChangeLine):
        return line.ref
    if isinstance(line, StatsLine):
        return PageRef(kind="step", key=line.key) if grouping == "step" else None
    kinds = {InboxLine: "inbox", SequenceLine: "sequence", DomainLine: "domain", LeadLine: "lead"}
    kind = kinds.get(type(line))
    return PageRef(kind=kind, key=line.key) if kind else None


def above(ref: PageRef, *, board: Board) -> PageRef | None:
    """What a thing is part of, for those who came to it directly."""
    if ref.kind == "inbox":
        line = next((line for line in board.inboxes if line.key == ref.key), None)
        return PageRef(kind="domain", key=line.inbox.domain) if line else None
    return None


def way(trail: Sequence[PageRef], ref: PageRef, *, board: Board) -> list[PageRef]:
    """The path to another page: back to where it is named already, beside one of its kind, else one deeper."""
    if ref in trail:
        return list(trail[: trail.index(ref) + 1])
    last = trail[-1] if trail else None
    is_beside = last is not None and (last.kind == ref.kind or above(last, board=board) == ref)
    return [*(trail[:-1] if is_beside else trail), ref]


def page(ref: PageRef, *, board: Board, changes: Sequence[ChangeLine]) -> Page | None:
    if ref.kind == "domain":
        return _domain(ref.key, board)
    if ref.kind == "inbox":
        return _inbox(ref.key, board, changes)
    if ref.kind == "lead":
        return _lead(ref.key, board)
    return _sequence(ref.key, board, changes) if ref.kind == "sequence" else _step(ref.key, board)


def name_of(ref: PageRef, *, board: Board | None) -> str:
    """How a spot is called in the path."""
    if ref.kind == "step":
        return f"Step {ref.key}"
    if ref.kind == "lead":
        leads = board.interested if board else ()
        return next((line.name for line in leads if line.key == ref.key), ref.key)
    lines = board.sequences if board and ref.kind == "sequence" else ()
    return next((line.sequence.label for line in lines if line.key == ref.key), ref.key)


def _domain(name: str, board: Board) -> Page | None:
    domain = next((d for d in board.domains if d.domain == name), None)
    if domain is None:
        return None
    lines = tuple(line for line in board.inboxes if line.inbox.domain == name)
    sent = tuple(line.stats for line in lines if line.stats)
    limits = [line.inbox.daily_limit for line in lines]
    stood = ((word, getattr(domain, word)) for word in health.KINDS)
    facts = (
        Fact(label="Inboxes", value=", ".join(f"{n:,} {word.replace('_', ' ')}" for word, n in stood if n)),
        Fact(label="Lowest health", value=_score(domain.lowest), tone=domain.tone),
        Fact(label="Daily limit", value=show_count(totals.total(limits))),
        *_counts(totals.totals(sent, group=name) if sent else None),
    )
    listing = Listing.inboxes("Its inboxes", lines)
    card = Card(title=name, tone=domain.tone, text=domain.reasons, facts=facts)
    return Page(card=card, metrics=(HEALTH["domain"],), keys=(name,), lists=(listing,), source="inboxes")


def _inbox(email: str, board: Board, changes: Sequence[ChangeLine]) -> Page | None:
    line = next((line for line in board.inboxes if line.key == email), None)
    if line is None:
        return None
    inbox = line.inbox
    domain = next((d for d in board.domains if d.domain == inbox.domain), None)
    about = (f"{inbox.domain}: {'; '.join(domain.reasons) or 'healthy'}.",) if domain else ()
    facts = (
        Fact(label="Verdict", value=line.verdict.word, tone=line.tone),
        Fact(label="Health", value=_score(inbox.health_score), tone=line.tone),
        Fact(label="Status", value=inbox.status or "unknown"),
        Fact(label="Daily limit", value=show_count(inbox.daily_limit)),
        *_counts(line.stats),
    )
    text = (*line.verdict.reasons, *about)
    card = Card(title=email, tone=line.tone, text=text, facts=facts, footer=_lately(email, changes))
    others = tuple(o for o in board.inboxes if o.inbox.domain == inbox.domain and o is not line)
    listing = Listing.inboxes("Same domain", others)
    return Page(card=card, metrics=INBOX, keys=(email,), lists=(listing,), source="inboxes", inbox=line)


def _sequence(key: str, board: Board, changes: Sequence[ChangeLine]) -> Page | None:
    line = next((line for line in board.sequences if line.key == key), None)
    if line is None:
        return None
    sequence, name = line.sequence, line.sequence.label
    facts = (
        Fact(label="Status", value=line.pending or sequence.status or "unknown", tone=line.tone),
        *_pause_facts(line.pause),
        Fact(label="Steps", value=show_count(sequence.steps)),
        *_counts(line.stats),
    )
    seen = [change for change in changes if change.ref == PageRef(kind="sequence", key=key)]
    card = Card(title=name, tone=line.tone, text=(key, ALONE), facts=facts, footer=_lately(name, seen))
    steps = tuple(s for s in board.stats.get("step", ()) if _within(s, sequence.steps))
    lists = (Listing.stats("Steps", steps, source="step"), _variants(board))
    namesakes = Counter(other.sequence.label for other in board.sequences)[name]
    group = (line.stats.group,) if line.stats else ()
    names = (*group, name) if namesakes == 1 else ()  # otherwise it's unclear what the plot is about
    keys = tuple(dict.fromkeys((key, *names)))
    return Page(card=card, metrics=SEQUENCE, keys=keys, lists=lists, source="sequences")


def _step(key: str, board: Board) -> Page | None:
    steps = board.stats.get("step", ())
    line = next((line for line in steps if line.key == key), None)
    if line is None:
        return None
    others = Listing.stats("Other steps", [s for s in steps if s is not line], source="step")
    card = Card(title=f"Step {line.name}", text=(ALONE,), facts=_counts(line.stats))
    return Page(card=card, lists=(others, _variants(board)), source="step")


def _variants(board: Board) -> Listing:
    return Listing.stats("Variants", board.stats.get("variant", ()), source="variant")


def _within(line: StatsLine, steps: int | None) -> bool:
    return steps is None or not line.key.isdigit() or int(line.key) <= steps


def card_of(line: Line) -> Card:
    """What is known of a line that has no page."""
    if isinstance(line, StatsLine):
        return Card(title=line.name, tone=line.tone, facts=_counts(line.stats))
    if isinstance(line, ChangeLine):
        text = (line.text, f"Seen at {local(line.at):%d %b %H:%M:%S}.")
        return Card(title=line.subject, tone=line.tone, text=text)
    return Card(title=line.key, tone=line.tone, text=(line.words,))


def _lead(key: str, board: Board) -> Page | None:
    """The reply itself is read when the page is opened."""
    line = next((line for line in board.interested if line.key == key), None)
    if line is None:
        return None
    lead, reply = line.lead, line.reply
    known = (("Email", lead.email), ("Company", lead.company), ("Id", lead.id))
    facts = (
        Fact(label="Status", value=lead.status or "unknown", tone=Tone.GOOD),
        *(Fact(label=label, value=value) for label, value in known if value),
        *(_reply_facts(reply) if reply else ()),
    )
    others = tuple(one for one in board.interested if one is not line)
    columns = RECORDED if any(one.reply for one in board.interested) else INTERESTED
    same = tuple(one for one in others if reply and one.reply and one.reply.sequence == reply.sequence)
    listing = Listing(
        title="Others of this sequence" if same else "Other interested leads",
        columns=columns,
        lines=same or others,
        source="interested",
    )
    card = Card(title=line.name, tone=line.tone, facts=facts)
    return Page(card=card, lists=(listing,), source="interested", lead=line)


def _reply_facts(reply: InterestedReply) -> tuple[Fact, ...]:
    claimed = reply.claimed_by
    return (
        Fact(label="Replied", value=f"{local(reply.received_at):%d %b %H:%M}"),
        Fact(label="Sequence", value=reply.sequence or "unknown"),
        Fact(label="Claimed by", value=claimed or "unclaimed", tone=Tone.INFO if claimed else Tone.WARN),
    )


def reply_parts(reply: LeadReply | None) -> tuple[tuple[str, ...], tuple[Fact, ...]]:
    """What the lead wrote, and at which step, as far as the bot has it."""
    if reply is None:
        return ("The bot has no reply of this lead on record.",), ()
    step = (Fact(label="Step", value=str(reply.step)),) if reply.step is not None else ()
    status = (Fact(label="Reply", value=reply.status),) if reply.status else ()
    return (reply.text or "The reply is empty.",), (*step, *status)


def _score(health: float | None) -> str:
    """`73 of 100`."""
    return "unknown" if health is None else f"{health:g} of 100"


def _counts(stats: StatsRow | None) -> tuple[Fact, ...]:
    """The four counts of 30 days, with their share of the sends."""
    if stats is None:
        return ()
    facts = [Fact(label="Sent, 30 days", value=show_count(stats.sends))]
    for label, name in (("Replies", "replies"), ("Positive", "positive_replies"), ("Meetings", "meetings")):
        value = getattr(stats, name)
        share = totals.rate(value, stats.sends)
        rate_text = "" if share is None else f"  ({evidence.show(value, stats.sends)})"
        facts.append(Fact(label=label, value=show_count(value) + rate_text))
    return tuple(facts)


def _pause_facts(pause: PauseEnd | None) -> tuple[Fact, ...]:
    if pause is None:
        return ()
    by = (Fact(label="Paused by", value=pause.by),) if pause.by else ()
    return (Fact(label="Paused until", value=f"{local(moment(pause.until)):%d %b %H:%M}"), *by)


def _lately(subject: str, changes: Sequence[ChangeLine]) -> str:
    seen = [change for change in changes if change.subject == subject][:5]
    return "\n".join(f"{local(change.at):%d %b %H:%M}  {change.text}" for change in seen)


def limit_facts(sent: int | None, limit: int | None) -> tuple[Fact, ...]:
    """Today's sends against the limit."""
    if sent is None:
        return ()
    of = f" of {limit:,}" if limit is not None else ""
    facts = (Fact(label="Sent today", value=f"{sent:,}{of}"),)
    is_reached = limit is not None and sent >= limit
    return (*facts, Fact(label="Limit", value="reached", tone=Tone.WARN)) if is_reached else facts
