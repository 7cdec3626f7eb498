"""Whose turn it is to speak in Slack: one lane per channel, leased for one message at a time.

    ready -> sending -> sent
                     -> uncertain -> (found in the channel: sent | absent twice: ready)
                     -> dead -> (tried again now and then: sent)

A lane is leased with a token that every claim raises. Whoever lost its lease writes with an old token and
changes nothing. A post that is found `sending` when its lane is claimed was left by a process that died:
its outcome is unknown. A time further ahead than this module ever writes means that the clock was set back.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

import sqlalchemy as sa

from bot.ledger.tables import alerts, deliveries, lanes, posts

LEASE = 10.0
"""Seconds; longer than any call that is made under it."""
PERIOD = 1.0
"""Seconds between messages of a channel (Slack, rate limits)."""
BURST = 1
"""Messages that a rested channel takes at once beyond the first; Slack itself allows a little more."""
STORM_AT = 60
"""More waiting than a channel takes in a minute."""
BUNDLE = 20
"""Alerts that share one message of a storm's thread."""
FARTHEST = 3600.0
"""Seconds ahead that a lane may be due at most."""


class State(StrEnum):
    """How a post stands."""

    READY = "ready"
    SENDING = "sending"
    SENT = "sent"
    UNCERTAIN = "uncertain"
    DEAD = "dead"


@dataclass(frozen=True, slots=True, kw_only=True)
class Post:
    """A message to one channel, with what is needed to draw it."""

    id: int
    workspace: str
    channel: str
    kind: str
    alert_id: str
    note: str
    bundle: str
    storm: int
    thread_ts: str
    ts: str
    version: int
    attempts: int
    lookups: int
    created_at: float
    body: bytes | None
    found: bool
    seen: int
    received_at: float
    claimed_by: str
    claimed_name: str
    claimed_at: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """What the holder of a lane is to do within its lease: post these, or look for them."""

    channel: str
    token: int
    posts: tuple[Post, ...]
    lookup: bool = False
    thread_ts: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Claimed:
    """The turns taken, and after how many seconds to ask again (None: nothing waits)."""

    turns: tuple[Turn, ...]
    next_in: float | None


def claim(connection: sa.Connection, *, now: float, limit: int) -> Claimed:
    """Lease up to `limit` lanes that are due."""
    turns = [_turn(connection, lane, now=now) for lane in _lease(connection, now=now, limit=limit)]
    return Claimed(turns=tuple(t for t in turns if t), next_in=_next_in(connection, now=now))


def end_leases(connection: sa.Connection) -> None:
    """Free every lane; only for who knows that nobody else is alive."""
    connection.execute(sa.update(lanes).values(lease_until=None))


def _lease(connection: sa.Connection, *, now: float, limit: int) -> Sequence[sa.Row[Any]]:
    due = (
        sa.select(lanes.c.channel)
        .where(_is_due(now), _is_free(now))
        .order_by(lanes.c.due_at)
        .limit(limit)
        .with_for_update(skip_locked=True)
    )
    return connection.execute(
        sa.update(lanes)
        .where(lanes.c.channel.in_(due))
        .values(lease_until=now + LEASE, token=lanes.c.token + 1)
        .returning(lanes)
    ).all()


def _is_due(now: float) -> sa.ColumnElement[bool]:
    return sa.or_(lanes.c.due_at <= now, lanes.c.due_at > now + FARTHEST)


def _is_free(now: float) -> sa.ColumnElement[bool]:
    lease = lanes.c.lease_until
    return sa.or_(lease.is_(None), lease <= now, lease > now + LEASE)


def _next_in(connection: sa.Connection, *, now: float) -> float | None:
    when = sa.case((_is_free(now), lanes.c.due_at), else_=lanes.c.lease_until)
    at = connection.scalar(sa.select(sa.func.min(when)).where(lanes.c.due_at.is_not(None)))
    return None if at is None else max(0.0, min(float(at) - now, FARTHEST))


def _turn(connection: sa.Connection, lane: sa.Row[Any], *, now: float) -> Turn | None:
    connection.execute(
        sa.update(posts)
        .where(posts.c.channel == lane.channel, posts.c.state == State.SENDING)
        .values(state=State.UNCERTAIN, unsure=True)
    )
    opening = (lane.tat or 0.0) - BURST * PERIOD
    if now < opening < now + FARTHEST:
        release(connection, lane.channel, lane.token, due_at=opening)
        return None
    turn = _lookup(connection, lane) or _trial(connection, lane) or _delivery(connection, lane, now=now)
    if turn is None:
        release(connection, lane.channel, lane.token, due_at=None)
    return turn


def _lookup(connection: sa.Connection, lane: sa.Row[Any]) -> Turn | None:
    found = _load(connection, lane.channel, State.UNCERTAIN, limit=1)
    if not found:
        return None
    group = _load(connection, lane.channel, State.UNCERTAIN, limit=BUNDLE, bundle=found[0].bundle)
    together = group if found[0].bundle else found
    return Turn(
        channel=lane.channel,
        token=lane.token,
        posts=together,
        lookup=True,
        thread_ts=found[0].thread_ts,
    )


