"""What can be set on a stand-in, at its start or while it runs."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from typing import Any

from sandbox.slack.state import seed
from sandbox.slack.state.scopes import ALL_SCOPES


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Credentials:
    """What an installed app holds; made up afresh for every start unless given."""

    bot_token: str = field(default_factory=lambda: f"xoxb-{secrets.token_hex(16)}")
    app_token: str = field(default_factory=lambda: f"xapp-1-{secrets.token_hex(16)}")
    signing_secret: str = field(default_factory=lambda: secrets.token_hex(16))
    verification_token: str = field(default_factory=lambda: secrets.token_hex(12))


@dataclass(slots=True, kw_only=True)
class Settings:
    """The dials; `None` request address means that the bot is only reached by Socket Mode."""

    request_url: str | None
    enterprise_id: str = ""
    """The Enterprise organization that the workspace belongs to, as auth.test tells it."""
    scopes: frozenset[str] = ALL_SCOPES
    revoked: bool = False
    messages_per_second: float = 1.0
    burst: int = 3
    answers_per_second: float = 1.0
    answers_burst: int = 10
    tier_factor: float = 4.0
    ack_seconds: float = 3.0
    retry_seconds: tuple[float, ...] = (0.0, 60.0, 300.0)
    events: frozenset[str] = seed.EVENTS
    commands: tuple[dict[str, Any], ...] = seed.COMMANDS
    shortcuts: tuple[dict[str, Any], ...] = ()
