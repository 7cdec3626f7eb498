"""Schedules look-ups of posts whose outcome is unknown, one for each channel or thread that they went to.

Posts that Slack refused are tried again now and then; one that it refuses for good is given up after a few times, and
reported.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import sqlalchemy as sa

from shared.store import jobs
from shared.store.db.columns import NOW
from shared.store.db.engine import Database, Repository, Transaction, portions, reads, writes
from shared.store.db.schema import posts
from shared.store.jobs import LOOKUP
from shared.store.queue import outbox
from shared.store.queue.outbox import EMPTY
from shared.store.queue.posts import State


def doubted(which: sa.ColumnElement[bool]) -> Any:
    """The statement with which `look_for` finds these posts."""
    return (
        sa.update(posts)
        .where(which)
        .values(state=State.UNCERTAIN, unsure=True, lookups=0, doubted_at=NOW)
        .returning(posts.c.channel, posts.c.thread_ts)
    )


def look_for(tx: Transaction, doubted: Any, values: Mapping[str, Any] = EMPTY, *, after: float) -> list[str]:
    """Have posts looked for `after` so many seconds, or as soon as others there; returns their channels."""
    places = [(row.channel, row.thread_ts) for row in tx.execute(doubted, {**values, "now": tx.now})]
    keys = [f"{channel}/{thread_ts}" for channel, thread_ts in places]
    jobs.put_all(tx, LOOKUP, keys, at=tx.now + after, how="sooner")
    return [channel for channel, _ in places]


MOST_REFUSALS = 5
"""How often a post is tried that Slack refuses, and not its channel."""
IS_GIVEN_UP = posts.c.refusals >= sa.literal(MOST_REFUSALS, literal_execute=True)
"""Slack refuses this very post, for good. Nothing tries it again but a new start of the bot, or of its channel."""

_IS_DEAD = posts.c.state == sa.literal(State.DEAD.value, literal_execute=True)
_CAN_BE_RAISED = sa.not_(posts.c.keyless)


class DeadLetters(Repository):
    """What was refused."""

    @writes
    def take_over(self, tx: Transaction) -> None:
        """Try anew what was given up; only at a start."""
        tx.execute(sa.update(posts).where(_IS_DEAD, IS_GIVEN_UP).values(refusals=0))

    async def revive(self) -> int:
        """Give single dead letters another try, in a broken channel only a look; returns how many."""
        return await _raise(self.database, await self._revivable())

    @reads
    def _revivable(self, tx: Transaction) -> Sequence[int]:
        healthy = posts.c.channel.not_in(outbox.broken_channels(tx))
        return _ids(tx, _CAN_BE_RAISED & sa.or_(healthy & sa.not_(IS_GIVEN_UP), posts.c.unsure))


async def raise_dead(database: Database, channel: str) -> None:
    """Have the dead letters of a channel that takes posts again sent, or looked for, again.

    What a process that dies meanwhile leaves is revived as single ones are.
    """
    ids = await database.read(lambda tx: _ids(tx, _CAN_BE_RAISED & (posts.c.channel == channel)))
    await _raise(database, ids, refusals=0)


def _ids(tx: Transaction, which: sa.ColumnElement[bool]) -> Sequence[int]:
    """These of the dead letters, the oldest first."""
    # Sorted here: for an order by id SQLite would read the whole table.
    return sorted(tx.scalars(sa.select(posts.c.id).where(_IS_DEAD, which)))


async def _raise(database: Database, ids: Sequence[int], **anew: Any) -> int:
    """Have these sent, or looked for, again: in portions, because thousands may have been refused; returns how many."""
    return sum([await database.write(partial(_raise_some, ids=some, **anew)) for some in portions(ids)])


def _raise_some(tx: Transaction, ids: Sequence[int], **anew: Any) -> int:
    these = posts.c.id.in_(ids) & _IS_DEAD
    sure = sa.update(posts).where(these, sa.not_(posts.c.unsure)).values(state=State.READY, **anew)
    channels = tx.scalars(sure.returning(posts.c.channel)).all()
    channels = [*channels, *look_for(tx, doubted(these & posts.c.unsure), after=0.0)]
    outbox.wake(tx, channels)
    return len(channels)
