"""All that is over the bot's one database, and the records as commands, reports and pages read them.

Of the records these are replies and their waits, counts, a domain's past. All times of the results are aware datetimes in
UTC.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from statistics import median
from typing import Any, cast, get_type_hints

import sqlalchemy as sa
from sqlalchemy.engine import URL

from shared.domain.alert import Alert
from shared.domain.event_kinds import PAUSED
from shared.domain.paused_domains import pause_reason
from shared.domain.reply_states import LATE_SECONDS
from shared.domain.wall_clock import DAY, moment
from shared.frozen import frozen
from shared.records import (
    AlertsSummary,
    DomainIncident,
    DomainPast,
    DomainPause,
    InterestedReply,
    PeriodRecords,
    RecordsUnavailable,
    Waits,
)
from shared.store.alerts import CLAIMED_BY, IS_INTERESTED, Alerts, Turns, count_unclaimed, is_unclaimed
from shared.store.audit import AuditLog, Confirmations, changes_between
from shared.store.db.engine import Database, Transaction, method, probes, reads, reports
from shared.store.db.schema import alerts, deliveries, jobs, posts, sightings
from shared.store.deliveries import Arrivals, Deliveries, FoundLeads, address, heard_since
from shared.store.domains import Domains
from shared.store.erasure import Erasure, Retention
from shared.store.facts import Instance, SlackEvents, is_running
from shared.store.guardrails import Guardrails, Incidents
from shared.store.jobs import Jobs
from shared.store.messages import (
    ALERT_ROWS,
    IS_COUNTED,
    OWN,
    LeaseTimings,
    Outbox,
    Posting,
    Repaints,
    broken_channels,
    read_alerts,
)
from shared.store.sequences import SequenceChanges, Timers
from shared.store.subscriptions import Digests, Subscriptions

WRITTEN = ("reply.interested", "lead.replied")
MOST_OPEN = 5_000
"""Unclaimed replies that are listed at most."""
MOST_KNOWN = 5_000
"""Interested replies by which the dashboard knows who answered."""
MOST_PAUSES = 5
"""Pauses of a domain that a page about it shows."""
MOST_SEQUENCES = 50
"""Sequences of a domain that a page about it shows."""

_c = alerts.c
_TOUCHED_AT = sa.func.coalesce(_c.claimed_at, _c.handled_at)  # what is done can't be claimed


@frozen
class UnclaimedReplies:
    """The unclaimed interested replies of a workspace: how many there are, and a part of them, the oldest first."""

    count: int = 0
    oldest_at: datetime | None = None
    replies: Sequence[Alert] = ()


@dataclass(slots=True)
class Backlog:
    """The messages of a workspace that wait, counted by state, and the time since which the oldest waits."""

    counts: Counter[str] = field(
        default_factory=lambda: Counter(dict.fromkeys(("waiting", "dead", "unsure", "uncertain", "held"), 0))
    )
    refusals: Counter[str] = field(default_factory=Counter)
    """Those that Slack refused, by its word for it."""
    oldest_at: float | None = None


def backlogs(tx: Transaction) -> defaultdict[str, Backlog]:
    """Count what is not posted yet, by workspace, those with nothing left out."""
    c, d, count = posts.c, deliveries.c, sa.func.count()
    by, none = (c.workspace, c.channel, c.state, c.error), sa.literal("")
    waiting = sa.select(*by, count, sa.func.min(c.created_at)).where(IS_COUNTED).group_by(*by)
    unrouted = sa.select(d.workspace, none, none, none, count, sa.func.min(d.received_at))
    both = sa.union_all(waiting, unrouted.where(d.pending).group_by(d.workspace))
    backlogs: defaultdict[str, Backlog] = defaultdict(Backlog)
    broken = broken_channels(tx)
    for name, channel, kept, error, number, oldest in tx.execute(both):
        backlog = backlogs[name]
        trouble = broken.get(channel, "") if kept == "ready" else ""
        state = "dead" if trouble else kept
        # Deliveries that no router has looked at have no state.
        backlog.counts[state if state in backlog.counts else "waiting"] += number
        if state == "dead":
            backlog.refusals[trouble or error] += number
        if state not in {"dead", "unsure", "held"}:  # they wait for something else than a turn
            backlog.oldest_at = min(backlog.oldest_at or oldest, oldest)
    return backlogs


def _of_domain(workspace: str, domain: str, since: float) -> sa.ColumnElement[bool]:
    s = sightings.c
    return (s.workspace == workspace) & (s.domain == domain) & (s.at >= since)


def domain_counts(tx: Transaction, workspace: str, domain: str, since: float) -> Mapping[str, int]:
    """Count the events of a domain since then by kind, and its hard bounces."""
    s, count = sightings.c, sa.func.count()
    kinds = sa.select(s.kind, count, count.filter(s.detail.like("hard%")))
    rows = tx.execute(kinds.where(_of_domain(workspace, domain, since)).group_by(s.kind)).all()
    counts = {kind: number for kind, number, _ in rows}
    return {**counts, "hard": sum(hard for kind, _, hard in rows if kind == "lead.bounced")}


class Store(AuditLog, Subscriptions, Timers):
    """The repositories over one database, by subject, and the records as commands read them.

    Each method raises `RecordsUnavailable` when the database does not answer.
    """

    alerts: Alerts
    arrivals: Arrivals
    changes: SequenceChanges
    confirmations: Confirmations
    deliveries: Deliveries
    digests: Digests
    domains: Domains
    erasure: Erasure
    found_leads: FoundLeads
    guardrails: Guardrails
    incidents: Incidents
    instance: Instance
    jobs: Jobs
    outbox: Outbox
    repaints: Repaints
    retention: Retention
    slack_events: SlackEvents
    turns: Turns

    def __init__(self, database: Database, timings: LeaseTimings | None = None) -> None:
        super().__init__(database)
        for name, repository in get_type_hints(Store).items():
            setattr(self, name, repository(database))
        self.posting = Posting(database, timings or LeaseTimings())

    backlogs = probes(method(backlogs))
    bot_is_running = reads(method(is_running))
    domain_counts = reads(method(domain_counts))

    @reads
    def summary(self, tx: Transaction, workspace: str) -> AlertsSummary:
        """The state of a workspace's alerts, and the deliveries of the last 24 hours."""
        backlog = backlogs(tx)[workspace]
        waits = sa.select(posts.c.channel).where(posts.c.workspace == workspace, IS_COUNTED)
        waiting = {*tx.scalars(waits.distinct())}
        unreadable = _came(workspace, tx.now - DAY) & (deliveries.c.problem != "")
        unclaimed, unclaimed_since = count_unclaimed(tx, workspace)
        routed = (deliveries.c.workspace == workspace) & sa.not_(deliveries.c.pending)
        last = sa.select(deliveries.c.last_at).where(routed, sa.not_(deliveries.c.found))
        timers = sa.select(jobs.c.workspace).where(jobs.c.kind == "resume").order_by(jobs.c.workspace)
        return AlertsSummary(
            counts={**backlog.counts, "unreadable": tx.scalar(_count(unreadable)) or 0},
            oldest_waiting_at=moment(backlog.oldest_at),
            unclaimed=unclaimed,
            oldest_unclaimed_at=moment(unclaimed_since),
            last_delivery_at=moment(tx.scalar(last.order_by(deliveries.c.last_at.desc()).limit(1))),
            broken_channels={name: why for name, why in broken_channels(tx).items() if name in waiting},
            refusals=backlog.refusals,
            timers=Counter(tx.scalars(timers)),
        )

    @reads
    def open_replies(
        self, tx: Transaction, workspace: str, *, first: int = 0, most: int = MOST_OPEN
    ) -> UnclaimedReplies:
        """`most` unclaimed interested replies from number `first` (counted from 0) on, and the count of all."""
        # The replies on the page are looked up in the index alone: the deliveries of the pages before aren't read.
        oldest_first = (_c.received_at, _c.id)
        page = sa.select(_c.id).where(is_unclaimed(workspace)).order_by(*oldest_first)
        on_page = ALERT_ROWS.where(_c.id.in_(page.offset(first).limit(most))).order_by(*oldest_first)
        count, oldest = count_unclaimed(tx, workspace)
        return UnclaimedReplies(
            count=count,
            oldest_at=moment(oldest),
            replies=read_alerts(tx, on_page) if most > 0 else (),
        )

    @reads
    def own_replies(self, tx: Transaction, person: str) -> Sequence[Alert]:
        """The open claims of a person (by id) in every workspace, the last claim first."""
        return read_alerts(tx, CLAIMED_BY, {"person": person})

    @reads
    def interested_replies(self, tx: Transaction, workspace: str) -> Sequence[InterestedReply]:
        """The newest interested replies, claimed or not, the newest first."""
        query = sa.select(*OWN).where(_is_interested(workspace)).order_by(_c.received_at.desc())
        return [
            InterestedReply(
                email=alert.email,
                received_at=alert.received,
                sequence=alert.sequence,
                claimed_by=alert.claimed_name or alert.handled_name,
            )
            for alert in read_alerts(tx, query.limit(MOST_KNOWN))
        ]

    @reads
    def last_reply(self, tx: Transaction, workspace: str, email: str) -> Alert | None:
        """The newest reply of a lead; None where none of this address came, or its words are deleted."""
        mine = (_c.email == address(email)) & (_c.workspace == workspace) & _c.kind.in_(WRITTEN)
        query = ALERT_ROWS.where(mine).order_by(_c.received_at.desc()).limit(1)
        return next((alert for alert in read_alerts(tx, query) if not alert.is_pruned), None)

    @reports
    def claim_times(
        self, tx: Transaction, workspace: str, since: datetime, until: datetime
    ) -> Sequence[Waits]:
        """The waits of the replies claimed in this time: first of all together, then of each person."""
        claimed = _is_interested(workspace) & _between(_c.claimed_at, since, until)
        return _waits(tx, _c.claimed_at, claimed)

    @reports
    def done_counts(
        self, tx: Transaction, workspace: str, since: datetime, until: datetime
    ) -> Mapping[str, int]:
        """Count the interested replies that each person marked as done in this time."""
        done = _is_interested(workspace) & _between(_c.handled_at, since, until)
        query = (
            sa.select(_c.handled_name, sa.func.count().label("replies")).where(done).group_by(_c.handled_name)
        )
        return {row.handled_name: row.replies for row in tx.execute(query)}

    @reports
    def domain_past(self, tx: Transaction, workspace: str, domain: str, since: datetime) -> DomainPast:
        """Bounces, opt-outs and sequences of a domain since then, and why it was paused last."""
        counts = domain_counts(tx, workspace, domain, since.timestamp())
        sequences = tx.scalars(_sequences_of(workspace, domain, since).limit(MOST_SEQUENCES))
        of_domain = (_c.workspace == workspace) & (_c.kind == PAUSED) & (_c.domain == domain)
        paused = ALERT_ROWS.where(of_domain, _c.received_at >= since.timestamp())
        pauses = read_alerts(tx, paused.order_by(_c.received_at.desc()).limit(MOST_PAUSES))
        return DomainPast(
            reason=(pauses[0].event.reason or "").replace("_", " ") if pauses else "",
            pauses=tuple(
                DomainPause(
                    at=pause.received,
                    reason=pause_reason(pause.event),
                    recovered_at=moment(pause.recovered_at),
                )
                for pause in pauses
            ),
            bounced=counts.get("lead.bounced", 0),
            hard=counts.get("hard", 0),
            opted_out=counts.get("lead.unsubscribed", 0),
            known_from=moment(heard_since(tx, workspace)),
            sequences=tuple(sequences),
        )

    @reads
    def domain_sequences(
        self, tx: Transaction, workspace: str, domain: str, since: datetime
    ) -> Sequence[str]:
        """The sequences that were seen sending from a domain, the busiest first."""
        return tx.scalars(_sequences_of(workspace, domain, since)).all()

    @reports
    def delivery_counts(
        self, tx: Transaction, workspace: str, since: datetime, until: datetime
    ) -> Mapping[str, int]:
        """Count the deliveries of each kind, from one moment until before another."""
        c = deliveries.c
        here = _came(workspace, since.timestamp()) & (c.received_at < until.timestamp()) & (c.kind != "")
        rows = tx.execute(_count(here).add_columns(c.kind).group_by(c.kind))
        return {kind: count for count, kind in rows}

    @reports
    def period(self, tx: Transaction, workspace: str, since: datetime, until: datetime) -> PeriodRecords:
        """The records of a client report from one moment until before another."""
        within = (_c.workspace == workspace) & _between(_c.received_at, since, until)
        paused = sa.select(*OWN).where(within, _c.kind == PAUSED).order_by(_c.received_at)
        replies = _count(within & _is_interested(workspace))
        touched = within & _is_interested(workspace) & _TOUCHED_AT.is_not(None)
        lost = sa.select(_c.received_at).where(within, _c.undelivered, _c.kind.in_(WRITTEN))
        return PeriodRecords(
            replies=tx.scalar(replies) or 0,
            touches=_waits(tx, _TOUCHED_AT, touched)[0],
            incidents=[
                DomainIncident(
                    at=alert.received,
                    text=f"The service paused {alert.domain or 'a domain'}",
                    domain=alert.domain,
                    handled_at=moment(alert.acked_at),
                    recovered_at=moment(alert.recovered_at),
                )
                for alert in read_alerts(tx, paused)
            ],
            changes=changes_between(tx, workspace, since.timestamp(), until.timestamp()),
            lost=[moment(at) for at in tx.scalars(lost.order_by(_c.received_at))],
        )


