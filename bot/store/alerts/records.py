"""What the commands read and change: how alerts stand, subscriptions, digests, timed pauses, the audit."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from datetime import UTC, datetime, timedelta
from typing import Any

import sqlalchemy as sa

from bot.store.alerts.timers import read_timer
from bot.store.db.engine import Repository, Transaction, reads, writes
from bot.store.db.schema import alerts, audit, deliveries, digests, posts, subscriptions, timers
from bot.store.instance import last_seen
from bot.store.queue.leases import broken_channels
from bot.store.queue.outbox import give_up
from bot.store.queue.posts import UNSENT, State
from shared.api.events import Event, read_event
from shared.domain.records import (
    TIMER_KINDS,
    Actor,
    AlertsSummary,
    AuditEntry,
    ClaimTime,
    InterestedReply,
    OpenReply,
    Subscription,
    Timer,
)
from shared.domain.recurrence import MORNING, Recurrence, parse_recurrence

DAY = 86_400.0
MOST_OPEN = 200


_SUBSCRIPTION = [subscriptions.c[field.name] for field in fields(Subscription)]


@dataclass(slots=True)
class Backlog:
    """How many messages of a workspace wait, by state, and since when the oldest has waited."""

    counts: Counter[str] = field(
        default_factory=lambda: Counter(dict.fromkeys(("waiting", "dead", "uncertain", "held"), 0))
    )
    oldest_at: float | None = None

    def add(self, state: str, number: int, oldest: float) -> None:
        self.counts[state if state in {"dead", "uncertain", "held"} else "waiting"] += number
        if not state or state in _UNDER_WAY:
            self.oldest_at = oldest if self.oldest_at is None else min(self.oldest_at, oldest)


class CommandRecords(Repository):
    """Implements `shared.domain.records.Records`."""

    @reads
    def bot_is_running(self, tx: Transaction) -> bool:
        """Whether a bot that uses this database was seen in the last minute and a half."""
        seen = last_seen(tx)
        return seen is not None and seen.runs

    @reads
    def summary(self, tx: Transaction, workspace: str) -> AlertsSummary:
        """How the alerts of a workspace stand, and what came in the last 24 hours."""
        states = {state: (count, oldest) for state, count, oldest in tx.execute(_by_state(workspace))}
        count = {state: states.get(state, (0, None))[0] for state in State}
        under_way = [states[state][1] for state in _UNDER_WAY if state in states]
        recent = tx.execute(_deliveries_since(workspace, tx.now - DAY)).all()
        unread, unread_since = tx.execute(_pending(workspace)).one()
        routed = (deliveries.c.workspace == workspace) & sa.not_(deliveries.c.pending)
        last = sa.select(sa.func.max(deliveries.c.last_at)).where(routed)
        return AlertsSummary(
            waiting=count[State.READY] + count[State.SENDING] + unread,
            oldest_waiting_at=moment(min([*under_way, *filter(None, [unread_since])], default=None)),
            dead=count[State.DEAD],
            uncertain=count[State.UNCERTAIN],
            held=count[State.HELD],
            unreadable=sum(row.seen for row in recent if row.problem),
            last_delivery_at=moment(tx.scalar(last)),
            deliveries={row.kind: int(row.seen) for row in recent if row.kind},
            broken_channels=_broken(tx, workspace),
            unknown_timers=tuple(tx.scalars(_unknown_timers(workspace, tx.now))),
            timers=timers_by_workspace(tx),
        )

    @reads
    def backlogs(self, tx: Transaction) -> Mapping[str, Backlog]:
        """What is not posted yet, by workspace; those with nothing are left out."""
        found: defaultdict[str, Backlog] = defaultdict(Backlog)
        for row in tx.execute(_BACKLOG):
            found[row.workspace].add(row.state, row.number, row.oldest)
        return found

    @reads
    def open_replies(self, tx: Transaction, workspace: str) -> Sequence[OpenReply]:
        """Interested replies that nobody has claimed, the oldest first."""
        where = (
            (alerts.c.workspace == workspace)
            & (alerts.c.kind == "reply.interested")
            & alerts.c.waiting_since.is_not(None)
        )
        query = (
            sa.select(alerts, deliveries.c.body)
            .join(deliveries, deliveries.c.id == alerts.c.delivery_id)
            .where(where)
            .order_by(alerts.c.received_at)
            .limit(MOST_OPEN)
        )
        return [_open_reply(row) for row in tx.execute(query)]

    @reads
    def interested_replies(self, tx: Transaction, workspace: str) -> Sequence[InterestedReply]:
        """The newest interested replies, claimed or not, the newest first."""
        c = alerts.c
        query = (
            sa.select(c.email, c.received_at, c.sequence, c.claimed_name, c.handled_name)
            .where(c.workspace == workspace, c.kind == "reply.interested")
            .order_by(c.received_at.desc())
            .limit(MOST_OPEN)
        )
        return [
            InterestedReply(
                email=row.email,
                received_at=datetime.fromtimestamp(row.received_at, UTC),
                sequence=row.sequence,
                claimed_by=row.claimed_name or row.handled_name,
            )
            for row in tx.execute(query)
        ]

    @reads
    def claim_times(self, tx: Transaction, workspace: str, since: datetime) -> Sequence[ClaimTime]:
        """How long the replies claimed since then had waited, the first claimed first."""
        query = (
            sa.select(alerts)
            .where(alerts.c.workspace == workspace, alerts.c.claimed_at >= since.timestamp())
            .order_by(alerts.c.claimed_at)
        )
        return [
            ClaimTime(
                name=row.claimed_name,
                sequence=row.sequence,
                waited=timedelta(seconds=max(0.0, row.claimed_at - row.received_at)),
                at=datetime.fromtimestamp(row.claimed_at, UTC),
            )
            for row in tx.execute(query)
        ]

    @reads
    def arrivals(
        self, tx: Transaction, workspace: str, since: datetime, until: datetime
    ) -> Mapping[str, int]:
        """How many deliveries came of each kind, from one moment until before another."""
        early = _deliveries_since(workspace, since.timestamp())
        early = early.where(deliveries.c.received_at < until.timestamp())
        counts: Counter[str] = Counter()
        for row in tx.execute(early):
            counts[row.kind] += row.seen
        return {kind: count for kind, count in counts.items() if kind}

    @reads
    def subscriptions(self, tx: Transaction, workspace: str, channel: str) -> Sequence[Subscription]:
        """The subscriptions of a channel, or of every channel."""
        query = (
            sa.select(*_SUBSCRIPTION).where(subscriptions.c.workspace == workspace).order_by(*_SUBSCRIPTION)
        )
        if channel:
            query = query.where(subscriptions.c.channel == channel)
        return [Subscription(**row._asdict()) for row in tx.execute(query)]

    @writes
    def subscribe(self, tx: Transaction, workspace: str, wanted: Sequence[Subscription]) -> None:
        """Add subscriptions; one that is there takes the new form."""
        for one in wanted:
            new = tx.insert(subscriptions).values(workspace=workspace, **asdict(one))
            keys = ["workspace", "channel", "event", "sequence", "inbox"]
            tx.execute(new.on_conflict_do_update(index_elements=keys, set_={"condensed": one.condensed}))

    @writes
    def unsubscribe(self, tx: Transaction, workspace: str, unwanted: Sequence[Subscription]) -> int:
        """Remove exactly these; returns how many there were."""
        table = subscriptions.c
        return sum(
            tx.execute(
                sa.delete(subscriptions).where(
                    table.workspace == workspace,
                    table.channel == one.channel,
                    table.event == one.event,
                    table.sequence == one.sequence,
                    table.inbox == one.inbox,
                )
            ).rowcount
            for one in unwanted
        )

    @reads
    def digest_at(self, tx: Transaction, workspace: str, channel: str) -> str | None:
        """When a channel has its digests: a rhythm, or two joined by `and`."""
        which = (digests.c.workspace == workspace) & (digests.c.channel == channel)
        found = tx.scalars(sa.select(digests.c.at).where(which).order_by(digests.c.every)).all()
        return " and ".join(found) or None

    @writes
    def set_digest(self, tx: Transaction, workspace: str, channel: str, at: str | None) -> None:
        """Set a channel's daily or weekly digest or, with None, end both."""
        which = (digests.c.workspace == workspace) & (digests.c.channel == channel)
        if at is None:
            tx.execute(sa.delete(digests).where(which))
            return
        every = recurrence_of(at).every
        tx.execute(sa.delete(digests).where(which, digests.c.every == every))
        values = {"workspace": workspace, "channel": channel, "every": every, "at": at, "done_until": tx.now}
        tx.execute(sa.insert(digests).values(**values, due_at=next_digest(at, tx.now)))

    @writes
    def give_up_channel(self, tx: Transaction, channel: str) -> None:
        """Nothing goes to the channel any more: what it refused is no longer owed to it."""
        give_up(tx, channel)

    @reads
    def audit(self, tx: Transaction, workspace: str, limit: int = 20) -> Sequence[AuditEntry]:
        """The newest acts first."""
        query = (
            sa.select(audit).where(audit.c.workspace == workspace).order_by(audit.c.id.desc()).limit(limit)
        )
        return [read_audit_entry(row) for row in tx.execute(query)]

    @writes
    def record(self, tx: Transaction, entry: AuditEntry) -> None:
        """Write down who changed what."""
        tx.execute(
            sa.insert(audit).values(
                at=entry.at.timestamp(),
                workspace=entry.workspace,
                actor_name=entry.actor.name,
                actor_id=entry.actor.id,
                face=entry.actor.face,
                channel=entry.actor.channel,
                command=entry.command,
                result=entry.result,
            )
        )

    @writes
    def set_timer(self, tx: Transaction, workspace: str, timer: Timer) -> None:
        """Set a timer; one of the same kind and key is replaced, and a firing of it under way finishes nothing."""
        values = {"payload": json.dumps(dict(timer.payload)), "due_at": timer.due_at.timestamp()}
        new = tx.insert(timers).values(workspace=workspace, kind=timer.kind, key=timer.key, **values)
        again = {**values, "lease_until": None, "token": timers.c.token + 1, "attempts": 0}
        tx.execute(new.on_conflict_do_update(index_elements=["workspace", "kind", "key"], set_=again))

    @writes
    def cancel_timer(self, tx: Transaction, workspace: str, kind: str, key: str) -> bool:
        """Forget a timer; whether there was one."""
        which = (timers.c.workspace == workspace) & (timers.c.kind == kind) & (timers.c.key == key)
        return tx.execute(sa.delete(timers).where(which)).rowcount > 0

    @reads
    def timers(self, tx: Transaction, workspace: str, kind: str) -> Sequence[Timer]:
        """The timers of a kind, the next first."""
        query = sa.select(timers).where(timers.c.workspace == workspace, timers.c.kind == kind)
        return [read_timer(row) for row in tx.execute(query.order_by(timers.c.due_at))]


