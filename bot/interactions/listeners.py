"""Bolt's listeners: slash commands, clicks, mentions, modals, Home. Each acknowledges first and answers later.

All do the same: run the line and send its Card back, only to the person or, after a change, to the channel. A refusal
never replaces the card that was clicked.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from slack_bolt.async_app import AsyncAck, AsyncApp, AsyncRespond

from bot.blockkit.actions import LOOKS, Cancel, Confirm, OnAlert, OpenForm, ShowHome, ShowSample, read_value
from bot.blockkit.elements import PICK, RUN
from bot.commands.canned_replies import ON_ITS_WAY, UNKNOWN
from bot.commands.command_help import FORMS
from bot.commands.dispatch import CommandDispatcher
from bot.interactions import forms
from bot.interactions.event_listeners import EventListeners
from bot.interactions.fallbacks import Fallbacks
from bot.interactions.modals import UPDATE_DELAY, ModalResponder, Modals, SilentResponder
from bot.interactions.responders import Address, Responder, places_of, run_and_reply, thread_of
from bot.runtime.supervisor import ActiveTasks
from bot.slack.directory import UserDirectory
from bot.slack.manifest import SHORTCUTS
from bot.slack.web_api import SlackError, WebApi
from shared.commands import UsageError, invocation
from shared.commands.base import ALIASES
from shared.commands.status import Status
from shared.domain.card import Action, Typed
from shared.text.tokenize import from_slack

ERROR_AT_FIELD_SECONDS = 1.0
"""How long a form waits for its answer: an error is shown at its field only with the acknowledgement, within 3 seconds.

