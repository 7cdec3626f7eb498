"""Records the outcome of a post and releases its channel, in one transaction."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from bot.store.db.columns import NOW
from bot.store.db.engine import Database, Repository, Transaction, writes
from bot.store.db.schema import channel_leases, digests, posts, subscriptions
from bot.store.queue import outbox, slack_limits, uncertain
from bot.store.queue.dead_letters import NOT_INSTALLED, raise_dead
from bot.store.queue.leases import (
    FARTHEST,
    LEASE,
    READY_IN,
    SET_BACK,
    ChannelLease,
    release,
    storm_after,
    waits,
)
from bot.store.queue.outbox import PlannedPost
from bot.store.queue.posts import UNCERTAIN, UNSENT, State
from bot.store.queue.timings import LeaseTimings

RATE_LIMITED = "ratelimited"
"""Slack's word for a call too many."""
LONGEST_DOUBT = 30.0
"""Seconds that a channel pauses at most after a post whose outcome is unknown."""
FIRST_TRIAL = 30.0
"""Seconds until a channel that refuses everything is tried again; the longer it has refused, the longer."""
LONGEST_TRIAL = 600.0
"""Seconds between two such tries, at most."""


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
class ChannelRefused:
    """Slack takes nothing for this channel, or nothing from this token."""

    error: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Unpostable:
    """Slack refuses this one message. `keyless`: it may be there, but has nothing by which it could be found."""

    error: str
    keyless: bool = False


Outcome = Sent | NotSent | Unknown | ChannelRefused | Unpostable


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
        if isinstance(outcome, NotSent) and outcome.error == RATE_LIMITED:
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
        tx.execute(_REFUSED, {"of": channel, "error": error})
        due = tx.now + FIRST_TRIAL if tx.scalar(sa.select(_unsent(channel).exists())) else None
        changed = {"trouble": error, "trouble_since": tx.now, "due_at": due}
        tx.execute(LEASE, {"of": channel, **changed})
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
        tx.execute(LEASE, {"of": channel, **changed})
        raise_dead(tx, posts.c.channel == channel)
        turn = ChannelLease(channel=channel, token=lease.token, posts=())
        if planned := report(turn, Sent(ts=""), Settled(held=True, recovered=True)):
            outbox.plan(tx, planned, workspace="")


def _is_used(tx: Transaction, channel: str) -> bool:
    tables = (channel_leases, subscriptions, digests)
    return any(tx.scalar(sa.select(sa.exists().where(table.c.channel == channel))) for table in tables)


def _lease_of(channel: str) -> sa.Select[Any]:
    return sa.select(channel_leases).where(channel_leases.c.channel == channel).with_for_update()


def _unsent(channel: str) -> sa.Select[Any]:
    return sa.select(posts.c.id).where(posts.c.channel == channel, UNSENT)


_HELD = (
    sa.select(channel_leases)
    .where(channel_leases.c.channel == sa.bindparam("of"), channel_leases.c.token == sa.bindparam("held"))
    .with_for_update()
)
_REFUSED = sa.update(posts).where(READY_IN).values(state=State.DEAD)


def _settle(tx: Transaction, turn: ChannelLease, outcome: Outcome, *, timings: LeaseTimings) -> Settled:
    """Write the outcome. A turn whose lease was lost changes only what it knows for sure: that it was sent."""
    lease = tx.execute(_HELD, {"of": turn.channel, "held": turn.token}).one_or_none()
    if isinstance(outcome, Sent):
        _mark_sent(tx, turn, outcome.ts)
    if lease is None:
        outbox.wake(tx, [turn.channel])  # what waited because this was uncertain
        return Settled(held=False)
    if isinstance(outcome, ChannelRefused):
        return _break(tx, turn, lease, outcome)
    if not isinstance(outcome, Sent):
        after = _keep(tx, turn, outcome, timings=timings)
        if after is not None:
            if lease.trouble and isinstance(outcome, Unknown):
                after = _pause(lease, now=tx.now)
            release(tx, turn.channel, turn.token, due_at=tx.now + min(after, FARTHEST))
            return Settled(held=True)
    return _go_on(tx, turn, lease, timings=timings, works=isinstance(outcome, Sent))


