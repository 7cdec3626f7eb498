"""Where an answer goes: a response address, a thread, a modal. Whoever asked is told something, whatever breaks.

A response address takes five messages within half an hour; an answer uses two at most. Where it takes none any
more, the answer is a message to the person alone.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Mapping
from typing import Any, Protocol

import structlog
from slack_bolt.async_app import AsyncRespond
from slack_sdk.web.async_client import AsyncWebClient

from bot import blocks, metrics
from bot.acts import Answer, failure
from bot.blocks import Message
from bot.people import NOT_ANSWERED
from shared.card import Card

PATIENCE = 1.5
"""Seconds after which somebody is told that the answer takes longer."""
TRIES = 3
QUIET = {"unfurl_links": False, "unfurl_media": False}

log = structlog.get_logger("replying")


class Place(Protocol):
    """Where one answer goes."""

    async def working(self) -> None:
        """Say that it takes longer."""

    async def say(self, answer: Answer) -> None:
        """Say it, in the place of `working` where that can be."""


async def give(work: Awaitable[Answer], place: Place, *, patience: float = PATIENCE) -> Answer:
    """Wait for the answer and give it; one that takes long is announced."""
    task = asyncio.ensure_future(work)
    try:
        done, _ = await asyncio.wait({task}, timeout=patience)
        if not done:
            await place.working()
        answer = await task
    except Exception as error:  # noqa: BLE001 # the person gets an answer and a reference
        answer = Answer(card=failure(error))
    finally:
        task.cancel()
    await place.say(answer)
    return answer


def drawn(answer: Answer) -> Message | None:
    """The answer as a message; None where there is nothing to say."""
    if answer.card is None:
        return None
    items = answer.items
    message = blocks.render_with(answer.card, items) if items else blocks.render(answer.card)
    return blocks.illustrated(message, answer.picture)


_WORKING = blocks.render(Card(title="Working …", text=("The answer follows here.",)))


class Address:
    """A response address: of a slash command (`command`), of a click on an ephemeral message, or on a card."""

    def __init__(
        self,
        respond: AsyncRespond,
        client: AsyncWebClient,
        *,
        person: str,
        channel: str,
        ephemeral: bool = False,
        command: bool = False,
    ) -> None:
        self._respond, self._client = respond, client
        self._person, self._channel = person, channel
        self._ephemeral, self._command = ephemeral, command
        self._announced = False

    async def working(self) -> None:
        """A line of its own, which the answer replaces; for a click on a card there is no line to replace."""
        if not self._ephemeral:
            self._announced = self._command
            await self._send(_WORKING, response_type="ephemeral", replace_original=False)

    async def say(self, answer: Answer) -> None:
        """A question that was clicked goes with its answer; the card that was clicked stays."""
        message = drawn(answer)
        own = self._ephemeral and answer.settles
        if message is None:
            if own:
                await self._post({"delete_original": True})
            return
        if answer.public:
            if own or self._announced:
                await self._post({"delete_original": True})
            await self._send(message, response_type="in_channel", replace_original=False)
        else:
            await self._send(message, response_type="ephemeral", replace_original=own or self._announced)

    async def _send(self, message: Message, **how: Any) -> None:
        taken = await self._post({"text": message.text, "blocks": message.blocks, **QUIET, **how})
        if not taken:
            await self._directly(message, public=how["response_type"] == "in_channel")

    async def _post(self, body: Mapping[str, Any]) -> bool:
        for attempt in range(TRIES):
            try:
                answer = await self._respond(**body)
            except NOT_ANSWERED as error:
                log.warning("no response address", error=type(error).__name__)
                return False
            if answer.status_code == 200:
                return True
            if answer.status_code not in {429, 500, 502, 503}:
                log.warning("response address refused", status=answer.status_code, body=answer.body[:100])
                return False
            await asyncio.sleep(_wait(answer.headers, attempt))
        return False

    async def _directly(self, message: Message, *, public: bool) -> None:
        """Where the address takes nothing any more."""
        body = {"channel": self._channel, "text": message.text, "blocks": message.blocks}
        method = "chat.postMessage" if public else "chat.postEphemeral"
        if not public:
            body["user"] = self._person
        try:
            await _call(self._client, method, body)
        except NOT_ANSWERED as error:
            log.warning("an answer was lost", error=str(error)[:200], person=self._person)


def _wait(headers: Mapping[str, str], attempt: int) -> float:
    try:
        return min(10.0, float(headers.get("retry-after") or headers.get("Retry-After") or 2**attempt))
    except ValueError:
        return 1.0


class Thread:
    """The thread of a mention, or a conversation with the bot."""

    def __init__(self, client: AsyncWebClient, *, channel: str, thread_ts: str = "") -> None:
        self._client, self._channel, self._thread = client, channel, thread_ts
        self._ts = ""

    async def working(self) -> None:
        """A message that the answer replaces."""
        self._ts = await self._say("chat.postMessage", _WORKING)

    async def say(self, answer: Answer) -> None:
        """As a message that everybody there sees."""
        if message := drawn(answer) or _done(answer):
            await self._say("chat.update" if self._ts else "chat.postMessage", message)

    async def _say(self, method: str, message: Message) -> str:
        body: dict[str, Any] = {"channel": self._channel, "text": message.text, "blocks": message.blocks}
        body |= {"ts": self._ts} if method == "chat.update" else QUIET
        if self._thread and method != "chat.update":
            body["thread_ts"] = self._thread
        try:
            return str((await _call(self._client, method, body))["ts"])
        except NOT_ANSWERED as error:
            log.warning("an answer was lost", error=str(error)[:200], channel=self._channel)
            return ""


def _done(answer: Answer) -> Message | None:
    return blocks.render(Card(title="Done")) if answer.card is None else None


async def _call(client: AsyncWebClient, method: str, body: Mapping[str, Any]) -> Any:
    """Once more after a 429, when Slack says to."""
    metrics.SLACK_CALLS.labels(method).inc()
    try:
        return await client.api_call(method, json=dict(body))
    except NOT_ANSWERED as error:
        response = getattr(error, "response", None)
        if getattr(response, "status_code", 0) != 429:
            raise
        await asyncio.sleep(_wait(getattr(response, "headers", {}), 0))
    return await client.api_call(method, json=dict(body))