https://docs.slack.dev/tools/bolt-python/concepts/acknowledge
"""


class Listeners:
    """The callbacks; `register` hangs them into Bolt."""

    def __init__(
        self,
        dispatcher: CommandDispatcher,
        directory: UserDirectory,
        modals: Modals,
        slack: WebApi,
        *,
        reopen: Callable[[str], Awaitable[None]],
    ) -> None:
        self._modals, self._slack, self._queue = modals, slack, modals.queue
        self._dispatcher, self._active = dispatcher, ActiveTasks()
        self.drain = self._active.drain
        self._events = EventListeners(dispatcher, self._active, directory, modals, slack, reopen=reopen)
        self._fallbacks = Fallbacks(modals, slack)

    def register(self, app: AsyncApp) -> None:
        """Commands and runnable buttons first, then whatever else may come."""
        app.command("/outreach")(self.command)
        app.action(re.compile(rf"{RUN}_.*", re.DOTALL))(self.click)
        app.action(forms.WORKSPACE)(self.workspace_chosen)
        self._events.register(app)
        app.shortcut(re.compile("|".join(SHORTCUTS)))(self.shortcut)
        app.view(re.compile(rf"{forms.FORM}:.*", re.DOTALL))(self.submitted)
        app.options(forms.SEQUENCE)(self.choices)
        self._fallbacks.register(app)

    async def command(self, ack: AsyncAck, respond: AsyncRespond, body: Mapping[str, Any]) -> None:
        """`/outreach …`."""
        await ack()
        with self._active.track():
            user, channel = body["user_id"], body.get("channel_id", "")
            line = from_slack(body.get("text", ""))
            answering = self._dispatcher.perform(
                line,
                user,
                name=body.get("user_name", ""),
                channel=channel,
                channel_name=body.get("channel_name", ""),
            )
            public = partial(self._queue.post_where_known, channel=channel)
            responder = Address(respond, self._slack, person=user, channel=channel, public=public)
            answer = await run_and_reply(answering, responder)
            await self._modals.announce(answer, channel)
            if answer.public:
                await self._modals.home.refresh(user)

    async def click(self, ack: AsyncAck, respond: AsyncRespond, body: Mapping[str, Any]) -> None:
        """A button or a menu's entry: its value is the line."""
        await ack()
        with self._active.track():
            clicked = body["actions"][0]
            if "url" in clicked and not clicked.get("value"):
                return None  # the click has led where it was to lead
            asked, user = _asked(body["actions"][0]), body["user"]
            view = body.get("view") or {}
            channel = (body.get("channel") or {}).get("id", "") or forms.channel_of(view)
            if isinstance(asked, OpenForm):
                return await self._open_form(asked, body, channel=channel)
            at_home = view.get("type") == "home"
            responder = await self._responder(body, respond, channel=channel, asked=asked)
            if responder is not None:
                answering = self._dispatcher.perform(
                    asked,
                    user["id"],
                    name=user.get("username", ""),
                    channel=channel,
                    channel_name=(body.get("channel") or {}).get("name", ""),
                    progress=responder.progress if isinstance(responder, ModalResponder) else None,
                )
                answer = await run_and_reply(answering, responder)
                if not view:
                    await self._modals.announce(answer, channel)
            if at_home:
                chosen = asked.workspace if isinstance(asked, ShowHome) else None
                await self._modals.home.show(user["id"], view=view, workspace=chosen)
            else:
                await self._modals.home.refresh(user["id"])
        return None

    async def _open_form(self, asked: OpenForm, body: Mapping[str, Any], *, channel: str) -> None:
        asked = replace(asked, verb=ALIASES.get(asked.verb, asked.verb))  # of a button of an older version
        if asked.verb not in FORMS:
            await self._modals.refuse(UNKNOWN, body["trigger_id"], channel=channel)
        elif refusal := await self._dispatcher.form_refusal(asked.verb, body["user"]["id"], channel=channel):
            await self._modals.refuse(refusal, body["trigger_id"], channel=channel)
        else:
            await self._modals.open_form(asked, body["trigger_id"], channel=channel)

    async def workspace_chosen(self, ack: AsyncAck, body: Mapping[str, Any]) -> None:
        """Another workspace is chosen in a form."""
        await ack()
        with self._active.track():
            chosen = body["actions"][0]["selected_option"]["value"]
            await self._modals.change_workspace(body["view"], chosen)

    async def _responder(
        self,
        body: Mapping[str, Any],
        respond: AsyncRespond,
        *,
        channel: str,
        asked: Action,
    ) -> Responder | None:
        """Where a click is answered; None: Home itself is the answer."""
        user, view = body["user"]["id"], body.get("view") or {}
        if view.get("type") == "modal":
            return self._modals.modal(view["id"], person=user, channel=channel)
        if view.get("type") == "home":
            if isinstance(asked, ShowHome):
                return None
            if isinstance(asked, ShowSample) or (isinstance(asked, OnAlert) and asked.verb in _SHOWN_AT_HOME):
                return SilentResponder(self._slack, person=user)
            return await self._modals.open_answer(body["trigger_id"], person=user, channel=channel)
        # A look may take long and doesn't concern the channel.
        if isinstance(asked, OnAlert) and asked.verb in LOOKS:
            with contextlib.suppress(SlackError):
                return await self._modals.open_answer(body["trigger_id"], person=user, channel=channel)
        ephemeral = bool((body.get("container") or {}).get("is_ephemeral"))
        shown, name = body.get("message"), body["user"].get("username", user)
        return Address(
            respond, self._slack, person=user, channel=channel, thread_ts=thread_of(body), ephemeral=ephemeral,
            settling=isinstance(asked, Confirm | Cancel),
            public=partial(self._queue.post_where_known, channel=channel, thread_ts=thread_of(body)),
            clicked=self._modals.clicked(shown, places=places_of(channel, user), name=name)
            if shown and not ephemeral else None,
        )  # fmt: skip

    async def shortcut(self, ack: AsyncAck, body: Mapping[str, Any]) -> None:
        """A global shortcut: the form of a pause, or the status in a modal."""
        await ack()
        with self._active.track():
            user, trigger = body["user"], body["trigger_id"]
            if body["callback_id"] == "pause_form":
                return await self._open_form(OpenForm(verb="pause"), body, channel="")
            modal = await self._modals.open_answer(trigger, person=user["id"], channel="")
            answering = self._dispatcher.perform(
                invocation(Status()),
                user["id"],
                name=user.get("username", ""),
                channel="",
                progress=modal.progress,
            )
            await run_and_reply(answering, modal)
        return None

    async def submitted(self, ack: AsyncAck, body: Mapping[str, Any], view: Mapping[str, Any]) -> None:
        """A form, however late: its command runs, and the modal shows the answer, or the error at its field."""
        form_input = forms.read_form(view)
        if form_input is None:
            return await self._fallbacks.outdated_view(ack)
        if form_input.arguments is None:
            return await _refuse(ack, form_input.errors)
        asked = invocation(form_input.arguments, workspace=form_input.workspace or None)
        with self._active.track():
            user = body["user"]
            performing = self._dispatcher.perform(
                asked, user["id"], name=user.get("username", ""), channel=form_input.channel
            )
            answering = asyncio.ensure_future(performing)
            done, _ = await asyncio.wait({answering}, timeout=ERROR_AT_FIELD_SECONDS)
            if (
                done
                and answering.exception() is None
                and (errors := form_input.errors_of(answering.result()))
            ):
                return await _refuse(ack, errors)
            await ack(response_action="update", view=forms.ack_view(ON_ITS_WAY, channel=form_input.channel))
            modal = self._modals.modal(
                view["id"], person=user["id"], channel=form_input.channel, delay=UPDATE_DELAY
            )
            await run_and_reply(answering, modal)
            await self._modals.home.refresh(user["id"])
        return None

    async def choices(self, ack: AsyncAck, body: Mapping[str, Any]) -> None:
        """A person types into a menu of sequences."""
        line, view = str(body.get("value") or ""), body.get("view") or {}
        found, refusal = await asyncio.gather(
            self._modals.choices(line, view),
            self._dispatcher.form_refusal(
                forms.verb_of(view) or "pause", body["user"]["id"], channel=forms.channel_of(view)
            ),
        )
        await ack(options=[] if refusal else found)


_SHOWN_AT_HOME = frozenset({"claim", "release", "done", "handled"})


async def _refuse(ack: AsyncAck, errors: Mapping[str, str]) -> None:
    await ack(response_action="errors", errors=dict(errors))


def _asked(action: Mapping[str, Any]) -> Action:
    """What a click stands for."""
    at, person = action.get("selected_date_time"), action.get("selected_user")
    if at or person:
        asked = _read_value(str(action["action_id"]).removeprefix(PICK))
        if not isinstance(asked, OnAlert):
            return asked
        return replace(asked, detail=str(at)) if at else replace(asked, person=str(person))
    option = action.get("selected_option") or {}
    return _read_value(str(option.get("value") or action.get("value") or ""))


def _read_value(value: str) -> Action:
    try:
        return read_value(value)
    except UsageError:  # the dispatcher says what would have been right
        return Typed(value)
