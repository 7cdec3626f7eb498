"""The JSON bodies of deliveries: reply.interested to the letter of the document, the other kinds as its kin."""

from __future__ import annotations

import json
from typing import Any

KINDS = (
    "lead.replied",
    "reply.interested",
    "reply.ooo",
    "lead.bounced",
    "lead.unsubscribed",
    "sequence.completed",
    "domain.paused",
)

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
