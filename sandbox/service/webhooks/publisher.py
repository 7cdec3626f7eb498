"""Write down what happened: the event once, and a delivery for every subscription that lists its kind."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, bindparam, insert, select

from sandbox.service.base.schema import deliveries, events, subscriptions
from sandbox.service.webhooks import payloads

_SUBSCRIBED = select(subscriptions.c.pk, subscriptions.c.events).where(
    subscriptions.c.workspace_pk == bindparam("workspace")
)
_EVENT = insert(events).returning(events.c.pk)


def publish(connection: Connection, payload: dict[str, Any], *, workspace: int, at: float) -> int:
    """Record an event and queue its deliveries; how many there are (document: Events)."""
    kind, email = payload["event"], payload.get("lead", {}).get("email")
    row = {
        "workspace_pk": workspace,
        "kind": kind,
        "email": email,
        "at": at,
        "body": payloads.encode(payload),
    }
    event = connection.execute(_EVENT, row).scalar_one()
    listening = [
        one.pk
        for one in connection.execute(_SUBSCRIBED, {"workspace": workspace})
        if kind in one.events.split()
    ]
    if listening:
        connection.execute(insert(deliveries), [_delivery(event, one, at=at) for one in listening])
    return len(listening)


def _delivery(event: int, subscription: int, *, at: float) -> dict[str, Any]:
    return {
        "event_pk": event,
        "subscription_pk": subscription,
        "state": "pending",
        "attempts": 0,
        "first_at": at,
        "next_at": at,
        "lease_until": 0.0,
    }
