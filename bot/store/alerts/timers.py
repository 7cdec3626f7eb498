"""Timers, run once by any process: rows that are leased when due and deleted when done."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import sqlalchemy as sa

from bot.store.alerts.changes import audit_row
from bot.store.alerts.undo import overtake
from bot.store.db.columns import NOW
from bot.store.db.engine import Repository, Transaction, probes, writes
from bot.store.db.schema import audit, sequence_changes, timers
from bot.store.queue import outbox
from bot.store.queue.outbox import PlannedPost
from shared.domain.records import AuditEntry, Timer

RESUME = "resume"
"""The kind of timer that ends a pause; its key is the sequence's id."""
LEASE = 60.0
"""Seconds that a firing may take; afterwards another process tries."""
AT_ONCE = 300
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
        self, tx: Transaction, kinds: Collection[str], workspaces: Collection[str], *, limit: int = AT_ONCE
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
        return tx.execute(sa.delete(timers).where(_mine(firing))).rowcount > 0

    @writes
    def finish(self, tx: Transaction, firings: Sequence[DueTimer], tell: Announcement) -> bool:
        """Delete those that are still ours, with their entry in the audit and their message; False: none was."""
        ours = [
            firing for firing in firings if tx.execute(sa.delete(timers).where(_mine(firing))).rowcount > 0
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
            sequence_changes.c.workspace == workspace, sequence_changes.c.locked_until.is_not(None)
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
        tx.execute(sa.update(timers).where(_mine(firing)).values(later))


def put(tx: Transaction, workspace: str, timer: Timer) -> None:
    """Set a timer; one of the same kind and key is replaced, and a firing of it under way finishes nothing."""
    values = {"payload": json.dumps(dict(timer.payload)), "due_at": timer.due_at.timestamp()}
    # SQLite uses the id of a deleted row again: a token that starts at the time is nobody's of before.
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
    return tx.scalar(sa.select(timers.c.id).where(_mine(firing))) is not None


def _mine(firing: DueTimer) -> sa.ColumnElement[bool]:
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
        due_at=datetime.fromtimestamp(row.due_at, UTC),
        payload=_payload(row.payload),
    )


def _payload(text: str) -> dict[str, str]:
    """What cannot be read is only missing from the announcement, and stops no other timer."""
    try:
        payload = json.loads(text or "{}")
    except ValueError:
        return {}
    return payload if isinstance(payload, dict) else {}
