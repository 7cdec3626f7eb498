"""Slack's events that were already handled, and channels with a new id."""

from __future__ import annotations

import sqlalchemy as sa

from bot.store.db.engine import Repository, Transaction, reads, writes
from bot.store.db.schema import channel_leases, digests, lookups, posts, subscriptions
from bot.store.db.slack_schema import moved_channels, slack_events

KEPT = 3 * 86_400.0
"""Seconds that an event is known again; Slack sends one again for about an hour."""


class SlackEvents(Repository):
    """Slack's events, over all processes that share the database."""

    @writes
    def take(self, tx: Transaction, event: str) -> bool:
        """Whether this is the first time that the event with this id comes."""
        new = tx.insert_once(slack_events).values(id=event, at=tx.now)
        return tx.scalar(new.returning(slack_events.c.id)) is not None

    @reads
    def is_new(self, tx: Transaction, event: str) -> bool:
        """Whether the event with this id is new."""
        return tx.scalar(sa.select(slack_events.c.id).where(slack_events.c.id == event)) is None

    @reads
    def moved_channels(self, tx: Transaction) -> dict[str, str]:
        """The ids that channels have now, by those that they had."""
        return present_ids(tx)

    @writes
    def forget_old(self, tx: Transaction) -> None:
        tx.execute(sa.delete(slack_events).where(slack_events.c.at < tx.now - KEPT))

    @writes
    def move_channel(self, tx: Transaction, old: str, new: str) -> None:
        """Keep everything of a channel under its new id, and remember it for settings that name the old one.

        https://docs.slack.dev/reference/events/channel_id_changed
        """
        if old == new:
            return
        tx.execute(tx.upsert(moved_channels, "new"), {"old": old, "new": new})
        tx.execute(sa.update(moved_channels).where(moved_channels.c.new == old).values(new=new))
        for table in (subscriptions, digests, channel_leases, lookups):
            _move_rows(tx, table, old, new)
        tx.execute(sa.update(posts).where(posts.c.channel == old).values(channel=new))


def _move_rows(tx: Transaction, table: sa.Table, old: str, new: str) -> None:
    """Move the rows of a table that is keyed by channel; what is there already under the new id wins."""
    for row in tx.execute(sa.select(table).where(table.c.channel == old)).mappings().all():
        tx.execute(tx.insert_once(table).values(**{**row, "channel": new}))
    tx.execute(sa.delete(table).where(table.c.channel == old))


_MOVED = sa.select(moved_channels)


def present_ids(tx: Transaction) -> dict[str, str]:
    """The ids that channels have now, by those that they had."""
    return {row.old: row.new for row in tx.execute(_MOVED)}
