"""The table of Web API methods, and one call of a method."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from sandbox.slack.state.errors import SlackError, refuse_if
from sandbox.slack.state.model import App, Channel, Json
from sandbox.slack.state.settings import AppSettings
from sandbox.slack.to_bot.installation import Installation
from sandbox.slack.workspace import Workspace
from sandbox.slack.workspaces import Workspaces
from sandbox.slack.world.world import World

T = TypeVar("T")
_FAMILIES = {"im": "im", "mpim": "mpim", "private_channel": "groups", "public_channel": "channels"}
"""The first word of the scopes for each type of conversation."""
_TRUE = {"1", "true", "True"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Method:
    """A Web API method and what it asks for (docs.slack.dev/reference/methods).

    An `app_level` method takes the app-level token. `scope` is checked before the call, `channel_scope` in the form that the channel's type has. Without a `tier` the
    method is not limited by calls a minute.
    """

    run: Callable[[Call], Json]
    scope: str | None = None
    channel_scope: str | None = None
    scope_suffix: str = ""
    """A narrower scope that is enough, too: `.topic` for `channels:write.topic` where `channels:manage` is asked for."""
    tier: int | None = None
    app_level: bool = False
    config_token: bool = False
    """Takes an app configuration token (xoxe.xoxp-…), and no other."""
    needs_token: bool = True


METHODS: dict[str, Method] = {}


def method(name: str, **details: Any) -> Callable[[Callable[[Call], Json]], Callable[[Call], Json]]:
    """Enter a function into the table of methods; `details` are the fields of `Method`."""

    def enter(function: Callable[[Call], Json]) -> Callable[[Call], Json]:
        METHODS[name] = Method(run=function, **details)
        return function

    return enter


def warning(name: str) -> Json:
    return {"warning": name, "response_metadata": {"warnings": [name]}}


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One call of a method: its arguments, the workspace of its token, and the app that makes it."""

    method: Method
    args: Json
    workspace: Workspace
    by: Installation
    workspaces: Workspaces

    @property
    def world(self) -> World:
        return self.workspace.world

    @property
    def app(self) -> App:
        return self.by.app

    @property
    def bot(self) -> str:
        return self.by.app.user

    @property
    def settings(self) -> AppSettings:
        return self.by.settings

    def require_scope(self, scope: str | None) -> None:
        """Raise `SlackError` (missing_scope) unless the app holds `scope`."""
        granted = self.settings.scopes
        if scope and scope not in granted:
            raise SlackError("missing_scope", extra={"needed": scope, "provided": ",".join(sorted(granted))})

    def require_channel_scope(self, channel: Channel) -> None:
        """`channels:history` is `groups:history` in a private channel and `im:history` in a direct message."""
        wanted, suffix = self.method.channel_scope, self.method.scope_suffix
        if wanted is None:
            return
        family = _FAMILIES[channel.kind]
        if suffix and f"{family}:write{suffix}" in self.settings.scopes:
            return
        if wanted == "channels:manage":
            self.require_scope(wanted if family == "channels" else f"{family}:write")
        else:
            self.require_scope(wanted.replace("channels:", f"{family}:"))

    def require(self, name: str) -> Any:
        """An argument that must be there; raises `SlackError` (invalid_arguments)."""
        value = self.args.get(name)
        if value is None or value == "":
            raise SlackError(
                "invalid_arguments", messages=[f"missing required field: {name} [json-pointer:/{name}]"]
            )
        return value

    def flag(self, name: str) -> bool:
        value = self.args.get(name)
        return value is True or str(value) in _TRUE

    def limit(self, default: int, *, max_limit: int) -> int:
        """The page size; raises `SlackError` (invalid_limit), also over `max_limit`."""
        value = self.args.get("limit") or default
        refuse_if(not str(value).isdecimal() or not 1 <= int(value) <= max_limit, "invalid_limit")
        return int(value)

    def channel(self) -> Channel:
        """The conversation of the argument `channel`, as the bot may see it."""
        name = self.args.get("channel")
        if not isinstance(name, str) or not name:
            raise SlackError("channel_not_found")
        found = self.world.bot_channel(name, self.app)
        self.require_channel_scope(found)
        return found

    def own_channel(self) -> Channel:
        """The same, and the bot is in it; raises `SlackError` (not_in_channel)."""
        found = self.channel()
        refuse_if(self.bot not in found.members, "not_in_channel")
        return found


def page_of(items: Sequence[T], call: Call, *, default: int, max_limit: int) -> tuple[list[T], str]:
    """One page of `items` and the cursor of the next; raises `SlackError` (invalid_cursor)."""
    start = _offset(call.args.get("cursor"))
    limit = call.limit(default, max_limit=max_limit)
    chunk = list(items[start : start + limit])
    more = start + limit < len(items)
    return chunk, base64.b64encode(f"next:{start + limit}".encode()).decode() if more else ""


def _offset(cursor: Any) -> int:
    if not cursor:
        return 0
    try:
        word, _, offset = base64.b64decode(str(cursor), validate=True).decode().partition(":")
        refuse_if(word != "next", "invalid_cursor")
        return int(offset)
    except (binascii.Error, UnicodeDecodeError, ValueError) as error:
        raise SlackError("invalid_cursor") from error
