"""The newest reply of a lead, for `lead`.

What the bot recorded over a range of days, for the client report: positive replies, incidents, changes.

Data that commands read and change: alerts, subscriptions, digests, timed pauses, the audit.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from datetime import datetime, timedelta

import sqlalchemy as sa

from bot.store.alerts import changes
from bot.store.alerts import sequence_changes as timer_rows
from bot.store.alerts.changes import changes_between
from bot.store.alerts.guardrails import Guardrails
from bot.store.alerts.sequence_changes import SequenceChanges, read_timer
from bot.store.db.engine import Repository, Transaction, probes, reads, writes
from bot.store.db.schema import alerts, audit, deliveries, digests, posts, sightings, subscriptions, timers
from bot.store.instance import last_seen
from bot.store.queue.alert_row import ALERT_ROWS, OWN, AlertRow, read_alerts
from bot.store.queue.intake import address
from bot.store.queue.outbox import give_up
from bot.store.queue.post_kinds import SPIKE
from bot.store.queue.posts import State
from bot.store.records import counts
from shared.api.event_kinds import INTERESTED, PAUSED
from shared.domain.records import (
    AlertsSummary,
    AuditEntry,
    ClaimTime,
    DomainIncident,
    InterestedReply,
    LeadReply,
    OpenReply,
    PeriodRecords,
    PositiveReply,
    Subscription,
    Timer,
)
from shared.domain.wall_clock import DAY, MORNING, Recurrence, moment, parse_recurrence

REPLIES = ("reply.interested", "lead.replied")


def last_reply(tx: Transaction, workspace: str, email: str) -> LeadReply | None:
    """None where no reply of this address came, or its words are deleted."""
    query = (
        ALERT_ROWS.where(alerts.c.email == address(email), alerts.c.workspace == workspace)
        .where(alerts.c.kind.in_(REPLIES))
        .order_by(alerts.c.received_at.desc())
        .limit(1)
    )
    alert = next(iter(read_alerts(tx, query)), None)
    if alert is None or alert.is_pruned:
        return None
    event = alert.event
    return LeadReply(
        alert_id=alert.id,
        received_at=alert.received,
        sequence=event.sequence or "",
        step=event.step,
        text=event.reply or "",
        lead=event.lead.name,
        company=event.lead.company or "",
        status=_status(alert),
    )


def _status(alert: AlertRow) -> str:
    if alert.handled_at is not None:
        return (
            f"closed by @{alert.handled_name}: {alert.closed_reason}"
            if alert.closed_reason
            else f"done by @{alert.handled_name}"
        )
    return f"claimed by @{alert.claimed_name}" if alert.claimed_name else "unclaimed"


def read_period(tx: Transaction, workspace: str, since: float, until: float) -> PeriodRecords:
    """From one moment until before another."""
    c = alerts.c
    within = (c.workspace == workspace) & (c.received_at >= since) & (c.received_at < until)
    replies = ALERT_ROWS.where(within, c.kind == INTERESTED).order_by(c.received_at)
    paused = sa.select(*OWN).where(within, c.kind == PAUSED).order_by(c.received_at)
    spikes = (
        sa.select(posts.c.created_at, posts.c.note)
        .where(posts.c.workspace == workspace, posts.c.kind == SPIKE)
        .where(posts.c.created_at >= since, posts.c.created_at < until)
    )
    incidents = [_paused_domain(row) for row in read_alerts(tx, paused)]
    incidents += [_spike(at, note) for at, note in tx.execute(spikes)]
    return PeriodRecords(
        positive=[_positive_reply(row) for row in read_alerts(tx, replies)],
        incidents=sorted(incidents, key=lambda one: one.at),
        changes=changes_between(tx, workspace, since, until),
    )


def _positive_reply(alert: AlertRow) -> PositiveReply:
    """Its texts are unknown once the body of the delivery is pruned."""
    touched = min(filter(None, (alert.claimed_at, alert.handled_at)), default=None)
    return PositiveReply(
        at=alert.received,
        sequence=alert.sequence,
        touched_after=None if touched is None else timedelta(seconds=max(0.0, touched - alert.received_at)),
        lead=alert.event.lead.name,
        company=alert.event.lead.company or "",
        email=alert.email,
    )


def _paused_domain(alert: AlertRow) -> DomainIncident:
    return DomainIncident(
        at=alert.received,
        text=f"The service paused {alert.domain}" if alert.domain else "The service paused a domain",
        handled_by=alert.acked_name,
        handled_at=moment(alert.acked_at),
        recovered_at=moment(alert.recovered_at),
    )


def _spike(at: float, note: str) -> DomainIncident:
    return DomainIncident(at=moment(at), text=str(json.loads(note).get("title", "")))


MOST_OPEN = 5_000
LOOKED_BACK = 5_000
"""Entries of the audit in which the last change of a sequence is looked for."""


_SUBSCRIPTION = [subscriptions.c[field.name] for field in fields(Subscription)]


class CommandRecords(Repository):
    """Implements `shared.domain.records.Records`."""

    @property
    def guardrails(self) -> Guardrails:
        return Guardrails(self.database)

    @property
    def changes(self) -> SequenceChanges:
        return SequenceChanges(self.database)

    @reads
    def bot_is_running(self, tx: Transaction) -> bool:
        """Whether a bot that uses this database was seen in the last minute and a half."""
        seen = last_seen(tx)
        return seen is not None and seen.runs

    @reads
    def summary(self, tx: Transaction, workspace: str) -> AlertsSummary:
        """How the alerts of a workspace stand, and what came in the last 24 hours."""
        states = {state: (count, oldest) for state, count, oldest in tx.execute(counts.by_state(workspace))}
        count = {state: states.get(state, (0, None))[0] for state in (*State, counts.UNSURE)}
        under_way = [states[state][1] for state in counts.UNDER_WAY if state in states]
        recent = tx.execute(counts.deliveries_since(workspace, tx.now - DAY)).all()
        unclaimed, unclaimed_since = tx.execute(counts.unclaimed(workspace)).one()
        unread, unread_since = tx.execute(counts.pending(workspace)).one()
        routed = (deliveries.c.workspace == workspace) & sa.not_(deliveries.c.pending)
        last = sa.select(sa.func.max(deliveries.c.last_at)).where(routed)
        return AlertsSummary(
            waiting=count[State.READY] + count[State.SENDING] + unread,
            oldest_waiting_at=moment(min([*under_way, *filter(None, [unread_since])], default=None)),
            unclaimed=unclaimed,
            oldest_unclaimed_at=moment(unclaimed_since),
            dead=count[State.DEAD],
            unsure=count[counts.UNSURE],
            uncertain=count[State.UNCERTAIN],
            held=count[State.HELD],
            unreadable=sum(row.seen for row in recent if row.problem),
            last_delivery_at=moment(tx.scalar(last)),
            deliveries={row.kind: int(row.seen) for row in recent if row.kind},
            broken_channels=counts.broken(tx, workspace),
            unknown_timers=tuple(tx.scalars(counts.unknown_timers(workspace, tx.now))),
            timers=counts.timers_by_workspace(tx),
        )

    @probes
    def backlogs(self, tx: Transaction) -> Mapping[str, counts.Backlog]:
        """What is not posted yet, by workspace; those with nothing are left out."""
        found: defaultdict[str, counts.Backlog] = defaultdict(counts.Backlog)
        for row in tx.execute(counts.BACKLOG):
            found[row.workspace].add(row.state, row.number, row.oldest)
        return found

    @reads
    def open_replies(self, tx: Transaction, workspace: str) -> Sequence[OpenReply]:
        """Unclaimed interested replies, the oldest first."""
        query = ALERT_ROWS.where(counts.is_unclaimed(workspace)).order_by(alerts.c.received_at)
        return [_open_reply(alert) for alert in read_alerts(tx, query.limit(MOST_OPEN))]

    @reads
    def interested_replies(self, tx: Transaction, workspace: str) -> Sequence[InterestedReply]:
        """The newest interested replies, claimed or not, the newest first."""
        c = alerts.c
        query = (
            sa.select(c.email, c.received_at, c.sequence, c.claimed_name, c.handled_name)
            .where(c.workspace == workspace, c.kind == INTERESTED)
            .order_by(c.received_at.desc())
            .limit(MOST_OPEN)
        )
        return [
            InterestedReply(
                email=row.email,
                received_at=moment(row.received_at),
                sequence=row.sequence,
                claimed_by=row.claimed_name or row.handled_name,
            )
            for row in tx.execute(query)
        ]

    @reads
    def last_reply(self, tx: Transaction, workspace: str, email: str) -> LeadReply | None:
        return last_reply(tx, workspace, email)

    @reads
    def claim_times(self, tx: Transaction, workspace: str, since: datetime) -> Sequence[ClaimTime]:
        """How long the replies claimed since then had waited, the first claimed first."""
        query = (
            sa.select(alerts)
            .where(alerts.c.workspace == workspace, alerts.c.kind == INTERESTED)
            .where(alerts.c.claimed_at >= since.timestamp())
            .order_by(alerts.c.claimed_at)
        )
        return [
            ClaimTime(
                name=row.claimed_name,
                sequence=row.sequence,
                waited=timedelta(seconds=max(0.0, row.claimed_at - row.received_at)),
                at=moment(row.claimed_at),
            )
            for row in tx.execute(query)
        ]

    @reads
    def done_times(self, tx: Transaction, workspace: str, since: datetime) -> Sequence[tuple[str, datetime]]:
        """Who marked interested replies as done since then, and when."""
        query = (
            sa.select(alerts.c.handled_name, alerts.c.handled_at)
            .where(alerts.c.workspace == workspace, alerts.c.kind == INTERESTED)
            .where(alerts.c.handled_at >= since.timestamp())
            .order_by(alerts.c.handled_at)
        )
        return [(name, moment(at)) for name, at in tx.execute(query)]

    @reads
    def domain_sequences(
        self, tx: Transaction, workspace: str, domain: str, since: datetime
    ) -> Sequence[str]:
        """The sequences that were seen sending from a domain, the busiest first."""
        query = (
            sa.select(sightings.c.sequence)
            .where(sightings.c.workspace == workspace, sightings.c.domain == domain)
            .where(sightings.c.at >= since.timestamp(), sightings.c.sequence != "")
            .group_by(sightings.c.sequence)
            .order_by(sa.func.count().desc(), sightings.c.sequence)
        )
        return tx.scalars(query).all()

    @reads
    def last_changes(
        self, tx: Transaction, workspace: str, sequences: Sequence[str]
    ) -> Mapping[str, AuditEntry]:
        """The last pause or resumption of each sequence, as far as the audit goes back."""
        newest = tx.scalar(sa.select(sa.func.max(audit.c.id))) or 0
        return changes.last_changes(tx, workspace, sequences, after=newest - LOOKED_BACK)

    @reads
    def arrivals(
        self, tx: Transaction, workspace: str, since: datetime, until: datetime
    ) -> Mapping[str, int]:
        """How many deliveries came of each kind, from one moment until before another."""
        early = counts.deliveries_since(workspace, since.timestamp())
        early = early.where(deliveries.c.received_at < until.timestamp())
        came: Counter[str] = Counter()
        for row in tx.execute(early):
            came[row.kind] += row.seen
        return {kind: count for kind, count in came.items() if kind}

    @reads
    def period(self, tx: Transaction, workspace: str, since: datetime, until: datetime) -> PeriodRecords:
        """What a client report tells of the time from one moment until before another."""
        return read_period(tx, workspace, since.timestamp(), until.timestamp())

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
        """Nothing is posted to the channel any more: messages that it rejected are dropped."""
        give_up(tx, channel)

    @reads
    def audit(self, tx: Transaction, workspace: str, limit: int = 20) -> Sequence[AuditEntry]:
        """The newest acts first."""
        query = (
            sa.select(audit).where(audit.c.workspace == workspace).order_by(audit.c.id.desc()).limit(limit)
        )
        return [changes.read_audit_entry(row) for row in tx.execute(query)]

    @writes
    def record(self, tx: Transaction, entry: AuditEntry) -> None:
        """Write down who changed what."""
        tx.execute(sa.insert(audit).values(changes.audit_row(entry)))
        changes.overtake(tx, entry)

    @writes
    def set_timer(self, tx: Transaction, workspace: str, timer: Timer) -> None:
        """Set a timer in place of one of the same kind and key."""
        timer_rows.put(tx, workspace, timer)

    @writes
    def cancel_timer(self, tx: Transaction, workspace: str, kind: str, key: str) -> bool:
        """Forget a timer; whether there was one."""
        return timer_rows.drop(tx, workspace, kind, key)

    @reads
    def timers(self, tx: Transaction, workspace: str, kind: str) -> Sequence[Timer]:
        query = sa.select(timers).where(timers.c.workspace == workspace, timers.c.kind == kind)
        return [read_timer(row) for row in tx.execute(query.order_by(timers.c.due_at))]


def recurrence_of(at: str) -> Recurrence:
    found = parse_recurrence(at.split())
    return found if isinstance(found, Recurrence) else Recurrence(at=MORNING)


def next_digest(at: str, now: float) -> float:
    return recurrence_of(at).next_after(moment(now)).timestamp()


def _open_reply(alert: AlertRow) -> OpenReply:
    lead = alert.event.lead
    return OpenReply(
        alert_id=alert.id,
        received_at=alert.received,
        lead=lead.name,
        email=alert.email,
        company=lead.company or "",
        sequence=alert.event.sequence or "",
    )
