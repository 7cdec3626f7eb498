"""Whose turn it is to speak in Slack: one lane per channel, leased for one message at a time.

    ready -> sending -> sent
                     -> uncertain -> (found in the channel: sent | absent twice: ready)
                     -> dead -> (tried again now and then: sent)

A lane is leased with a token that every claim raises. Whoever lost its lease writes with an old token and
changes nothing. A post that is found `sending` when its lane is claimed was left by a process that died:
its outcome is unknown. A time further ahead than this module ever writes means that the clock was set back.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

import sqlalchemy as sa

from bot.store.db.schema import lanes, posts
from bot.store.queue.posts import Post, State, load

BUNDLE = 20
"""Alerts that share one message of a storm's thread."""
FARTHEST = 3600.0
"""Seconds ahead that a lane may be due at most."""
SET_BACK = 60.0
"""Seconds ahead that no lane's schedule ever is: the clock was set back, and what was due then is due now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseTimings:
    """How fast a channel may speak, and how long its lease lasts; seconds."""

    period: float = 1.0
    """Between messages of a channel (Slack, rate limits)."""
    burst: int = 1
    """Messages that a rested channel takes at once beyond the first; Slack itself allows a little more."""
    lease: float = 10.0
    """Longer than any call that is made under it."""
    storm_at: int = 60
    """More waiting than a channel takes in a minute."""
    read_pause: float = 2.0
    """Between look-ups of an uncertain message: what was accepted is in the history by then."""
    doubt: float = 10.0
    """How long after its lease an attempt that was never answered may still turn up."""

    @property
    def patience(self) -> float:
        """Within which a post is over, as seen from here, and its outcome written down before the lease ends."""
        return 0.8 * self.lease

    @property
    def longest(self) -> float:
        """From the claim of a post to the moment when what was tried then can no longer turn up."""
        return self.lease + self.doubt

    def opens_at(self, tat: float) -> float:
        """When a channel whose next message is due at `tat` may have it, its burst considered."""
        return tat - self.burst * self.period


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelLease:
    """What the holder of a lane is to do within its lease: post these, or look for them."""

    channel: str
    token: int
    posts: tuple[Post, ...]
    lookup: bool = False
    thread_ts: str = ""
    since: float = 0.0
    """Of a look-up: when the attempt began, or earlier; Unix seconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Claimed:
    """The turns taken, and after how many seconds to ask again (None: nothing waits)."""

    turns: tuple[ChannelLease, ...]
    next_in: float | None


def claim(
    connection: sa.Connection, *, now: float, limit: int, pace: LeaseTimings, besides: Collection[str] = ()
) -> Claimed:
    """Lease up to `limit` lanes that are due, `besides` those in which the caller is speaking still."""
    others = lanes.c.channel.not_in(besides)
    leased = _lease(connection, others, now=now, limit=limit, lease=pace.lease)
    turns = [_turn(connection, lane, now=now, pace=pace) for lane in leased]
    return Claimed(
        turns=tuple(t for t in turns if t), next_in=_next_in(connection, others, now=now, lease=pace.lease)
    )


def broken(connection: sa.Connection) -> dict[str, str]:
    """Channels that take nothing, and what Slack says of each."""
    query = sa.select(lanes.c.channel, lanes.c.trouble).where(lanes.c.trouble != "")
    return {row.channel: row.trouble for row in connection.execute(query.order_by(lanes.c.channel))}


def take_over(connection: sa.Connection, *, now: float) -> None:
    """Free every lane, and let all that was put off be tried now; only for who knows that nobody else is alive.

    By whose clock it was put off is not known: it may have been set back since.
    """
    connection.execute(sa.update(lanes).values(lease_until=None))
    connection.execute(sa.update(lanes).where(lanes.c.due_at > now).values(due_at=now))
    connection.execute(sa.update(lanes).where(lanes.c.tat > now).values(tat=now))
    connection.execute(sa.update(posts).where(posts.c.repaint_at > now).values(repaint_at=now))


