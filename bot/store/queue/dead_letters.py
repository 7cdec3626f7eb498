"""Schedules look-ups of posts whose outcome is unknown, one for each channel or thread that they went to.

Posts that Slack refused: tried again now and then, and where their Slack workspace is gone, kept for a week.

A post for a Slack workspace that removed the bot, or may not see the post's outreach workspace, is not tried: it waits
for `/slack/install` or `slack-workspaces grant`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import sqlalchemy as sa

from bot.store.db.engine import Database, Repository, Transaction, portions, reads, writes
from bot.store.db.schema import channel_leases, lookups, posts
from bot.store.db.slack_schema import slack_bots, slack_team_workspaces
from bot.store.queue.posts import State
from shared.text.slack_ids import split_id

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


NOT_INSTALLED, NOT_ALLOWED = "team_not_installed", "team_not_allowed"
"""Why a post is not tried: there is no token for its Slack workspace, or that may not see what it tells."""
KEPT = 7 * 86_400.0
"""Seconds that such a post waits."""

_IS_DEAD = posts.c.state == sa.literal(State.DEAD.value, literal_execute=True)
_CAN_BE_RAISED = sa.not_(posts.c.keyless)
_IS_BROKEN = channel_leases.c.trouble != sa.literal("", literal_execute=True)


class DeadLetters(Repository):
    """What was refused."""

    async def revive(self) -> int:
        """Give single dead letters another try, in a broken channel only a look; returns how many."""
        await self.database.write(_reopen_installed)
        return await _raise(self.database, await self._revivable())

    @reads
    def _revivable(self, tx: Transaction) -> Sequence[int]:
        healthy = posts.c.channel.not_in(sa.select(channel_leases.c.channel).where(_IS_BROKEN))
        return _ids(tx, _CAN_BE_RAISED & sa.or_(healthy, posts.c.unsure) & sa.not_(_is_stranded(tx)))

    async def drop_stranded(self) -> Mapping[str, int]:
        """Give up posts whose Slack workspace was gone for too long; how many, by channel."""
        gone: Counter[str] = Counter()
        for some in portions(await self._long_stranded()):
            gone.update(await self._drop(some))
        return gone

    @reads
    def _long_stranded(self, tx: Transaction) -> Sequence[int]:
        return _ids(tx, (posts.c.created_at < tx.now - KEPT) & _is_stranded(tx))

    @writes
    def _drop(self, tx: Transaction, ids: Sequence[int]) -> Sequence[str]:
        gone = sa.delete(posts).where(posts.c.id.in_(ids), _IS_DEAD)
        return tx.scalars(gone.returning(posts.c.channel)).all()


async def raise_dead(database: Database, channel: str) -> None:
    """Have the dead letters of a channel that takes posts again sent, or looked for, again.

    What a process that dies meanwhile leaves is revived as single ones are.
    """
    ids = await database.read(lambda tx: _ids(tx, _CAN_BE_RAISED & (posts.c.channel == channel)))
    await _raise(database, ids)


def _ids(tx: Transaction, which: sa.ColumnElement[bool]) -> Sequence[int]:
    """These of the dead letters, the oldest first."""
    # Sorted here: for an order by id SQLite would read the whole table.
    return sorted(tx.scalars(sa.select(posts.c.id).where(_IS_DEAD, which)))


async def _raise(database: Database, ids: Sequence[int]) -> int:
    """Have these sent, or looked for, again: in portions, because thousands may have been refused; returns how many."""
    return sum([await database.write(partial(_raise_some, ids=some)) for some in portions(ids)])


def _raise_some(tx: Transaction, ids: Sequence[int]) -> int:
    these = posts.c.id.in_(ids) & _IS_DEAD
    sure = sa.update(posts).where(these, sa.not_(posts.c.unsure)).values(state=State.READY)
    channels = tx.scalars(sure.returning(posts.c.channel)).all()
    channels = [*channels, *look_for(tx, doubted(these & posts.c.unsure), after=0.0)]
    for channel in sorted(set(channels)):
        _wake(tx, channel)
    return len(channels)


def not_allowed(tx: Transaction, known: Iterable[tuple[str, str]]) -> frozenset[tuple[str, str]]:
    """Which of these pairs of a channel and an outreach workspace its Slack workspace may not see; it has the bot."""
    of_teams = {(channel, workspace) for channel, workspace in known if split_id(channel)[0] and workspace}
    if not of_teams:
        return frozenset()
    installed = _installed(tx)
    allowed = {(row.team, row.workspace) for row in tx.execute(sa.select(slack_team_workspaces))}
    return frozenset(
        (channel, workspace)
        for channel, workspace in of_teams
        if (team := split_id(channel)[0]) in installed and (team, workspace) not in allowed
    )


def _is_stranded(tx: Transaction) -> sa.ColumnElement[bool]:
    """Whether a dead letter is for a Slack workspace that can't get it now."""
    query = sa.select(posts.c.channel, posts.c.workspace).where(_IS_DEAD).distinct()
    known = [(row.channel, row.workspace) for row in tx.execute(query)]
    teams = {team for channel, _ in known if (team := split_id(channel)[0])}
    gone = teams - _installed(tx) if teams else teams
    stranded = {*not_allowed(tx, known), *(one for one in known if split_id(one[0])[0] in gone)}
    return sa.tuple_(posts.c.channel, posts.c.workspace).in_(stranded)


def _installed(tx: Transaction) -> set[str]:
    return set(tx.scalars(sa.select(slack_bots.c.team_id).where(slack_bots.c.team_id.is_not(None))))


def _reopen_installed(tx: Transaction) -> None:
    """The channels of a Slack workspace that installed the bot again take posts."""
    trouble = channel_leases.c.trouble
    closed = sa.select(channel_leases.c.channel).where(_IS_BROKEN, trouble == NOT_INSTALLED)
    if not (channels := tx.scalars(closed).all()):
        return
    installed = _installed(tx)
    for channel in channels:
        if split_id(channel)[0] in installed:
            values = {"trouble": "", "trouble_since": None}
            tx.execute(sa.update(channel_leases).where(channel_leases.c.channel == channel).values(**values))
            _wake(tx, channel)


def _wake(tx: Transaction, channel: str) -> None:
    due = sa.func.coalesce(channel_leases.c.due_at, tx.now)
    tx.execute(sa.update(channel_leases).where(channel_leases.c.channel == channel).values(due_at=due))
