"""Schedules look-ups of posts whose outcome is unknown, one for each channel or thread that they went to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa

from bot.store.db.engine import Transaction
from bot.store.db.schema import lookups, posts
from bot.store.queue.posts import State

# A reading that began before may have passed by the place where these will be: it proves nothing about them.
_MISSED = (
    sa.exists()
    .where(lookups.c.channel == posts.c.channel, lookups.c.thread_ts == posts.c.thread_ts)
    .where(sa.or_(lookups.c.lease_until.is_not(None), lookups.c.position != ""))
    .correlate(posts)
)


def doubted(which: sa.ColumnElement[bool]) -> Any:
    """The statement with which `look_for` finds these posts."""
    return (
        sa.update(posts)
        .where(which)
        .values(state=State.UNCERTAIN, unsure=True, lookups=sa.case((_MISSED, -1), else_=0))
        .returning(posts.c.channel, posts.c.thread_ts)
    )


def look_for(
    tx: Transaction, doubted: Any, values: Mapping[str, Any] | None = None, *, after: float
) -> list[str]:
    """Have posts looked for `after` so many seconds, or as soon as others there; returns their channels."""
    places = [(row.channel, row.thread_ts) for row in tx.execute(doubted, values)]
    for channel, thread_ts in sorted(set(places)):
        new = tx.insert(lookups).values(channel=channel, thread_ts=thread_ts, due_at=tx.now + after)
        sooner = sa.case(
            (lookups.c.due_at > new.excluded.due_at, new.excluded.due_at), else_=lookups.c.due_at
        )
        tx.execute(
            new.on_conflict_do_update(index_elements=["channel", "thread_ts"], set_={"due_at": sooner})
        )
    return [channel for channel, _ in places]


def take_over(tx: Transaction) -> None:
    """Have all readings begin anew; only for the one process that is alive."""
    tx.execute(sa.update(lookups).values(lease_until=None, position=""))
    tx.execute(sa.update(lookups).where(lookups.c.due_at > tx.now).values(due_at=tx.now))
