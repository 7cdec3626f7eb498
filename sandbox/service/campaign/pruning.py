"""What is forgotten, once a day: deliveries that are long settled, with their attempts and events. Replies never are."""

from __future__ import annotations

from sqlalchemy import Connection, delete, func, select

from sandbox.service.base.clock import DAY
from sandbox.service.base.schema import attempts, deliveries, events

KEPT_DAYS = 30
KEPT_DELIVERIES = 10_000
REPLIES = ("lead.replied", "reply.interested", "reply.ooo")
"""The reply history, which is kept for ever (document: DELETE /leads/{id})."""


def prune(connection: Connection, *, at: float, least: int = KEPT_DELIVERIES) -> None:
    """Forget what is older than `KEPT_DAYS`; of deliveries the newest `least` stay whatever their age."""
    before = at - KEPT_DAYS * DAY
    newest = connection.execute(select(func.max(deliveries.c.pk))).scalar() or 0
    settled = (deliveries.c.state != "pending", deliveries.c.first_at < before)
    old = select(deliveries.c.pk).where(*settled, deliveries.c.pk <= newest - least)
    connection.execute(delete(attempts).where(attempts.c.delivery_pk.in_(old)))
    connection.execute(delete(deliveries).where(deliveries.c.pk.in_(old)))
    carried = select(deliveries.c.event_pk)
    connection.execute(
        delete(events).where(events.c.kind.not_in(REPLIES), events.c.at < before, events.c.pk.not_in(carried))
    )
