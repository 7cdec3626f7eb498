"""Sends answers: to a response URL, a thread, a modal or the delivery queue. The person always gets one, even after a failure.

A response URL accepts five messages within half an hour; an answer uses at most two. If it accepts no more, the answer
is a message that only the person sees.
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import replace
from typing import Any, Protocol

import structlog
from slack_bolt.async_app import AsyncRespond

from bot.alerts import changes
from bot.alerts.notes import write_answer, write_note
from bot.blockkit import card_blocks
from bot.blockkit.actions import change_of
from bot.blockkit.card_blocks import Message
from bot.commands.answer import Answer
from bot.commands.canned_replies import ON_ITS_WAY
from bot.commands.context import CommandContexts
from bot.commands.dispatch import failure
from bot.interactions.forms import answer_view
from bot.slack.directory import UserDirectory
from bot.slack.web_api import SlackError, WebApi, respond_to
from shared.domain.card import Card
from shared.frozen import frozen
from shared.records.records import RecordsUnavailable
from shared.settings import UnknownWorkspace, Workspace
from shared.store import Store
from shared.store.messages import PlannedPost
from shared.store.post_kinds import ANSWER
from shared.store.subscriptions import about_setting

PROGRESS_AFTER = 2.0
"""Seconds after which a note says that the answer takes longer."""
NO_UNFURL = {"unfurl_links": False, "unfurl_media": False}
URGENCY = 3
"""An answer's place in the queue: above every alert."""

log = structlog.get_logger("replying")
_WORKING = card_blocks.render(ON_ITS_WAY)


class Responder(Protocol):
    """The place of one answer."""

    async def show_progress(self) -> None:
        """Say that it takes longer, where that can be replaced by the answer."""

    async def reply(self, answer: Answer) -> None:
        """Say it, in the place of the progress where that can be."""


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


class Thread:
    """A channel, a thread in it, or a person's conversation with the bot."""

    def __init__(self, slack: WebApi, *, channel: str, thread_ts: str = "") -> None:
        self._slack, self._channel, self._thread = slack, channel, thread_ts
        self.shown_ts = ""
        """The message that says that the answer is under way, once there is one."""

    async def show_progress(self) -> None:
        self.shown_ts = await self._post("chat.postMessage", _WORKING)

    async def remove(self) -> None:
        """Take back that the answer is under way."""
        if self.shown_ts:
            with contextlib.suppress(SlackError):
                await self._slack.call("chat.delete", channel=self._channel, ts=self.shown_ts)

    async def reply(self, answer: Answer) -> None:
        message = render_answer(answer)
        if not (self.shown_ts and await self._post("chat.update", message)):
            await self._post("chat.postMessage", message)

    async def _post(self, method: str, message: Message) -> str:
        body: dict[str, Any] = {"channel": self._channel, "text": message.text, "blocks": message.blocks}
        if method == "chat.update":
            body["ts"] = self.shown_ts
        else:
            body |= NO_UNFURL | ({"thread_ts": self._thread} if self._thread else {})
        try:
            return str((await self._slack.call(method, retry=True, **body))["ts"])
        except SlackError as error:
            log.warning("an answer was lost", error=str(error)[:200], channel=self._channel)
            return ""


class AnswerQueue:
    """Sends answers through the delivery queue: within the same limits as alerts, before them, and safe from failures.

    An answer about a change survives a rate limit or a restart, because it waits in the store like an alert.
    `changed` is called when there is something to post.
    """

    def __init__(
        self,
        contexts: CommandContexts,
        directory: UserDirectory,
        slack: WebApi,
        *,
        changed: Callable[[], None],
    ) -> None:
        self._contexts, self._directory, self._slack, self._changed = contexts, directory, slack, changed
        self._store = contexts.store

    def workspace(self, name: str, *, channel: str = "") -> Workspace:
        """The one of this name, should it still be there; else the channel's own."""
        try:
            return self._contexts.workspace(name or None, channel=channel)
        except UnknownWorkspace:
            return self._contexts.workspace(None, channel=channel)

    async def announce(self, answer: Answer, channel: str, *, seen: bool = True) -> None:
        """Post a change in its channel; one that was made in private in the alert channel.

        `seen`: the channel itself has the answer.
        """
        is_private = not channel or channel.startswith("D")
        place = (self.workspace(answer.workspace).alert_channel or "") if is_private else channel
        if not answer.public or not place or (seen and place == channel):
            return
        if await self._directory.may_read(answer.about, place):
            await self.post(answer, channel=place)

    async def post(self, answer: Answer, *, channel: str, thread_ts: str = "", about: str = "") -> None:
        """Queue it, once per `about`; if the store doesn't respond, send it directly."""
        change = next(filter(None, (change_of(button.action) for button in answer.card.buttons)), 0)
        place = f"{channel}:{about or secrets.token_hex(8)}"
        subject = about_setting(answer.workspace, answer.setting) if answer.setting else f"{ANSWER}:"
        planned = PlannedPost(
            dedupe=f"{subject}{place}",
            channel=channel,
            kind=ANSWER,
            urgency=URGENCY,
            note=write_note(answer.card) if change else write_answer(render_answer(answer)),
            thread_ts=thread_ts,
            undo=change,
        )
        try:
            if answer.setting:
                about, number = answer.setting, answer.number
                await self._store.records.plan_about(answer.workspace, about, planned, number=number)
            else:
                await self._store.outbox.plan(answer.workspace, planned)
        except RecordsUnavailable as error:
            log.warning("an answer is sent without the queue", error=str(error))
            await Thread(self._slack, channel=channel, thread_ts=thread_ts).reply(answer)
        else:
            self._changed()

    async def post_where_known(self, answer: Answer, *, channel: str, thread_ts: str = "") -> bool:
        """Queue it if the bot can post in the channel, and so edit it later; returns whether it did."""
        try:
            reaches = await self._store.outbox.reaches(channel) or await self._directory.can_post(channel)
        except RecordsUnavailable:
            reaches = False
        if reaches:
            await self.post(answer, channel=channel, thread_ts=thread_ts)
        return reaches


