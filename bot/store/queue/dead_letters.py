"""Schedules look-ups of posts whose outcome is unknown, one for each channel or thread that they went to.

Posts that Slack refused: tried again now and then, and where their Slack workspace is gone, kept for a week.

A post for a Slack workspace that removed the bot, or may not see the post's outreach workspace, is not tried: it waits
for `/slack/install` or `slack-workspaces grant`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from bot.store.db.engine import Repository, Transaction, writes
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
_IS_BROKEN = channel_leases.c.trouble != sa.literal("", literal_execute=True)


class DeadLetters(Repository):
    """What was refused."""

    @writes
    def revive(self, tx: Transaction) -> int:
        """Give single dead letters another try, in a broken channel only a look; returns how many."""
        _reopen_installed(tx)
        healthy = posts.c.channel.not_in(sa.select(channel_leases.c.channel).where(_IS_BROKEN))
        channels = raise_dead(tx, sa.or_(healthy, posts.c.unsure) & sa.not_(_is_stranded(tx)))
        for channel in set(channels):
            _wake(tx, channel)
        return len(channels)

    @writes
    def drop_stranded(self, tx: Transaction) -> Mapping[str, int]:
        """Give up posts whose Slack workspace was gone for too long; how many, by channel."""
        old = _IS_DEAD & (posts.c.created_at < tx.now - KEPT) & _is_stranded(tx)
        return Counter(tx.scalars(sa.delete(posts).where(old).returning(posts.c.channel)))


def raise_dead(tx: Transaction, which: sa.ColumnElement[bool]) -> Sequence[str]:
    """Have these dead letters sent, or looked for, again; returns their channels."""
    sure = sa.update(posts).where(which, _IS_DEAD, sa.not_(posts.c.unsure)).values(state=State.READY)
    sent_again = tx.execute(sure.returning(posts.c.channel)).scalars().all()
    looked_for = which & _IS_DEAD & posts.c.unsure & sa.not_(posts.c.keyless)
    return [*sent_again, *look_for(tx, doubted(looked_for), after=0.0)]


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
