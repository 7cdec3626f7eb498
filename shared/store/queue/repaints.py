"""Messages that need an update, leased to one process; a second update does no harm."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import sqlalchemy as sa

from shared.store.db.columns import NOW
from shared.store.db.engine import Repository, Transaction, portions, probes, reads, writes
from shared.store.db.schema import posts
from shared.store.queue import outbox
from shared.store.queue.post_kinds import REPLACED
from shared.store.queue.posts import Post, State, drawable, read_posts
from shared.store.queue.slack_state import (
    BACKGROUND,
    UPDATE,
    UPDATES,
    close,
    closed_for,
    fail,
    free,
    read_limit,
    succeed,
    take,
    wait_for_one,
)

LEASE = 10.0
"""Seconds after which another process repaints what this one took."""
PAUSE = 5.0
"""Seconds until a message that could not be repainted is tried again."""
LONGEST = 600.0
"""Seconds that a repaint is put off at most; what is due later was put off before the clock was set back."""


class Repaints(Repository):
    """Posted messages that need a repaint."""

    @writes
    def claim(self, tx: Transaction, *, limit: int) -> tuple[tuple[Post, ...], ...]:
        """Messages due for repainting, each with all the posts that share it.

        As many as Slack takes, over all bots: first those that a person clicked, for which a part of the burst is
        kept. A channel that failed is left out for a while.
        """
        row = read_limit(tx, UPDATE)
        most = min(limit, _free(row, UPDATES.burst, tx.now))
        rows = [*_lease(tx, _LEASE_CLICKED, limit=most)]
        most = min(limit, _free(row, BACKGROUND, tx.now)) - len(rows)
        rows += _lease(tx, _LEASE_REST, limit=most)
        first = sorted(rows, key=lambda row: int(row.id))  # a card before the replies in its thread
        places = list(dict.fromkeys((r.channel, r.ts) for r in first))
        take(tx, row, UPDATE, UPDATES, count=len(places))
        return tuple(read_posts(tx, _MESSAGE, {"channel": channel, "ts": ts}) for channel, ts in places)

    @writes
    def done(self, tx: Transaction, message: Sequence[Post]) -> None:
        """These are shown as they were read; what changed since stays due."""
        tx.execute(_SHOWN, [{"post": post.id, "drawn": post.version} for post in message])
        succeed(tx, UPDATE)
        succeed(tx, _of_channel(message[0].channel))

    @writes
    def refused(self, tx: Transaction, message: Sequence[Post]) -> bool:
        """Slack lets nobody edit this message: whether something is posted instead."""
        succeed(tx, UPDATE)  # it does answer
        return outbox.renew_refused(tx, [post.id for post in message])

    @writes
    def throttled(self, tx: Transaction, message: Sequence[Post], *, seconds: float) -> None:
        """Slack asked to wait with all repaints of whatever channel."""
        close(tx, UPDATE, seconds)
        _postpone(tx, message, 0.0)

    async def failed(self, message: Sequence[Post], *, channel_refuses: bool) -> None:
        """Try again later: all of a channel that refuses it, or everything when Slack does not answer."""
        if not channel_refuses:
            await self._fail(message)
            return
        until = await self._refuse(message)
        for some in portions(await self._sooner(message[0].channel, until)):
            await self._put_off(some, until)

    @writes
    def _fail(self, tx: Transaction, message: Sequence[Post]) -> None:
        fail(tx, UPDATE, first=1.0, longest=60.0)
        _postpone(tx, message, PAUSE)

    @writes
    def _refuse(self, tx: Transaction, message: Sequence[Post]) -> float:
        """When the channel is tried again."""
        seconds = fail(tx, _of_channel(message[0].channel))
        _postpone(tx, message, seconds)
        return tx.now + seconds

    @reads
    def _sooner(self, tx: Transaction, channel: str, until: float) -> Sequence[int]:
        due = (posts.c.channel == channel) & (posts.c.repaint_at < until)
        return tx.scalars(sa.select(posts.c.id).where(due)).all()

    @writes
    def _put_off(self, tx: Transaction, ids: Sequence[int], until: float) -> None:
        due = posts.c.id.in_(ids) & (posts.c.repaint_at < until)
        tx.execute(sa.update(posts).where(due).values(repaint_at=until))

    @writes
    def postpone(self, tx: Transaction, message: Sequence[Post], *, seconds: float) -> None:
        _postpone(tx, message, seconds)

    @probes
    def next_in(self, tx: Transaction) -> float | None:
        """Seconds until something is due for repainting."""
        at = tx.scalar(_EARLIEST)
        if at is None:
            return None
        ahead = float(at) - tx.now
        row = read_limit(tx, UPDATE, lock=False)
        wait = _wait(row, BACKGROUND, tx.now)
        if wait and tx.scalar(_ANY_CLICKED):
            wait = _wait(row, UPDATES.burst, tx.now)
        return max(0.0, ahead if ahead <= LONGEST else 0.0, wait)

    @writes
    def request(self, tx: Transaction, places: Collection[str], ts: str) -> bool:
        """Queue a message's repaint; returns whether it is one of the bot's, and can be edited."""
        again = {"version": posts.c.version + 1, "repaint_at": tx.now, "clicked": True}
        return tx.execute(sa.update(posts).where(_is_editable(places, ts)).values(**again)).rowcount > 0

    @reads
    def covers(self, tx: Transaction, places: Collection[str], ts: str) -> bool:
        """Whether a message is the bot's, and repainted when its content has changed."""
        return tx.execute(sa.select(posts.c.id).where(_is_editable(places, ts)).limit(1)).first() is not None


