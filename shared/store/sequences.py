"""The locks of the sequences: one change at a time over all processes, each written down with the end of its pause.

A change is bounded: its lock lasts `LOCK_SECONDS`, and only a living process renews it. A request that was never
answered, because it timed out or its process died, may still be carried out later, after another change was confirmed.
For `LATE_SECONDS` such a sequence is `doubtful`: whoever looks sends the confirmed status again if it is no longer so.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from shared.api.words import SequenceStatus
from shared.domain.wall_clock import moment
from shared.records import (
    LOCK_SECONDS,
    UNDER_WAY,
    Actor,
    AuditEntry,
    Pauses,
    SequenceChange,
    Timer,
)
from shared.store import jobs, messages
from shared.store.audit import add_entry, is_told, last_changes
from shared.store.db.engine import Repository, Transaction, method, reads, writes
from shared.store.db.schema import sequence_changes
from shared.store.jobs import Job
from shared.store.messages import PlannedPost

OUTSIDER = Actor(name="someone at the service", face="service")
"""The actor of changes that this program didn't make."""
LATE_EVERY = 5.0
"""Seconds between two looks at a sequence that an unanswered request may still change."""

Announcement = Callable[[Sequence[Job]], tuple[AuditEntry, PlannedPost | None]]
"""The function that words what is written down and posted of pauses that ended together."""


def put_timer(tx: Transaction, workspace: str, timer: Timer) -> None:
    """Set a timer; one of the same sequence is replaced, and whoever carries that out finishes nothing.

    Its end is in its payload too: a try that fails puts the job off, and the pause ended when it ended.
    """
    ends_at = timer.due_at.timestamp()
    payload = {**timer.payload, ENDS_AT: ends_at}
    jobs.put(tx, "resume", timer.key, workspace=workspace, at=ends_at, payload=payload, how="replace")


class Timers(Repository):
    """The ends of timed pauses: jobs of the kind `resume`, whose key is the sequence's id."""

    @writes
    def end_timers(self, tx: Transaction, ended: Sequence[Job], tell: Announcement) -> bool:
        """Delete those that are still ours, with their entry in the audit; False: none was.

        Their message is planned where no message of their pauses says it.
        """
        ours = [job for job in ended if jobs.done(tx, job)]
        if not ours:
            return False
        entry, post = tell(ours)
        add_entry(tx, entry)
        if post and not (len(entry.sequences) == len(ours) and is_told(tx, entry)):
            messages.plan(tx, [(entry.workspace, post)])
        return True

    set_timer = writes(method(put_timer))

    @reads
    def pauses(self, tx: Transaction, workspace: str) -> Pauses:
        """The timers of a workspace, and the revisions of its sequences."""
        timers = sorted(map(timer_of, jobs.listed(tx, "resume", workspace)), key=lambda timer: timer.due_at)
        revisions = _revisions(tx, c.workspace == workspace)
        return Pauses(revisions=revisions, timers={timer.key: timer for timer in timers})


def timer_of(job: Job) -> Timer:
    """The timer that a job is the end of."""
    said = {name: text for name, text in job.payload.items() if isinstance(text, str)}
    ends_at = moment(job.payload.get(ENDS_AT, job.due_at or 0.0))
    return Timer(key=job.key, due_at=ends_at, payload=said)


ENDS_AT = "ends_at"
"""The field of a timer's payload with its end in Unix seconds."""
LATE_SECONDS = 120.0
"""The time that a service may take to carry out a request that it did not answer."""

c = sequence_changes.c
_NAMED = sa.select(sequence_changes).where(
    c.workspace == sa.bindparam("workspace"), c.sequence.in_(sa.bindparam("sequences", expanding=True))
)
_LATE = {"paused": "pause_late_until", "active": "resume_late_until"}


class TimerReplaced(Exception):
    """The timer that should end a pause was cancelled, set again, or is carried out by another process."""