def _lease(
    connection: sa.Connection, others: sa.ColumnElement[bool], *, now: float, limit: int, lease: float
) -> Sequence[sa.Row[Any]]:
    due = (
        sa.select(lanes.c.channel)
        .where(others, _is_due(now), _is_free(now, lease=lease))
        .order_by(lanes.c.due_at)
        .limit(limit)
        .with_for_update(skip_locked=True)
    )
    return connection.execute(
        sa.update(lanes)
        .where(lanes.c.channel.in_(due))
        .values(lease_until=now + lease, token=lanes.c.token + 1)
        .returning(lanes)
    ).all()


def _is_due(now: float) -> sa.ColumnElement[bool]:
    """Also when what it was put off by cannot be true."""
    waits = lanes.c.due_at.is_not(None)
    return sa.or_(
        lanes.c.due_at <= now, lanes.c.due_at > now + FARTHEST, waits & (lanes.c.tat > now + SET_BACK)
    )


def _is_free(now: float, *, lease: float) -> sa.ColumnElement[bool]:
    until = lanes.c.lease_until
    return sa.or_(until.is_(None), until <= now, until > now + lease)


def _next_in(
    connection: sa.Connection, others: sa.ColumnElement[bool], *, now: float, lease: float
) -> float | None:
    when = sa.case((_is_free(now, lease=lease), lanes.c.due_at), else_=lanes.c.lease_until)
    at = connection.scalar(sa.select(sa.func.min(when)).where(others, lanes.c.due_at.is_not(None)))
    return None if at is None else max(0.0, min(float(at) - now, FARTHEST))


def _turn(
    connection: sa.Connection, lane: sa.Row[Any], *, now: float, pace: LeaseTimings
) -> ChannelLease | None:
    _doubt(connection, lane, now=now, pace=pace)
    if (lane.tat or 0.0) > now + SET_BACK:
        connection.execute(sa.update(lanes).where(lanes.c.channel == lane.channel).values(tat=now))
    opening = pace.opens_at(lane.tat or 0.0)
    if now < opening < now + SET_BACK:
        release(connection, lane.channel, lane.token, due_at=opening)
        return None
    turn = (
        _lookup(connection, lane, pace=pace)
        or _trial(connection, lane, pace=pace)
        or _delivery(connection, lane, now=now, pace=pace)
    )
    if turn is None:
        release(connection, lane.channel, lane.token, due_at=None)
    return turn


def _doubt(connection: sa.Connection, lane: sa.Row[Any], *, now: float, pace: LeaseTimings) -> None:
    """What somebody was sending whose lease is over may be there, or come still."""
    mine = posts.c.channel == lane.channel
    left = mine & (posts.c.state == State.SENDING)
    connection.execute(sa.update(posts).where(left).values(state=State.UNCERTAIN, unsure=True))
    latest = now + pace.longest  # further ahead: the clock was set back, and the waiting begins anew
    far = mine & (posts.c.state == State.UNCERTAIN) & (posts.c.tried_until > latest)
    connection.execute(sa.update(posts).where(far).values(tried_until=latest))


def _lookup(connection: sa.Connection, lane: sa.Row[Any], *, pace: LeaseTimings) -> ChannelLease | None:
    found = load(connection, lane.channel, State.UNCERTAIN, limit=1)
    if not found:
        return None
    group = load(connection, lane.channel, State.UNCERTAIN, limit=BUNDLE, bundle=found[0].bundle)
    together = group if found[0].bundle else found
    return ChannelLease(
        channel=lane.channel,
        token=lane.token,
        posts=together,
        lookup=True,
        thread_ts=found[0].thread_ts,
        since=(found[0].tried_until or found[0].created_at) - pace.longest,
    )


def _trial(connection: sa.Connection, lane: sa.Row[Any], *, pace: LeaseTimings) -> ChannelLease | None:
    """In a channel that refused everything, one dead letter is tried, another one each time."""
    if not lane.trouble:
        return None
    letter = load(connection, lane.channel, State.DEAD, limit=1, sure=True, least_tried=True)
    return _take(connection, lane, letter, pace=pace)


