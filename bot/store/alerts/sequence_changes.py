"""Timers, run once by any process: rows that are leased when due and deleted when done.

The locks of the sequences: one change at a time over all processes, each written down with its timer.

A change is bounded: its lock lasts `LOCK_SECONDS`, and only a living process renews it. A request that was never
answered, because it timed out or its process died, may still be carried out later, after another change was confirmed.
For `LATE_SECONDS` such a sequence is `doubtful`: whoever looks sends the confirmed status again if it is no longer so.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import sqlalchemy as sa

from bot.store.alerts.changes import audit_row, overtake
from bot.store.db.columns import NOW
from bot.store.db.engine import Repository, Transaction, probes, reads, writes
from bot.store.db.schema import audit, sequence_changes, timers
from bot.store.queue import outbox
from bot.store.queue.outbox import PlannedPost
from shared.domain.wall_clock import moment
from shared.records.audit import AuditEntry
from shared.records.sequence_changes import (
    LOCK_SECONDS,
    UNDER_WAY,
    ChangeResult,
    SequenceChange,
    Status,
    Timer,
)

RESUME = "resume"
"""The kind of timer that ends a pause; its key is the sequence's id."""
LEASE = 60.0
"""Seconds that a firing may take; afterwards another process tries."""
TIMERS_AT_ONCE = 300
"""Timers that are leased together, so that what ends together is announced together."""

