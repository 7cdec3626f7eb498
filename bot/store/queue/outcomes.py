"""Records the outcome of a post and releases its channel, in one transaction."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from bot.store.db.engine import Database, Repository, Transaction, writes
from bot.store.db.schema import channel_leases, digests, posts, subscriptions
from bot.store.queue import outbox, slack_limits
from bot.store.queue.dead_letters import NOT_INSTALLED, raise_dead
from bot.store.queue.leases import FARTHEST, SET_BACK, ChannelLease, LeaseTimings, release, waits
from bot.store.queue.outbox import PlannedPost
from bot.store.queue.posts import UNSENT, State

RATE_LIMITED = "ratelimited"
"""Slack's word for a call too many."""
READS = 2
"""Look-ups that must find nothing before an uncertain post is tried again."""
FIRST_TRIAL = 30.0
"""Seconds until a channel that refuses everything is tried again; the longer it has refused, the longer."""
LONGEST_TRIAL = 600.0
"""Seconds between two such tries, at most."""
STORM_PAINT = 3.0
"""Seconds between repaints of a storm's summary."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """It is in the channel, as message `ts`."""

    ts: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NotSent:
    """Nothing reached Slack, or it asked to wait; again after so many seconds."""

    after: float
    error: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unknown:
    """It may be there. `answered`: Slack has answered, so that nothing is under way any more."""

    error: str = ""
    answered: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Absent:
    """A look-up found nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelRefused:
    """Slack takes nothing for this channel, or nothing from this token."""

    error: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Unpostable:
    """Slack refuses this one message, or refuses to show whether it is there (`unsure`)."""

    error: str
    unsure: bool = False


Outcome = Sent | NotSent | Unknown | Absent | ChannelRefused | Unpostable


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """Whether the lease was still held, and whether its channel broke or recovered just now."""

    held: bool
    broke: bool = False
    recovered: bool = False


Report = Callable[[ChannelLease, Outcome, Settled], PlannedPost | None]
"""Words the reports of an outcome to other places; planned in the transaction that records the outcome."""


class Outcomes(Repository):
    """The outcome of each lease."""

    def __init__(self, database: Database, timings: LeaseTimings) -> None:
        super().__init__(database)
        self._timings = timings

    @writes
    def settle(
        self, tx: Transaction, turn: ChannelLease, outcome: Outcome, *, report: Report | None = None
    ) -> Settled:
        """Record an outcome and plan its reports."""
        settled = _settle(tx, turn, outcome, timings=self._timings)
        if isinstance(outcome, NotSent) and outcome.error == RATE_LIMITED and not turn.lookup:
            slack_limits.throttled_post(tx, turn.channel, outcome.after)
        if report and (planned := report(turn, outcome, settled)):
            outbox.plan(tx, planned, workspace=turn.posts[0].workspace)
        return settled

    @writes
    def close_channel(self, tx: Transaction, channel: str, error: str, *, report: Report, used: bool) -> None:
        """Slack says that a channel takes nothing any more, before anything was posted there.

        One that is not `used` by the settings matters only where something was subscribed or posted.
        """
        if not (used or _is_used(tx, channel)):
            return
        tx.execute(tx.insert_once(channel_leases), {"channel": channel})
        lease = tx.execute(_lease_of(channel)).one()
        if lease.trouble:
            return
        tx.execute(sa.update(posts).where(_ready(channel)).values(state=State.DEAD, error=error))
        due = tx.now + FIRST_TRIAL if tx.scalar(sa.select(_unsent(channel).exists())) else None
        changed = {"trouble": error, "trouble_since": tx.now, "due_at": due}
        tx.execute(sa.update(channel_leases).where(channel_leases.c.channel == channel).values(**changed))
        turn = ChannelLease(channel=channel, token=lease.token, posts=())
        if planned := report(turn, ChannelRefused(error=error), Settled(held=True, broke=True)):
            outbox.plan(tx, planned, workspace="")

    @writes
    def forget_unused_channels(
        self, tx: Transaction, used: Collection[str], *, errors: Collection[str]
    ) -> None:
        """Give up channels with one of these errors that neither the settings (`used`) nor a subscription names."""
        c = channel_leases.c
        named = sa.union(sa.select(subscriptions.c.channel), sa.select(digests.c.channel))
        unused = c.trouble.in_(errors) & c.channel.not_in(named) & c.channel.not_in(used)
        for channel in tx.scalars(sa.select(c.channel).where(unused).order_by(c.channel)).all():
            outbox.give_up(tx, channel)

    @writes
    def open_channel(self, tx: Transaction, channel: str, *, report: Report) -> None:
        """Slack says that a channel takes posts again: what was refused there is posted and repainted now."""
        stale = (posts.c.channel == channel) & posts.c.repaint_at.is_not(None)
        tx.execute(sa.update(posts).where(stale).values(repaint_at=tx.now))
        lease = tx.execute(_lease_of(channel)).one_or_none()
        if lease is None or not lease.trouble:
            return
        changed = {"trouble": "", "trouble_since": None, "due_at": tx.now}
        tx.execute(sa.update(channel_leases).where(channel_leases.c.channel == channel).values(**changed))
        raise_dead(tx, posts.c.channel == channel)
        turn = ChannelLease(channel=channel, token=lease.token, posts=())
        if planned := report(turn, Absent(), Settled(held=True, recovered=True)):
            outbox.plan(tx, planned, workspace="")


