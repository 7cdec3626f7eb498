"""Answers through a `response_url`: the only way to change an ephemeral message."""

from __future__ import annotations

from typing import Any

from sandbox.slack.state.errors import SlackError, refuse_if
from sandbox.slack.state.model import Channel, Json, Message
from sandbox.slack.state.triggers import ResponseUrl
from sandbox.slack.world.message_checks import content
from sandbox.slack.world.world import World


def _yes(value: Any) -> bool:
    return value is True or str(value).lower() == "true"


class ResponseUrls:
    """Carries out what an app posts to a `response_url`."""

    def __init__(self, world: World, *, origin: str) -> None:
        self._world = world
        self._origin = origin

    def address(self, url: ResponseUrl) -> str:
        return f"{self._origin}/actions/{self._world.team.id}/{url.id}"

    def find(self, name: str) -> ResponseUrl:
        """An address that was issued; raises `SlackError` (expired_url)."""
        url = self._world.triggers.response_urls.get(name)
        if url is None:
            raise SlackError("expired_url")
        return url

    def receive(self, name: str, body: Any) -> None:
        """One use of a response address; raises `SlackError` (expired_url, used_url, and those of posting)."""
        url = self.find(name)
        if not isinstance(body, dict):
            raise SlackError("invalid_payload")
        url.use(now=self._world.clock.now())
        self.post(url, body)

    def post(self, url: ResponseUrl, body: Json) -> None:
        """Answer, change or delete as `body` asks; does not count as a use.

        A slash command has no original: what asks to replace or delete one is posted as a new message
        (https://github.com/slackapi/bolt-python/issues/1268).
        """
        channel = self._world.channels[url.channel]
        source = channel.find(url.message_ts) if url.message_ts else None
        if source is not None and _yes(body.get("delete_original")):
            self._world.delete(source)
        # Without a word about it, an answer to a click takes the place of the message that was clicked.
        elif source is not None and _yes(body.get("replace_original", True)):
            self._change(source, body)
        else:
            self._post(url, channel, body)

    def _change(self, source: Message, body: Json) -> None:
        checked = content(body, check=self._world.block_problems)
        kept = {} if "metadata" in body else {"metadata": source.metadata}
        self._world.change(source, **{**checked, **kept})

    def _post(self, url: ResponseUrl, channel: Channel, body: Json) -> None:
        checked = content(body, check=self._world.block_problems)
        refuse_if(channel.is_archived, "is_archived")
        public = body.get("response_type") == "in_channel"
        self._world.post(
            channel,
            user=url.app.user,
            **checked,
            app=url.app,
            seen_by=None if public else url.user,
            # A click in a thread is not answered there by itself: https://github.com/slackapi/bolt-js/issues/963,
            # https://docs.slack.dev/interactivity/handling-user-interaction#publishing_in_thread
            thread_ts=body.get("thread_ts"),
        )