MOMENT = 0.001
"""Two times that are closer are the same one: a date is rounded on its way."""
ORPHANED = 30 * 86_400.0
"""Seconds that a due timer of a workspace that left the settings is kept, should the workspace come back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DueTimer:
    """A timer whose time has come, leased to us by `token`."""

    id: int
    token: int
    workspace: str
    attempts: int
    timer: Timer


Announcement = Callable[[Sequence[DueTimer]], tuple[AuditEntry, PlannedPost | None]]
"""What is written down and posted of timers that ended together."""


_FREE = sa.or_(
    timers.c.lease_until.is_(None), timers.c.lease_until <= NOW, timers.c.lease_until > NOW + LEASE
)
_DUE = (
    sa.select(timers.c.id)
    .where(timers.c.due_at <= NOW, _FREE, timers.c.kind.in_(sa.bindparam("kinds", expanding=True)))
    .where(sa.func.lower(timers.c.workspace).in_(sa.bindparam("workspaces", expanding=True)))
    .order_by(timers.c.due_at)
    .limit(sa.bindparam("limit"))
    .with_for_update(skip_locked=True)
)
_CLAIM = (
    sa.update(timers)
    .where(timers.c.id.in_(_DUE))
    .values(lease_until=NOW + LEASE, token=timers.c.token + 1, attempts=timers.c.attempts + 1)
    .returning(timers)
)
_DUE_KINDS = sa.select(timers.c.kind).where(timers.c.due_at <= NOW).distinct().order_by(timers.c.kind)
_NAMED = sa.select(timers).where(
    *(timers.c[name] == sa.bindparam(name) for name in ("workspace", "kind", "key"))
)


class Timers(Repository):
    """Something to do at a given time."""

    @writes
    def claim(
        self,
        tx: Transaction,
        kinds: Collection[str],
        workspaces: Collection[str],
        *,
        limit: int = TIMERS_AT_ONCE,
    ) -> Sequence[DueTimer]:
        """Lease what is due of these kinds in these workspaces; the case of their names is ignored."""
        names = [name.lower() for name in workspaces]
        values = {"now": tx.now, "kinds": [*kinds], "workspaces": names, "limit": limit}
        return [_firing(row) for row in tx.execute(_CLAIM, values)]

    @probes
    def due_kinds(self, tx: Transaction) -> Sequence[str]:
        """The kinds of which something is due."""
        return tx.scalars(_DUE_KINDS, {"now": tx.now}).all()

    @writes
    def take_over(self, tx: Transaction) -> None:
        """Free what a dead process had leased; only for the one process that is alive."""
        tx.execute(sa.update(timers).values(lease_until=None))

    @writes
    def forget_orphans(self, tx: Transaction, workspaces: Collection[str]) -> int:
        """Delete what has been due for `ORPHANED` in no workspace of the settings; returns how many."""
        known = [name.lower() for name in workspaces]
        orphaned = sa.func.lower(timers.c.workspace).not_in(known) & (timers.c.due_at < tx.now - ORPHANED)
        return tx.execute(sa.delete(timers).where(orphaned)).rowcount

    @writes
    def done(self, tx: Transaction, firing: DueTimer) -> bool:
        """Delete a timer that was carried out; False if it was reset in the meantime, or leased by another process."""
        return tx.execute(sa.delete(timers).where(_lease_of(firing))).rowcount > 0

    @writes
    def finish(self, tx: Transaction, firings: Sequence[DueTimer], tell: Announcement) -> bool:
        """Delete those that are still ours, with their entry in the audit and their message; False: none was."""
        ours = [
            firing
            for firing in firings
            if tx.execute(sa.delete(timers).where(_lease_of(firing))).rowcount > 0
        ]
        if not ours:
            return False
        entry, post = tell(ours)
        tx.execute(sa.insert(audit).values(audit_row(entry)))
        overtake(tx, entry)
        if post:
            outbox.plan(tx, post, workspace=entry.workspace)
        return True

    @writes
    def release(self, tx: Transaction, workspace: str, keys: Collection[str], *, due_at: float) -> None:
        """Delete the timers of a pause that was ended by somebody else; one that was set anew, or is about to be, stays."""
        locked = sa.select(sequence_changes.c.sequence).where(
            sequence_changes.c.workspace == workspace,
            sequence_changes.c.sequence.in_(keys),
            sequence_changes.c.locked_until.is_not(None),
        )
        of_the_pause = (
            (timers.c.workspace == workspace)
            & (timers.c.kind == RESUME)
            & timers.c.key.in_(keys)
            & (sa.func.abs(timers.c.due_at - due_at) < MOMENT)
        )
        tx.execute(sa.delete(timers).where(of_the_pause, timers.c.key.not_in(locked)))

    @writes
    def postpone(self, tx: Transaction, firing: DueTimer, *, seconds: float) -> None:
        later = {"due_at": tx.now + seconds, "lease_until": None}
        tx.execute(sa.update(timers).where(_lease_of(firing)).values(later))


def put(tx: Transaction, workspace: str, timer: Timer) -> None:
    """Set a timer; one of the same kind and key is replaced, and a firing of it under way finishes nothing."""
    values = {"payload": json.dumps(dict(timer.payload)), "due_at": timer.due_at.timestamp()}
    # SQLite reuses ids of deleted rows. A token that starts at the current time can't equal one of a deleted timer.
    new = tx.insert(timers).values(
        workspace=workspace, kind=timer.kind, key=timer.key, token=int(tx.now * 1000), **values
    )
    again = {**values, "lease_until": None, "token": timers.c.token + 1, "attempts": 0}
    tx.execute(new.on_conflict_do_update(index_elements=["workspace", "kind", "key"], set_=again))


def drop(tx: Transaction, workspace: str, kind: str, key: str) -> bool:
    """Forget a timer; whether there was one."""
    return tx.execute(sa.delete(timers).where(_named(workspace, kind, key))).rowcount > 0


def find(tx: Transaction, workspace: str, kind: str, key: str) -> Timer | None:
    row = tx.execute(_NAMED, {"workspace": workspace, "kind": kind, "key": key}).one_or_none()
    return None if row is None else read_timer(row)


def is_ours(tx: Transaction, firing: DueTimer) -> bool:
    """Whether a timer that was claimed was neither replaced nor cancelled nor claimed anew."""
    return tx.scalar(sa.select(timers.c.id).where(_lease_of(firing))) is not None


def _lease_of(firing: DueTimer) -> sa.ColumnElement[bool]:
    return (timers.c.id == firing.id) & (timers.c.token == firing.token)


def _named(workspace: str, kind: str, key: str) -> sa.ColumnElement[bool]:
    return (timers.c.workspace == workspace) & (timers.c.kind == kind) & (timers.c.key == key)


def _firing(row: sa.Row[tuple[object, ...]]) -> DueTimer:
    return DueTimer(
        id=row.id, token=row.token, workspace=row.workspace, attempts=row.attempts, timer=read_timer(row)
    )


def read_timer(row: sa.Row[tuple[object, ...]]) -> Timer:
    return Timer(
        kind=row.kind,
        key=row.key,
        due_at=moment(row.due_at),
        payload=_payload(row.payload),
    )


def _payload(text: str) -> dict[str, str]:
    """What cannot be read is only missing from the announcement, and stops no other timer."""
    try:
        payload = json.loads(text or "{}")
    except ValueError:
        return {}
    return payload if isinstance(payload, dict) else {}


LATE_SECONDS = 120.0
"""How long a service may take to carry out a request that it did not answer."""

c = sequence_changes.c
_LOCKED = (
    sa.select(sequence_changes)
    .where(c.workspace == sa.bindparam("workspace"), c.sequence == sa.bindparam("sequence"))
    .with_for_update()
)
_DOUBTFUL = sa.select(sequence_changes).where(
    c.workspace.in_(sa.bindparam("workspaces", expanding=True)),
    c.locked_until.is_(None),
    ((c.confirmed == "paused") & (c.resume_late_until > NOW))
    | ((c.confirmed == "active") & (c.pause_late_until > NOW)),
)
_LATE = {"paused": c.pause_late_until, "active": c.resume_late_until}


class TimerReplaced(Exception):
    """The timer that should end a pause was cancelled, set anew, or is carried out by another process."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Doubtful:
    """A sequence that an unanswered request may still turn into the opposite of its confirmed status."""

    workspace: str
    sequence: str
    confirmed: Status