def _is_used(tx: Transaction, channel: str) -> bool:
    tables = (channel_leases, subscriptions, digests)
    return any(tx.scalar(sa.select(sa.exists().where(table.c.channel == channel))) for table in tables)


def _lease_of(channel: str) -> sa.Select[Any]:
    return sa.select(channel_leases).where(channel_leases.c.channel == channel).with_for_update()


def _unsent(channel: str) -> sa.Select[Any]:
    return sa.select(posts.c.id).where(posts.c.channel == channel, UNSENT)


def _ready(channel: str) -> sa.ColumnElement[bool]:
    return (posts.c.channel == channel) & UNSENT & (posts.c.state == State.READY)


def _settle(tx: Transaction, turn: ChannelLease, outcome: Outcome, *, timings: LeaseTimings) -> Settled:
    """Write the outcome. A turn whose lease was lost changes only what it knows for sure: that it was sent."""
    lease = tx.execute(
        sa.select(channel_leases)
        .where(channel_leases.c.channel == turn.channel, channel_leases.c.token == turn.token)
        .with_for_update()
    ).one_or_none()
    if isinstance(outcome, Sent):
        _mark_sent(tx, turn, outcome.ts)
    if lease is None:
        return Settled(held=False)
    if isinstance(outcome, ChannelRefused):
        return _break(tx, turn, lease, outcome)
    if not isinstance(outcome, Sent):
        after = _keep(tx, turn, outcome, timings=timings)
        if after is not None:
            release(tx, turn.channel, turn.token, due_at=tx.now + min(after, FARTHEST))
            return Settled(held=True)
    return _go_on(tx, turn, lease, timings=timings, works=_works(turn, outcome, lease))


def _works(turn: ChannelLease, outcome: Outcome, lease: sa.Row[Any]) -> bool:
    newer = not turn.lookup or lease.trouble_since is None or turn.since >= lease.trouble_since
    return isinstance(outcome, Sent) and newer


def _keep(
    tx: Transaction,
    turn: ChannelLease,
    outcome: NotSent | Unknown | Absent | Unpostable,
    *,
    timings: LeaseTimings,
) -> float | None:
    """Mark what is not sent; returns the channel's pause, None when it goes on as after a message."""
    match outcome:
        case NotSent():
            _mark(tx, turn, state=State.UNCERTAIN if turn.lookup else State.READY, error=outcome.error)
            return outcome.after
        case Unknown():
            over = {"tried_until": tx.now} if outcome.answered else {}
            _mark(tx, turn, state=State.UNCERTAIN, unsure=True, error=outcome.error, **over)
            return timings.read_pause / 2
        case Absent():
            _mark_absent(tx, turn)
            return timings.read_pause
        case Unpostable():
            _mark(tx, turn, state=State.DEAD, unsure=outcome.unsure, error=outcome.error)
            return 0.0 if outcome.unsure else None


def _ours(turn: ChannelLease, *also: State) -> sa.ColumnElement[bool]:
    mine = posts.c.id.in_([post.id for post in turn.posts])
    if turn.lookup:
        return mine & posts.c.state.in_([State.UNCERTAIN, *also])
    return mine & posts.c.state.in_([State.SENDING, State.UNCERTAIN, *also]) & (posts.c.token == turn.token)


def _mark(tx: Transaction, turn: ChannelLease, **values: Any) -> None:
    tx.execute(sa.update(posts).where(_ours(turn)).values(**values))