def _is_interested(workspace: str) -> sa.ColumnElement[bool]:
    """Interested replies, in the words of the partial indexes."""
    return (_c.workspace == workspace) & IS_INTERESTED


def _between(at: sa.ColumnElement[Any], since: datetime, until: datetime) -> sa.ColumnElement[bool]:
    return (at >= since.timestamp()) & (at < until.timestamp())


def _came(workspace: str, since: float) -> sa.ColumnElement[bool]:
    """The deliveries of the service that were read, since then."""
    c = deliveries.c
    # What came since was repeated since, if at all: the index by workspace has that time.
    lately = (c.workspace == workspace) & (c.received_at >= since) & (c.last_at >= since)
    return lately & sa.not_(c.found) & sa.not_(c.pending)


def _count(which: sa.ColumnElement[bool]) -> sa.Select[int]:
    return sa.select(sa.func.count()).where(which)


def _sequences_of(workspace: str, domain: str, since: datetime) -> sa.Select[str]:
    s, mine = sightings.c, _of_domain(workspace, domain, since.timestamp())
    names = sa.select(s.sequence).where(mine, s.sequence != "").group_by(s.sequence)
    return names.order_by(sa.func.count().desc(), s.sequence)


def _waits(tx: Transaction, ended_at: sa.ColumnElement[Any], within: sa.ColumnElement[bool]) -> list[Waits]:
    """The waits of replies until a moment: first of all together, then of each person who claimed some."""
    waited = (ended_at - _c.received_at).label("waited")
    query = sa.select(_c.claimed_by, _c.claimed_name, waited).where(within).order_by(ended_at)
    everyone, by_person, names = list[float](), defaultdict[str, list[float]](list), dict[str, str]()
    for row in tx.execute(query):
        seconds = max(0.0, row.waited)  # a clock may have been set back
        everyone.append(seconds)
        by_person[row.claimed_by].append(seconds)
        names[row.claimed_by] = row.claimed_name  # Slack may tell another one at times: the last one counts
    return [_measured(everyone), *(_measured(some, names[person]) for person, some in by_person.items())]