class SequenceChanges(Repository):
    """The locks of the sequences."""

    @writes
    def begin(
        self,
        tx: Transaction,
        workspace: str,
        sequence: str,
        *,
        status: SequenceStatus,
        firing: Job | None = None,
        if_confirmed: bool = False,
    ) -> SequenceChange | None:
        """Lock a sequence for a change; raises `TimerReplaced` where the end of a pause, `firing`, is no longer ours.

        `if_confirmed`: None also where another status was confirmed last.
        """
        names = {"workspace": workspace, "sequence": sequence}
        tx.execute(tx.insert_once(sequence_changes), names)
        row = tx.find(sequence_changes, **names, locked=True)
        # Looked up under the row's lock: from here on nobody else can replace it.
        if firing and not jobs.held(tx, firing):
            raise TimerReplaced
        if row.locked_until is not None and tx.now < row.locked_until <= tx.now + LOCK_SECONDS:
            return None
        if if_confirmed and row.confirmed != status:
            return None
        values: dict[str, Any] = {
            "token": c.token + 1,
            "locked_until": tx.now + LOCK_SECONDS,
            "asked": status,
        }
        died = row.locked_until is not None
        if died:
            values |= _doubt(tx, row.asked)
            _look_later(tx, workspace, sequence)
        tx.update(sequence_changes, _which(workspace, sequence), **values)
        end = jobs.find(tx, "resume", workspace, sequence)
        return SequenceChange(
            workspace=workspace,
            sequence=sequence,
            status=status,
            token=row.token + 1,
            revision=row.revision + died,
            is_certain=not (died or _is_doubtful(row, now=tx.now)),
            timer=timer_of(end) if end else None,
            confirmed=row.confirmed or "",
        )

    @reads
    def paused(self, tx: Transaction, workspace: str) -> Mapping[str, int]:
        """The revisions of the sequences that this program paused, and that no request may change now."""
        revisions = _revisions(tx, (c.workspace == workspace) & (c.confirmed == "paused"))
        return {name: revision for name, revision in revisions.items() if revision != UNDER_WAY}

    @writes
    def note_resumed(
        self,
        tx: Transaction,
        workspace: str,
        seen: Mapping[str, int],
        labels: Mapping[str, str],
        *,
        at: float,
    ) -> bool:
        """Write down that someone resumed sequences at the service, which were `seen` active at these revisions.

        Their timers go, for they would end the next pause, and messages say that they are sending. One that was
        paused shortly before `at` stays as it is: the list in which it was active may be older than its pause.
        """
        rows = tx.execute(_NAMED.with_for_update(), {"workspace": workspace, "sequences": sorted(seen)})
        now_at = {row.sequence: row.revision for row in rows if row.locked_until is None}
        unchanged = [name for name, revision in seen.items() if now_at.get(name) == revision]
        over = [
            name
            for name, entry in last_changes(tx, workspace, unchanged).items()
            if entry.effect == "paused" and entry.at.timestamp() < at - LATE_SECONDS
        ]
        if not over:
            return False
        for name in sorted(over):
            jobs.drop(tx, "resume", workspace, name)
            which = _which(workspace, name)
            tx.update(sequence_changes, which, confirmed="active", revision=c.revision + 1)
        entry = AuditEntry(
            at=moment(tx.now),
            actor=OUTSIDER,
            workspace=workspace,
            command="resume at the service",
            result=f"{', '.join(f'{labels[name]} ({name})' for name in over)} resumed",
            effect="resumed",
            sequences=tuple(over),
        )
        add_entry(tx, entry)
        return True

    @writes
    def renew(self, tx: Transaction, change: SequenceChange) -> bool:
        return tx.update(sequence_changes, _mine(change), locked_until=tx.now + LOCK_SECONDS) == 1

    @writes
    def end(
        self,
        tx: Transaction,
        change: SequenceChange,
        *,
        is_made: bool | None,
        late: bool,
        keep_timer: bool,
        timer: Timer | None,
    ) -> bool:
        """Write down how a change ended, and free its lock; False: another change had begun.

        `is_made`: False where surely nothing was done, None where the service may have done it, or may still do it. `late`:
        an attempt was never answered, and may still be carried out. Unless `keep_timer`, `timer` counts from now on.
        """
        values: dict[str, Any] = {"locked_until": None}
        if late or is_made is None:
            _look_later(tx, change.workspace, change.sequence)
        if is_made is None:
            values |= _doubt(tx, change.status)
        elif is_made:
            values |= {"confirmed": change.status, "revision": c.revision + 1}
        if late:
            values[_LATE[change.status]] = tx.now + LATE_SECONDS
        if not tx.update(sequence_changes, _mine(change), **values):
            # Ours was sent while another change had begun: what that one confirms is looked at again.
            values = {_LATE[change.status]: tx.now + LATE_SECONDS, "revision": c.revision + 1}
            tx.update(sequence_changes, _which(change.workspace, change.sequence), **values)
            _look_later(tx, change.workspace, change.sequence)
            return False
        if not keep_timer:
            if timer is None:
                jobs.drop(tx, "resume", change.workspace, change.sequence)
            else:
                put_timer(tx, change.workspace, timer)
        return True

    @reads
    def doubts(
        self, tx: Transaction, workspace: str, sequences: Collection[str]
    ) -> Mapping[str, SequenceStatus | None]:
        """The sequences among these that a late request may still change, each with the status that it must have.

        None where nothing is certain, someone changes it, or nothing that may come contradicts it.
        """
        rows = tx.execute(_NAMED, {"workspace": workspace, "sequences": [*sequences]})
        doubts: dict[str, SequenceStatus | None] = {}
        for row in rows:
            opposite = {"paused": row.resume_late_until, "active": row.pause_late_until}.get(row.confirmed)
            contradicted = row.locked_until is None and opposite is not None and opposite > tx.now
            if _is_doubtful(row, now=tx.now):
                doubts[row.sequence] = row.confirmed if contradicted else None
        return doubts


def _look_later(tx: Transaction, workspace: str, sequence: str) -> None:
    """Have it looked at whether a request is carried out late, until none can be any more."""
    jobs.put(tx, "late", sequence, workspace=workspace, at=tx.now + LATE_EVERY)


def _revisions(tx: Transaction, which: sa.ColumnElement[bool]) -> dict[str, int]:
    rows = tx.execute(sa.select(sequence_changes).where(which)).all()
    return {
        row.sequence: row.revision
        if row.locked_until is None and not _is_doubtful(row, now=tx.now)
        else UNDER_WAY
        for row in rows
    }


def _is_doubtful(row: sa.Row[Any], *, now: float) -> bool:
    """True if an unanswered request may have changed the status since it was confirmed, or may do so."""
    return any(until is not None and until > now for until in (row.pause_late_until, row.resume_late_until))


def _doubt(tx: Transaction, status: str) -> dict[str, Any]:
    """The values that an unanswered request leaves: it may be carried out later, and what it contradicts isn't certain."""
    still = sa.case((c.confirmed == status, c.confirmed), else_="")
    return {_LATE[status]: tx.now + LATE_SECONDS, "confirmed": still, "revision": c.revision + 1}


def _which(workspace: str, sequence: str) -> sa.ColumnElement[bool]:
    return (c.workspace == workspace) & (c.sequence == sequence)


def _mine(change: SequenceChange) -> sa.ColumnElement[bool]:
    return _which(change.workspace, change.sequence) & (c.token == change.token)
