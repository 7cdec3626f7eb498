"""One call of the Web API: its arguments, what it may touch, and the table of methods."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from sandbox.slack.state import scopes, seed
from sandbox.slack.state.errors import Refusal
from sandbox.slack.state.model import Channel, Json
from sandbox.slack.state.settings import Settings
from sandbox.slack.to_bot.events import Events
from sandbox.slack.to_bot.sockets import Sockets
from sandbox.slack.world.views import Stage
from sandbox.slack.world.world import World

T = TypeVar("T")
_TRUE = {"1", "true", "True"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """The arguments of a call and the state it reads and changes; `origin` is the stand-in's own address."""

    args: Json
    world: World
    settings: Settings
    stage: Stage
    events: Events
    sockets: Sockets
    origin: str

    def require(self, name: str) -> Any:
        """An argument that must be there; raises `Refusal` (invalid_arguments)."""
        value = self.args.get(name)
        if value is None or value == "":
            raise Refusal(
                "invalid_arguments", messages=[f"missing required field: {name} [json-pointer:/{name}]"]
            )
        return value

    def flag(self, name: str) -> bool:
        value = self.args.get(name)
        return value is True or str(value) in _TRUE

    def limit(self, default: int, *, most: int) -> int:
        """The page size; raises `Refusal` (invalid_limit)."""
        value = self.args.get("limit") or default
        if not str(value).isdecimal() or int(value) < 1:
            raise Refusal("invalid_limit")
        return min(int(value), most)

    def channel(self, *, scope: str | None = None) -> Channel:
        """The conversation of the argument `channel`, as the bot may see it."""
        name = self.args.get("channel")
        if not isinstance(name, str) or not name:
            raise Refusal("channel_not_found")
        found = self.world.bot_channel(name)
        if scope:
            scopes.require(scopes.for_channel(scope, found), granted=self.settings.scopes)
        return found

    def own_channel(self, *, scope: str | None = None) -> Channel:
        """The same, and the bot is in it; raises `Refusal` (not_in_channel)."""
        found = self.channel(scope=scope)
        if seed.BOT.id not in found.members:
            raise Refusal("not_in_channel")
        return found


Method = Callable[[Call], Json]
METHODS: dict[str, Method] = {}


def method(name: str) -> Callable[[Method], Method]:
    """Enter a function into the table of methods."""

    def enter(function: Method) -> Method:
        METHODS[name] = function
        return function

    return enter


def page_of(items: Sequence[T], call: Call, *, default: int, most: int) -> tuple[list[T], str]:
    """One page of `items` and the cursor of the next; raises `Refusal` (invalid_cursor)."""
    start = _offset(call.args.get("cursor"))
    limit = call.limit(default, most=most)
    chunk = list(items[start : start + limit])
    more = start + limit < len(items)
    return chunk, _cursor(start + limit) if more else ""


def _cursor(offset: int) -> str:
    return base64.b64encode(f"next:{offset}".encode()).decode()


def _offset(cursor: Any) -> int:
    if not cursor:
        return 0
    try:
        word, _, offset = base64.b64decode(str(cursor), validate=True).decode().partition(":")
        if word != "next":
            raise Refusal("invalid_cursor")
        return int(offset)
    except (binascii.Error, UnicodeDecodeError, ValueError) as error:
        raise Refusal("invalid_cursor") from error