def _measured(waits: Sequence[float], name: str = "") -> Waits:
    if not waits:
        return Waits()
    return Waits(
        name=name,
        count=len(waits),
        median=median(waits),
        p90=sorted(waits)[(9 * len(waits) + 9) // 10 - 1],
        in_time=sum(seconds <= LATE_SECONDS for seconds in waits),
    )


@asynccontextmanager
async def open_store(
    url: URL, *, clock: Callable[[], float] | None = None, timings: LeaseTimings | None = None
) -> AsyncIterator[Store]:
    """Open the database, bring its schema up to date, and close it in the end.

    Raises `RecordsUnavailable` when it cannot be opened.
    """
    database = await Database.opened(url, clock=clock)
    try:
        yield Store(database, timings)
    finally:
        await database.aclose()


class _Unopened:
    """A store whose every act raises `RecordsUnavailable` with the reason; commands without need never notice."""

    def __init__(self, reason: str) -> None:
        self._reason = reason

    def __getattr__(self, _name: str) -> _Unopened:
        return self  # an act, or a part of the records with acts of its own

    async def __call__(self, *_arguments: object, **_named: object) -> None:
        raise RecordsUnavailable(self._reason)


@asynccontextmanager
async def open_records(url: URL) -> AsyncIterator[Store]:
    """The records of the bot; where their database does not open, some that say why when they are needed."""
    async with AsyncExitStack() as stack:
        try:
            records = await stack.enter_async_context(open_store(url))
        except RecordsUnavailable as fault:
            records = cast("Store", _Unopened(str(fault)))
        yield records
