"""What a turn came to, written down with the lane's release in one transaction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from bot.store.db.schema import lanes, posts
from bot.store.queue.leases import FARTHEST, SET_BACK, ChannelLease, LeaseTimings, release, waits
from bot.store.queue.posts import State

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
    """Nothing reached Slack, or it said not now; again after so many seconds."""

    after: float
    error: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unknown:
    """It may be there. `answered`: Slack has said something, so that nothing is under way any more."""

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
    """Slack refuses this one message, or refuses to tell whether it is there (`unsure`)."""

    error: str
    unsure: bool = False


Outcome = Sent | NotSent | Unknown | Absent | ChannelRefused | Unpostable


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """Whether the lane was still ours, and whether its channel broke or was cured just now."""

    held: bool
    broke: bool = False
    cured: bool = False


def settle(
    connection: sa.Connection, turn: ChannelLease, outcome: Outcome, *, now: float, pace: LeaseTimings
) -> Settled:
    """Write the outcome. A turn whose lease was lost changes only what it knows for sure: that it was sent."""
    lane = connection.execute(
        sa.select(lanes).where(lanes.c.channel == turn.channel, lanes.c.token == turn.token).with_for_update()
    ).one_or_none()
    if isinstance(outcome, Sent):
        _mark_sent(connection, turn, outcome.ts, now=now)
    if lane is None:
        return Settled(held=False)
    if isinstance(outcome, ChannelRefused):
        return _break(connection, turn, lane, outcome, now=now)
    if not isinstance(outcome, Sent):
        after = _keep(connection, turn, outcome, now=now, pace=pace)
        if after is not None:
            release(connection, turn.channel, turn.token, due_at=now + min(after, FARTHEST))
            return Settled(held=True)
    return _go_on(connection, turn, lane, now=now, pace=pace, works=_works(turn, outcome, lane))


def _works(turn: ChannelLease, outcome: Outcome, lane: sa.Row[Any]) -> bool:
    """Whether the channel has taken a message since it broke: one found there may be older."""
    newer = not turn.lookup or lane.trouble_since is None or turn.since >= lane.trouble_since
    return isinstance(outcome, Sent) and newer


def _keep(
    connection: sa.Connection,
    turn: ChannelLease,
    outcome: NotSent | Unknown | Absent | Unpostable,
    *,
    now: float,
    pace: LeaseTimings,
) -> float | None:
    """Mark what is not sent; returns the lane's pause, None when it goes on as after a message."""
    match outcome:
        case NotSent():
            _mark(
                connection, turn, state=State.UNCERTAIN if turn.lookup else State.READY, error=outcome.error
            )
            return outcome.after
        case Unknown():
            over = {"tried_until": now} if outcome.answered else {}
            _mark(connection, turn, state=State.UNCERTAIN, unsure=True, error=outcome.error, **over)
            return pace.read_pause / 2
        case Absent():
            _mark_absent(connection, turn, now=now)
            return pace.read_pause
        case Unpostable():
            _mark(connection, turn, state=State.DEAD, unsure=outcome.unsure, error=outcome.error)
            return 0.0 if outcome.unsure else None


def _ours(turn: ChannelLease, *also: State) -> sa.ColumnElement[bool]:
    mine = posts.c.id.in_([post.id for post in turn.posts])
    if turn.lookup:
        return mine & posts.c.state.in_([State.UNCERTAIN, *also])
    return mine & posts.c.state.in_([State.SENDING, State.UNCERTAIN, *also]) & (posts.c.token == turn.token)


def _mark(connection: sa.Connection, turn: ChannelLease, **values: Any) -> None:
    connection.execute(sa.update(posts).where(_ours(turn)).values(**values))


def _mark_sent(connection: sa.Connection, turn: ChannelLease, ts: str, *, now: float) -> None:
    """Also when somebody has given it up meanwhile, as long as nobody has tried it again."""
    drawn = {post.id: post.version for post in turn.posts}
    values = {"state": State.SENT, "ts": ts, "sent_at": now, "unsure": False, "error": ""}
    connection.execute(sa.update(posts).where(_ours(turn, State.READY, State.DEAD)).values(**values))
    stale = posts.c.version != sa.case(drawn, value=posts.c.id, else_=-1)
    connection.execute(
        sa.update(posts)
        .where(posts.c.id.in_(drawn), posts.c.state == State.SENT)
        .values(repaint_at=sa.case((sa.or_(stale, sa.literal(turn.lookup)), now), else_=None))
    )