_STALE = posts.c.repaint_at.is_not(None) & (posts.c.state == State.SENT)
# A time further ahead than any that is written means that the clock was set back.
_DUE = _STALE & sa.or_(posts.c.repaint_at <= NOW, posts.c.repaint_at > NOW + LONGEST)


def _due_posts(which: sa.ColumnElement[bool]) -> Any:
    due = sa.select(posts.c.id).where(_DUE, which).order_by(posts.c.repaint_at).limit(sa.bindparam("limit"))
    return (
        sa.update(posts)
        .where(posts.c.id.in_(due.with_for_update(skip_locked=True)))
        .values(repaint_at=NOW + LEASE)
        .returning(posts.c.id, posts.c.channel, posts.c.ts)
    )


_LEASE_CLICKED, _LEASE_REST = _due_posts(posts.c.clicked), _due_posts(sa.not_(posts.c.clicked))
_EARLIEST = sa.select(sa.func.min(posts.c.repaint_at)).where(_STALE)
_ANY_CLICKED = sa.select(posts.c.clicked).where(_STALE, posts.c.clicked).limit(1)
_SHOWN = (
    sa.update(posts)
    .where(posts.c.id == sa.bindparam("post"), posts.c.version == sa.bindparam("drawn"))
    .values(repaint_at=None, clicked=False, turned=False)
)
_MESSAGE = (
    drawable()
    .where(posts.c.channel == sa.bindparam("channel"), posts.c.ts == sa.bindparam("ts"))
    .order_by(posts.c.id)
)


def _lease(tx: Transaction, statement: Any, *, limit: int) -> Sequence[sa.Row[int, str, str]]:
    return tx.execute(statement, {"now": tx.now, "limit": limit}).all() if limit > 0 else ()


def _wait(row: Any, burst: int, now: float) -> float:
    return wait_for_one(row, UPDATES, burst=burst, now=now)


def _free(row: Any, burst: int, now: float) -> int:
    return 0 if closed_for(row, now=now) else free(row, UPDATES, burst=burst, now=now)


def _of_channel(channel: str) -> str:
    return f"{UPDATE} {channel}"


def _postpone(tx: Transaction, message: Sequence[Post], seconds: float) -> None:
    stale = posts.c.id.in_([post.id for post in message]) & posts.c.repaint_at.is_not(None)
    tx.execute(sa.update(posts).where(stale).values(repaint_at=tx.now + min(seconds, LONGEST)))


def _is_editable(places: Collection[str], ts: str) -> sa.ColumnElement[bool]:
    here = posts.c.channel.in_(places) & (posts.c.ts == ts)
    return here & sa.not_(posts.c.frozen) & (posts.c.kind != REPLACED)