_UNDER_WAY = (State.READY, State.SENDING, State.UNCERTAIN)


_BACKLOG = sa.union_all(
    sa.select(
        posts.c.workspace,
        posts.c.state,
        sa.func.count().label("number"),
        sa.func.min(posts.c.created_at).label("oldest"),
    )
    .where(UNSENT)
    .group_by(posts.c.workspace, posts.c.state),
    sa.select(deliveries.c.workspace, sa.literal(""), sa.func.count(), sa.func.min(deliveries.c.received_at))
    .where(deliveries.c.pending)
    .group_by(deliveries.c.workspace),
)


def _by_state(workspace: str) -> sa.Select[Any]:
    return (
        sa.select(posts.c.state, sa.func.count(), sa.func.min(posts.c.created_at))
        .where(posts.c.workspace == workspace, UNSENT)
        .group_by(posts.c.state)
    )


def _deliveries_since(workspace: str, since: float) -> sa.Select[Any]:
    flawed = (deliveries.c.problem != "").label("problem")
    return (
        sa.select(deliveries.c.kind, flawed, sa.func.count().label("seen"))
        .where(deliveries.c.workspace == workspace, deliveries.c.received_at >= since)
        .where(sa.not_(deliveries.c.found), sa.not_(deliveries.c.pending))
        .group_by(deliveries.c.kind, flawed)
    )


