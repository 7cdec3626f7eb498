"""Sends answers: to a response URL, a thread or a modal. The person always gets an answer, even after a failure.

A response URL accepts five messages within half an hour; an answer uses at most two. If it accepts no more, the answer
is a message that only the person sees.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import replace
from typing import Any, Protocol

import structlog
from slack_bolt.async_app import AsyncRespond

from bot.alerts import answers, changes
from bot.blockkit import card_blocks
from bot.blockkit.card_blocks import Message
from bot.commands.answer import Answer
from bot.commands.dispatch import failure
from bot.slack.web_api import SlackError, WebApi, respond_to
from shared.domain.card import Card
from shared.records.records import RecordsUnavailable
from shared.store import Store

PROGRESS_AFTER = 2.0
"""Seconds after which a note says that the answer takes longer."""
NO_UNFURL = {"unfurl_links": False, "unfurl_media": False}

log = structlog.get_logger("replying")


class Responder(Protocol):
    """Where one answer goes."""

    async def show_progress(self) -> None:
        """Say that it takes longer."""

    async def reply(self, answer: Answer) -> None:
        """Say it, in the place of `working` where that can be."""


async def run_and_reply(answering: Awaitable[Answer], responder: Responder) -> Answer:
    """Wait for the answer and send it; progress is shown when it takes long."""
    task = asyncio.ensure_future(answering)
    try:
        done, _ = await asyncio.wait({task}, timeout=PROGRESS_AFTER)
        if not done:
            await responder.show_progress()
        answer = await task
    except Exception as error:  # noqa: BLE001 # the person gets an answer and a reference
        answer = Answer(card=failure(error))
    finally:
        task.cancel()
    await responder.reply(answer)
    return answer


def render_answer(answer: Answer) -> Message:
    """The answer as a message."""
    card, items = answer.card, answer.items
    card = replace(card, footer=" · ".join(filter(None, (card.footer, answer.by))))
    if answer.public and not (items or card.table or card.quote):
        return card_blocks.render_small(card)  # what was done is news for a channel, and no headline
    return card_blocks.render_with(card, items) if items else card_blocks.render(card)


_WORKING = card_blocks.render(Card(title="Working …", text=("The answer will appear here.",)))


class ClickedCard:
    """`message` as Slack sends it with a click; `changed` is called when a message needs an update.

    `places` are the ids under which the store may know its channel.
    """

    def __init__(
        self,
        message: Mapping[str, Any],
        *,
        places: Collection[str],
        name: str,
        store: Store,
        changed: Callable[[], None],
    ) -> None:
        self._message_key, self._name = (places, str(message.get("ts") or "")), name
        self._store, self._changed = store, changed
        # The note is of another click, which may still be at work.
        blocks = [block for block in message.get("blocks") or () if block.get("block_id") != card_blocks.NOTE]
        self._original = Message(text=str(message.get("text") or ""), blocks=blocks)

    def in_progress(self) -> Message:
        return card_blocks.with_note(self._original, f"⏳ Working on it for @{self._name} …")

    async def is_stored(self) -> bool:
        """Whether the store has it, so that the delivery worker repaints it."""
        try:
            return await self._store.repaints.covers(*self._message_key)
        except RecordsUnavailable:
            return False

    async def without_undo(self) -> Message | None:
        """What to show instead when Undo has expired and the delivery worker doesn't repaint the message."""
        change = answers.undo_of(self._original)
        if not change or await self.is_stored():
            return None
        try:
            found = await self._store.records.change_with_number(change)
        except RecordsUnavailable:
            return None
        if found is None or not (found.undone_by or found.overtaken_by):
            return None
        return changes.message(found, Card(title=""))

    async def restore(self) -> Message | None:
        """Have the delivery worker update it, or keep the message as it was."""
        try:
            stored = await self._store.repaints.request(*self._message_key)
        except RecordsUnavailable:
            stored = False
        self._changed()
        return None if stored else self._original


def thread_of(body: Mapping[str, Any]) -> str:
    """The thread in which the click happened; empty outside of threads."""
    return str((body.get("container") or {}).get("thread_ts") or "")


def places_of(channel: str, person: str) -> Collection[str]:
    """The ids under which a channel's messages may be stored, where this person clicks or writes.

    What was posted to a person is stored under the person's id and stands in their D… channel with the bot.
    """
    return (channel, person) if channel.startswith("D") else (channel,)


