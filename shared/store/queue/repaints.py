"""Messages in Slack that no longer show the present state: one job of the kind `paint` for each.

Its key is the channel and the `ts` of the message. Whoever changes what a message shows raises the `version` of its
posts and puts the job; a change while it is drawn has it drawn anew after that. A second update does no harm.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import sqlalchemy as sa

from shared.store import jobs
from shared.store.db.engine import AT_ONCE, Repository, Transaction, reads, writes
from shared.store.db.schema import posts
from shared.store.jobs import ASKED_FOR, ORDINARY, PAINT, Job
from shared.store.queue import outbox
from shared.store.queue.post_kinds import HISTORY, REPLACED
from shared.store.queue.posts import Post, drawable, read_posts
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
)

PAUSE_SECONDS = 5.0
"""Until a message that could not be repainted is tried again."""
LONGEST_SECONDS = 600.0
"""How long a repaint is put off at most."""

_MESSAGE = (
    drawable()
    .where(posts.c.channel == sa.bindparam("channel"), posts.c.ts == sa.bindparam("ts"))
    .order_by(posts.c.id)
)
_SHOWN = (
    sa.update(posts)
    .where(posts.c.id == sa.bindparam("post"), posts.c.version == sa.bindparam("drawn"))
    .values(clicked=False, turned=False)
)


class Updates:
    """As many repaints as Slack takes, over all bots; a part of the burst is kept for those that a person waits for."""

    def free(self, tx: Transaction) -> Mapping[int, int]:
        row = read_limit(tx, UPDATE)
        if closed_for(row, now=tx.now):
            return {ASKED_FOR: 0, ORDINARY: 0}
        bursts = {ASKED_FOR: UPDATES.burst, ORDINARY: BACKGROUND}
        return {rank: free(row, UPDATES, burst=burst, now=tx.now) for rank, burst in bursts.items()}

    def took(self, tx: Transaction, count: int) -> None:
        take(tx, read_limit(tx, UPDATE), UPDATE, UPDATES, count=count)


class Repaints(Repository):
    """Posted messages that need a repaint."""

    @reads
    def message(self, tx: Transaction, job: Job) -> tuple[Post, ...]:
        """All posts that share the message of a job; none where they are gone."""
        channel, _, ts = job.key.partition("/")
        return read_posts(tx, _MESSAGE, {"channel": channel, "ts": ts})

    @writes
    def done(self, tx: Transaction, job: Job, message: Sequence[Post]) -> None:
        """These are shown as they were read; what changed since stays due."""
        tx.execute(_SHOWN, [{"post": post.id, "drawn": post.version} for post in message])
        succeed(tx, UPDATE)
        succeed(tx, _of_channel(message[0].channel))
        jobs.finish(tx, job)

    @writes
    def refused(self, tx: Transaction, job: Job, message: Sequence[Post]) -> bool:
        """Slack lets nobody edit this message: whether something is posted instead."""
        succeed(tx, UPDATE)  # it does answer
        jobs.finish(tx, job)
        return outbox.renew_refused(tx, [post.id for post in message])

    @writes
    def throttled(self, tx: Transaction, job: Job, *, seconds: float) -> None:
        """Slack asked to wait with all repaints of whatever channel."""
        close(tx, UPDATE, seconds)
        jobs.again(tx, job, after=0.0, rank=job.rank)

    async def failed(self, job: Job, channel: str, *, channel_refuses: bool) -> None:
        """Try again later: all of a channel that refuses it, or everything when Slack does not answer."""
        until = await self._fail(job, channel if channel_refuses else "")
        while channel_refuses and await self._put_off(channel, until) == AT_ONCE:
            pass

    @writes
    def _fail(self, tx: Transaction, job: Job, channel: str) -> float:
        """When it is tried again."""
        seconds = PAUSE_SECONDS
        if channel:
            seconds = fail(tx, _of_channel(channel))
        else:
            fail(tx, UPDATE, first=1.0, longest=60.0)
        jobs.again(tx, job, after=min(seconds, LONGEST_SECONDS), rank=job.rank)
        return tx.now + seconds

    @writes
    def _put_off(self, tx: Transaction, channel: str, until: float) -> int:
        return jobs.move_all(tx, PAINT, channel, later=until)

    @writes
    def request(self, tx: Transaction, places: Collection[str], ts: str) -> bool:
        """Queue a message's repaint; returns whether it is one of the bot's, and can be edited."""
        return outbox.redraw(tx, _is_editable(places, ts), clicked=True) > 0

    @reads
    def shows(self, tx: Transaction, change: int) -> bool:
        """Whether a message of the bot tells of this change, and says what becomes of it."""
        return tx.execute(_TELLS, {"change": change}).first() is not None

    @reads
    def covers(self, tx: Transaction, places: Collection[str], ts: str) -> bool:
        """Whether a message is the bot's, and repainted when its content has changed."""
        return tx.execute(sa.select(posts.c.id).where(_is_editable(places, ts)).limit(1)).first() is not None


_TELLS = (
    sa.select(posts.c.id)
    .where(posts.c.undo == sa.bindparam("change"), posts.c.undo != sa.literal(0, literal_execute=True))
    .where(posts.c.kind != HISTORY)
    .limit(1)
)


def _of_channel(channel: str) -> str:
    return f"{UPDATE} {channel}"


def _is_editable(places: Collection[str], ts: str) -> sa.ColumnElement[bool]:
    here = posts.c.channel.in_(places) & (posts.c.ts == ts)
    return here & sa.not_(posts.c.frozen) & (posts.c.kind != REPLACED)