class SequenceChanges(Repository):
    """Implements `shared.records.sequence_changes.SequenceChanges`."""

    @reads
    def revisions(self, tx: Transaction, workspace: str) -> Mapping[str, int]:
        return _revisions(tx, c.workspace == workspace)

    @writes
    def begin(
        self,
        tx: Transaction,
        workspace: str,
        sequence: str,
        *,
        status: Status,
        firing: DueTimer | None = None,
        if_confirmed: bool = False,
    ) -> SequenceChange | None:
        """As in the protocol; raises `TimerReplaced` where the timer that is `firing` is no longer ours.

        `if_confirmed`: None also where another status was confirmed last.
        """
        names = {"workspace": workspace, "sequence": sequence}
        tx.execute(tx.insert_once(sequence_changes), names)
        row = tx.execute(_LOCKED, names).one()
        # Looked up under the row's lock: from here on nobody else can replace it.
        if firing and not is_ours(tx, firing):
            raise TimerReplaced
        if row.locked_until is not None and tx.now < row.locked_until <= tx.now + LOCK_SECONDS:
            return None
        if if_confirmed and row.confirmed != status:
            return None
        values: dict[Any, Any] = {
            "token": c.token + 1,
            "locked_until": tx.now + LOCK_SECONDS,
            "asked": status,
        }
        died = row.locked_until is not None
        if died:
            values |= _doubt(tx, row.asked)
        tx.execute(sa.update(sequence_changes).where(_which(workspace, sequence)).values(values))
        return SequenceChange(
            workspace=workspace,
            sequence=sequence,
            status=status,
            token=row.token + 1,
            revision=UNDER_WAY if died or _is_doubtful(row, now=tx.now) else row.revision,
            timer=find(tx, workspace, RESUME, sequence),
            confirmed=row.confirmed or "",
        )

    @writes
    def renew(self, tx: Transaction, change: SequenceChange) -> bool:
        renewed = sa.update(sequence_changes).where(_mine(change)).values(locked_until=tx.now + LOCK_SECONDS)
        return tx.execute(renewed).rowcount == 1

    @writes
    def end(self, tx: Transaction, change: SequenceChange, result: ChangeResult) -> bool:
        values: dict[Any, Any] = {"locked_until": None}
        if result.outcome == "uncertain":
            values |= _doubt(tx, change.status)
        elif result.outcome == "confirmed":
            values |= {"confirmed": change.status, "revision": c.revision + 1}
        if result.late:
            values[_LATE[change.status]] = tx.now + LATE_SECONDS
        if tx.execute(sa.update(sequence_changes).where(_mine(change)).values(values)).rowcount == 0:
            # Ours was sent while another change had begun: what that one confirms is looked at again.
            late = {_LATE[change.status]: tx.now + LATE_SECONDS, "revision": c.revision + 1}
            which = _which(change.workspace, change.sequence)
            tx.execute(sa.update(sequence_changes).where(which).values(late))
            return False
        if not result.keep_timer:
            if result.timer is None:
                drop(tx, change.workspace, RESUME, change.sequence)
            else:
                put(tx, change.workspace, result.timer)
        return True

    @reads
    def doubtful(self, tx: Transaction, workspaces: Collection[str]) -> Sequence[Doubtful]:
        """The sequences of these workspaces to look at, while nobody changes them."""
        return [
            Doubtful(workspace=row.workspace, sequence=row.sequence, confirmed=cast("Status", row.confirmed))
            for row in tx.execute(_DOUBTFUL, {"workspaces": [*workspaces], "now": tx.now})
        ]


def revisions_of(tx: Transaction, workspace: str, names: Collection[str]) -> dict[str, int]:
    """The revisions of these sequences, within a transaction."""
    found = _revisions(tx, (c.workspace == workspace) & c.sequence.in_(names))
    return {name: found.get(name, 0) for name in names}


def _revisions(tx: Transaction, which: sa.ColumnElement[bool]) -> dict[str, int]:
    rows = tx.execute(sa.select(sequence_changes).where(which)).all()
    return {
        row.sequence: row.revision
        if row.locked_until is None and not _is_doubtful(row, now=tx.now)
        else UNDER_WAY
        for row in rows
    }


def _is_doubtful(row: sa.Row[Any], *, now: float) -> bool:
    """Whether an unanswered request may have changed the status since it was confirmed, or may do so."""
    return any(until is not None and until > now for until in (row.pause_late_until, row.resume_late_until))


def _doubt(tx: Transaction, status: str) -> dict[Any, Any]:
    """What an unanswered request leaves: it may be carried out later, and what it contradicts isn't certain."""
    still = sa.case((c.confirmed == status, c.confirmed), else_="")
    return {_LATE[status]: tx.now + LATE_SECONDS, "confirmed": still, "revision": c.revision + 1}


def _which(workspace: str, sequence: str) -> sa.ColumnElement[bool]:
    return (c.workspace == workspace) & (c.sequence == sequence)


def _mine(change: SequenceChange) -> sa.ColumnElement[bool]:
    return _which(change.workspace, change.sequence) & (c.token == change.token)