class Address:
    """A response address: of a slash command, of a click on an ephemeral message, or on a card.

    `settling`: the click answers the question of an ephemeral message, which then may go. `thread_ts`: the thread
    in which the click was; an answer goes there only when it is named
    (https://docs.slack.dev/interactivity/handling-user-interaction#publishing_in_thread).
    A slash command's address can replace and delete nothing
    (https://github.com/slackapi/bolt-python/issues/1268).
    `public` posts what the whole channel is to see, where it can.
    """

    def __init__(
        self,
        respond: AsyncRespond,
        slack: WebApi,
        *,
        person: str,
        channel: str,
        thread_ts: str = "",
        ephemeral: bool = False,
        settling: bool = False,
        clicked: ClickedCard | None = None,
        public: Callable[[Answer], Awaitable[bool]] | None = None,
    ) -> None:
        self._respond, self._slack, self._public = respond, slack, public
        self._person, self._channel, self._thread = person, channel, thread_ts
        self._ephemeral, self._settling, self._clicked = ephemeral, settling, clicked
        self._announced = self._shows_progress = False

    async def show_progress(self) -> None:
        """On the card that was clicked, or in the place of the question.

        A command's answer stands alone: what its address said before could be neither replaced nor deleted.
        """
        if self._clicked:
            self._shows_progress = await self._replace(self._clicked.in_progress())
        elif self._ephemeral and self._settling:
            self._announced = await self._replace(_WORKING)

    async def _replace(self, message: Message) -> bool:
        body = {"text": message.text, "blocks": message.blocks, **NO_UNFURL, "replace_original": True}
        return await respond_to(self._respond, body)

    def _beside(self, message: Message, response_type: str) -> dict[str, Any]:
        body: dict[str, Any] = {"text": message.text, "blocks": message.blocks, **NO_UNFURL}
        body |= {"response_type": response_type, "replace_original": False}
        return body | ({"thread_ts": self._thread} if self._thread else {})

    async def reply(self, answer: Answer) -> None:
        """A question that was clicked goes with its answer; the card that was clicked stays."""
        if self._clicked:
            before = await self._clicked.restore() if self._shows_progress else None
            if shown := await self._clicked.without_undo() or before:
                await self._replace(shown)
        own = self._announced or (self._ephemeral and answer.settles)
        silent = (answer.on_card and own) or (
            (answer.on_card or answer.edited)
            and self._clicked is not None
            and await self._clicked.is_stored()
        )
        if own and (silent or answer.public):
            await respond_to(self._respond, {"delete_original": True})
        if silent:
            return
        if answer.public and self._public and await self._public(answer):
            return  # from the queue, which keeps its Undo up to date
        await self._send(render_answer(answer), public=answer.public, over=own and not answer.public)

    async def _send(self, message: Message, *, public: bool, over: bool) -> None:
        beside = self._beside(message, "in_channel" if public else "ephemeral")
        taken = await self._replace(message) if over else await respond_to(self._respond, beside)
        if not taken:
            await self._directly(message, public=public)

    async def _directly(self, message: Message, *, public: bool) -> None:
        """Where the address takes nothing any more."""
        body: dict[str, Any] = {"channel": self._channel, "text": message.text, "blocks": message.blocks}
        body |= {"thread_ts": self._thread} if self._thread else {}
        method = "chat.postMessage" if public else "chat.postEphemeral"
        if not public:
            body["user"] = self._person
        try:
            await self._slack.call(method, retry=True, **body)
        except SlackError as error:
            log.warning("an answer was lost", error=str(error)[:200], person=self._person)


class Thread:
    """The thread of a mention, or a conversation with the bot."""

    def __init__(self, slack: WebApi, *, channel: str, thread_ts: str = "") -> None:
        self._slack, self._channel, self._thread = slack, channel, thread_ts
        self._ts = ""

    @property
    def is_shown(self) -> bool:
        """True once it says that the answer is under way."""
        return bool(self._ts)

    async def show_progress(self) -> None:
        self._ts = await self._post("chat.postMessage", _WORKING)

    async def remove(self) -> None:
        """Take back that the answer is under way."""
        if self._ts:
            with contextlib.suppress(SlackError):
                await self._slack.call("chat.delete", channel=self._channel, ts=self._ts)

    async def reply(self, answer: Answer) -> None:
        message = render_answer(answer)
        if not (self._ts and await self._post("chat.update", message)):
            await self._post("chat.postMessage", message)

    async def _post(self, method: str, message: Message) -> str:
        body: dict[str, Any] = {"channel": self._channel, "text": message.text, "blocks": message.blocks}
        body |= {"ts": self._ts} if method == "chat.update" else NO_UNFURL
        if self._thread and method != "chat.update":
            body["thread_ts"] = self._thread
        try:
            return str((await self._slack.call(method, retry=True, **body))["ts"])
        except SlackError as error:
            log.warning("an answer was lost", error=str(error)[:200], channel=self._channel)
            return ""
