"""The newest reply of a lead, for `lead`."""

from __future__ import annotations

from datetime import UTC, datetime

import sqlalchemy as sa

from bot.store.db.engine import Transaction
from bot.store.db.schema import alerts, deliveries
from bot.store.queue.adopt import address
from shared.api.events import Event, read_event
from shared.domain.records import LeadReply

REPLIES = ("reply.interested", "lead.replied")


def last_reply(tx: Transaction, workspace: str, email: str) -> LeadReply | None:
    """None where no reply of this address came, or its words are deleted."""
    query = (
        sa.select(alerts, deliveries.c.body)
        .join(deliveries, deliveries.c.id == alerts.c.delivery_id)
        .where(alerts.c.email == address(email), alerts.c.workspace == workspace, alerts.c.kind.in_(REPLIES))
        .order_by(alerts.c.received_at.desc())
        .limit(1)
    )
    row = tx.execute(query).one_or_none()
    event = read_event(row.body or b"") if row else None
    if row is None or not isinstance(event, Event):
        return None
    return LeadReply(
        alert_id=row.id,
        received_at=datetime.fromtimestamp(row.received_at, UTC),
        sequence=event.sequence or "",
        step=event.step,
        text=event.reply or "",
        lead=event.lead.name,
        company=event.lead.company or "",
        status=_status(row),
    )


def _status(row: sa.Row[object]) -> str:
    if row.handled_at is not None:
        return (
            f"closed by @{row.handled_name}: {row.closed_reason}"
            if row.closed_reason
            else f"done by @{row.handled_name}"
        )
    return f"claimed by @{row.claimed_name}" if row.claimed_name else "unclaimed"
