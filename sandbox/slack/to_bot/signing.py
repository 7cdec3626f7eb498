"""Slack's request signature, version 0 (docs.slack.dev/authentication/verifying-requests-from-slack)."""

from __future__ import annotations

import hashlib
import hmac


def signature_headers(body: bytes, *, secret: str, now: float) -> dict[str, str]:
    """The two headers that prove a request to be Slack's."""
    timestamp = str(int(now))
    base = b"v0:" + timestamp.encode() + b":" + body
    digest = hmac.new(secret.encode(), base, hashlib.sha256).hexdigest()
    return {"X-Slack-Request-Timestamp": timestamp, "X-Slack-Signature": f"v0={digest}"}
