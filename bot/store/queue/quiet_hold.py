"""Messages that are kept back over a quiet time, until it ends."""

from __future__ import annotations

import sqlalchemy as sa

from bot.store.db.schema import posts
from bot.store.queue import deliveries
from bot.store.queue.posts import State


def release(connection: sa.Connection, *, now: float) -> int:
    """Let go of those whose time has come; returns how many."""
    due = (posts.c.state == State.HELD) & (posts.c.held_until <= now)
    freed = sa.update(posts).where(due).values(state=State.READY, held_until=None)
    channels = connection.execute(freed.returning(posts.c.channel)).scalars().all()
    deliveries.wake(connection, channels, now=now)
    return len(channels)
