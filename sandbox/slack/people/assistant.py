"""Slack's assistant in its conversation with a person: it calls the tools that apps offer.

It has no language model: a message names the tool, then its arguments as JSON (`pause {"target": ["Q3 founders"]}`), and
`tools` lists them. It shows a result's blocks if none of them breaks a rule, else the text, as Slack's does.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from sandbox.slack.blockkit.tool_blocks import tool_call, tool_problems
from sandbox.slack.people import input_values
from sandbox.slack.state import seed
from sandbox.slack.state.errors import InvalidActionError
from sandbox.slack.state.model import Channel, Json, Message, User
from sandbox.slack.to_bot.installation import Installation
from sandbox.slack.to_bot.tool_server import ToolServer, ToolServerError
from sandbox.slack.world.world import World

MOST_TEXT = 3_000
HINT = "I call the tool that you name, with arguments as JSON: status, or leads {}. `tools` lists them."


class Assistant:
    """Slackbot, which a person writes to and whose buttons they click."""

    def __init__(self, world: World, *, installations: Sequence[Installation]) -> None:
        self._world = world
        self._installations = installations
        self._servers: dict[tuple[str, str], ToolServer] = {}

    @property
    def is_offered(self) -> bool:
        return any(one.installed and one.settings.tool_server for one in self._installations)

    def conversation(self, user: User) -> Channel:
        """The direct message with Slackbot, opened if need be."""
        id_ = f"D0{user.id[2:]}SLACKBOT"
        if id_ not in self._world.channels:
            members = [user.id, seed.SLACKBOT.id]
            name = f"dm-{user.name}-slackbot"
            self._world.channels[id_] = Channel(id=id_, name=name, members=members, direct=user.id)
            self._world.feed.publish("channels", {}, only_for=user.id)
        return self._world.channels[id_]

    def is_in(self, channel: Channel) -> bool:
        return channel.direct is not None and seed.SLACKBOT.id in channel.members

    async def tools(self, user: User) -> list[Json]:
        """The tools of all apps for a person. Raises `InvalidActionError`."""
        try:
            return [tool for server in self._servers_of(user) for tool in await server.tools()]
        except ToolServerError as error:
            raise InvalidActionError(str(error)) from error

    async def call(self, user: User, name: str, arguments: Json) -> Json:
        """The result of a tool, of the first app that has it. Raises `InvalidActionError`."""
        try:
            for server in self._servers_of(user):
                if any(tool.get("name") == name for tool in await server.tools()):
                    return await server.call(name, arguments)
        except ToolServerError as error:
            raise InvalidActionError(str(error)) from error
        raise InvalidActionError(f"no tool {name!r}")

    async def hear(self, text: str, *, user: User) -> None:
        """Answer what a person wrote."""
        # A message has these three signs escaped: https://docs.slack.dev/messaging/formatting-message-text
        plain = text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
        name, _, given = plain.strip().partition(" ")
        try:
            if name == "tools":
                listed = (f"{tool['name']}: {tool.get('title') or ''}" for tool in await self.tools(user))
                shown: Json = {"text": "\n".join(listed) or "No tools."}
            else:
                shown = _shown(await self.call(user, name, _arguments(given)))
        except InvalidActionError as error:
            shown = {"text": f"{error}. {HINT}"}
        self._world.post(self.conversation(user), user=seed.SLACKBOT.id, **shown)

    async def click(self, message: Message, *, user: User, element: Json) -> Json:
        """Call the tool of a button; blocks of its result take the place of those that were there."""
        _, chosen = input_values.find(message.blocks, element)
        asked = tool_call(chosen)
        if asked is None:
            raise InvalidActionError(
                "the element does nothing: its action_id is no tool:, or it has no value"
            )
        result = await self.call(user, *asked)
        shown = _shown(result)
        if shown.get("blocks"):
            self._world.change(message, **shown)
        else:
            self._world.post(self.conversation(user), user=seed.SLACKBOT.id, **shown)
        return {"tool": asked[0], "arguments": asked[1], "result": result}

    def _servers_of(self, user: User) -> list[ToolServer]:
        found = []
        for one in self._installations:
            if one.installed and one.settings.tool_server:
                key = (one.app.id, user.id)
                server = self._servers.get(key)
                if server is None:
                    # Slack says the team that the person belongs to, which may be another than the workspace's.
                    server = self._servers[key] = ToolServer(
                        one.delivery, user.id, user.team_id, self._world.settings.enterprise_id
                    )
                found.append(server)
        if not found:
            raise InvalidActionError("no app has mcp_servers in its manifest")
        return found


def _arguments(given: str) -> Json:
    try:
        arguments = json.loads(given or "{}")
    except ValueError:
        raise InvalidActionError("the arguments are not JSON") from None
    if not isinstance(arguments, dict):
        raise InvalidActionError("the arguments are not an object")
    return arguments


def _shown(result: Json) -> Json:
    """What stands in the conversation: the blocks where Slack would show them, beside the text."""
    content = result.get("content")
    texts = (
        [str(one.get("text", "")) for one in content if isinstance(one, dict)]
        if isinstance(content, list)
        else []
    )
    blocks = _blocks_of(result)
    if blocks is not None and not tool_problems(blocks):
        return {
            "text": (texts[0] if texts else "")[:MOST_TEXT],
            "blocks": [_inert(block) for block in blocks],
        }
    return {"text": "\n".join(texts)[:MOST_TEXT] or "Done."}


def _blocks_of(result: Json) -> Any:
    meta = result.get("_meta")
    slack = meta.get("slack") if isinstance(meta, dict) else None
    return slack.get("blocks") if isinstance(slack, dict) else None


def _inert(block: Json) -> Json:
    """Slack strips an `action_id` that calls no tool."""
    if block["type"] != "actions":
        return block
    drawn = [
        one if tool_call(one) else {name: value for name, value in one.items() if name != "action_id"}
        for one in block["elements"]
    ]
    return {**block, "elements": drawn}