def _delivery(
    connection: sa.Connection, lane: sa.Row[Any], *, now: float, pace: LeaseTimings
) -> ChannelLease | None:
    head = _storm_head(connection, lane, now=now, pace=pace)
    if head or not lane.storm:
        alone = head or load(connection, lane.channel, State.READY, limit=1)
        return _take(connection, lane, alone, pace=pace)
    ts = connection.scalar(sa.select(posts.c.ts).where(posts.c.id == lane.storm)) or ""
    items = load(connection, lane.channel, State.READY, limit=BUNDLE, urgent_first=True)
    bundle = f"b{lane.token}-{items[0].mark}" if items else ""
    return _take(connection, lane, items, pace=pace, bundle=bundle, thread_ts=ts, storm=lane.storm)


def _storm_head(
    connection: sa.Connection, lane: sa.Row[Any], *, now: float, pace: LeaseTimings
) -> tuple[Post, ...]:
    """The summary card of a storm, begun here when too much waits, until it is posted."""
    if lane.storm:
        return load(connection, lane.channel, State.READY, limit=1, only=lane.storm)
    if not waits(connection, lane.channel, more_than=pace.storm_at):
        return ()
    head = connection.execute(
        sa.insert(posts)
        .values(
            dedupe=f"storm:{lane.channel}:{lane.token}",
            workspace="",
            channel=lane.channel,
            kind="storm",
            state=State.READY,
            created_at=now,
        )
        .returning(posts.c.id)
    ).scalar_one()
    connection.execute(sa.update(lanes).where(lanes.c.channel == lane.channel).values(storm=head))
    return load(connection, lane.channel, State.READY, limit=1, only=head)


def waits(connection: sa.Connection, channel: str, *, more_than: int) -> bool:
    """Whether more posts of a channel than this are ready."""
    ready = (posts.c.channel == channel) & (posts.c.state == State.READY)
    query = sa.select(posts.c.id).where(ready).order_by(posts.c.id).offset(more_than).limit(1)
    return connection.execute(query).first() is not None


def _take(
    connection: sa.Connection,
    lane: sa.Row[Any],
    items: tuple[Post, ...],
    *,
    pace: LeaseTimings,
    bundle: str = "",
    thread_ts: str = "",
    storm: int = 0,
) -> ChannelLease | None:
    if not items:
        return None
    thread = thread_ts or _thread_of(connection, items[0])
    values = {
        "bundle": bundle,
        "thread_ts": thread,
        "storm": storm,
        "token": lane.token,
        "tried_until": lane.lease_until + pace.doubt,
    }
    connection.execute(
        sa.update(posts)
        .where(posts.c.id.in_([item.id for item in items]))
        .values(state=State.SENDING, attempts=posts.c.attempts + 1, **values)
    )
    return ChannelLease(
        channel=lane.channel,
        token=lane.token,
        posts=tuple(replace(item, bundle=bundle, storm=storm, thread_ts=thread) for item in items),
        thread_ts=thread,
    )


def _thread_of(connection: sa.Connection, item: Post) -> str:
    """What follows an alert belongs under its card."""
    if item.kind == "alert" or not item.alert_id:
        return ""
    first = (
        (posts.c.alert_id == item.alert_id) & (posts.c.channel == item.channel) & (posts.c.kind == "alert")
    )
    parent = sa.case((posts.c.thread_ts != "", posts.c.thread_ts), else_=posts.c.ts)
    return connection.scalar(sa.select(parent).where(first)) or ""


def release(connection: sa.Connection, channel: str, token: int, *, due_at: float | None) -> None:
    """Give the lane back; it has its next turn at `due_at`, or when something is planned for it."""
    connection.execute(
        sa.update(lanes)
        .where(lanes.c.channel == channel, lanes.c.token == token)
        .values(lease_until=None, due_at=due_at)
    )
