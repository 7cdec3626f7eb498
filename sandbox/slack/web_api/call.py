"""One call of a Web API method, and what each method asks for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from sandbox.slack import seed
from sandbox.slack.delivery import Delivery
from sandbox.slack.errors import SlackError, refuse_if
from sandbox.slack.model import Channel, Json
from sandbox.slack.workspace import Workspace

T = TypeVar("T")
_FAMILIES = {"im": "im", "private_channel": "groups", "public_channel": "channels"}
"""The first word of the scopes for each type of conversation."""


@dataclass(frozen=True, slots=True)
class Method:
    """A method and what it asks for (https://docs.slack.dev/reference/methods).

    `scope` is checked before the call, and `channel_scope` in the form for the channel's type.
    Without a `tier` the calls of a minute are not limited.
    """

    run: Callable[[Call], Json]
    scope: str | None = None
    channel_scope: str | None = None
    tier: int | None = None
    takes: Literal["bot", "app"] = "bot"


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """The arguments of a call, and what it acts on."""

    method: Method
    args: Json
    workspace: Workspace
    delivery: Delivery

    def require_scope(self, scope: str | None) -> None:
        """Raise `SlackError` (missing_scope) unless the app holds the scope."""
        granted = self.workspace.settings.scopes
        if scope and scope not in granted:
            provided = ",".join(sorted(granted))
            raise SlackError("missing_scope", extra={"needed": scope, "provided": provided})

    def require_channel_scope(self, channel: Channel) -> None:
        """`channels:history` is `groups:history` in a private channel, and so on."""
        wanted = self.method.channel_scope
        if wanted is None:
            return
        self.require_scope(wanted.replace("channels:", f"{_FAMILIES[channel.kind]}:"))

    def require(self, name: str) -> Any:
        """Return an argument. Raises `SlackError` (invalid_arguments) where it isn't there."""
        # A form has no null: SDKs send what isn't there as an empty text.
        value = self.args.get(name)
        if value is None or value == "":
            line = f"missing required field: {name} [json-pointer:/{name}]"
            raise SlackError("invalid_arguments", messages=[line])
        return value

    def text(self, name: str, default: str = "") -> str:
        return str(self.args.get(name) or default)

    def flag(self, name: str) -> bool:
        # JSON brings booleans, a form the texts `true` and `1`.
        return str(self.args.get(name)).lower() in ("1", "true")

    def words(self, name: str, default: str = "") -> list[str]:
        """Return a list that comes with commas between its items."""
        return [word.strip() for word in self.text(name, default).split(",") if word.strip()]

    def limit(self, *, max_limit: int) -> int:
        """Return the size of a page. Raises `SlackError` (invalid_limit) where it is too large."""
        value = self.text("limit", "100")
        refuse_if(not value.isdecimal() or not 1 <= int(value) <= max_limit, "invalid_limit")
        return int(value)

    def channel(self, *, by_name: bool = False) -> Channel:
        """Return the conversation of the argument `channel`, as the bot may know it.

        Only the oldest methods take a channel's name beside its id, and only posting takes a
        person's id (https://github.com/slackapi/python-slack-sdk/issues/1495,
        https://docs.slack.dev/reference/methods/chat.update: "For direct messages, ensure that
        this value is a DM ID (starts with D) instead of a User ID").

        Raises `SlackError` (channel_not_found, missing_scope).
        """
        name = self.text("channel")
        found = self.workspace.channels.get(name)
        if found is None and by_name and name:
            found = self.workspace.channel(name)
        # What the bot may not know is answered as what isn't there, so that its name doesn't leak.
        if found is None or not self.is_visible(found):
            raise SlackError("channel_not_found")
        self.require_channel_scope(found)
        return found

    def own_channel(self) -> Channel:
        """Return the same where the bot is in it. Raises `SlackError` (not_in_channel)."""
        found = self.channel()
        refuse_if(seed.BOT.id not in found.members, "not_in_channel")
        return found

    def is_visible(self, channel: Channel) -> bool:
        """A private conversation without the bot doesn't exist for it."""
        return channel.kind == "public_channel" or seed.BOT.id in channel.members

    def page_of(self, items: Sequence[T], *, max_limit: int) -> tuple[list[T], Json]:
        """Return a page and its `response_metadata`. Raises `SlackError` (invalid_cursor)."""
        word, _, offset = self.text("cursor", "next:0").partition(":")
        refuse_if(word != "next" or not offset.isdecimal(), "invalid_cursor")
        end = int(offset) + self.limit(max_limit=max_limit)
        cursor = f"next:{end}" if end < len(items) else ""
        return list(items[int(offset) : end]), {"next_cursor": cursor}


def warning(name: str) -> Json:
    return {"warning": name, "response_metadata": {"warnings": [name]}}
