"""Messages that no longer show how things stand, leased for repainting; painting twice does no harm."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import sqlalchemy as sa

from bot.store.db.engine import Repository, Transaction, reads, writes
from bot.store.db.schema import alerts, channel_leases, posts
from bot.store.queue.posts import UNSENT, Post, State, drawable, read_posts

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


class Repaints(Repository):
    """Posted messages that are to be drawn anew."""

    @writes
    def claim(self, tx: Transaction, *, limit: int) -> tuple[tuple[Post, ...], ...]:
        """Messages due for repainting, each with all the posts that share it."""
        due = (
            sa.select(posts.c.id)
            .where(sa.or_(posts.c.repaint_at <= tx.now, posts.c.repaint_at > tx.now + LONGEST))
            .where(posts.c.repaint_at.is_not(None), posts.c.state == State.SENT)
            .order_by(posts.c.repaint_at)
            .limit(limit)
            .with_for_update(skip_locked=True)
        )
        leased = sa.update(posts).where(posts.c.id.in_(due)).values(repaint_at=tx.now + LEASE)
        rows = tx.execute(leased.returning(posts.c.id, posts.c.channel, posts.c.ts)).all()
        first = sorted(rows, key=lambda row: int(row.id))  # a card before the replies in its thread
        return tuple(_message(tx, *place) for place in dict.fromkeys((r.channel, r.ts) for r in first))

    @writes
    def done(self, tx: Transaction, message: Sequence[Post]) -> None:
        """These are shown as they were read; what changed since stays due."""
        for post in message:
            same = (posts.c.id == post.id) & (posts.c.version == post.version)
            tx.execute(sa.update(posts).where(same).values(repaint_at=None))

    @writes
    def postpone(self, tx: Transaction, message: Sequence[Post], *, seconds: float) -> None:
        """Try again later."""
        ids = [post.id for post in message]
        stale = posts.c.id.in_(ids) & posts.c.repaint_at.is_not(None)
        tx.execute(sa.update(posts).where(stale).values(repaint_at=tx.now + min(seconds, LONGEST)))

    @reads
    def next_in(self, tx: Transaction) -> float | None:
        """Seconds until something is due for repainting."""
        due = posts.c.repaint_at.is_not(None) & (posts.c.state == State.SENT)
        at = tx.scalar(sa.select(sa.func.min(posts.c.repaint_at)).where(due))
        return None if at is None else max(0.0, float(at) - tx.now)

    @writes
    def request(self, tx: Transaction, channel: str, ts: str) -> bool:
        """Have a message drawn anew; whether it is one of the bot's."""
        again = {"version": posts.c.version + 1, "repaint_at": tx.now}
        return tx.execute(sa.update(posts).where(_is_at(channel, ts)).values(**again)).rowcount > 0

    @reads
    def covers(self, tx: Transaction, channel: str, ts: str) -> bool:
        """Whether a message is the bot's, and drawn anew when what it shows has changed."""
        return tx.execute(sa.select(posts.c.id).where(_is_at(channel, ts)).limit(1)).first() is not None

    @reads
    def storm_tally(self, tx: Transaction, head: Post) -> StormTally:
        """Count a storm's alerts."""
        storm = tx.scalar(sa.select(channel_leases.c.storm).where(channel_leases.c.channel == head.channel))
        ready = (
            (posts.c.channel == head.channel)
            & UNSENT
            & (posts.c.state == State.READY)
            & (posts.c.kind != "storm")
        )
        return StormTally(
            posted=_by_kind(tx, (posts.c.storm == head.id) & (posts.c.state == State.SENT)),
            waiting=_by_kind(tx, ready),
            over=storm != head.id,
        )


def _message(tx: Transaction, channel: str, ts: str) -> tuple[Post, ...]:
    query = drawable().where(_is_at(channel, ts)).order_by(posts.c.id)
    return read_posts(tx, query)


def _is_at(channel: str, ts: str) -> sa.ColumnElement[bool]:
    return (posts.c.channel == channel) & (posts.c.ts == ts)


def _by_kind(tx: Transaction, which: sa.ColumnElement[bool]) -> tuple[tuple[str, int], ...]:
    kind = sa.func.coalesce(alerts.c.kind, posts.c.kind)
    query = (
        sa.select(kind, sa.func.count())
        .select_from(posts.outerjoin(alerts, alerts.c.id == posts.c.alert_id))
        .where(which)
        .group_by(kind)
        .order_by(sa.func.count().desc())
    )
    return tuple((name, count) for name, count in tx.execute(query))