def _trial(connection: sa.Connection, lane: sa.Row[Any]) -> Turn | None:
    """In a channel that refused everything, one dead letter is tried."""
    if not lane.trouble:
        return None
    return _take(connection, lane, _load(connection, lane.channel, State.DEAD, limit=1, sure=True))


def _delivery(connection: sa.Connection, lane: sa.Row[Any], *, now: float) -> Turn | None:
    head = _storm_head(connection, lane, now=now)
    if head or not lane.storm:
        return _take(connection, lane, head or _load(connection, lane.channel, State.READY, limit=1))
    ts = connection.scalar(sa.select(posts.c.ts).where(posts.c.id == lane.storm)) or ""
    items = _load(connection, lane.channel, State.READY, limit=BUNDLE, urgent_first=True)
    return _take(
        connection, lane, items, bundle=f"b{lane.token}-{lane.channel}", thread_ts=ts, storm=lane.storm
    )


def _storm_head(connection: sa.Connection, lane: sa.Row[Any], *, now: float) -> tuple[Post, ...]:
    """The summary card of a storm, begun here when too much waits, until it is posted."""
    if lane.storm:
        return _load(connection, lane.channel, State.READY, limit=1, only=lane.storm)
    if waiting(connection, lane.channel) <= STORM_AT:
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
    return _load(connection, lane.channel, State.READY, limit=1, only=head)


def waiting(connection: sa.Connection, channel: str) -> int:
    """How many posts of a channel are ready."""
    ready = (posts.c.channel == channel) & (posts.c.state == State.READY)
    return connection.scalar(sa.select(sa.func.count()).select_from(posts).where(ready)) or 0


def _take(
    connection: sa.Connection,
    lane: sa.Row[Any],
    items: tuple[Post, ...],
    *,
    bundle: str = "",
    thread_ts: str = "",
    storm: int = 0,
) -> Turn | None:
    if not items:
        return None
    thread = thread_ts or _thread_of(connection, items[0])
    values = {"bundle": bundle, "thread_ts": thread, "storm": storm, "token": lane.token}
    connection.execute(
        sa.update(posts)
        .where(posts.c.id.in_([item.id for item in items]))
        .values(state=State.SENDING, attempts=posts.c.attempts + 1, **values)
    )
    return Turn(
        channel=lane.channel,
        token=lane.token,
        posts=tuple(replace(item, bundle=bundle, storm=storm, thread_ts=thread) for item in items),
        thread_ts=thread,
    )


def _thread_of(connection: sa.Connection, item: Post) -> str:
    """A report that comes again belongs under the card of the first."""
    if item.kind != "again":
        return ""
    first = (
        (posts.c.alert_id == item.alert_id) & (posts.c.channel == item.channel) & (posts.c.kind == "alert")
    )
    return connection.scalar(sa.select(posts.c.ts).where(first)) or ""


def _load(
    connection: sa.Connection,
    channel: str,
    state: State,
    *,
    limit: int,
    urgent_first: bool = False,
    only: int = 0,
    bundle: str = "",
    sure: bool = False,
) -> tuple[Post, ...]:
    query = drawable().where(posts.c.channel == channel, posts.c.state == state).limit(limit)
    if only:
        query = query.where(posts.c.id == only)
    if bundle:
        query = query.where(posts.c.bundle == bundle)
    if sure:
        query = query.where(sa.not_(posts.c.unsure))
    order = (posts.c.urgency.desc(), posts.c.id) if urgent_first else (posts.c.id,)
    return tuple(read_post(row) for row in connection.execute(query.order_by(*order)))


def drawable() -> sa.Select[Any]:
    """Posts joined with all that their drawing needs."""
    source = posts.outerjoin(alerts, alerts.c.id == posts.c.alert_id).outerjoin(
        deliveries, deliveries.c.id == alerts.c.delivery_id
    )
    return sa.select(
        posts,
        alerts.c.claimed_by,
        alerts.c.claimed_name,
        alerts.c.claimed_at,
        alerts.c.received_at,
        deliveries.c.body,
        deliveries.c.found,
        deliveries.c.seen,
    ).select_from(source)


def read_post(row: sa.Row[Any]) -> Post:
    """One row of `drawable`."""
    return Post(
        id=row.id,
        workspace=row.workspace,
        channel=row.channel,
        kind=row.kind,
        alert_id=row.alert_id,
        note=row.note,
        bundle=row.bundle,
        storm=row.storm,
        thread_ts=row.thread_ts,
        ts=row.ts,
        version=row.version,
        attempts=row.attempts,
        lookups=row.lookups,
        created_at=row.created_at,
        body=row.body,
        found=bool(row.found),
        seen=row.seen or 0,
        received_at=row.received_at or row.created_at,
        claimed_by=row.claimed_by or "",
        claimed_name=row.claimed_name or "",
        claimed_at=row.claimed_at,
    )


def release(connection: sa.Connection, channel: str, token: int, *, due_at: float | None) -> None:
    """Give the lane back; it has its next turn at `due_at`, or when something is planned for it."""
    connection.execute(
        sa.update(lanes)
        .where(lanes.c.channel == channel, lanes.c.token == token)
        .values(lease_until=None, due_at=due_at)
    )