class QueuedThread(Thread):
    """The thread of a mention, or a conversation with the bot; `about` names the message that is answered once."""

    def __init__(
        self, slack: WebApi, queue: AnswerQueue, *, channel: str, about: str, thread_ts: str = ""
    ) -> None:
        super().__init__(slack, channel=channel, thread_ts=thread_ts)
        self._queue, self._about = queue, about

    async def reply(self, answer: Answer) -> None:
        """In the place of the progress; what changed something is a message of its own, which lasts over a restart."""
        if self.shown_ts and not answer.public and not answer.noted:
            return await super().reply(answer)
        if not answer.noted:
            await self._queue.post(answer, channel=self._channel, thread_ts=self._thread, about=self._about)
        return await self.remove()


@frozen
class ClickedMessage:
    """The message that was clicked; `places` are the ids under which the store may know its channel."""

    store: Store
    places: Collection[str]
    ts: str
    change: int = 0
    """The entry of the audit that the clicked Undo takes back; 0 if it was another button."""

    async def is_stored(self) -> bool:
        """True if the store has it, so that the delivery worker repaints it."""
        try:
            return await self.store.repaints.covers(self.places, self.ts)
        except RecordsUnavailable:
            return False

    async def without_undo(self) -> Message | None:
        """The message without its Undo, once that has expired and the delivery worker doesn't repaint it."""
        if await self.is_stored():
            return None
        try:
            entry = await self.store.records.change_with_number(self.change)
        except RecordsUnavailable:
            return None
        if entry is None or not (entry.undone_by or entry.overtaken_by):
            return None
        return changes.message(entry, Card(title=""))


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
    `queue` posts what the whole channel is to see, where it can.
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
        clicked: ClickedMessage | None = None,
        queue: AnswerQueue | None = None,
    ) -> None:
        self._respond, self._slack, self._queue = respond, slack, queue
        self._person, self._channel, self._thread = person, channel, thread_ts
        self._ephemeral, self._settling, self._clicked = ephemeral, settling, clicked
        self._announced = False

    async def show_progress(self) -> None:
        """Say it in the place of the question alone: what else an address said could be neither replaced nor deleted."""
        if self._ephemeral and self._settling:
            self._announced = await self._send_to_address(_WORKING, replace_original=True)

    async def _send_to_address(self, message: Message, **how: Any) -> bool:
        return await respond_to(
            self._respond, {"text": message.text, "blocks": message.blocks, **NO_UNFURL, **how}
        )

    async def reply(self, answer: Answer) -> None:
        """A question that was clicked goes with its answer; the card that was clicked stays."""
        if self._clicked and self._clicked.change and (present := await self._clicked.without_undo()):
            await self._send_to_address(present, replace_original=True)
        own, says_it = (
            self._announced or (self._ephemeral and answer.settles),
            answer.on_card or answer.edited,
        )
        silent = says_it and self._clicked is not None and await self._clicked.is_stored()
        silent = silent or (answer.on_card and own)
        if own and (silent or answer.public):
            await respond_to(self._respond, {"delete_original": True})
        if silent:
            return
        if answer.public and self._queue:
            queued = self._queue.post_where_known(answer, channel=self._channel, thread_ts=self._thread)
            if await queued:
                return  # from the queue, which keeps its Undo up to date
        await self._send(render_answer(answer), public=answer.public, over=own and not answer.public)

    async def _send(self, message: Message, *, public: bool, over: bool) -> None:
        thread = {"thread_ts": self._thread} if self._thread else {}
        how: dict[str, Any] = {"replace_original": True}
        if not over:
            how = {"response_type": "in_channel" if public else "ephemeral", "replace_original": False}
            how |= thread
        if await self._send_to_address(message, **how):
            return
        # The address takes nothing any more.
        body: dict[str, Any] = {"channel": self._channel, "text": message.text, "blocks": message.blocks}
        body |= thread if public else {**thread, "user": self._person}
        try:
            method = "chat.postMessage" if public else "chat.postEphemeral"
            await self._slack.call(method, retry=True, **body)
        except SlackError as error:
            log.warning("an answer was lost", error=str(error)[:200], person=self._person)


class ModalResponder:
    """A modal that a person has open, for one answer; if they closed it, the answer is sent as a message.

    `delay`: seconds for an acknowledgement that changes the view, which an update must not overtake.
    """

    def __init__(
        self, slack: WebApi, queue: AnswerQueue, *, view: str, person: str, channel: str, delay: float = 0.0
    ) -> None:
        self._slack, self._queue, self._view, self._person = slack, queue, view, person
        self._channel, self._delay = channel, delay

    async def show_progress(self) -> None:
        """The modal says so from the beginning."""

    async def reply(self, answer: Answer) -> None:
        """Show it; a change is also posted in the channel."""
        await self._queue.announce(answer, self._channel, seen=False)
        await asyncio.sleep(self._delay)
        view = answer_view(answer.card, items=answer.items, channel=self._channel)
        try:
            await self._slack.call("views.update", view_id=self._view, view=view)
        except SlackError as error:
            log.info("modal already closed", error=str(error)[:100])
            if not answer.public:
                await Thread(self._slack, channel=self._person).reply(answer)


class SilentResponder(Thread):
    """Home shows the result; only a refusal is sent to the person directly."""

    async def show_progress(self) -> None:
        """Home is redrawn in any case."""

    async def reply(self, answer: Answer) -> None:
        if not answer.on_card:
            await super().reply(answer)
