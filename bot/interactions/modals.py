"""Opens forms and answers in modals while their trigger is valid.

A trigger is valid for three seconds, so a view is opened first and filled when the answer is ready.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import structlog

from bot.blockkit.actions import OpenForm
from bot.commands.canned_replies import ON_ITS_WAY
from bot.commands.context import CommandContexts, WorkspaceCache
from bot.interactions import forms
from bot.interactions.responders import AnswerQueue, ModalResponder
from bot.slack.web_api import WebApi
from shared.api.errors import OutreachError
from shared.domain.card import Card

CHOICES_SECONDS = 2.0
"""The service gets so long to list its sequences: Slack waits three seconds for a menu's options."""
UPDATE_DELAY_SECONDS = 0.3
"""An update waits so long for the acknowledgement that changes its view, which would be painted over it."""
log = structlog.get_logger("dialogs")


class Modals:
    """Open views and fill them."""

    def __init__(
        self, contexts: CommandContexts, slack: WebApi, queue: AnswerQueue, cache: WorkspaceCache
    ) -> None:
        self._slack, self._queue, self._cache = slack, queue, cache
        self._names = tuple(contexts.settings.workspaces)

    async def open_form(self, asked: OpenForm, trigger: str, *, channel: str) -> None:
        """A command's empty form."""
        view = forms.form_view(asked.verb, self._form_request(channel, asked.workspace))
        await self._slack.call("views.open", trigger_id=trigger, view=view)

    async def change_workspace(self, view: Mapping[str, Any], name: str) -> None:
        if verb := forms.verb_of(view):
            changed = forms.form_view(verb, self._form_request(forms.channel_of(view), name))
            await self._slack.call("views.update", view_id=view["id"], hash=view["hash"], view=changed)

    def _form_request(self, channel: str, name: str) -> forms.FormRequest:
        if len(self._names) == 1:
            return forms.FormRequest(channel=channel)
        chosen = self._queue.workspace(name, channel=channel).name
        return forms.FormRequest(channel=channel, workspace=chosen, workspaces=self._names)

    async def open_answer(
        self, trigger: str, *, person: str, channel: str, card: Card = ON_ITS_WAY
    ) -> ModalResponder:
        view = forms.answer_view(card, channel=channel)
        opened = await self._slack.call("views.open", trigger_id=trigger, view=view)
        return self.modal(str(opened["view"]["id"]), person=person, channel=channel)

    def modal(self, view: str, *, person: str, channel: str, delay: float = 0.0) -> ModalResponder:
        """A modal that is open already."""
        return ModalResponder(
            self._slack, self._queue, view=view, person=person, channel=channel, delay=delay
        )

    async def choices(self, typed: str, view: Mapping[str, Any]) -> list[dict[str, Any]]:
        """The options of a form's menu of sequences; none where the service does not answer in time."""
        workspace = self._queue.workspace(forms.workspace_of(view), channel=forms.channel_of(view))
        try:
            sequences = await asyncio.wait_for(self._cache.sequences(workspace), CHOICES_SECONDS)
        except (OutreachError, TimeoutError) as error:
            log.info("no sequences for a menu", error=type(error).__name__)
            return []
        return forms.options(sequences, typed)
