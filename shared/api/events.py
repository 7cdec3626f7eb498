"""Webhook deliveries: signature check and events. Pure.

An unknown kind is also an Event, because the service may add kinds, and nothing is discarded.
"""

from __future__ import annotations

import hmac
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from .decoding import field_names
from .decoding.fields import Reader
from .event_kinds import EVENTS
from .http.responses import parse_json

SIGNATURE_HEADER = "X-Service-Signature"
PROBE_SIGNATURE = "0" * 64
"""What `doctor` signs with: it must be refused like any other that is wrong, and isn't a sign of trouble."""

_READER = Reader(field_names.EVENT)
"""One for all deliveries: it remembers where payloads of the same keys have their values."""
LEAD = ("email", "first_name", "last_name", "company", "title")


@dataclass(frozen=True, slots=True, kw_only=True)
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


@dataclass(frozen=True, slots=True, kw_only=True)
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

    @property
    def is_known(self) -> bool:
        """Whether the service documents this kind, or the bot made it."""
        return self.kind in EVENTS


def lead_value(event: Event, name: str) -> str:
    """A field of the lead as its delivery has it, also one of the workspace's own; empty where it has none.

    Within the lead, or within an object there; its own fields come first. Case and spelling as in `job_title` are ignored.
    """
    lead = event.raw.get("lead")
    places = [lead] if isinstance(lead, dict) else []
    places += [one for place in places for one in place.values() if isinstance(one, dict)]
    found = (value for one in (*places, event.raw) for key, value in one.items() if _same(key, name))
    return next((str(one) for one in found if isinstance(one, str | int | float)), "")


def _same(one: object, other: str) -> bool:
    def letters(text: str) -> str:
        return "".join(filter(str.isalnum, text)).casefold()

    return bool(letters(other)) and letters(str(one)) == letters(other)


@dataclass(frozen=True, slots=True, kw_only=True)
class Unknown:
    """A body that isn't an event; `reason` is a short phrase."""

    reason: str


def sign(body: bytes, secret: str) -> str:
    """The signature of a raw body: HMAC-SHA256, hex."""
    return hmac.digest(secret.encode(), body, "sha256").hex()


def signature_matches(body: bytes, header: str | None, secrets: Iterable[str]) -> bool:
    """Whether the header signs the raw body with one of the secrets; in constant time, for any header."""
    given = (header or "").strip().lower().encode("utf-8", "replace")
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
    values = _READER.read(payload)
    kind = values.pop("kind")
    if kind is None:
        return Unknown(reason="the body has no event")
    lead = EventLead(**{name: values.pop(name) for name in LEAD})
    return Event(kind=kind.strip(), lead=lead, raw=payload, **values)
