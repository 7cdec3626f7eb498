"""Digests that are due; each is posted once, with any number of processes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from shared.domain.wall_clock import moment
from shared.store import facts, jobs, messages
from shared.store.db.engine import Repository, Transaction, reads, writes
from shared.store.facts import DIGEST
from shared.store.jobs import Job
from shared.store.messages import PlannedPost
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
        found = facts.find(tx, DIGEST, job.key, workspace=job.workspace)
        if found is None:
            jobs.done(tx, job)
            return None
        recurrence = recurrence_of(found.value["at"])
        due = recurrence.last_before(moment(tx.now))
        at, days = due.timestamp(), recurrence.days_since_last(due)
        if (found.at or 0.0) < at and tx.now - at < LATEST:
            return DueDigest(workspace=job.workspace, channel=channel, every=every, due_at=at, days=days)
        _put_off(tx, job, found.value["at"])
        return None

    @reads
    def scheduled(self, tx: Transaction, workspace: str, *, most: int) -> Sequence[tuple[str, str]]:
        """The channels of a workspace with a digest, and when it comes; the next one first."""
        found = [
            (one.key.partition("/")[2], str(one.value["at"]))
            for one in facts.listed(tx, DIGEST, workspaces=[workspace])
        ]
        return sorted(found, key=lambda one: (next_digest(one[1], tx.now), one[0]))[:most]

    @writes
    def give(self, tx: Transaction, job: Job, one: DueDigest, note: str) -> bool:
        """Mark it as given and plan its message, together; False when another process has, or it was changed."""
        key = key_of(one.channel, one.every)
        found = facts.find(tx, DIGEST, key, workspace=one.workspace, locked=True)
        if found is None or (found.at or 0.0) >= one.due_at:
            jobs.again(tx, job, after=0.0)
            return False
        facts.put(tx, DIGEST, key, found.value, workspace=one.workspace, at=one.due_at)
        dedupe = f"digest:{one.workspace}:{one.channel}:{one.every}:{one.due_at:.0f}"
        planned = PlannedPost(dedupe=dedupe, channel=one.channel, kind="digest", note=note)
        messages.plan(tx, planned, workspace=one.workspace)
        _put_off(tx, job, found.value["at"])
        return True


def _put_off(tx: Transaction, job: Job, at: str) -> None:
    jobs.again(tx, job, after=max(0.0, next_digest(at, tx.now) - tx.now), attempts=0)
