"""What the commands ask of the ledger: how alerts stand, who subscribed to what, who changed what."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import sqlalchemy as sa

from bot.store.db.schema import alerts, audit, deliveries, digests, posts, subscriptions, timers
from bot.store.queue import deliveries as inbox
from bot.store.queue import leases
from bot.store.queue.posts import State
from shared.domain.records import TIMER_KINDS, Actor, AlertsSummary, AuditEntry, ClaimTime, Subscription
from shared.domain.recurrence import MORNING, Recurrence, parse_recurrence

DAY = 86_400.0


def summary(connection: sa.Connection, workspace: str, *, now: float) -> AlertsSummary:
    """How the alerts of a workspace stand, and what came in the last 24 hours."""
    states = {state: (count, oldest) for state, count, oldest in connection.execute(_by_state(workspace))}
    count = {state: states.get(state, (0, None))[0] for state in State}
    under_way = [states[state][1] for state in _UNDER_WAY if state in states]
    recent = connection.execute(_deliveries_since(workspace, now - DAY)).all()
    unread, unread_since = connection.execute(_pending(workspace)).one()
    last = sa.select(sa.func.max(deliveries.c.last_at)).where(deliveries.c.workspace == workspace)
    return AlertsSummary(
        waiting=count[State.READY] + count[State.SENDING] + unread,
        oldest_waiting_at=moment(min([*under_way, *filter(None, [unread_since])], default=None)),
        dead=count[State.DEAD],
        uncertain=count[State.UNCERTAIN],
        held=count[State.HELD],
        unreadable=sum(row.seen for row in recent if row.problem),
        last_delivery_at=moment(connection.scalar(last)),
        deliveries={row.kind: int(row.seen) for row in recent if row.kind},
        broken_channels=_broken(connection, workspace),
        unknown_timers=tuple(connection.scalars(_strange_timers(workspace, now))),
    )


_UNDER_WAY = (State.READY, State.SENDING, State.UNCERTAIN)


def _by_state(workspace: str) -> sa.Select[Any]:
    return (
        sa.select(posts.c.state, sa.func.count(), sa.func.min(posts.c.created_at))
        .where(posts.c.workspace == workspace, posts.c.state != State.SENT)
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


def arrivals(connection: sa.Connection, workspace: str, *, since: float, until: float) -> dict[str, int]:
    """The deliveries of a stretch of time, by kind."""
    early = _deliveries_since(workspace, since).where(deliveries.c.received_at < until)
    counts: Counter[str] = Counter()
    for row in connection.execute(early):
        counts[row.kind] += row.seen
    return {kind: count for kind, count in counts.items() if kind}


def _pending(workspace: str) -> sa.Select[int, float | None]:
    return (
        sa.select(sa.func.count(), sa.func.min(deliveries.c.received_at))
        .select_from(deliveries)
        .where(deliveries.c.pending, deliveries.c.workspace == workspace)
    )


def _broken(connection: sa.Connection, workspace: str) -> dict[str, str]:
    """Broken channels in which something of the workspace waits."""
    waits = sa.select(posts.c.channel).where(posts.c.workspace == workspace, posts.c.state != State.SENT)
    waiting = set(connection.scalars(waits.distinct()))
    return {channel: error for channel, error in leases.broken(connection).items() if channel in waiting}


def _strange_timers(workspace: str, now: float) -> sa.Select[Any]:
    due = (timers.c.workspace == workspace) & (timers.c.due_at <= now)
    query = sa.select(timers.c.kind).where(due, timers.c.kind.not_in(TIMER_KINDS))
    return query.distinct().order_by(timers.c.kind)


def moment(at: float | None) -> datetime | None:
    """Unix seconds as an aware time."""
    return None if at is None else datetime.fromtimestamp(at, UTC)


def open_alerts(connection: sa.Connection, workspace: str, *, limit: int = 200) -> Sequence[sa.Row[Any]]:
    """Interested replies that nobody has claimed, the oldest first, with their body and message."""
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
        .limit(limit)
    )
    return connection.execute(query).all()


def claim_times(connection: sa.Connection, workspace: str, *, since: float) -> Sequence[ClaimTime]:
    """How long the replies claimed since then had waited, the first claimed first."""
    query = (
        sa.select(alerts)
        .where(alerts.c.workspace == workspace, alerts.c.claimed_at >= since)
        .order_by(alerts.c.claimed_at)
    )
    return [
        ClaimTime(
            name=row.claimed_name,
            sequence=row.sequence,
            waited=timedelta(seconds=max(0.0, row.claimed_at - row.received_at)),
            at=datetime.fromtimestamp(row.claimed_at, UTC),
        )
        for row in connection.execute(query)
    ]


def select_subscriptions(
    connection: sa.Connection, workspace: str, channel: str = ""
) -> Sequence[Subscription]:
    """What a channel, or every channel, wants to be told."""
    query = sa.select(subscriptions).where(subscriptions.c.workspace == workspace)
    if channel:
        query = query.where(subscriptions.c.channel == channel)
    order = (subscriptions.c.channel, subscriptions.c.event, subscriptions.c.sequence, subscriptions.c.inbox)
    return [
        Subscription(
            channel=row.channel,
            event=row.event,
            sequence=row.sequence,
            inbox=row.inbox,
            condensed=row.condensed,
        )
        for row in connection.execute(query.order_by(*order))
    ]


def subscribe(connection: sa.Connection, workspace: str, wanted: Sequence[Subscription]) -> None:
    """Add subscriptions; one that is there takes the new form."""
    for one in wanted:
        new = inbox.upsert(connection, subscriptions).values(
            workspace=workspace,
            channel=one.channel,
            event=one.event,
            sequence=one.sequence,
            inbox=one.inbox,
            condensed=one.condensed,
        )
        keys = ["workspace", "channel", "event", "sequence", "inbox"]
        connection.execute(new.on_conflict_do_update(index_elements=keys, set_={"condensed": one.condensed}))


def unsubscribe(connection: sa.Connection, workspace: str, unwanted: Sequence[Subscription]) -> int:
    """Remove exactly these; returns how many there were."""
    table = subscriptions.c
    return sum(
        connection.execute(
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


def digest_at(connection: sa.Connection, workspace: str, channel: str) -> str | None:
    """When a channel has its digests: a rhythm, or two joined by `and`."""
    which = (digests.c.workspace == workspace) & (digests.c.channel == channel)
    found = connection.scalars(sa.select(digests.c.at).where(which).order_by(digests.c.every)).all()
    return " and ".join(found) or None


def set_digest(
    connection: sa.Connection, workspace: str, channel: str, at: str | None, *, now: float
) -> None:
    """Set a channel's daily or weekly digest or, with None, end both."""
    which = (digests.c.workspace == workspace) & (digests.c.channel == channel)
    if at is None:
        connection.execute(sa.delete(digests).where(which))
        return
    every = recurrence_of(at).every
    connection.execute(sa.delete(digests).where(which, digests.c.every == every))
    values = {"workspace": workspace, "channel": channel, "every": every, "at": at, "done_until": now}
    connection.execute(sa.insert(digests).values(**values))


def recurrence_of(at: str) -> Recurrence:
    """The rhythm of a text that the commands wrote."""
    found = parse_recurrence(at.split())
    return found if isinstance(found, Recurrence) else Recurrence(at=MORNING)


def record(connection: sa.Connection, entry: AuditEntry) -> None:
    """Write down who changed what."""
    connection.execute(
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


def entries(connection: sa.Connection, workspace: str, limit: int) -> Sequence[AuditEntry]:
    """The newest acts first."""
    query = sa.select(audit).where(audit.c.workspace == workspace).order_by(audit.c.id.desc()).limit(limit)
    return [read_entry(row) for row in connection.execute(query)]


def read_entry(row: sa.Row[Any]) -> AuditEntry:
    """A row of the audit."""
    return AuditEntry(
        at=datetime.fromtimestamp(row.at, UTC),
        actor=Actor(name=row.actor_name, id=row.actor_id, face=row.face, channel=row.channel),
        workspace=row.workspace,
        command=row.command,
        result=row.result,
    )