def _mark_sent(tx: Transaction, turn: ChannelLease, ts: str) -> None:
    """Also when another process has given it up meanwhile, as long as none has tried it again."""
    drawn = {post.id: post.version for post in turn.posts}
    values = {"state": State.SENT, "ts": ts, "sent_at": tx.now, "unsure": False, "error": ""}
    tx.execute(sa.update(posts).where(_ours(turn, State.READY, State.DEAD)).values(**values))
    stale = posts.c.version != sa.case(drawn, value=posts.c.id, else_=-1)
    tx.execute(
        sa.update(posts)
        .where(posts.c.id.in_(drawn), posts.c.state == State.SENT)
        .values(repaint_at=sa.case((sa.or_(stale, sa.literal(turn.lookup)), tx.now), else_=None))
    )


def _mark_absent(tx: Transaction, turn: ChannelLease) -> None:
    """To be sent again after enough look-ups, once the attempt before can no longer arrive."""
    until = posts.c.tried_until
    enough = (posts.c.lookups + 1 >= READS) & sa.or_(until.is_(None), until <= tx.now)
    _mark(
        tx,
        turn,
        lookups=sa.case((enough, 0), else_=posts.c.lookups + 1),
        state=sa.case((enough, State.READY.value), else_=State.UNCERTAIN.value),
        unsure=sa.not_(enough),
    )


def _go_on(
    tx: Transaction,
    turn: ChannelLease,
    lease: sa.Row[Any],
    *,
    timings: LeaseTimings,
    works: bool,
) -> Settled:
    """After an answer: pace the lease, and raise its dead letters when it `works` again."""
    tat = tx.now + timings.period
    if lease.tat is not None and lease.tat - tx.now < SET_BACK:
        tat = max(lease.tat, tx.now) + (0.0 if turn.lookup else timings.period)
    values: dict[str, Any] = {"tat": tat}
    if lease.storm:
        values["storm"] = _storm(tx, lease)
    recovered = bool(lease.trouble) and works
    if recovered:
        values |= {"trouble": "", "trouble_since": None}
        raise_dead(tx, posts.c.channel == turn.channel)
    tx.execute(sa.update(channel_leases).where(channel_leases.c.channel == turn.channel).values(**values))
    due: float | None = max(tx.now, timings.opens_at(tat))
    if lease.trouble and not recovered:
        due = tx.now + (0.0 if turn.lookup else _pause(lease, now=tx.now))
    elif not _something_waits(tx, turn.channel):
        due = None
    release(tx, turn.channel, turn.token, due_at=due)
    return Settled(held=True, recovered=recovered)


def _pause(lease: sa.Row[Any], *, now: float) -> float:
    since = now if lease.trouble_since is None else lease.trouble_since
    return min(LONGEST_TRIAL, max(FIRST_TRIAL, now - since))


def _storm(tx: Transaction, lease: sa.Row[Any]) -> int:
    """Repaint the summary soon, or now for the last time; returns the storm that goes on, 0 when it is over."""
    goes_on = waits(tx, lease.channel, more_than=0)
    soon = sa.func.coalesce(posts.c.repaint_at, tx.now + STORM_PAINT)
    tx.execute(
        sa.update(posts)
        .where(posts.c.id == lease.storm)
        .values(version=posts.c.version + 1, repaint_at=soon if goes_on else tx.now)
    )
    return int(lease.storm) if goes_on else 0


def _something_waits(tx: Transaction, channel: str) -> bool:
    waits = posts.c.state.in_([State.READY, State.UNCERTAIN])
    query = sa.select(posts.c.id).where(posts.c.channel == channel, UNSENT, waits).limit(1)
    return tx.execute(query).first() is not None


def _break(tx: Transaction, turn: ChannelLease, lease: sa.Row[Any], outcome: ChannelRefused) -> Settled:
    _mark(tx, turn, state=State.UNCERTAIN if turn.lookup else State.READY, error=outcome.error)
    tx.execute(sa.update(posts).where(_ready(turn.channel)).values(state=State.DEAD, error=outcome.error))
    since = lease.trouble_since if lease.trouble else tx.now
    broken = sa.update(channel_leases).where(channel_leases.c.channel == turn.channel)
    tx.execute(broken.values(trouble=outcome.error, trouble_since=since))
    # Nothing is tried for a Slack workspace that is gone: dead_letters opens the channel when it is back.
    due = None if outcome.error == NOT_INSTALLED else tx.now + _pause(lease, now=tx.now)
    release(tx, turn.channel, turn.token, due_at=due)
    return Settled(held=True, broke=not lease.trouble)
