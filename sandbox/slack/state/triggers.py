"""Trigger ids and response URLs of interactions, valid for a limited time."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field

from sandbox.slack.state.errors import SlackError, refuse_if
from sandbox.slack.state.model import App, trim

TRIGGER_SECONDS = 3.0
"""docs.slack.dev/surfaces/modals: a trigger_id expires three seconds after it is sent, and works once."""
RESPONSE_URL_SECONDS = 1800.0
RESPONSE_URL_USES = 5
"""docs.slack.dev/interactivity/handling-user-interaction: up to five times within 30 minutes."""

_KEPT = 10_000


def _trigger_id() -> str:
    return f"{secrets.randbelow(10**12)}.{secrets.randbelow(10**12)}.{secrets.token_hex(16)}"


def _response_url_id() -> str:
    return f"{secrets.randbelow(10**12)}/{secrets.token_urlsafe(18)}"


@dataclass(slots=True, kw_only=True)
class Trigger:
    """The right of an app to open one view for one person."""

    id: str = field(default_factory=_trigger_id)
    app: App
    user: str
    channel: str | None = None
    made_at: float
    from_view: bool = False
    used: bool = False
    opened: str | None = None


@dataclass(slots=True, kw_only=True)
class ResponseUrl:
    """A response address: where it answers, and how much of it is left.

    `message_ts` is the message that was acted on, None for a slash command or a view.
    """

    id: str = field(default_factory=_response_url_id)
    app: App
    user: str
    channel: str
    made_at: float
    message_ts: str | None = None
    uses: int = 0

    def use(self, *, now: float) -> None:
        """Use it once; raises `SlackError` when it is used up or too old."""
        refuse_if(now - self.made_at > RESPONSE_URL_SECONDS, "expired_url")
        refuse_if(self.uses >= RESPONSE_URL_USES, "used_url")
        self.uses += 1


@dataclass(slots=True, kw_only=True)
class Triggers:
    """All trigger ids and response addresses that were issued."""

    triggers: dict[str, Trigger] = field(default_factory=dict)
    response_urls: dict[str, ResponseUrl] = field(default_factory=dict)

    def issue(self, trigger: Trigger) -> Trigger:
        self.triggers[trigger.id] = trigger
        trim(self.triggers, size=_KEPT)
        return trigger

    def issue_response_url(self, url: ResponseUrl) -> ResponseUrl:
        self.response_urls[url.id] = url
        trim(self.response_urls, size=_KEPT)
        return url

    def redeem(self, name: str, *, app: App, now: float) -> Trigger:
        """Use a trigger; raises `SlackError` for one that is unknown, another app's, used or late."""
        trigger = self.triggers.get(name)
        if trigger is None or trigger.app != app:
            raise SlackError("invalid_trigger_id")
        if trigger.used:
            raise SlackError("exchanged_trigger_id")
        refuse_if(now - trigger.made_at > TRIGGER_SECONDS, "expired_trigger_id")
        trigger.used = True
        return trigger
