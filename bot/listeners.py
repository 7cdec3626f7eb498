"""What Slack sends: slash commands, clicks, mentions. Acknowledged on the first line, answered after.

One act for all: the line is performed, and its Card goes back by the response address, to the person alone or,
when something was changed, to the channel. A refusal never replaces the card that was clicked.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import structlog
from slack_bolt.async_app import AsyncAck, AsyncApp, AsyncRespond
from slack_sdk.web.async_client import AsyncWebClient

from bot import acts, blocks
from bot.acts import Acts, Answer
from bot.naming import named
from bot.people import People
from shared.card import Card, Tone
from shared.words import from_slack

log = structlog.get_logger("listeners")

_ANYTHING = re.compile(".*", re.DOTALL)


class Listeners:
    """The callbacks; `register` hangs them into Bolt."""

    def __init__(self, performing: Acts, people: People) -> None:
        self._acts, self._people = performing, people
        self._busy: set[asyncio.Task[Any]] = set()

    async def drain(self, seconds: float) -> None:
        """Let the answers under way be given, within a bound."""
        if self._busy:
            await asyncio.wait(self._busy, timeout=seconds)

    @contextlib.contextmanager
    def _under_way(self) -> Iterator[None]:
        task = asyncio.current_task()
        assert task is not None
        self._busy.add(task)
        try:
            yield
        finally:
            self._busy.discard(task)

    async def _perform(self, line: str, user: str, *, name: str, channel: str) -> Answer:
        person = await self._people.find(user, name=name)
        return await self._acts.perform(line, person, channel=channel)

    def register(self, app: AsyncApp) -> None:
        """Commands and runnable buttons first, then whatever else may come."""
        app.command("/outreach")(self.command)
        app.action(re.compile(rf"{blocks.RUN}_.*"))(self.click)
        app.event("app_mention")(self.mention)
        app.command(_ANYTHING)(self.unknown)
        app.action(_ANYTHING)(self.unknown)
        app.shortcut(_ANYTHING)(self.unknown)
        app.view(_ANYTHING)(self.acknowledge)
        app.view_closed(_ANYTHING)(self.acknowledge)
        app.options(_ANYTHING)(self.acknowledge)
        app.event(_ANYTHING)(self.acknowledge)
        app.error(self.failed)

    async def command(self, ack: AsyncAck, respond: AsyncRespond, body: Mapping[str, Any]) -> None:
        """`/outreach …`."""
        await ack()
        with self._under_way():
            answer = await self._perform(
                from_slack(body.get("text", "")),
                body["user_id"],
                name=body.get("user_name", ""),
                channel=body.get("channel_id", ""),
            )
            await reply(respond, _named(answer, body.get("channel_id", ""), body.get("channel_name", "")))

    async def click(self, ack: AsyncAck, respond: AsyncRespond, body: Mapping[str, Any]) -> None:
        """A button or a menu's entry: its value is the line."""
        await ack()
        user, place = body["user"], body.get("channel") or {}
        channel = place.get("id", "")
        with self._under_way():
            line = line_of(body["actions"][0])
            answer = await self._perform(line, user["id"], name=user.get("username", ""), channel=channel)
            await reply(respond, _named(answer, channel, place.get("name", "")))

    async def mention(self, ack: AsyncAck, event: Mapping[str, Any], client: AsyncWebClient) -> None:
        """`@outreach …`, which works in threads, where slash commands do not."""
        await ack()
        line = from_slack(re.sub(r"^\s*<@[^>]+>\s*", "", event.get("text", "")))
        with self._under_way():
            answer = await self._perform(line, event["user"], name="", channel=event["channel"])
            await _say(client, event, answer)

    async def unknown(self, ack: AsyncAck, respond: AsyncRespond) -> None:
        """A button of an older version, a command of another name."""
        await ack()
        await reply(respond, Answer(card=_UNKNOWN))

    async def acknowledge(self, ack: AsyncAck) -> None:
        """What needs no answer."""
        await ack()

    async def failed(self, error: Exception, respond: AsyncRespond, body: Mapping[str, Any]) -> None:
        """Whatever a listener let through: the person is told, with a reference."""
        card = acts.failure(error)
        if body.get("response_url"):
            await reply(respond, Answer(card=card))


_UNKNOWN = Card(
    title="This button is from an older version",
    tone=Tone.WARN,
    text=("It does nothing any more. `/outreach help` lists what there is.",),
)


def _named(answer: Answer, channel: str, name: str) -> Answer:
    return replace(answer, card=answer.card and named(answer.card, channel=channel, name=name))


def line_of(action: Mapping[str, Any]) -> str:
    """The command line that a click stands for."""
    if action.get("selected_date_time"):
        return f"{str(action['action_id']).removeprefix(blocks.PICK)} {action['selected_date_time']}"
    option = action.get("selected_option") or {}
    return str(option.get("value") or action.get("value") or "help")


async def _say(client: AsyncWebClient, event: Mapping[str, Any], answer: Answer) -> None:
    """Into the thread of the mention."""
    if answer.card is None:
        return
    message = blocks.render(answer.card)
    await client.chat_postMessage(
        channel=event["channel"],
        thread_ts=event.get("thread_ts") or event["ts"],
        text=message.text,
        blocks=message.blocks,
        unfurl_links=False,
        unfurl_media=False,
    )


async def reply(respond: AsyncRespond, answer: Answer) -> None:
    """Say it; the card that was clicked stays."""
    if answer.card is None:
        return
    message = blocks.render(answer.card)
    await respond(
        text=message.text,
        blocks=message.blocks,
        response_type="in_channel" if answer.public else "ephemeral",
        replace_original=False,
        unfurl_links=False,
        unfurl_media=False,
    )