def _mark_absent(connection: sa.Connection, turn: ChannelLease, *, now: float) -> None:
    """To be sent again after enough look-ups, once the attempt before can no longer arrive."""
    until = posts.c.tried_until
    enough = (posts.c.lookups + 1 >= READS) & sa.or_(until.is_(None), until <= now)
    _mark(
        connection,
        turn,
        lookups=sa.case((enough, 0), else_=posts.c.lookups + 1),
        state=sa.case((enough, State.READY.value), else_=State.UNCERTAIN.value),
        unsure=sa.not_(enough),
    )


def _go_on(
    connection: sa.Connection,
    turn: ChannelLease,
    lane: sa.Row[Any],
    *,
    now: float,
    pace: LeaseTimings,
    works: bool,
) -> Settled:
    """After an answer: pace the lane, and raise its dead letters when it `works` again."""
    tat = now + pace.period
    if lane.tat is not None and lane.tat - now < SET_BACK:
        tat = max(lane.tat, now) + (0.0 if turn.lookup else pace.period)
    values: dict[str, Any] = {"tat": tat}
    if lane.storm:
        values["storm"] = _storm(connection, lane, now=now)
    cured = bool(lane.trouble) and works
    if cured:
        values |= {"trouble": "", "trouble_since": None}
        _raise_dead(connection, posts.c.channel == turn.channel)
    connection.execute(sa.update(lanes).where(lanes.c.channel == turn.channel).values(**values))
    due: float | None = max(now, pace.opens_at(tat))
    if lane.trouble and not cured:
        due = now + (0.0 if turn.lookup else _pause(lane, now=now))
    elif not _something_waits(connection, turn.channel):
        due = None
    release(connection, turn.channel, turn.token, due_at=due)
    return Settled(held=True, cured=cured)


def _pause(lane: sa.Row[Any], *, now: float) -> float:
    """As long again as the channel has been broken: one that broke just now is tried soon."""
    since = now if lane.trouble_since is None else lane.trouble_since
    return min(LONGEST_TRIAL, max(FIRST_TRIAL, now - since))


def _storm(connection: sa.Connection, lane: sa.Row[Any], *, now: float) -> int:
    """Repaint the summary soon, or now for the last time; returns the storm that goes on, 0 when it is over."""
    goes_on = waits(connection, lane.channel, more_than=0)
    soon = sa.func.coalesce(posts.c.repaint_at, now + STORM_PAINT)
    connection.execute(
        sa.update(posts)
        .where(posts.c.id == lane.storm)
        .values(version=posts.c.version + 1, repaint_at=soon if goes_on else now)
    )
    return int(lane.storm) if goes_on else 0


def _something_waits(connection: sa.Connection, channel: str) -> bool:
    waits = posts.c.state.in_([State.READY, State.UNCERTAIN])
    query = sa.select(posts.c.id).where(posts.c.channel == channel, waits).limit(1)
    return connection.execute(query).first() is not None


def _break(
    connection: sa.Connection, turn: ChannelLease, lane: sa.Row[Any], outcome: ChannelRefused, *, now: float
) -> Settled:
    ready = (posts.c.channel == turn.channel) & (posts.c.state == State.READY)
    _mark(connection, turn, state=State.UNCERTAIN if turn.lookup else State.READY, error=outcome.error)
    connection.execute(sa.update(posts).where(ready).values(state=State.DEAD, error=outcome.error))
    since = lane.trouble_since if lane.trouble else now
    broken = sa.update(lanes).where(lanes.c.channel == turn.channel)
    connection.execute(broken.values(trouble=outcome.error, trouble_since=since))
    release(connection, turn.channel, turn.token, due_at=now + _pause(lane, now=now))
    return Settled(held=True, broke=not lane.trouble)


def _raise_dead(connection: sa.Connection, which: sa.ColumnElement[bool]) -> Sequence[str]:
    state = sa.case((posts.c.unsure, State.UNCERTAIN.value), else_=State.READY.value)
    query = sa.update(posts).where(which, posts.c.state == State.DEAD).values(state=state)
    return connection.execute(query.returning(posts.c.channel)).scalars().all()


def revive(connection: sa.Connection, *, now: float) -> int:
    """Give single dead letters another try, in a broken channel only a look; returns how many."""
    healthy = posts.c.channel.in_(sa.select(lanes.c.channel).where(lanes.c.trouble == ""))
    channels = _raise_dead(connection, sa.or_(healthy, posts.c.unsure))
    for channel in set(channels):
        connection.execute(
            sa.update(lanes)
            .where(lanes.c.channel == channel)
            .values(due_at=sa.func.coalesce(lanes.c.due_at, now))
        )
    return len(channels)
