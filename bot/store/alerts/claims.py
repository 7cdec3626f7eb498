"""Who has taken an interested reply: the first click wins, whoever comes later is told who has it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from bot.store.db.schema import alerts, deliveries
from bot.store.queue import deliveries as inbox
from shared.domain.records import Actor


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimState:
    """An alert, who has it (empty: nobody), and whether this act changed that."""

    alert_id: str
    workspace: str
    body: bytes | None
    received_at: float
    by: str
    name: str
    at: float | None
    changed: bool
    snoozed_until: float | None = None
    handled_name: str = ""
    handled_at: float | None = None


def claim(connection: sa.Connection, alert: str, actor: Actor, *, now: float) -> ClaimState | None:
    """Take an alert for a person; None: there is no such alert."""
    free = (alerts.c.id == alert) & (alerts.c.claimed_by == "") & alerts.c.handled_at.is_(None)
    taken = {"claimed_by": actor.id or actor.name, "claimed_name": actor.name, "claimed_at": now}
    values = {**taken, "waiting_since": None, "snoozed_until": None, "snoozed_name": ""}
    return change(connection, alert, free, values, now=now)


def release(connection: sa.Connection, alert: str, *, now: float) -> ClaimState | None:
    """Give an alert back; None: there is no such alert."""
    taken = (alerts.c.id == alert) & (alerts.c.claimed_by != "")
    waits = sa.case((alerts.c.handled_at.is_(None), now), else_=None)
    values = {"claimed_by": "", "claimed_name": "", "claimed_at": None, "waiting_since": waits, "nudges": 0}
    return change(connection, alert, taken, values, now=now)


def change(
    connection: sa.Connection,
    alert: str,
    which: sa.ColumnElement[bool],
    values: dict[str, Any],
    *,
    now: float,
) -> ClaimState | None:
    """Change an alert where it stands as `which` says, and have it painted anew."""
    changed = connection.execute(sa.update(alerts).where(which).values(**values)).rowcount == 1
    if changed:
        inbox.repaint(connection, [alert], now=now)
    return read(connection, alert, changed=changed)


def read(connection: sa.Connection, alert: str, *, changed: bool = False) -> ClaimState | None:
    """How an alert stands."""
    query = (
        sa.select(alerts, deliveries.c.body)
        .join(deliveries, deliveries.c.id == alerts.c.delivery_id)
        .where(alerts.c.id == alert)
    )
    row = connection.execute(query).one_or_none()
    if row is None:
        return None
    return ClaimState(
        alert_id=row.id,
        workspace=row.workspace,
        body=row.body,
        received_at=row.received_at,
        by=row.claimed_by,
        name=row.claimed_name,
        at=row.claimed_at,
        changed=changed,
        snoozed_until=row.snoozed_until,
        handled_name=row.handled_name,
        handled_at=row.handled_at,
    )