def _pending(workspace: str) -> sa.Select[int, float | None]:
    return (
        sa.select(sa.func.count(), sa.func.min(deliveries.c.received_at))
        .select_from(deliveries)
        .where(deliveries.c.pending, deliveries.c.workspace == workspace)
    )


def _broken(tx: Transaction, workspace: str) -> dict[str, str]:
    waits = sa.select(posts.c.channel).where(posts.c.workspace == workspace, UNSENT)
    waiting = set(tx.scalars(waits.distinct()))
    return {channel: error for channel, error in broken_channels(tx).items() if channel in waiting}


def timers_by_workspace(tx: Transaction) -> dict[str, int]:
    query = sa.select(timers.c.workspace, sa.func.count().label("waiting")).group_by(timers.c.workspace)
    return {row.workspace: row.waiting for row in tx.execute(query.order_by(timers.c.workspace))}


def _unknown_timers(workspace: str, now: float) -> sa.Select[Any]:
    due = (timers.c.workspace == workspace) & (timers.c.due_at <= now)
    query = sa.select(timers.c.kind).where(due, timers.c.kind.not_in(TIMER_KINDS))
    return query.distinct().order_by(timers.c.kind)


def moment(at: float | None) -> datetime | None:
    """Unix seconds as an aware time."""
    return None if at is None else datetime.fromtimestamp(at, UTC)


def recurrence_of(at: str) -> Recurrence:
    found = parse_recurrence(at.split())
    return found if isinstance(found, Recurrence) else Recurrence(at=MORNING)


def next_digest(at: str, now: float) -> float:
    return recurrence_of(at).next_after(datetime.fromtimestamp(now, UTC)).timestamp()


def read_audit_entry(row: sa.Row[Any]) -> AuditEntry:
    """A row of the audit."""
    return AuditEntry(
        at=datetime.fromtimestamp(row.at, UTC),
        actor=Actor(name=row.actor_name, id=row.actor_id, face=row.face, channel=row.channel),
        workspace=row.workspace,
        command=row.command,
        result=row.result,
    )


def _open_reply(row: sa.Row[Any]) -> OpenReply:
    event = read_event(row.body or b"")
    lead = event.lead if isinstance(event, Event) else None
    return OpenReply(
        alert_id=row.id,
        received_at=datetime.fromtimestamp(row.received_at, UTC),
        lead=lead.name if lead else "",
        email=row.email,
        company=(lead.company if lead else None) or "",
        sequence=(event.sequence if isinstance(event, Event) else None) or "",
    )
