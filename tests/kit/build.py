"""Builds what the service delivers, as bytes, and its signature."""

from __future__ import annotations

import hashlib
import hmac
import json
from typing import Any

SECRET = "whsec-of-the-tests"


def signature(body: bytes, secret: str = SECRET) -> str:
    """The value of `X-Service-Signature`: an HMAC of the body."""
    return hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()


def interested(name: str = "Ada", **changes: Any) -> bytes:
    """An interested reply of a person of Acme; another name is another lead."""
    event = {
        "event": "reply.interested",
        "lead": {
            "email": f"{name.lower()}@acme.example",
            "first_name": name,
            "company": "Acme",
        },
        "sequence": "Q3 founders",
        "step": 2,
        "inbox": "sam@mail.example",
        "reply": "Yes, call me.",
    }
    return json.dumps({**event, **changes}).encode()


def bounced(name: str = "Bob", **changes: Any) -> bytes:
    """A bounce, which is only counted unless a channel subscribes to it."""
    event = {"event": "lead.bounced", "lead": {"email": f"{name.lower()}@gone.example"}}
    return json.dumps({**event, "inbox": "sam@mail.example", **changes}).encode()


def paused_domain(domain: str = "mail.example", **changes: Any) -> bytes:
    """A domain that the service has paused."""
    event = {"event": "domain.paused", "domain": domain, "reason": "Bounce rate 7.1%"}
    return json.dumps({**event, **changes}).encode()
