"""Digests that are due; each is posted once, with any number of processes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import sqlalchemy as sa

from bot.store.db.columns import NOW
from bot.store.db.engine import Repository, Transaction, reads, writes
from bot.store.db.schema import digests
from bot.store.queue import outbox
from bot.store.queue.outbox import PlannedPost
from bot.store.records.records import next_digest, recurrence_of
from shared.domain.wall_clock import moment

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


_DUE = sa.select(digests).where(digests.c.due_at <= NOW)


class Digests(Repository):
    """The digests of the channels."""

    @writes
    def due(self, tx: Transaction) -> Sequence[DueDigest]:
        """Those whose time has come since they were given last."""
        found = []
        for row in tx.execute(_DUE, {"now": tx.now}).all():
            recurrence = recurrence_of(row.at)
            due = recurrence.last_before(moment(tx.now))
            at, days = due.timestamp(), recurrence.days_since_last(due)
            one = DueDigest(
                workspace=row.workspace, channel=row.channel, every=row.every, due_at=at, days=days
            )
            if row.done_until < at and tx.now - at < LATEST:
                found.append(one)
            else:
                later = next_digest(row.at, tx.now)
                tx.execute(sa.update(digests).where(_is(one)).values(due_at=later))
        return found

    @reads
    def scheduled(self, tx: Transaction, workspace: str, *, most: int) -> Sequence[tuple[str, str]]:
        """The channels of a workspace with a digest, and when it comes; the next one first."""
        which = sa.select(digests.c.channel, digests.c.at).where(digests.c.workspace == workspace)
        return [(row.channel, row.at) for row in tx.execute(which.order_by(digests.c.due_at).limit(most))]

    @writes
    def give(self, tx: Transaction, one: DueDigest, note: str) -> bool:
        """Mark it as given and plan its message, together; False when another process has."""
        mine = _is(one) & (digests.c.done_until < one.due_at)
        marked = sa.update(digests).where(mine).values(done_until=one.due_at)
        if tx.execute(marked).rowcount != 1:
            return False
        dedupe = f"digest:{one.workspace}:{one.channel}:{one.every}:{one.due_at:.0f}"
        planned = PlannedPost(dedupe=dedupe, channel=one.channel, kind="digest", note=note)
        outbox.plan(tx, planned, workspace=one.workspace)
        return True


def _is(one: DueDigest) -> sa.ColumnElement[bool]:
    c = digests.c
    return (c.workspace == one.workspace) & (c.channel == one.channel) & (c.every == one.every)
