"""Answers through a response address: the only way to change an ephemeral message."""

from __future__ import annotations

from typing import Any

from sandbox.slack.state import seed
from sandbox.slack.state.errors import Refusal
from sandbox.slack.state.model import Channel, Json, Message
from sandbox.slack.state.triggers import Reply
from sandbox.slack.world.message_checks import checked_blocks, checked_metadata, content
from sandbox.slack.world.world import World


def _yes(value: Any) -> bool:
    return value is True or str(value).lower() == "true"


class Replies:
    """Carries out what an app posts to a `response_url`."""

    def __init__(self, world: World, *, origin: str) -> None:
        self._world = world
        self._origin = origin

    def url(self, reply: Reply) -> str:
        return f"{self._origin}/actions/{seed.TEAM.id}/{reply.id}"

    def channel_of(self, name: str) -> str:
        """Where the answers of an address go; raises `Refusal` (expired_url)."""
        return self._known(name).channel

    def _known(self, name: str) -> Reply:
        reply = self._world.triggers.replies.get(name)
        if reply is None:
            raise Refusal("expired_url")
        return reply

    def receive(self, name: str, body: Any) -> None:
        """One use of a response address; raises `Refusal` (expired_url, used_url, and those of posting)."""
        reply = self._known(name)
        if not isinstance(body, dict):
            raise Refusal("invalid_payload")
        reply.spend(now=self._world.clock.now())
        self.say(reply, body)

    def say(self, reply: Reply, body: Json) -> None:
        """Answer, change or delete as `body` asks; does not count as a use."""
        channel = self._world.channels[reply.channel]
        source = self._source(reply, channel, body)
        if source is not None and _yes(body.get("delete_original")):
            self._world.delete(source)
        # Without a word about it, an answer to a click takes the place of the message that was clicked.
        elif source is not None and _yes(body.get("replace_original", True)):
            self._change(source, body)
        else:
            self._post(reply, channel, body)

    def _source(self, reply: Reply, channel: Channel, body: Json) -> Message | None:
        """The message that was clicked; after a slash command, when it is asked for, the answer before this one."""
        if reply.message_ts:
            return channel.find(reply.message_ts)
        asked = _yes(body.get("replace_original")) or _yes(body.get("delete_original"))
        return channel.find(reply.answers[-1]) if asked and reply.answers else None

    def _change(self, source: Message, body: Json) -> None:
        said = content(body)
        fields: dict[str, Any] = {"text": said.text, "attachments": said.attachments}
        fields["blocks"] = checked_blocks(body.get("blocks"))
        if "metadata" in body:
            fields["metadata"] = checked_metadata(body["metadata"])
        self._world.change(source, **fields)

    def _post(self, reply: Reply, channel: Channel, body: Json) -> None:
        said = content(body)
        if channel.is_archived:
            raise Refusal("is_archived")
        public = body.get("response_type") == "in_channel"
        message = self._world.post(
            channel,
            user=seed.BOT.id,
            text=said.text,
            blocks=said.blocks,
            attachments=said.attachments,
            metadata=said.metadata,
            by_app=True,
            seen_by=None if public else reply.user,
            thread_ts=body.get("thread_ts") or reply.thread_ts,
        )
        reply.answers.append(message.ts)
