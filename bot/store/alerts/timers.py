"""Timers, run once by any process: rows that are leased when due and deleted when done."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import sqlalchemy as sa

from bot.store.db.engine import Repository, Transaction, reads, writes
from bot.store.db.schema import timers
from shared.domain.records import Timer

LEASE = 60.0
"""Seconds that a firing may take; afterwards another process tries."""
AT_ONCE = 300
"""Timers that are leased together, so that what ends together is announced together."""

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


class Timers(Repository):
    """Something to do at a given time."""

    @writes
    def claim(
        self, tx: Transaction, kinds: Collection[str], workspaces: Collection[str], *, limit: int = AT_ONCE
    ) -> Sequence[DueTimer]:
        """Lease what is due of these kinds in these workspaces; the case of their names is ignored."""
        names = [name.lower() for name in workspaces]
        free = sa.or_(
            timers.c.lease_until.is_(None),
            timers.c.lease_until <= tx.now,
            timers.c.lease_until > tx.now + LEASE,
        )
        due = (
            sa.select(timers.c.id)
            .where(timers.c.due_at <= tx.now, free, timers.c.kind.in_(kinds))
            .where(sa.func.lower(timers.c.workspace).in_(names))
            .order_by(timers.c.due_at)
            .limit(limit)
            .with_for_update(skip_locked=True)
        )
        taken = (
            sa.update(timers)
            .where(timers.c.id.in_(due))
            .values(lease_until=tx.now + LEASE, token=timers.c.token + 1, attempts=timers.c.attempts + 1)
        )
        return [_firing(row) for row in tx.execute(taken.returning(timers))]

    @reads
    def unknown_kinds(self, tx: Transaction, kinds: Collection[str]) -> Sequence[str]:
        """The kinds besides these of which something is due."""
        due = sa.select(timers.c.kind).where(timers.c.due_at <= tx.now, timers.c.kind.not_in(kinds))
        return tx.execute(due.distinct().order_by(timers.c.kind)).scalars().all()

    @writes
    def forget_orphans(self, tx: Transaction, workspaces: Collection[str]) -> int:
        """Delete what has been due for `ORPHANED` in no workspace of the settings; returns how many."""
        known = [name.lower() for name in workspaces]
        orphaned = sa.func.lower(timers.c.workspace).not_in(known) & (timers.c.due_at < tx.now - ORPHANED)
        return tx.execute(sa.delete(timers).where(orphaned)).rowcount

    @writes
    def done(self, tx: Transaction, firing: DueTimer) -> bool:
        """Delete a timer that was carried out; False if it was reset in the meantime, or leased by another process."""
        mine = (timers.c.id == firing.id) & (timers.c.token == firing.token)
        return tx.execute(sa.delete(timers).where(mine)).rowcount > 0

    @writes
    def postpone(self, tx: Transaction, firing: DueTimer, *, seconds: float) -> None:
        mine = (timers.c.id == firing.id) & (timers.c.token == firing.token)
        tx.execute(sa.update(timers).where(mine).values(due_at=tx.now + seconds, lease_until=None))


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
