"""Digests that are due; each is posted once, with any number of processes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import sqlalchemy as sa

from shared.domain.wall_clock import moment
from shared.store import jobs
from shared.store.db.engine import Repository, Transaction, reads, writes
from shared.store.db.schema import digests
from shared.store.jobs import Job
from shared.store.queue import outbox
from shared.store.queue.outbox import PlannedPost
from shared.store.records.records import next_digest, recurrence_of

LATEST = 6 * 3600.0
"""Seconds after its time that a digest is still given: a bot that was away overnight does not begin with old ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DueDigest:
    """A channel's digest, due at a moment."""

    workspace: str
    channel: str
    every: str
    due_at: float
    days: int
    """How many it is about: those since the one before."""


_OF = (digests.c.workspace == sa.bindparam("of")) & (digests.c.channel == sa.bindparam("in_channel"))
_ROW = sa.select(digests).where(_OF, digests.c.every == sa.bindparam("each"))


def key_of(channel: str, every: str) -> str:
    """The key of the job that gives a digest."""
    return f"{every}/{channel}"


class Digests(Repository):
    """The digests of the channels, each with a job of the kind `digest` that looks at it at its times."""

    @writes
    def due(self, tx: Transaction, job: Job) -> DueDigest | None:
        """A digest whose time has come since it was given last; else its job waits for the next time.

        The next time is computed at each look: of two days in a year, one has no 02:30, and one has two.
        """
        every, _, channel = job.key.partition("/")
        row = tx.execute(_ROW, {"of": job.workspace, "in_channel": channel, "each": every}).one_or_none()
        if row is None:
            jobs.done(tx, job)
            return None
        recurrence = recurrence_of(row.at)
        due = recurrence.last_before(moment(tx.now))
        at, days = due.timestamp(), recurrence.days_since_last(due)
        if row.done_until < at and tx.now - at < LATEST:
            return DueDigest(workspace=job.workspace, channel=channel, every=every, due_at=at, days=days)
        _put_off(tx, job, row.at)
        return None

    @reads
    def scheduled(self, tx: Transaction, workspace: str, *, most: int) -> Sequence[tuple[str, str]]:
        """The channels of a workspace with a digest, and when it comes; the next one first."""
        which = sa.select(digests.c.channel, digests.c.at).where(digests.c.workspace == workspace)
        rows = sorted(tx.execute(which).all(), key=lambda row: (next_digest(row.at, tx.now), row.channel))
        return [(row.channel, row.at) for row in rows[:most]]

    @writes
    def give(self, tx: Transaction, job: Job, one: DueDigest, note: str) -> bool:
        """Mark it as given and plan its message, together; False when another process has, or it was changed."""
        every = (digests.c.workspace == one.workspace) & (digests.c.channel == one.channel)
        mine = every & (digests.c.every == one.every) & (digests.c.done_until < one.due_at)
        marked = sa.update(digests).where(mine).values(done_until=one.due_at).returning(digests.c.at)
        at = tx.scalar(marked)
        if at is None:
            jobs.again(tx, job, after=0.0)
            return False
        dedupe = f"digest:{one.workspace}:{one.channel}:{one.every}:{one.due_at:.0f}"
        planned = PlannedPost(dedupe=dedupe, channel=one.channel, kind="digest", note=note)
        outbox.plan(tx, planned, workspace=one.workspace)
        _put_off(tx, job, at)
        return True


def _put_off(tx: Transaction, job: Job, at: str) -> None:
    jobs.again(tx, job, after=max(0.0, next_digest(at, tx.now) - tx.now), attempts=0)
