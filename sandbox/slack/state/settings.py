"""What can be set on a stand-in, at its start or while it runs: settings, credentials and the time."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any

from sandbox.slack.state import seed


class Clock:
    """Seconds since 1970; whatever expires (triggers, response addresses, tickets) asks it."""

    def __init__(self, source: Callable[[], float] = time.time) -> None:
        self._source = source
        self._ahead = 0.0

    def now(self) -> float:
        return self._source() + self._ahead

    def advance(self, seconds: float) -> None:
        """Let `seconds` pass at once; time never runs backwards."""
        if seconds < 0:
            raise ValueError("a clock is only advanced")
        self._ahead += seconds

    def reset(self) -> None:
        """Back to the present, for a stand-in that starts over."""
        self._ahead = 0.0


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Credentials:
    """What an installed app holds; made up afresh for every start unless given."""

    bot_token: str = field(default_factory=lambda: f"xoxb-{secrets.token_hex(16)}")
    app_token: str = field(default_factory=lambda: f"xapp-1-{secrets.token_hex(16)}")
    config_token: str = field(default_factory=lambda: f"xoxe.xoxp-1-{secrets.token_hex(16)}")
    signing_secret: str = field(default_factory=lambda: secrets.token_hex(16))
    verification_token: str = field(default_factory=lambda: secrets.token_hex(12))
    client_id: str = field(
        default_factory=lambda: f"{secrets.randbelow(10**12):012}.{secrets.randbelow(10**12):012}"
    )
    client_secret: str = field(default_factory=lambda: secrets.token_hex(16))


@dataclass(slots=True, kw_only=True)
class Settings:
    """`None` as request address means that the bot is only reached by Socket Mode."""

    request_url: str | None
    enterprise_id: str = ""
    """The Enterprise organization that the workspace belongs to, as auth.test returns it."""
    loads_options: bool = False
    """Whether the manifest has `interactivity.message_menu_options_url`: without it Slack loads the options of an
    external select over Socket Mode only (docs.slack.dev/reference/app-manifest)."""
    redirect_urls: tuple[str, ...] = ()
    """Where the manifest lets an installation end (oauth_config.redirect_urls)."""
    scopes: frozenset[str] = seed.SCOPES
    messages_per_second: float = 1.0
    """Messages in one channel; 0 takes away this limit and that of the workspace."""
    burst: int = 3
    workspace_messages_per_minute: float = 300.0
    """Messages over all channels; 0: any number."""
    answers_per_second: float = 1.0
    answers_burst: int = 10
    tier_factor: float = 1.0
    """How many times more calls than its tier promises a method takes; 0: any number."""
    ack_seconds: float = 3.0
    retry_seconds: tuple[float, ...] = (0.0, 60.0, 300.0)
    events: frozenset[str] = seed.EVENTS
    commands: tuple[dict[str, Any], ...] = seed.COMMANDS
    shortcuts: tuple[dict[str, Any], ...] = ()
    refused_blocks: frozenset[str] = frozenset()
    """Types of blocks that this workspace does not know yet: Slack rolls new ones out in phases."""

    def to_json(self) -> dict[str, Any]:
        return (
            asdict(self)
            | {"scopes": sorted(self.scopes), "events": sorted(self.events)}
            | {"refused_blocks": sorted(self.refused_blocks)}
        )
