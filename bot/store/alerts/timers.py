"""Things to be done later, once, by whoever is then alive: rows that are leased when due and deleted when done."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import sqlalchemy as sa

from bot.store.db.schema import timers
from bot.store.queue import deliveries
from shared.domain.records import Timer

LEASE = 60.0
"""Seconds that a firing may take; afterwards somebody else tries."""
AT_ONCE = 300
"""Timers that are leased together, so that what ends together is told together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DueTimer:
    """A timer whose time has come, leased to us by `token`."""

    id: int
    token: int
    workspace: str
    attempts: int
    timer: Timer


def put(connection: sa.Connection, workspace: str, timer: Timer) -> None:
    """Set a timer; one of the same kind and key is replaced, and a firing of it under way finishes nothing."""
    values = {"payload": json.dumps(dict(timer.payload)), "due_at": timer.due_at.timestamp()}
    new = deliveries.upsert(connection, timers).values(
        workspace=workspace, kind=timer.kind, key=timer.key, **values
    )
    again = {**values, "lease_until": None, "token": timers.c.token + 1, "attempts": 0}
    connection.execute(new.on_conflict_do_update(index_elements=["workspace", "kind", "key"], set_=again))


def cancel(connection: sa.Connection, workspace: str, kind: str, key: str) -> bool:
    """Forget a timer; whether there was one."""
    which = (timers.c.workspace == workspace) & (timers.c.kind == kind) & (timers.c.key == key)
    return connection.execute(sa.delete(timers).where(which)).rowcount > 0


def select(connection: sa.Connection, workspace: str, kind: str) -> Sequence[Timer]:
    """The timers of a kind, the next first."""
    query = sa.select(timers).where(timers.c.workspace == workspace, timers.c.kind == kind)
    return [_read(row) for row in connection.execute(query.order_by(timers.c.due_at))]


def claim(
    connection: sa.Connection, kinds: Collection[str], *, now: float, limit: int = AT_ONCE
) -> Sequence[DueTimer]:
    """Lease what is due of these kinds."""
    free = sa.or_(
        timers.c.lease_until.is_(None), timers.c.lease_until <= now, timers.c.lease_until > now + LEASE
    )
    due = (
        sa.select(timers.c.id)
        .where(timers.c.due_at <= now, free, timers.c.kind.in_(kinds))
        .order_by(timers.c.due_at)
        .limit(limit)
        .with_for_update(skip_locked=True)
    )
    taken = (
        sa.update(timers)
        .where(timers.c.id.in_(due))
        .values(lease_until=now + LEASE, token=timers.c.token + 1, attempts=timers.c.attempts + 1)
    )
    return [_firing(row) for row in connection.execute(taken.returning(timers))]


def strange(connection: sa.Connection, kinds: Collection[str], *, now: float) -> Sequence[str]:
    """The kinds besides these of which something is due."""
    due = sa.select(timers.c.kind).where(timers.c.due_at <= now, timers.c.kind.not_in(kinds))
    return connection.execute(due.distinct().order_by(timers.c.kind)).scalars().all()


def done(connection: sa.Connection, firing: DueTimer) -> bool:
    """Delete a timer that was carried out; False when it was set anew meanwhile, or leased by another."""
    mine = (timers.c.id == firing.id) & (timers.c.token == firing.token)
    return connection.execute(sa.delete(timers).where(mine)).rowcount > 0


def postpone(connection: sa.Connection, firing: DueTimer, *, until: float) -> None:
    """It could not be done; try then."""
    mine = (timers.c.id == firing.id) & (timers.c.token == firing.token)
    connection.execute(sa.update(timers).where(mine).values(due_at=until, lease_until=None))


def _firing(row: sa.Row[tuple[object, ...]]) -> DueTimer:
    return DueTimer(
        id=row.id, token=row.token, workspace=row.workspace, attempts=row.attempts, timer=_read(row)
    )


def _read(row: sa.Row[tuple[object, ...]]) -> Timer:
    return Timer(
        kind=row.kind,
        key=row.key,
        due_at=datetime.fromtimestamp(row.due_at, UTC),
        payload=json.loads(row.payload or "{}"),
    )
