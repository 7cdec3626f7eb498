"""Trigger ids and response addresses, which an interaction hands out for a short time."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field

from sandbox.slack.errors import SlackError, refuse_if

TRIGGER_SECONDS = 3.0
"""A trigger works once, within three seconds (https://docs.slack.dev/surfaces/modals)."""
RESPONSE_URL_SECONDS = 1800.0
RESPONSE_URL_USES = 5
"""A response address works five times within 30 minutes.

https://docs.slack.dev/interactivity/handling-user-interaction
"""


@dataclass(slots=True, kw_only=True)
class Trigger:
    """The right to open one view for one person."""

    user: str
    made_at: float
    id: str = field(default_factory=lambda: f"{secrets.randbelow(10**12)}.{secrets.token_hex(16)}")
    used: bool = False

    def redeem(self, *, now: float) -> None:
        """Use it up. Raises `SlackError` where it was used before, or is too old."""
        refuse_if(self.used, "exchanged_trigger_id")
        refuse_if(now - self.made_at > TRIGGER_SECONDS, "expired_trigger_id")
        self.used = True


@dataclass(slots=True, kw_only=True)
class ResponseUrl:
    """Where a response address answers, and how often it was used.

    `message_ts` is the message that was acted on; a slash command and a view have none.
    """

    user: str
    channel: str
    made_at: float
    id: str = field(default_factory=lambda: f"{secrets.randbelow(10**12)}/{secrets.token_urlsafe(18)}")
    message_ts: str | None = None
    uses: int = 0

    def use(self, *, now: float) -> None:
        """Use it once. Raises `SlackError` where it is used up, or too old."""
        if now - self.made_at > RESPONSE_URL_SECONDS:
            raise SlackError("expired_url")
        refuse_if(self.uses >= RESPONSE_URL_USES, "used_url")
        self.uses += 1
