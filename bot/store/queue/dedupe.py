"""Detects repeated deliveries. The intake stores every arrival; the router compares them here.

The index over hashes gets a delivery only when the router has processed it, because its entries are written at random
places, and a commit that a sender waits for should write in one place. Its entries are unique: if two processes see
two arrivals of a delivery for the first time, one commits, and the other restarts and finds the first.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from bot.store.db.engine import Transaction
from bot.store.db.schema import alerts, answers, arrivals, deliveries
from bot.store.queue.insert import alert_id
from shared.domain.records import Subscription

ERASED = "erased"
"""The problem of a delivery whose person was erased: sent again, it must not bring them back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingDelivery:
    """A delivery with news: it is new, or it came again."""

    id: int
    alert_id: str
    workspace: str
    body: bytes
    found: bool
    received_at: float
    last_at: float
    before_at: float
    """When the arrival before the newest came."""
    seen: int
    is_new: bool
    acknowledged_before: bool
    """Whether the sender got 200 for the arrival before this one."""
    batch: int = 0
    batch_before: int = 0
    alert: str | None = None
    """The alert that shows it already."""
    subscriptions: Sequence[Subscription] = ()
    """Those of its workspace."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Same:
    """One delivery: the row that stays, and the arrivals that came after it."""

    first: sa.Row[Any]
    later: Sequence[sa.Row[Any]]
    there: bool
    """The router has looked at it before."""

    @property
    def moments(self) -> Sequence[tuple[float, int]]:
        row = self.first
        known = [(row.before_at, row.batch_before), (row.last_at, row.batch)]
        return [*known, *((one.received_at, one.batch) for one in self.later)]


def gather(tx: Transaction, *, limit: int) -> Sequence[PendingDelivery]:
    """Take up to `limit` unrouted arrivals, merged into deliveries, in the order they came."""
    arrived = tx.execute(CAME, {"limit": limit}).all()
    if not arrived:
        return ()
    by_key: defaultdict[bytes, list[sa.Row[Any]]] = defaultdict(list)
    for row in arrived:
        by_key[row.dkey].append(row)
    known = {row.dkey: row for row in tx.execute(THERE, {"keys": [*by_key]})}
    found = [_same(rows, known.get(key)) for key, rows in by_key.items()]
    _put_away(tx, found, surplus={row.id for row in arrived} - {one.first.id for one in found})
    answered_batches = _answered(tx, {one.moments[-2][1] for one in found if one.later})
    erased = {row.dkey for row in known.values() if row.problem == ERASED}
    return [
        _merged(one, by_key[one.first.dkey][-1].body, answered_batches)
        for one in found
        if (one.later or not one.there) and one.first.dkey not in erased
    ]


_BEFORE = ("found", "received_at", "last_at", "before_at", "seen", "batch", "batch_before")
_ARRIVED = [deliveries.c[name] for name in ("id", "dkey", "workspace", *_BEFORE)]


CAME: sa.Select[Any] = (
    sa.select(*_ARRIVED, deliveries.c.body, sa.null().label("known"))
    .where(deliveries.c.pending)
    .order_by(deliveries.c.received_at, deliveries.c.id)
    .limit(sa.bindparam("limit", type_=sa.Integer))
    .with_for_update(skip_locked=True)
)
"""Unrouted arrivals that no other process has locked."""
THERE: sa.Select[Any] = (
    sa.select(*_ARRIVED, deliveries.c.problem, alerts.c.id.label("known"))
    .outerjoin(alerts, alerts.c.delivery_id == deliveries.c.id)
    .where(deliveries.c.dkey.in_(sa.bindparam("keys", expanding=True)), sa.not_(deliveries.c.pending))
    .order_by(deliveries.c.dkey)
    .with_for_update(of=deliveries)
)
"""Those that were looked at before, locked in one order for all processes."""
_ANSWERED = sa.select(answers.c.batch).where(answers.c.batch.in_(sa.bindparam("batches", expanding=True)))


def _same(rows: Sequence[sa.Row[Any]], known: sa.Row[Any] | None) -> _Same:
    first, rest = (rows[0], rows[1:]) if known is None else (known, rows)
    return _Same(first=first, later=[row for row in rest if not row.found], there=known is not None)


def _put_away(tx: Transaction, found: Sequence[_Same], *, surplus: Collection[int]) -> None:
    """Of an arrival after the first remains when it came, and in which commit."""
    if not surplus:
        return
    later = [
        {"dkey": row.dkey, "at": row.received_at, "batch": row.batch} for one in found for row in one.later
    ]
    if later:
        tx.execute(sa.insert(arrivals), later)
    tx.execute(sa.delete(deliveries).where(deliveries.c.id.in_(surplus)))


def _answered(tx: Transaction, batches: Collection[int]) -> Collection[int]:
    """Of these commits, those whose senders were answered 200."""
    if not batches:
        return ()
    return set(tx.scalars(_ANSWERED, {"batches": [*batches]}))


def _merged(one: _Same, body: bytes, answered: Collection[int]) -> PendingDelivery:
    row = one.first
    (before_at, batch_before), (last_at, batch) = one.moments[-2:]
    return PendingDelivery(
        id=row.id,
        alert_id=alert_id(row.dkey),
        workspace=row.workspace,
        body=body,
        found=row.found,
        received_at=row.received_at,
        last_at=last_at,
        before_at=before_at,
        seen=row.seen + len(one.later),
        is_new=not one.there,
        acknowledged_before=batch_before in answered,
        batch=batch,
        batch_before=batch_before,
        alert=row.known,
    )
