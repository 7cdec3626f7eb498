"""Schedules look-ups of posts whose outcome is unknown, one for each channel or thread that they went to."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa

from bot.store.db.engine import Transaction
from bot.store.db.schema import lookups, posts
from bot.store.queue.posts import State


def look_for(tx: Transaction, which: sa.ColumnElement[bool], *, after: float, **values: Any) -> list[str]:
    """Have these posts looked for `after` so many seconds, or as soon as others there; returns their channels."""
    place = (lookups.c.channel == posts.c.channel) & (lookups.c.thread_ts == posts.c.thread_ts)
    under_way = sa.or_(lookups.c.lease_until.is_not(None), lookups.c.position != "")
    # A reading that began before may have passed by the place where these will be: it proves nothing about them.
    missed = sa.exists().where(place, under_way).correlate(posts)
    doubted = (
        sa.update(posts)
        .where(which)
        .values(
            {
                "state": State.UNCERTAIN,
                "unsure": True,
                "lookups": sa.case((missed, -1), else_=0),
                **values,
            }
        )
        .returning(posts.c.channel, posts.c.thread_ts)
    )
    places = [(row.channel, row.thread_ts) for row in tx.execute(doubted)]
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
