"""Messages that no longer show how things stand, leased for repainting; painting twice does no harm."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import sqlalchemy as sa

from bot.store.db.schema import alerts, lanes, posts
from bot.store.queue.posts import Post, State, drawable, read_post

LEASE = 10.0
"""Seconds after which another process repaints what this one took."""
LONGEST = 600.0
"""Seconds that a repaint is put off at most; what is due later was put off before the clock was set back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StormTally:
    """How a storm stands: what went into its thread by kind of alert, what waits still."""

    posted: tuple[tuple[str, int], ...]
    waiting: tuple[tuple[str, int], ...]
    over: bool


def claim(connection: sa.Connection, *, now: float, limit: int) -> tuple[tuple[Post, ...], ...]:
    """Messages due for repainting, each with all the posts that share it."""
    due = (
        sa.select(posts.c.id)
        .where(sa.or_(posts.c.repaint_at <= now, posts.c.repaint_at > now + LONGEST))
        .where(posts.c.repaint_at.is_not(None), posts.c.state == State.SENT)
        .order_by(posts.c.repaint_at)
        .limit(limit)
        .with_for_update(skip_locked=True)
    )
    leased = sa.update(posts).where(posts.c.id.in_(due)).values(repaint_at=now + LEASE)
    rows = connection.execute(leased.returning(posts.c.id, posts.c.channel, posts.c.ts)).all()
    first = sorted(rows, key=lambda row: int(row.id))  # a card before what was said of it later
    return tuple(_message(connection, *place) for place in dict.fromkeys((r.channel, r.ts) for r in first))


def _message(connection: sa.Connection, channel: str, ts: str) -> tuple[Post, ...]:
    query = drawable().where(posts.c.channel == channel, posts.c.ts == ts).order_by(posts.c.id)
    return tuple(read_post(row) for row in connection.execute(query))


def painted(connection: sa.Connection, message: Sequence[Post]) -> None:
    """These are shown as they were read; what changed since stays due."""
    for post in message:
        same = (posts.c.id == post.id) & (posts.c.version == post.version)
        connection.execute(sa.update(posts).where(same).values(repaint_at=None))


def postpone(connection: sa.Connection, message: Sequence[Post], *, until: float) -> None:
    """Try again then."""
    ids = [post.id for post in message]
    stale = posts.c.id.in_(ids) & posts.c.repaint_at.is_not(None)
    connection.execute(sa.update(posts).where(stale).values(repaint_at=until))


def next_in(connection: sa.Connection, *, now: float) -> float | None:
    """Seconds until something is due for repainting."""
    due = posts.c.repaint_at.is_not(None) & (posts.c.state == State.SENT)
    at = connection.scalar(sa.select(sa.func.min(posts.c.repaint_at)).where(due))
    return None if at is None else max(0.0, float(at) - now)


def storm_tally(connection: sa.Connection, head: Post) -> StormTally:
    """Count a storm's alerts."""
    lane = connection.execute(sa.select(lanes.c.storm).where(lanes.c.channel == head.channel)).scalar()
    ready = (posts.c.channel == head.channel) & (posts.c.state == State.READY) & (posts.c.kind != "storm")
    return StormTally(
        posted=_by_kind(connection, (posts.c.storm == head.id) & (posts.c.state == State.SENT)),
        waiting=_by_kind(connection, ready),
        over=lane != head.id,
    )


def _by_kind(connection: sa.Connection, which: sa.ColumnElement[bool]) -> tuple[tuple[str, int], ...]:
    kind = sa.func.coalesce(alerts.c.kind, posts.c.kind)
    query = (
        sa.select(kind, sa.func.count())
        .select_from(posts.outerjoin(alerts, alerts.c.id == posts.c.alert_id))
        .where(which)
        .group_by(kind)
        .order_by(sa.func.count().desc())
    )
    return tuple((name, count) for name, count in connection.execute(query))
