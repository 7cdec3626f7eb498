"""Sends answers where their requests came from. The person always gets one, even after a failure.

A response address accepts five messages within half an hour; an answer uses at most two. If it accepts no more, the
answer is a message that only the person sees. A slash command's address can replace and delete nothing
(https://github.com/slackapi/bolt-python/issues/1268), and what is said at the address of a card can't be replaced
either: so only a question that the person alone sees shows that its answer takes long.
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
from collections.abc import Awaitable, Callable, Collection
from dataclasses import replace
from typing import Any

import structlog
from slack_bolt.async_app import AsyncRespond

from bot.alerts import changes
from bot.alerts.rendering import write_answer, write_note
from bot.blockkit import card_blocks
from bot.blockkit.actions import Cancel, Confirm, change_of
from bot.blockkit.card_blocks import Message
from bot.commands.answer import Answer
from bot.commands.canned_replies import ON_ITS_WAY
from bot.commands.context import CommandContexts
from bot.commands.dispatch import Asker, failure
from bot.interactions.forms import answer_view
from bot.slack.directory import UserDirectory
from bot.slack.web_api import SlackError, WebApi, respond_to
from shared.domain.card import Action, Card, Tone
from shared.frozen import frozen
from shared.records.records import RecordsUnavailable
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


@frozen
class Origin(Asker):
    """A request of Slack: who asks, and the place of the answer."""

    thread_ts: str = ""
    """The thread in which the person wrote or clicked; an answer goes there only when it is named.

    https://docs.slack.dev/interactivity/handling-user-interaction#publishing_in_thread
    """
    trigger: str = ""
    """With it a modal can be opened within three seconds."""
    respond: AsyncRespond | None = None
    """The response address."""
    view: str = ""
    """The open modal that shows the answer."""
    is_home: bool = False
    """It was clicked on Home, which shows the result itself."""
    is_ephemeral: bool = False
    """Only the person sees the message that was clicked."""
    clicked_ts: str = ""
    """The message that was clicked."""
    asked: Action | None = None
    """The action of the click."""
    event_ts: str = ""
    """The message of the person that is answered once."""

    @property
    def places(self) -> Collection[str]:
        """The ids under which the store may know this channel's messages.

        What was posted to a person is stored under the person's id and stands in their D… channel with the bot.
        """
        return (self.channel, self.user) if self.channel.startswith("D") else (self.channel,)


def render_answer(answer: Answer) -> Message:
    """The answer as a message."""
    card, items = answer.card, answer.items
    card = replace(card, footer=" · ".join(filter(None, (card.footer, answer.by))))
    if answer.public and not (items or card.table or card.quote):
        return card_blocks.render_condensed(
            replace(card, tone=Tone.INFO)
        )  # what was done is news for a channel, and no headline
    return card_blocks.render_with(card, items) if items else card_blocks.render(card)


class Answers:
    """`run` waits for an answer and sends it; `tell` sends a Card that is known already.

    A change is posted through the delivery queue: within the same limits as alerts, before them, and it survives a rate
    limit or a restart, because it waits in the store like an alert. `changed` is called when there is something to post.
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

    async def run(self, answering: Awaitable[Answer], to: Origin) -> Answer:
        """Wait for the answer and send it; where it can be replaced, a note says that it takes long."""
        task, progress = asyncio.ensure_future(answering), ""
        try:
            done, _ = await asyncio.wait({task}, timeout=PROGRESS_AFTER)
            if not done:
                progress = await self._show_progress(to)
            answer = await task
        except Exception as error:  # noqa: BLE001 # the person gets an answer and a reference
            answer = Answer(card=failure(error))
        finally:
            # A bot that is stopped meanwhile leaves nothing running unseen.
            task.cancel()
        await self._announce(answer, to)
        if to.view:
            await self._show_in_modal(answer, to)
        elif to.respond:
            await self._respond(answer, to.respond, to, is_progress=bool(progress))
        elif not to.is_home:
            await self._reply_in_thread(answer, to, progress)
        elif not answer.on_card:  # Home shows what was done, and this only what was refused
            await self.say(answer.card, to.user)
        return answer

    async def tell(self, card: Card, to: Origin) -> None:
        """Answer at the request's address, else in a modal, else directly; an event is not answered."""
        if to.respond:
            return await self._respond(Answer(card=card), to.respond, to)
        try:
            if to.trigger:
                await self.open_modal(to, card)
        except SlackError:
            await self.say(card, to.user)

    async def open_modal(self, to: Origin, card: Card = ON_ITS_WAY) -> Origin:
        """Open a modal, which must be done within three seconds, and is filled when the answer is ready."""
        view = answer_view(card, channel=to.channel)
        opened = await self._slack.call("views.open", trigger_id=to.trigger, view=view)
        return replace(to, view=str(opened["view"]["id"]))

    async def say(self, card: Card, channel: str) -> None:
        """Post it in a channel, or to a person."""
        await self._call("chat.postMessage", card_blocks.render(card), channel=channel, **NO_UNFURL)

    async def _show_progress(self, to: Origin) -> str:
        """Say that it takes longer, where that can be replaced by the answer; the message that says so, if any."""
        if to.respond:
            is_answer = to.is_ephemeral and isinstance(to.asked, Confirm | Cancel)
            return (
                _WORKING.text
                if is_answer and await _send(to.respond, _WORKING, replace_original=True)
                else ""
            )
        if to.view or to.is_home:
            return ""
        return await self._call("chat.postMessage", _WORKING, **_thread(to), channel=to.channel, **NO_UNFURL)

    async def _show_in_modal(self, answer: Answer, to: Origin) -> None:
        view = answer_view(answer.card, items=answer.items, channel=to.channel)
        try:
            await self._slack.call("views.update", view_id=to.view, view=view)
        except SlackError as error:
            log.info("modal already closed", error=str(error)[:100])
            if not answer.public:
                await self._call("chat.postMessage", render_answer(answer), channel=to.user, **NO_UNFURL)

    async def _reply_in_thread(self, answer: Answer, to: Origin, progress: str) -> None:
        """Reply in the place of the progress; what changed something is a message of its own, which lasts over a restart."""
        is_plain = not (answer.public or answer.noted)
        if progress and is_plain:
            updated = self._call("chat.update", render_answer(answer), channel=to.channel, ts=progress)
            if await updated:
                return
        if not answer.noted:
            await self._post(answer, to.channel, thread_ts=to.thread_ts, about=to.event_ts)
        if progress:
            with contextlib.suppress(SlackError):
                await self._slack.call("chat.delete", channel=to.channel, ts=progress)

    async def _respond(
        self, answer: Answer, respond: AsyncRespond, to: Origin, *, is_progress: bool = False
    ) -> None:
        """Answer at the address. A question that was clicked goes with its answer; the card that was clicked stays."""
        change, is_shown = change_of(to.asked), answer.on_card or answer.edited
        is_stored = False
        if to.clicked_ts and not to.is_ephemeral and (change or is_shown):
            is_stored = await self._is_stored(to)
            if change and not is_stored and (present := await self._without_undo(change)):
                await _send(respond, present, replace_original=True)
        is_replaced = is_progress or (to.is_ephemeral and answer.settles)
        is_silent = (is_shown and is_stored) or (answer.on_card and is_replaced)
        if is_replaced and (is_silent or answer.public):
            await respond_to(respond, {"delete_original": True})
        if is_silent or (answer.public and await self._post_where_possible(answer, to)):
            return
        message, how = render_answer(answer), dict[str, Any](replace_original=True)
        # An answer for everybody never takes the place of what one person sees.
        if answer.public or not is_replaced:
            kind = "in_channel" if answer.public else "ephemeral"
            how = {"response_type": kind, "replace_original": False, **_thread(to)}
        if not await _send(respond, message, **how):  # it takes nothing any more
            method = "chat.postMessage" if answer.public else "chat.postEphemeral"
            reader = {} if answer.public else {"user": to.user}
            await self._call(method, message, channel=to.channel, **_thread(to), **reader)

    async def _is_stored(self, to: Origin) -> bool:
        """True if the store has the clicked message, so that the delivery worker repaints it."""
        try:
            return await self._store.repaints.covers(to.places, to.clicked_ts)
        except RecordsUnavailable:
            return False

    async def _without_undo(self, change: int) -> Message | None:
        """The message of a change without its Undo, once that has expired; for one that the worker doesn't repaint."""
        try:
            entry = await self._store.records.change_with_number(change)
        except RecordsUnavailable:
            return None
        is_over = entry is not None and (entry.undone_by or entry.overtaken_by)
        return changes.message(entry, Card(title="")) if entry and is_over else None

    async def _announce(self, answer: Answer, to: Origin) -> None:
        """Post a change that was made in a modal in its channel, and one that was made in private in the alert channel."""
        place = to.channel
        if not place or place.startswith("D"):
            place = self._contexts.workspace_or_own(answer.workspace).alert_channel or ""
        # A modal is seen by one person alone, so the channel has no answer yet.
        is_answered = place == to.channel and not to.view
        if (
            answer.public
            and place
            and not is_answered
            and await self._directory.may_read(answer.about, place)
        ):
            await self._post(answer, place)

    async def _post_where_possible(self, answer: Answer, to: Origin) -> bool:
        """Queue it if the bot can post in the channel, and so edit it later; returns whether it did."""
        try:
            reaches = await self._store.outbox.reaches(to.channel)
            reaches = reaches or await self._directory.can_post(to.channel)
        except RecordsUnavailable:
            reaches = False
        if reaches:
            await self._post(answer, to.channel, thread_ts=to.thread_ts)
        return reaches

    async def _post(self, answer: Answer, channel: str, *, thread_ts: str = "", about: str = "") -> None:
        """Queue it, once per `about`; if the store doesn't respond, send it directly."""
        change = next(filter(None, (change_of(button.action) for button in answer.card.buttons)), 0)
        subject = about_setting(answer.workspace, answer.setting) if answer.setting else f"{ANSWER}:"
        planned = PlannedPost(
            dedupe=f"{subject}{channel}:{about or secrets.token_hex(8)}",
            channel=channel,
            kind=ANSWER,
            urgency=URGENCY,
            note=write_note(answer.card) if change else write_answer(render_answer(answer)),
            thread_ts=thread_ts,
            undo=change,
        )
        workspace, setting = answer.workspace, answer.setting
        try:
            if setting:
                await self._store.records.plan_about(workspace, setting, planned, number=answer.number)
            else:
                await self._store.outbox.plan(workspace, planned)
        except RecordsUnavailable as error:
            log.warning("an answer is sent without the queue", error=str(error))
            thread = {"thread_ts": thread_ts} if thread_ts else {}
            await self._call(
                "chat.postMessage", render_answer(answer), channel=channel, **thread, **NO_UNFURL
            )
        else:
            self._changed()

    async def _call(self, method: str, message: Message, **body: Any) -> str:
        """Call Slack with a message; its `ts`, empty where Slack refuses it."""
        try:
            answer = await self._slack.call(
                method, retry=True, text=message.text, blocks=message.blocks, **body
            )
        except SlackError as error:
            log.warning("an answer was lost", error=str(error)[:200], channel=body["channel"])
            return ""
        return str(answer.get("ts") or answer.get("message_ts") or "")


def _thread(to: Origin) -> dict[str, str]:
    return {"thread_ts": to.thread_ts} if to.thread_ts else {}


async def _send(respond: AsyncRespond, message: Message, **how: Any) -> bool:
    return await respond_to(respond, {"text": message.text, "blocks": message.blocks, **NO_UNFURL, **how})
