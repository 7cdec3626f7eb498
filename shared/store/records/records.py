"""The newest reply of a lead, for `lead`.

What the bot recorded over a range of days, for the client report: positive replies, incidents, changes.

Data that commands read and change: alerts, subscriptions, digests, timed pauses, the audit.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

import sqlalchemy as sa

from shared.api.event_kinds import PAUSED
from shared.commands.base import clip
from shared.domain.paused_domains import pause_reason
from shared.domain.wall_clock import DAY, MORNING, Recurrence, moment, parse_recurrence
from shared.records.audit import Actor, AuditEntry, Undoable
from shared.records.domains import DomainIncident, DomainPast, DomainPause
from shared.records.records import AlertsSummary, PeriodRecords, Subscription
from shared.records.replies import (
    MOST_OPEN,
    Grouping,
    InterestedReply,
    LeadReply,
    OpenReply,
    PositiveReply,
    UnclaimedReplies,
    Waits,
)
from shared.records.sequence_changes import Timer
from shared.store import audit as changes
from shared.store import facts
from shared.store import sequences as timer_rows
from shared.store.alerts import CLAIMED_BY, count_unclaimed, is_unclaimed
from shared.store.audit import changes_between
from shared.store.db.engine import Repository, Transaction, probes, reads, reports, writes
from shared.store.db.schema import alerts, audit, deliveries, jobs, sightings
from shared.store.facts import SUBSCRIPTION
from shared.store.guardrails import Guardrails
from shared.store.instance import last_seen
from shared.store.jobs import DIGEST
from shared.store.jobs import put as put_job
from shared.store.messages import State, give_up
from shared.store.people import Turns
from shared.store.queue.intake import address, heard_since
from shared.store.queue.routing import subscriptions_of
from shared.store.records import counts, waits
from shared.store.records.domains import Domains
from shared.store.rows import ALERT_ROWS, OWN, AlertRow, entry_of, read_alerts
from shared.store.sequences import SequenceChanges, read_timer
from shared.text.quotations import without_quotation

WRITTEN = ("reply.interested", "lead.replied")
BEGINNING = 120
"""Characters of a reply that lists show."""


def last_reply(tx: Transaction, workspace: str, email: str) -> LeadReply | None:
    """None where no reply of this address came, or its words are deleted."""
    query = (
        ALERT_ROWS.where(alerts.c.email == address(email), alerts.c.workspace == workspace)
        .where(alerts.c.kind.in_(WRITTEN))
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


def read_period(tx: Transaction, workspace: str, since: float, until: float, *, late: float) -> PeriodRecords:
    """From one moment until before another."""
    within = _within(workspace, since, until)
    paused = sa.select(*OWN).where(within, alerts.c.kind == PAUSED).order_by(alerts.c.received_at)
    replies = sa.select(sa.func.count()).where(within, waits.is_interested(workspace))
    lost = (
        sa.select(alerts.c.received_at)
        .where(within, alerts.c.undelivered, alerts.c.kind.in_(WRITTEN))
        .order_by(alerts.c.received_at)
    )
    incidents = [_paused_domain(row) for row in read_alerts(tx, paused)]
    return PeriodRecords(
        replies=tx.scalar(replies) or 0,
        touches=waits.until_touched(tx, workspace, since, until, late=late),
        incidents=sorted(incidents, key=lambda one: one.at),
        changes=changes_between(tx, workspace, since, until),
        lost=[moment(at) for at in tx.scalars(lost)],
    )


def _within(workspace: str, since: float, until: float) -> sa.ColumnElement[bool]:
    c = alerts.c
    return (c.workspace == workspace) & (c.received_at >= since) & (c.received_at < until)


def _positive_reply(alert: AlertRow, *, named: bool) -> PositiveReply:
    """Who wrote it is unknown once the body of the delivery is pruned, except for the address."""
    touched = min(filter(None, (alert.claimed_at, alert.handled_at)), default=None)
    lead = alert.event.lead if named else None
    return PositiveReply(
        at=alert.received,
        sequence=alert.sequence,
        touched_after=None if touched is None else timedelta(seconds=max(0.0, touched - alert.received_at)),
        lead=lead.name if lead else "",
        company=(lead.company or "") if lead else "",
        email=alert.email if lead else "",
    )


def _paused_domain(alert: AlertRow) -> DomainIncident:
    return DomainIncident(
        at=alert.received,
        text=f"The service paused {alert.domain}" if alert.domain else "The service paused a domain",
        domain=alert.domain,
        handled_by=alert.acked_name,
        handled_at=moment(alert.acked_at),
        recovered_at=moment(alert.recovered_at),
    )


MOST_KNOWN = 5_000
"""Interested replies by which the dashboard knows who answered."""
MOST_PAUSES = 5
"""Of a domain, that a page about it shows."""
LOOKED_BACK = 5_000
"""Entries of the audit in which the last change of a sequence is looked for."""


_OLDEST = (alerts.c.received_at, alerts.c.id)
EVERY = ("day", "week")
"""How often a digest may come."""


class CommandRecords(Repository):
    """Implements `shared.records.records.Records`."""

    @property
    def guardrails(self) -> Guardrails:
        return Guardrails(self.database)

    @property
    def domains(self) -> Domains:
        return Domains(self.database)

    @property
    def changes(self) -> SequenceChanges:
        return SequenceChanges(self.database)

    @property
    def turns(self) -> Turns:
        return Turns(self.database)

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
        unclaimed, unclaimed_since = count_unclaimed(tx, workspace)
        unread, unread_since = tx.execute(counts.pending(workspace)).one()
        routed = (deliveries.c.workspace == workspace) & sa.not_(deliveries.c.pending)
        last = sa.select(deliveries.c.last_at).where(routed, sa.not_(deliveries.c.found))
        last = last.order_by(deliveries.c.last_at.desc()).limit(1)
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
            refusals=_by_error(tx).get(workspace, {}),
            unknown_timers=counts.unknown_timers(tx, workspace),
            timers=counts.timers_by_workspace(tx),
        )

    @probes
    def backlogs(self, tx: Transaction) -> Mapping[str, counts.Backlog]:
        """What is not posted yet, by workspace; those with nothing are left out."""
        found: defaultdict[str, counts.Backlog] = defaultdict(counts.Backlog)
        for row in tx.execute(counts.BACKLOG):
            found[row.workspace].add(row.state, row.number, row.oldest)
        return found

    @probes
    def refusals(self, tx: Transaction) -> Mapping[str, Mapping[str, int]]:
        """How many messages Slack refused, by workspace and by Slack's word for it."""
        return _by_error(tx)

    @reads
    def open_replies(
        self, tx: Transaction, workspace: str, *, first: int = 0, most: int = MOST_OPEN
    ) -> UnclaimedReplies:
        """`most` unclaimed interested replies from number `first` on, and the count of all."""
        # Which are shown is looked up in the index alone: the deliveries of the pages before aren't read.
        page = sa.select(alerts.c.id).where(is_unclaimed(workspace)).order_by(*_OLDEST)
        shown = ALERT_ROWS.where(alerts.c.id.in_(page.offset(first).limit(most))).order_by(*_OLDEST)
        count, oldest = count_unclaimed(tx, workspace)
        return UnclaimedReplies(
            count=count,
            oldest_at=moment(oldest),
            replies=[_open_reply(alert) for alert in read_alerts(tx, shown)] if most > 0 else (),
        )

    @reads
    def own_replies(self, tx: Transaction, person: str) -> Sequence[tuple[str, OpenReply]]:
        """What a person (by id) has claimed and not marked done, each with its workspace, the last claim last."""
        claimed = read_alerts(tx, CLAIMED_BY, {"person": person})
        return [(alert.workspace, _open_reply(alert)) for alert in reversed(claimed)]

    @reads
    def claim_counts(self, tx: Transaction, workspace: str, since: datetime) -> Mapping[str, int]:
        """How many replies claimed since then each person has not marked done, by name, the most first."""
        count = sa.func.count().label("claims")
        query = (
            sa.select(sa.func.max(alerts.c.claimed_name).label("name"), count)
            .where(alerts.c.workspace == workspace, alerts.c.claimed_at >= since.timestamp())
            .where(alerts.c.claimed_by != "", alerts.c.handled_at.is_(None))
            .group_by(alerts.c.claimed_by)
            .order_by(count.desc(), alerts.c.claimed_by)
        )
        return {row.name: row.claims for row in tx.execute(query)}

    @reads
    def interested_replies(self, tx: Transaction, workspace: str) -> Sequence[InterestedReply]:
        """The newest interested replies, claimed or not, the newest first."""
        c = alerts.c
        query = (
            sa.select(c.email, c.received_at, c.sequence, c.claimed_name, c.handled_name)
            .where(waits.is_interested(workspace))
            .order_by(c.received_at.desc())
            .limit(MOST_KNOWN)
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

    @reports
    def claim_times(
        self,
        tx: Transaction,
        workspace: str,
        since: datetime,
        until: datetime,
        *,
        by: Grouping = "",
        late: float,
    ) -> Sequence[Waits]:
        """How long the replies claimed in this time had waited, who or what has most first."""
        return waits.until_claimed(tx, workspace, since.timestamp(), until.timestamp(), by=by, late=late)

    @reports
    def done_counts(
        self, tx: Transaction, workspace: str, since: datetime, until: datetime
    ) -> Mapping[str, int]:
        """How many interested replies each person marked as done in this time."""
        c = alerts.c
        done = waits.is_interested(workspace) & (c.handled_at >= since.timestamp())
        query = sa.select(c.handled_name, sa.func.count().label("number")).where(
            done, c.handled_at < until.timestamp()
        )
        names = waits.other_names(tx, workspace, since.timestamp(), until.timestamp())
        counts: Counter[str] = Counter()
        for row in tx.execute(query.group_by(c.handled_name)):
            counts[names.get(row.handled_name, row.handled_name)] += row.number
        return dict(counts)

    @reports
    def domain_past(self, tx: Transaction, workspace: str, domain: str, since: datetime) -> DomainPast:
        """Bounces, opt-outs and sequences of a domain since then, and why it was paused last."""
        counts_by_kind, sequences = _events_of_domain(tx, workspace, domain, since=since.timestamp())
        paused = (
            ALERT_ROWS.where(alerts.c.workspace == workspace, alerts.c.kind == PAUSED)
            .where(alerts.c.domain == domain, alerts.c.received_at >= since.timestamp())
            .order_by(alerts.c.received_at.desc())
            .limit(MOST_PAUSES)
        )
        pauses = read_alerts(tx, paused)
        return DomainPast(
            reason=(pauses[0].event.reason or "").replace("_", " ") if pauses else "",
            pauses=tuple(
                DomainPause(
                    at=one.received, reason=pause_reason(one.event), recovered_at=moment(one.recovered_at)
                )
                for one in pauses
            ),
            bounced=counts_by_kind.get("lead.bounced", 0),
            hard=counts_by_kind.get("hard", 0),
            opted_out=counts_by_kind.get("lead.unsubscribed", 0),
            known_from=moment(heard_since(tx, workspace)),
            sequences=tuple(sequences),
        )

    @reads
    def domain_counts(self, tx: Transaction, workspace: str, domain: str, since: float) -> Mapping[str, int]:
        """How many events of each kind a domain had since then, and how many of its bounces were hard."""
        return _events_of_domain(tx, workspace, domain, since=since)[0]

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

    @reports
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

    @reports
    def period(
        self, tx: Transaction, workspace: str, since: datetime, until: datetime, *, late: float
    ) -> PeriodRecords:
        """What a client report tells of the time from one moment until before another."""
        return read_period(tx, workspace, since.timestamp(), until.timestamp(), late=late)

    @reports
    def positive_replies(
        self,
        tx: Transaction,
        workspace: str,
        since: datetime,
        until: datetime,
        *,
        most: int | None = None,
        named: bool = False,
    ) -> Sequence[PositiveReply]:
        """Interested replies of this time, the first first; who wrote them is read only if `named`."""
        within = _within(workspace, since.timestamp(), until.timestamp()) & waits.is_interested(workspace)
        query: sa.Select[Any] = ALERT_ROWS if named else sa.select(*OWN)
        rows = read_alerts(tx, query.where(within).order_by(alerts.c.received_at).limit(most))
        return [_positive_reply(row, named=named) for row in rows]

    @reads
    def subscriptions(self, tx: Transaction, workspace: str, channel: str) -> Sequence[Subscription]:
        """The subscriptions of a channel, or of every channel."""
        found = subscriptions_of(tx, [workspace])[workspace]
        return [one for one in found if channel in {"", one.channel}]

    @writes
    def subscribe(self, tx: Transaction, workspace: str, wanted: Sequence[Subscription]) -> None:
        """Add subscriptions; one that is there takes the new form."""
        for one in wanted:
            value = {"condensed": one.condensed}
            facts.put(tx, SUBSCRIPTION, _key(one), value, workspace=workspace)

    @writes
    def unsubscribe(self, tx: Transaction, workspace: str, unwanted: Sequence[Subscription]) -> int:
        """Remove exactly these; returns how many there were."""
        return sum([facts.drop(tx, SUBSCRIPTION, _key(one), workspace=workspace) for one in unwanted])

    @reads
    def digest_at(self, tx: Transaction, workspace: str, channel: str) -> str | None:
        """When a channel has its digests: a rhythm, or two joined by `and`."""
        found = (facts.find(tx, facts.DIGEST, f"{every}/{channel}", workspace=workspace) for every in EVERY)
        return " and ".join(str(one.value["at"]) for one in found if one) or None

    @writes
    def set_digest(self, tx: Transaction, workspace: str, channel: str, at: str | None) -> None:
        """Set a channel's daily or weekly digest or, with None, end both."""
        if at is None:
            for every in EVERY:
                facts.drop(tx, facts.DIGEST, f"{every}/{channel}", workspace=workspace)
            return
        key = f"{recurrence_of(at).every}/{channel}"
        facts.put(tx, facts.DIGEST, key, {"at": at}, workspace=workspace, at=tx.now)
        put_job(tx, DIGEST, key, workspace=workspace, at=next_digest(at, tx.now), how="replace")

    async def give_up_channel(self, channel: str) -> None:
        """Nothing is posted to the channel any more: messages that it rejected are dropped."""
        await give_up(self.database, channel)

    @reads
    def audit(
        self, tx: Transaction, workspace: str, limit: int = 20, *, refused: bool | None = None
    ) -> Sequence[AuditEntry]:
        """The newest acts first; `refused`: only those that were, or only the others."""
        query = sa.select(audit).where(audit.c.workspace == workspace)
        if refused is not None:
            # In the very words of the index, else SQLite leaves it unused.
            query = query.where(audit.c.effect != sa.literal("read", literal_execute=True))
            query = query.where((audit.c.effect == "refused") if refused else (audit.c.effect != "refused"))
        query = query.order_by(audit.c.id.desc()).limit(limit)
        return [entry_of(row) for row in tx.execute(query)]

    @reads
    def assistant_calls(self, tx: Transaction, workspace: str, limit: int = 20) -> Sequence[AuditEntry]:
        """What assistants read, the newest first."""
        read = audit.c.effect == sa.literal("read", literal_execute=True)
        mine = (audit.c.workspace == workspace) & read
        query = sa.select(audit).where(mine).order_by(audit.c.id.desc()).limit(limit)
        return [entry_of(row) for row in tx.execute(query)]

    @reads
    def last_undoable(
        self, tx: Transaction, workspace: str, actor: Actor, since: datetime
    ) -> Undoable | None:
        return changes.last_undoable(tx, workspace, actor, since.timestamp())

    @reads
    def undoable(self, tx: Transaction, workspace: str, number: int) -> Undoable | None:
        return changes.undoable(tx, workspace, number)

    @reads
    def change_with_number(self, tx: Transaction, number: int) -> AuditEntry | None:
        """An entry of the audit, in whatever workspace."""
        row = tx.execute(sa.select(audit).where(audit.c.id == number)).one_or_none()
        return None if row is None else entry_of(row)

    @writes
    def take_undo(self, tx: Transaction, number: int, by: str) -> bool:
        return changes.take_undo(tx, number, by)

    @writes
    def give_back_undo(self, tx: Transaction, number: int) -> None:
        changes.give_back_undo(tx, number)

    @writes
    def record(self, tx: Transaction, entry: AuditEntry) -> int:
        return changes.add_entry(tx, entry)

    @writes
    def set_timer(self, tx: Transaction, workspace: str, timer: Timer) -> None:
        """Set a timer in place of one of the same kind and key."""
        timer_rows.put(tx, workspace, timer)

    @reads
    def timers(self, tx: Transaction, workspace: str, kind: str) -> Sequence[Timer]:
        query = sa.select(jobs).where(jobs.c.kind == kind, jobs.c.workspace == workspace)
        return sorted(map(read_timer, tx.execute(query)), key=lambda timer: timer.due_at)


_OF_DOMAIN = (
    (sightings.c.workspace == sa.bindparam("workspace"))
    & (sightings.c.domain == sa.bindparam("domain"))
    & (sightings.c.at >= sa.bindparam("since"))
)
_KINDS = sa.select(sightings.c.kind, sa.func.count()).where(_OF_DOMAIN).group_by(sightings.c.kind)
_HARD = sa.select(sa.func.count()).where(
    _OF_DOMAIN, sightings.c.kind == "lead.bounced", sightings.c.detail.like("hard%")
)
_BUSIEST = (
    sa.select(sightings.c.sequence)
    .where(_OF_DOMAIN, sightings.c.sequence != "")
    .group_by(sightings.c.sequence)
    .order_by(sa.func.count().desc(), sightings.c.sequence)
    .limit(50)
)


def _events_of_domain(
    tx: Transaction, workspace: str, domain: str, *, since: float
) -> tuple[Mapping[str, int], Sequence[str]]:
    """Counts by kind, also of hard bounces, and the sequences that sent from it, busiest first."""
    which = {"workspace": workspace, "domain": domain, "since": since}
    numbers = {kind: int(count) for kind, count in tx.execute(_KINDS, which)}
    return {**numbers, "hard": int(tx.scalar(_HARD, which) or 0)}, tx.scalars(_BUSIEST, which).all()


def _key(one: Subscription) -> str:
    return facts.key_of(one.channel, one.event, one.sequence, one.inbox)


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
        reply=clip(without_quotation(alert.event.reply or ""), length=BEGINNING),
    )


def _by_error(tx: Transaction) -> Mapping[str, Mapping[str, int]]:
    found: defaultdict[str, dict[str, int]] = defaultdict(dict)
    for row in tx.execute(counts.REFUSED):
        found[row.workspace][row.error] = row.number
    return found
