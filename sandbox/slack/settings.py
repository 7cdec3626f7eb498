"""The settings of a stand-in, at its start or while it runs, and an app's manifest."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from sandbox.asgi_server import is_this_machine
from sandbox.data import read_toml


def _is_on_this_machine(url: str | None) -> str | None:
    if url is not None and not is_this_machine(url):
        raise ValueError("only http:// on this machine")
    return url


LocalUrl = Annotated[str | None, AfterValidator(_is_on_this_machine)]
Word = Annotated[str, Field(pattern=r"^[\x21-\x7e]{1,255}$")]
Amount = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Count = Annotated[int, Field(ge=0)]
Name = Annotated[str, Field(max_length=200, pattern=r"^\P{C}*$")]


class _Part(BaseModel):
    """A part of a manifest; it may have fields that nothing here reads."""

    model_config = ConfigDict(extra="allow")

    @model_validator(mode="before")
    @classmethod
    def without_nulls(cls, given: Any) -> Any:
        """Take what is null for what isn't there, as Slack does."""
        if not isinstance(given, dict):
            return given
        return {name: value for name, value in given.items() if value is not None}


class Command(_Part):
    """A slash command."""

    command: str
    should_escape: bool = False


class Shortcut(_Part):
    """A global shortcut."""

    callback_id: str
    name: str = ""
    type: str = "global"


class _Features(_Part):
    slash_commands: list[Command] = []
    shortcuts: list[Shortcut] = []


class _Scopes(_Part):
    bot: list[Word] | None = None


class _OAuth(_Part):
    scopes: _Scopes = _Scopes()


class _Events(_Part):
    bot_events: list[Word] = []


class _Interactivity(_Part):
    message_menu_options_url: str | None = None


class _Settings(_Part):
    event_subscriptions: _Events = _Events()
    interactivity: _Interactivity = _Interactivity()


class Manifest(_Part):
    """An app manifest, as far as this stand-in reads it.

    https://docs.slack.dev/reference/app-manifest
    """

    features: _Features = _Features()
    oauth_config: _OAuth = _OAuth()
    settings: _Settings = _Settings()


_FIRST = Manifest.model_validate(read_toml(__file__, "manifest.toml"))


class Settings(BaseModel):
    """The settings of the workspace and of its app; every limit is Slack's until it is changed."""

    model_config = ConfigDict(extra="forbid", validate_assignment=True, use_attribute_docstrings=True)

    request_url: LocalUrl = None
    """The bot's address for requests; null: only over Socket Mode."""
    enterprise_id: Name = ""
    """The organization of the workspace, if any."""
    messages_per_second: Amount = 1.0
    """Messages in one channel; 0: no limit at all."""
    burst: Count = 3
    """Messages at once in one channel."""
    workspace_messages_per_minute: Amount = 300.0
    """Messages over all channels; 0: any number."""
    answers_per_second: Amount = 1.0
    """Answers through the response URLs of a channel."""
    answers_burst: Count = 10
    tier_factor: Amount = 1.0
    """A method takes so many times the calls that its tier promises; 0: any number."""
    ack_seconds: Amount = 3.0
    """The bot has so long to acknowledge."""
    retry_seconds: tuple[Amount, ...] = (0.0, 60.0, 300.0)
    """The pauses before an event is sent again."""
    refused_blocks: frozenset[Word] = frozenset()
    """Types of blocks that the workspace doesn't know yet."""
    loads_options: bool = False
    """True if the manifest has message_menu_options_url."""
    scopes: frozenset[Word] = frozenset(_FIRST.oauth_config.scopes.bot or ())
    events: frozenset[Word] = frozenset(_FIRST.settings.event_subscriptions.bot_events)
    commands: tuple[Command, ...] = tuple(_FIRST.features.slash_commands)
    shortcuts: tuple[Shortcut, ...] = ()

    def apply(self, manifest: Manifest) -> None:
        """Let the commands, shortcuts, events and scopes of a manifest take effect."""
        settings = manifest.settings
        scopes = manifest.oauth_config.scopes.bot
        self.commands = tuple(manifest.features.slash_commands)
        self.shortcuts = tuple(manifest.features.shortcuts)
        self.events = frozenset(settings.event_subscriptions.bot_events)
        # Over HTTP, Slack loads the options of an external select only from this address.
        self.loads_options = bool(settings.interactivity.message_menu_options_url)
        # A manifest without scopes leaves those that were granted: it may be only a part of one.
        if scopes is not None:
            self.scopes = frozenset(scopes)

    def to_json(self) -> dict[str, Any]:
        # Sets have no order, and tests compare what is shown.
        values = self.model_dump(mode="json")
        return values | {name: sorted(values[name]) for name in ("scopes", "events")}


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Credentials:
    """The tokens and secrets of an installed app, made up at every start unless they are given."""

    bot_token: str = field(default_factory=lambda: f"xoxb-{secrets.token_hex(16)}")
    app_token: str = field(default_factory=lambda: f"xapp-1-{secrets.token_hex(16)}")
    signing_secret: str = field(default_factory=lambda: secrets.token_hex(16))
