"""Webhook deliveries: signature check and events. Pure.

An unknown kind is also an Event, because the service may add kinds, and nothing is discarded.
"""

from __future__ import annotations

import hmac
from collections.abc import Iterable, Mapping
from dataclasses import field
from typing import Any

from ..frozen import frozen
from .values import as_count, as_object, as_text, as_word, first, parse_json

SIGNATURE_HEADER = "X-Service-Signature"
PROBE_SIGNATURE = "0" * 64
"""The signature that `doctor` sends: refused like any other that is wrong, but no sign of trouble."""

_LEAD_PLACES = {
    "email": ("lead.email", "lead_email", "lead.email_address", "email"),
    "first_name": ("lead.first_name", "lead_first_name", "first_name"),
    "last_name": ("lead.last_name", "lead_last_name", "last_name"),
    "company": ("lead.company", "lead_company", "lead.company_name", "company"),
    "title": ("lead.title", "lead_title", "lead.job_title", "job_title"),
}
_PLACES = {
    "sequence": (
        "sequence",
        "sequence.name",
        "sequence_name",
        "campaign",
        "campaign_name",
        "sequence.id",
        "sequence_id",
    ),
    "reply": ("reply", "reply.text", "reply_text", "text", "message", "body"),
    "inbox": ("inbox", "inbox.email", "inbox_email", "mailbox"),
    "domain": ("domain", "domain.name", "domain_name"),
    "return_date": ("return_date", "reply.return_date", "returns_on", "back_on", "until"),
    "reason": ("reason", "bounce.reason", "bounce_reason", "error", "description"),
}
"""The paths at which a delivery may have each value: only the payload of reply.interested is documented."""


@frozen
class EventLead:
    """The lead of an event; every value can be unknown."""

    email: str | None = None
    first_name: str | None = None
    last_name: str | None = None
    company: str | None = None
    title: str | None = None
    """The job, where a delivery names it."""

    @property
    def name(self) -> str:
        """First and last name as far as known, else the address, else nothing."""
        return " ".join(filter(None, (self.first_name, self.last_name))) or self.email or ""


@frozen
class Event:
    """One delivery. Only `kind` is certain: the service documents only the payload of reply.interested."""

    kind: str
    lead: EventLead = field(default_factory=EventLead)
    sequence: str | None = None
    """The sequence's name, or its id if the delivery has no name."""
    step: int | None = None
    reply: str | None = None
    inbox: str | None = None
    domain: str | None = None
    return_date: str | None = None
    bounce_type: str | None = None
    reason: str | None = None
    raw: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)


@frozen
class Unknown:
    """A body that isn't an event; `reason` is a short phrase."""

    reason: str


def sign(body: bytes, secret: str) -> str:
    """The signature of a raw body: HMAC-SHA256, hex."""
    return hmac.digest(secret.encode(), body, "sha256").hex()


def signature_matches(body: bytes, header: str | None, secrets: Iterable[str]) -> bool:
    """Return True if the header signs the raw body with one of the secrets; in constant time, for any header."""
    given = (header or "").strip().lower().encode("utf-8", "replace")
    # All of them, so that the time doesn't tell which secret is the right one.
    matches = [hmac.compare_digest(sign(body, secret).encode(), given) for secret in secrets if secret]
    return any(matches)


def read_event(body: bytes) -> Event | Unknown:
    """The event in a delivery; never raises."""
    try:
        payload = parse_json(body)
    except ValueError:
        return Unknown(reason="the body is not JSON")
    if not isinstance(payload, dict):
        return Unknown(reason="the body is not a JSON object")
    told = {**as_object(payload.get("data")), **payload}
    kind = first(told, as_text, "event", "event.type", "event_type", "type", "kind")
    if kind is None:
        return Unknown(reason="the body has no event")
    return Event(
        kind=kind.strip(),
        lead=EventLead(**{name: first(told, as_text, *places) for name, places in _LEAD_PLACES.items()}),
        step=first(told, as_count, "step", "step.number", "step_number"),
        bounce_type=first(told, as_word, "bounce_type", "bounce.type", "bounce"),
        raw=payload,
        **{name: first(told, as_text, *places) for name, places in _PLACES.items()},
    )
