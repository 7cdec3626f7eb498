"""The newest reply of a lead, for `lead`."""

from __future__ import annotations

from bot.store.db.engine import Transaction
from bot.store.db.schema import alerts
from bot.store.queue.alert_row import ALERT_ROWS, AlertRow, read_alerts
from bot.store.queue.intake import address
from shared.domain.records import LeadReply

REPLIES = ("reply.interested", "lead.replied")


def last_reply(tx: Transaction, workspace: str, email: str) -> LeadReply | None:
    """None where no reply of this address came, or its words are deleted."""
    query = (
        ALERT_ROWS.where(alerts.c.email == address(email), alerts.c.workspace == workspace)
        .where(alerts.c.kind.in_(REPLIES))
        .order_by(alerts.c.received_at.desc())
        .limit(1)
    )
    alert = next(iter(read_alerts(tx, query)), None)
    if alert is None or alert.is_pruned:
        return None
    event = alert.event
    return LeadReply(
        alert_id=alert.id,
        received_at=alert.received,
        sequence=event.sequence or "",
        step=event.step,
        text=event.reply or "",
        lead=event.lead.name,
        company=event.lead.company or "",
        status=_status(alert),
    )


def _status(alert: AlertRow) -> str:
    if alert.handled_at is not None:
        return (
            f"closed by @{alert.handled_name}: {alert.closed_reason}"
            if alert.closed_reason
            else f"done by @{alert.handled_name}"
        )
    return f"claimed by @{alert.claimed_name}" if alert.claimed_name else "unclaimed"