def _keep(
    tx: Transaction,
    turn: ChannelLease,
    outcome: NotSent | Unknown | Unpostable,
    *,
    timings: LeaseTimings,
) -> float | None:
    """Mark what is not sent; returns the channel's pause, None when it goes on as after a message."""
    match outcome:
        case NotSent():
            _mark(tx, turn, state=State.READY, error=outcome.error)
            return outcome.after
        case Unknown():
            over = {"tried_until": tx.now} if outcome.answered else {}
            pause = timings.read_pause / 2
            uncertain.look_for(tx, _DOUBTED, {**_ours(turn), "error": outcome.error, **over}, after=pause)
            return min(LONGEST_DOUBT, pause * 2.0 ** (_uncertain(tx, turn.channel) - 1))
        case Unpostable():
            keyless = {"unsure": True, "keyless": True} if outcome.keyless else {}
            _mark(tx, turn, state=State.DEAD, error=outcome.error, **keyless)
            return 0.0 if outcome.keyless else None


def _uncertain(tx: Transaction, channel: str) -> int:
    """How many posts are uncertain, up to ten: with each of them it is likelier that Slack is down."""
    which = sa.select(posts.c.id).where(posts.c.channel == channel, UNCERTAIN).limit(10)
    return len(tx.scalars(which).all())


_MINE = posts.c.id.in_(sa.bindparam("ids", expanding=True)) & (posts.c.token == sa.bindparam("held"))
_TRIED = _MINE & posts.c.state.in_([State.SENDING, State.UNCERTAIN])
_MARK, _DOUBTED = sa.update(posts).where(_TRIED), uncertain.doubted(_TRIED)
# Also when another process has given it up meanwhile, as long as none has tried it again.
_MARK_SENT = sa.update(posts).where(
    _MINE, posts.c.state.in_([State.SENDING, State.UNCERTAIN, State.READY, State.DEAD])
)
_DRAWN = (
    sa.update(posts)
    .where(posts.c.id == sa.bindparam("post"), posts.c.state == State.SENT)
    .values(repaint_at=sa.case((posts.c.version != sa.bindparam("drawn"), NOW), else_=None))
)


def _ours(turn: ChannelLease) -> dict[str, Any]:
    return {"ids": [post.id for post in turn.posts], "held": turn.token}


def _mark(tx: Transaction, turn: ChannelLease, **values: Any) -> None:
    tx.execute(_MARK, {**_ours(turn), **values})


def _mark_sent(tx: Transaction, turn: ChannelLease, ts: str) -> None:
    values = {"state": State.SENT, "ts": ts, "sent_at": tx.now, "unsure": False, "error": ""}
    tx.execute(_MARK_SENT, {**_ours(turn), **values})
    drawn = [{"post": post.id, "drawn": post.version, "now": tx.now} for post in turn.posts]
    tx.execute(_DRAWN, drawn)


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
        tat = max(lease.tat, tx.now) + timings.period
    values: dict[str, Any] = {"tat": tat}
    if lease.storm:
        values["storm"] = storm_after(tx, lease)
    recovered = bool(lease.trouble) and works
    if recovered:
        values |= {"trouble": "", "trouble_since": None}
        raise_dead(tx, posts.c.channel == turn.channel)
    tx.execute(LEASE, {"of": turn.channel, **values})
    due: float | None = max(tx.now, timings.opens_at(tat))
    if lease.trouble and not recovered:
        due = tx.now + _pause(lease, now=tx.now)
    elif not waits(tx, turn.channel, more_than=0):
        due = None
    release(tx, turn.channel, turn.token, due_at=due)
    return Settled(held=True, recovered=recovered)


def _pause(lease: sa.Row[Any], *, now: float) -> float:
    since = now if lease.trouble_since is None else lease.trouble_since
    return min(LONGEST_TRIAL, max(FIRST_TRIAL, now - since))


def _break(tx: Transaction, turn: ChannelLease, lease: sa.Row[Any], outcome: ChannelRefused) -> Settled:
    _mark(tx, turn, state=State.READY, error=outcome.error)
    tx.execute(_REFUSED, {"of": turn.channel, "error": outcome.error})
    since = lease.trouble_since if lease.trouble else tx.now
    tx.execute(LEASE, {"of": turn.channel, "trouble": outcome.error, "trouble_since": since})
    # Nothing is tried for a Slack workspace that is gone: dead_letters opens the channel when it is back.
    due = None if outcome.error == NOT_INSTALLED else tx.now + _pause(lease, now=tx.now)
    release(tx, turn.channel, turn.token, due_at=due)
    return Settled(held=True, broke=not lease.trouble)
