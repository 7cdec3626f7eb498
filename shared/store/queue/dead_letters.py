"""Schedules look-ups of posts whose outcome is unknown, one for each channel or thread that they went to.

Posts that Slack refused are tried again now and then; one that it refuses for good is given up after a few times, and
reported.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import sqlalchemy as sa

from shared.store.db.engine import Database, Repository, Transaction, portions, reads
from shared.store.db.schema import channel_leases, lookups, posts
from shared.store.queue.posts import State

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
    """Have all readings begin anew, and what was given up too; only for the one process that is alive."""
    tx.execute(sa.update(lookups).values(lease_until=None, position=""))
    tx.execute(sa.update(lookups).where(lookups.c.due_at > tx.now).values(due_at=tx.now))
    tx.execute(sa.update(posts).where(_IS_DEAD, IS_GIVEN_UP).values(refusals=0))


MOST_REFUSALS = 5
"""How often a post is tried that Slack refuses, and not its channel."""
IS_GIVEN_UP = posts.c.refusals >= sa.literal(MOST_REFUSALS, literal_execute=True)
"""Slack refuses this very post, for good. Nothing tries it again but a new start of the bot, or of its channel."""

_IS_DEAD = posts.c.state == sa.literal(State.DEAD.value, literal_execute=True)
_CAN_BE_RAISED = sa.not_(posts.c.keyless)
_IS_BROKEN = channel_leases.c.trouble != sa.literal("", literal_execute=True)


class DeadLetters(Repository):
    """What was refused."""

    async def revive(self) -> int:
        """Give single dead letters another try, in a broken channel only a look; returns how many."""
        return await _raise(self.database, await self._revivable())

    @reads
    def _revivable(self, tx: Transaction) -> Sequence[int]:
        healthy = posts.c.channel.not_in(sa.select(channel_leases.c.channel).where(_IS_BROKEN))
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
    for channel in sorted(set(channels)):
        _wake(tx, channel)
    return len(channels)


def _wake(tx: Transaction, channel: str) -> None:
    due = sa.func.coalesce(channel_leases.c.due_at, tx.now)
    tx.execute(sa.update(channel_leases).where(channel_leases.c.channel == channel).values(due_at=due))
