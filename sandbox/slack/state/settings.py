"""What can be set on a stand-in, at its start or while it runs: settings, credentials and the time."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from sandbox.slack.state import given, seed


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
            raise ValueError("the clock can only be advanced")
        self._ahead += seconds

    def reset(self) -> None:
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
class AppSettings:
    """What an app's manifest says, and where the app is; `None` as request address means: only by Socket Mode."""

    request_url: str | None
    loads_options: bool = False
    """Whether the manifest has `interactivity.message_menu_options_url`: without it Slack loads the options of an
    external select over Socket Mode only (docs.slack.dev/reference/app-manifest)."""
    org_deploy: bool = False
    """Whether the app can be installed for a whole organization (settings.org_deploy_enabled)."""
    rotates_tokens: bool = False
    """Whether tokens expire (settings.token_rotation_enabled)."""
    redirect_urls: tuple[str, ...] = ()
    """Where the manifest lets an installation end (oauth_config.redirect_urls)."""
    scopes: frozenset[str] = seed.SCOPES
    events: frozenset[str] = seed.EVENTS
    unfurl_domains: tuple[str, ...] = ()
    """Domains whose links the app is told of (features.unfurl_domains)."""
    tool_server: str = ""
    """Where Slack's assistant finds the app's tools (mcp_servers), for servers that know people by Slack's signature."""
    commands: tuple[dict[str, Any], ...] = seed.COMMANDS
    shortcuts: tuple[dict[str, Any], ...] = ()

    def read_manifest(self, manifest: Mapping[str, Any]) -> None:
        """Let a manifest's commands, shortcuts, events, scopes and redirect URLs take effect, all of them or none.

        Raises `InvalidActionError`: a part of it has a shape that no manifest has.
        """
        features = given.section(manifest, "features")
        scopes = given.section(manifest, "oauth_config", "scopes").get("bot")
        settings = given.section(manifest, "settings")
        events = given.section(manifest, "settings", "event_subscriptions").get("bot_events")
        interactivity = given.section(manifest, "settings", "interactivity")
        redirect_urls = given.section(manifest, "oauth_config").get("redirect_urls")
        read = {
            "commands": given.objects(features.get("slash_commands"), "slash_commands", key="command"),
            "shortcuts": given.objects(features.get("shortcuts"), "shortcuts", key="callback_id"),
            "events": frozenset(given.words(events, "bot_events")),
            "redirect_urls": given.words(redirect_urls, "redirect_urls"),
            "unfurl_domains": given.words(features.get("unfurl_domains"), "unfurl_domains"),
            "tool_server": given.tool_server(given.section(manifest, "mcp_servers")),
            "org_deploy": bool(settings.get("org_deploy_enabled")),
            "rotates_tokens": bool(settings.get("token_rotation_enabled")),
            "loads_options": bool(interactivity.get("message_menu_options_url")),
            "scopes": self.scopes if scopes is None else frozenset(given.words(scopes, "scopes.bot")),
        }
        for name, value in read.items():
            setattr(self, name, value)

    def to_json(self) -> dict[str, Any]:
        values = asdict(self).items()
        return {name: sorted(one) if isinstance(one, frozenset) else one for name, one in values}


@dataclass(slots=True, kw_only=True)
class Settings(AppSettings):
    """The settings of the workspace, and those of its first app."""

    enterprise_id: str = ""
    """The Enterprise organization that the workspace belongs to, as auth.test returns it."""
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
    refused_blocks: frozenset[str] = frozenset()
    """Types of blocks that this workspace does not know yet: Slack rolls new ones out in phases."""
