"""Home, modals and shortcuts, opened while their trigger is valid.

A trigger is valid for three seconds, so a view is opened first and filled when the answer is ready.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import structlog

from bot.blockkit.actions import OpenForm
from bot.commands.answer import Answer
from bot.commands.canned_replies import ON_ITS_WAY
from bot.commands.context import CommandContexts
from bot.commands.workspace_cache import WorkspaceCache
from bot.interactions import forms
from bot.interactions.answer_queue import AnswerQueue
from bot.interactions.home import HomeTab
from bot.interactions.responders import ClickedCard, Thread
from bot.slack.directory import UserDirectory
from bot.slack.web_api import SlackError, WebApi
from shared.api.errors import OutreachError
from shared.domain.card import Card
from shared.settings import UnknownWorkspace, Workspace
from shared.store.rows import AlertRow

PROGRESS_EVERY = 2.0
"""Seconds between two updates of a view that shows how far a search is."""
UPDATE_DELAY = 0.3
"""Seconds for an acknowledgement that changes a view: an update that overtakes it would be painted over."""
log = structlog.get_logger("dialogs")


class ModalResponder:
    """A modal that a person has open, for one answer; if they closed it, the answer is sent as a message."""

    def __init__(
        self,
        slack: WebApi,
        queue: AnswerQueue,
        *,
        view: str,
        person: str,
        channel: str,
        channel_for: Callable[[str, str], str],
        delay: float = 0.0,
    ) -> None:
        self._slack, self._queue, self._view, self._person = slack, queue, view, person
        self._channel, self._channel_for = channel, channel_for
        self._delay = delay
        self._shown_at = time.monotonic()
        self._showing: asyncio.Task[None] | None = None

    async def show_progress(self) -> None:
        """The modal says so from the beginning."""

    def progress(self, count: int) -> None:
        """So many leads were looked at; the modal says so every few seconds."""
        now = time.monotonic()
        if now - self._shown_at >= PROGRESS_EVERY and (self._showing is None or self._showing.done()):
            self._shown_at = now
            card = Card(title="Searching …", text=(f"{count:,} leads searched so far.",))
            self._showing = asyncio.create_task(self._update(Answer(card=card)), name="progress")

    async def _update(self, answer: Answer) -> None:
        view = forms.answer_view(answer.card, items=answer.items, channel=self._channel)
        with contextlib.suppress(SlackError):
            await self._slack.call("views.update", view_id=self._view, view=view)

    async def reply(self, answer: Answer) -> None:
        """Show it; a change is also posted in the channel."""
        channel_for = self._channel_for(self._channel, answer.workspace)
        if answer.public and channel_for:
            await self._queue.post(answer, channel=channel_for)
        await asyncio.sleep(self._delay)
        if self._showing:
            await self._showing  # an update that is under way would be painted over the answer
        try:
            view = forms.answer_view(answer.card, items=answer.items, channel=self._channel)
            await self._slack.call("views.update", view_id=self._view, view=view)
        except SlackError as error:
            log.info("modal already closed", error=str(error)[:100])
            if not answer.public:
                await Thread(self._slack, channel=self._person).reply(answer)


class SilentResponder:
    """Home shows the result; only a refusal is sent to the person directly."""

    def __init__(self, slack: WebApi, *, person: str) -> None:
        self._slack, self._person = slack, person

    async def show_progress(self) -> None:
        """Home is redrawn in any case."""

    async def reply(self, answer: Answer) -> None:
        if not answer.on_card:
            await Thread(self._slack, channel=self._person).reply(answer)


class Modals:
    """Open views and fill them."""

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
        self.queue = AnswerQueue(contexts.store, slack, directory, changed=changed)
        self._cache = WorkspaceCache(contexts)
        self.home = HomeTab(contexts, directory, slack, cache=self._cache, links=self.links)

    def channel_for(self, channel: str, workspace: str = "") -> str:
        private = not channel or channel.startswith("D")
        return (self._workspace(workspace).alert_channel or "") if private else channel

    def _workspace(self, name: str, *, channel: str = "") -> Workspace:
        """The one of this name, should it still be there; else the channel's own."""
        try:
            return self._contexts.workspace(name or None, channel=channel)
        except UnknownWorkspace:
            return self._contexts.workspace(None, channel=channel)

    async def announce(self, answer: Answer, channel: str) -> None:
        shared = self.channel_for(channel, answer.workspace)
        if answer.public and shared and shared != channel:
            await self.queue.post(answer, channel=shared)

    async def open_form(self, asked: OpenForm, trigger: str, *, channel: str) -> None:
        """A command's empty form."""
        request = self._form_request(channel, asked.workspace)
        view = forms.form_view(asked.verb, request)
        await self._slack.call("views.open", trigger_id=trigger, view=view)

    async def change_workspace(self, view: Mapping[str, Any], name: str) -> None:
        if verb := forms.verb_of(view):
            changed = forms.form_view(verb, self._form_request(forms.channel_of(view), name))
            await self._slack.call("views.update", view_id=view["id"], hash=view["hash"], view=changed)

    def _form_request(self, channel: str, name: str) -> forms.FormRequest:
        names = tuple(self._contexts.settings.workspaces)
        if len(names) == 1:
            return forms.FormRequest(channel=channel)
        chosen = self._workspace(name, channel=channel).name
        return forms.FormRequest(channel=channel, workspace=chosen, workspaces=names)

    async def open_answer(self, trigger: str, *, person: str, channel: str) -> ModalResponder:
        view = forms.answer_view(ON_ITS_WAY, channel=channel)
        opened = await self._slack.call("views.open", trigger_id=trigger, view=view)
        return self.modal(str(opened["view"]["id"]), person=person, channel=channel)

    def modal(self, view: str, *, person: str, channel: str, delay: float = 0.0) -> ModalResponder:
        """A modal that is open already; `settling`: seconds for Slack to redraw it first."""
        return ModalResponder(
            self._slack,
            self.queue,
            view=view,
            person=person,
            channel=channel,
            channel_for=self.channel_for,
            delay=delay,
        )

    def clicked(self, message: Mapping[str, Any], *, places: Collection[str], name: str) -> ClickedCard:
        return ClickedCard(message, places=places, name=name, store=self._store, changed=self._changed)

    async def refuse(self, card: Card, trigger: str, *, channel: str) -> None:
        await self._slack.call(
            "views.open", trigger_id=trigger, view=forms.answer_view(card, channel=channel)
        )

    async def reply_in_modal(self, answer: Answer, trigger: str, *, person: str) -> None:
        """In its own modal, where the trigger still counts; else it is left unsaid."""
        if not trigger:
            return
        try:
            modal = await self.open_answer(trigger, person=person, channel="")
            await modal.reply(answer)
        except SlackError as error:
            log.info("no answer could be sent", error=str(error)[:100])

    async def choices(self, typed: str, view: Mapping[str, Any]) -> list[dict[str, Any]]:
        """The options of a form's menu of sequences; none where the service does not answer in time."""
        workspace = self._workspace(forms.workspace_of(view), channel=forms.channel_of(view))
        try:
            known = await asyncio.wait_for(self._cache.sequences(workspace), 2.0)
        except (OutreachError, TimeoutError) as error:
            log.info("no sequences for a menu", error=type(error).__name__)
            return []
        return forms.options(known, typed)

    @property
    def several(self) -> bool:
        return len(self._contexts.settings.workspaces) > 1

    async def alert_of_thread(self, places: Collection[str], thread_ts: str) -> AlertRow | None:
        """The alert whose card a thread belongs to; None outside of such a thread, or where it may not be seen any more."""
        found = await self._store.alerts.in_message(places, thread_ts) if thread_ts else None
        return found if found and found.workspace in self._contexts.settings.workspaces else None

    async def links(self, alerts: Sequence[str]) -> dict[str, str]:
        places = await self._store.alerts.messages(alerts)
        found = await asyncio.gather(*(self._directory.permalink(*place) for place in places.values()))
        return dict(zip(places, found, strict=True))
