"""Events: their JSON bodies, and a delivery for every subscription that lists their kind."""

from __future__ import annotations

import json
from typing import Any

from sqlalchemy import Connection, bindparam, insert, select

from sandbox.service.base.schema import deliveries, events, subscriptions

_SUBSCRIBED = select(subscriptions.c.pk, subscriptions.c.events).where(
    subscriptions.c.workspace_pk == bindparam("workspace")
)
_EVENT = insert(events).returning(events.c.pk)

_BOUNCES = {
    "hard": "550 5.1.1 The email account that you tried to reach does not exist.",
    "soft": "452 4.2.2 The recipient's mailbox is full.",
}


def lead_payload(
    kind: str, *, lead: Any, sequence: str, step: int, inbox: str, **details: Any
) -> dict[str, Any]:
    """The body of an event about a lead.

    Args:
        kind: the event kind.
        lead: a row with `email`, `first_name` and `company`.
        sequence: the sequence's name.
        step: the step number, from 1.
        inbox: the sending inbox's address.
        details: `reply`, `return_date` or `bounce_type`, as the kind has them.
    """
    payload: dict[str, Any] = {
        "event": kind,
        "lead": {"email": lead.email, "first_name": lead.first_name or "", "company": lead.company or ""},
        "sequence": sequence,
        "step": step,
    }
    payload |= details
    if "bounce_type" in details:
        payload["reason"] = _BOUNCES[details["bounce_type"]]
    return payload | {"inbox": inbox}


def domain_payload(*, domain: str, reason: str, rate: float, inboxes: list[str]) -> dict[str, Any]:
    """The body of `domain.paused`; `rate` is the share of sends that made it necessary."""
    return {
        "event": "domain.paused",
        "domain": domain,
        "reason": reason,
        "rate": round(rate, 4),
        "inboxes": inboxes,
    }


def encode(payload: dict[str, Any]) -> bytes:
    """The bytes that are stored, signed and sent, the same at every attempt."""
    return json.dumps(payload, ensure_ascii=False, separators=(", ", ": ")).encode("utf-8", "replace")


def publish(connection: Connection, payload: dict[str, Any], *, workspace: int, at: float) -> int:
    """Record an event and queue its deliveries; how many there are (document: Events)."""
    kind, email = payload["event"], payload.get("lead", {}).get("email")
    row = {
        "workspace_pk": workspace,
        "kind": kind,
        "email": email,
        "at": at,
        "body": encode(payload),
    }
    event = connection.execute(_EVENT, row).scalar_one()
    listening = [
        one.pk
        for one in connection.execute(_SUBSCRIBED, {"workspace": workspace})
        if kind in one.events.split()
    ]
    if listening:
        common = {"event_pk": event, "state": "pending", "attempts": 0, "lease_until": 0.0}
        common |= {"first_at": at, "next_at": at}
        connection.execute(insert(deliveries), [common | {"subscription_pk": one} for one in listening])
    return len(listening)
