"""The bodies of events, as they are signed and delivered."""

from __future__ import annotations

import json
from typing import Any

from sandbox.service.account import Event, Lead
from sandbox.service.people import reply_text

_BOUNCES = {
    "hard": "550 5.1.1 The email account that you tried to reach does not exist.",
    "soft": "452 4.2.2 The recipient's mailbox is full.",
}
_WRITTEN = frozenset({"interested", "turned", "reply", "again", "ooo", "unsubscribe"})


def body(event: Event, *, seed: int) -> bytes:
    """The bytes of an event, the same at every attempt."""
    payload = {"event": event.kind}
    if event.lead is not None:
        payload |= _about(event, event.lead, seed=seed)
    payload |= event.payload
    return json.dumps(payload, ensure_ascii=False).encode("utf-8", "replace")


def _about(event: Event, lead: Lead, *, seed: int) -> dict[str, Any]:
    who = lead.who
    return {
        "lead": {"email": who.email, "first_name": who.first_name or "", "company": who.company or ""},
        "sequence": event.sequence,
        "step": event.step,
        **_details(event, lead, seed=seed),
        "inbox": event.inbox,
    }


def _details(event: Event, lead: Lead, *, seed: int) -> dict[str, Any]:
    """What the body says beside the lead: `reply`, `return_date` or `bounce_type`."""
    if event.cause.startswith("bounce"):
        bounce = event.cause.removeprefix("bounce_")
        return {"bounce_type": bounce, "reason": _BOUNCES[bounce]}
    if event.cause not in _WRITTEN:
        return {}
    reply = reply_text(
        "interested" if event.cause == "turned" else event.cause,
        key=(seed, lead.number, event.step),
        me=event.inbox.partition("@")[0].rstrip("0123456789").capitalize(),
        lead=lead.who,
        date=event.returns,
    )
    return {"reply": reply} | ({"return_date": event.returns.isoformat()} if event.cause == "ooo" else {})
