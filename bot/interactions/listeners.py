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
from typing import Any

from slack_bolt.async_app import AsyncAck, AsyncApp, AsyncRespond

from bot.blockkit.actions import (
    LOOKS,
    Cancel,
    Confirm,
    OnAlert,
    OpenForm,
    ShowSample,
    change_of,
    read_value,
)
from bot.blockkit.elements import PICK, RUN
from bot.commands.alerts import reply_lines
from bot.commands.answer import Answer
from bot.commands.canned_replies import GREETING, NOBODY, ON_ITS_WAY, UNKNOWN, WHICH_ALERT
from bot.commands.context import CommandContexts
from bot.commands.dispatch import FORMS, Asker, CommandDispatcher, failure
from bot.interactions import forms
from bot.interactions.home import HomeTab
from bot.interactions.modals import UPDATE_DELAY_SECONDS, Modals
from bot.interactions.responders import (
    Address,
    AnswerQueue,
    ClickedMessage,
    QueuedThread,
    Responder,
    SilentResponder,
    Thread,
    places_of,
    run_and_reply,
    thread_of,
)
from bot.runtime.supervisor import ActiveTasks
from bot.slack.directory import UserDirectory
from bot.slack.manifest import SHORTCUTS
from bot.slack.web_api import SlackError, WebApi
from shared.commands import COMMANDS, UsageError, find_command, invocation
from shared.commands.status import Status
from shared.domain.alert import Alert
from shared.domain.card import Action, Card, Typed
from shared.text.tokenize import from_slack

ERROR_AT_FIELD_SECONDS = 1.0
"""A form waits so long for its answer: an error is shown at its field only with the acknowledgement, within 3 seconds.

https://docs.slack.dev/tools/bolt-python/concepts/acknowledge
"""
Body = Mapping[str, Any]
Listener = Callable[[Body, AsyncRespond], Awaitable[None]]
_CALLED = re.compile(r"^\s*<@[^>]+>\s*")
_ANYTHING = re.compile(".*", re.DOTALL)
_SHOWN_AT_HOME = frozenset({"claim", "release", "done"})


class Listeners:
    """The callbacks; `register` hangs them into Bolt."""

    def __init__(
        self,
        dispatcher: CommandDispatcher,
        contexts: CommandContexts,
        directory: UserDirectory,
        slack: WebApi,
        *,
        queue: AnswerQueue,
        modals: Modals,
        home: HomeTab,
        reopen: Callable[[str], Awaitable[None]],
    ) -> None:
        self._dispatcher, self._contexts, self._directory = dispatcher, contexts, directory
        self._slack, self._queue, self._modals, self._home = slack, queue, modals, home
        self._reopen, self._active = reopen, ActiveTasks()
        self.drain = self._active.drain

    def register(self, app: AsyncApp) -> None:
        """Commands and runnable buttons first, then whatever else may come."""
        answered: tuple[tuple[str, Any, Listener], ...] = (
            ("command", "/outreach", self.command),
            ("action", re.compile(rf"{RUN}_.*", re.DOTALL), self.click),
            ("action", forms.WORKSPACE, self.workspace_chosen),
            ("shortcut", re.compile("|".join(SHORTCUTS)), self.shortcut),
            ("event", "app_mention", self.message),
            ("event", "message", self.message),
            ("event", "member_joined_channel", self.joined),
            ("event", "app_home_opened", self.visit),
            *((kind, _ANYTHING, self.unknown) for kind in ("command", "action", "shortcut")),
            *((kind, _ANYTHING, self.ignored) for kind in ("view_closed", "event")),
        )
        for kind, which, listener in answered:
            getattr(app, kind)(which)(self._acknowledged(listener))
        app.view(re.compile(rf"{forms.FORM}:.*", re.DOTALL))(self.submitted)
        app.view(_ANYTHING)(self.outdated_view)
        app.options(forms.SEQUENCE)(self.choices)
        app.options(_ANYTHING)(self.no_choices)
        app.error(self.on_error)

    def _acknowledged(self, listener: Listener) -> Callable[..., Awaitable[None]]:
        async def run(ack: AsyncAck, body: Body, respond: AsyncRespond) -> None:
            await ack()
            with self._active.track():
                await listener(body, respond)

        return run

    async def command(self, body: Body, respond: AsyncRespond) -> None:
        """`/outreach …`."""
        asker = _asker(body)
        answering = self._dispatcher.perform(from_slack(body.get("text", "")), asker)
        address = Address(respond, self._slack, person=asker.user, channel=asker.channel, queue=self._queue)
        answer = await run_and_reply(answering, address)
        await self._queue.announce(answer, asker.channel)
        if answer.public:
            await self._home.refresh(asker.user)

    async def click(self, body: Body, respond: AsyncRespond) -> None:
        """A button or a menu's entry: its value is the line."""
        clicked, view = body["actions"][0], body.get("view") or {}
        if "url" in clicked and not clicked.get("value"):
            return  # the click has led where it was to lead
        asked, asker = _asked(clicked), _asker(body)
        if isinstance(asked, OpenForm):
            await self._open_form(asked, body, asker)
            return
        responder = await self._responder(body, respond, asker, asked)
        answer = await run_and_reply(self._dispatcher.perform(asked, asker), responder)
        if not view:
            await self._queue.announce(answer, asker.channel)
        if view.get("type") == "home":
            await self._home.show(asker.user, fresh=True)
        else:
            await self._home.refresh(asker.user)

    async def _open_form(self, asked: OpenForm, body: Body, asker: Asker) -> None:
        trigger, channel = body["trigger_id"], asker.channel
        refusal: Card | None = UNKNOWN  # a button of an older version
        if asked.verb in FORMS:
            refusal = await self._dispatcher.form_refusal(asked.verb, asker.user, channel=channel)
        if refusal:
            await self._modals.open_answer(trigger, person=asker.user, channel=channel, card=refusal)
        else:
            await self._modals.open_form(asked, trigger, channel=channel)

    async def workspace_chosen(self, body: Body, _: AsyncRespond) -> None:
        """Another workspace is chosen in a form."""
        await self._modals.change_workspace(body["view"], body["actions"][0]["selected_option"]["value"])

    async def _responder(self, body: Body, respond: AsyncRespond, asker: Asker, asked: Action) -> Responder:
        """Choose the place of the answer to a click."""
        user, channel, view = asker.user, asker.channel, body.get("view") or {}
        if view.get("type") == "modal":
            return self._modals.modal(view["id"], person=user, channel=channel)
        verb = asked.verb if isinstance(asked, OnAlert) else ""
        if view.get("type") == "home":
            if isinstance(asked, ShowSample) or verb in _SHOWN_AT_HOME:
                return SilentResponder(self._slack, channel=user)
            return await self._modals.open_answer(body["trigger_id"], person=user, channel=channel)
        # A look may take long and doesn't concern the channel.
        if verb in LOOKS:
            with contextlib.suppress(SlackError):
                return await self._modals.open_answer(body["trigger_id"], person=user, channel=channel)
        message, clicked = body.get("message"), None
        ephemeral = bool((body.get("container") or {}).get("is_ephemeral"))
        if message and not ephemeral:
            ts, places = str(message.get("ts") or ""), places_of(channel, user)
            change = change_of(asked)
            clicked = ClickedMessage(store=self._contexts.store, places=places, ts=ts, change=change)
        return Address(
            respond,
            self._slack,
            person=user,
            channel=channel,
            thread_ts=thread_of(body),
            ephemeral=ephemeral,
            settling=isinstance(asked, Confirm | Cancel),
            queue=self._queue,
            clicked=clicked,
        )

    async def shortcut(self, body: Body, _: AsyncRespond) -> None:
        """A global shortcut: the form of a pause, or the status in a modal."""
        asker = _asker(body)
        if body["callback_id"] == "pause_form":
            await self._open_form(OpenForm(verb="pause"), body, asker)
            return
        modal = await self._modals.open_answer(body["trigger_id"], person=asker.user, channel="")
        await run_and_reply(self._dispatcher.perform(invocation(Status()), asker), modal)

    async def submitted(self, ack: AsyncAck, body: Body, view: Mapping[str, Any]) -> None:
        """A form, however late: its command runs, and the modal shows the answer, or the error at its field."""
        form_input = forms.read_form(view)
        if form_input is None:
            await self.outdated_view(ack)
            return
        if form_input.arguments is None:
            await ack(response_action="errors", errors=dict(form_input.errors))
            return
        asked = invocation(form_input.arguments, workspace=form_input.workspace or None)
        with self._active.track():
            channel = form_input.channel
            asker = replace(_asker(body), channel=channel)
            answering = asyncio.ensure_future(self._dispatcher.perform(asked, asker))
            done, _ = await asyncio.wait({answering}, timeout=ERROR_AT_FIELD_SECONDS)
            answer = answering.result() if done and answering.exception() is None else None
            if answer and (errors := form_input.errors_of(answer)):
                await ack(response_action="errors", errors=errors)
                return
            await ack(response_action="update", view=forms.ack_view(ON_ITS_WAY, channel=channel))
            modal = self._modals.modal(
                view["id"], person=asker.user, channel=channel, delay=UPDATE_DELAY_SECONDS
            )
            await run_and_reply(answering, modal)
            await self._home.refresh(asker.user)

    async def choices(self, ack: AsyncAck, body: Body) -> None:
        """A person types into a menu of sequences."""
        line, view = str(body.get("value") or ""), body.get("view") or {}
        verb, asker = forms.verb_of(view) or "pause", _asker(body)
        options, refusal = await asyncio.gather(
            self._modals.choices(line, view),
            self._dispatcher.form_refusal(verb, asker.user, channel=asker.channel),
        )
        await ack(options=[] if refusal else options)

    async def message(self, body: Body, _: AsyncRespond) -> None:
        """`@outreach …`, which works in threads, where slash commands do not, or a direct message to the bot."""
        event = body["event"]
        thread = event.get("thread_ts") or ""
        if event["type"] == "app_mention":
            thread = thread or event["ts"]
        elif event.get("channel_type") != "im" or event.get("bot_id") or event.get("subtype"):
            return
        channel, about = event["channel"], str(event["ts"])
        responder = QueuedThread(self._slack, self._queue, channel=channel, thread_ts=thread, about=about)
        answer = await run_and_reply(self._answer_to(event), responder)
        await self._queue.announce(answer, channel)

    async def _answer_to(self, event: Mapping[str, Any]) -> Answer:
        """A bot's message has `bot_id`, whatever name it was posted under; a workflow's may have no `user`.

        https://docs.slack.dev/reference/events/message/bot_message
        """
        channel, user = event["channel"], str(event.get("user") or "")
        line = from_slack(_CALLED.sub("", event.get("text", "")))
        if not user:
            return Answer(card=NOBODY)
        alert = await self._alert_of(places_of(channel, user), str(event.get("thread_ts") or ""))
        if alert is None and reply_lines.needs_alert(line):
            return Answer(card=WHICH_ALERT)
        if alert and find_command(line.strip()) is COMMANDS["help"]:
            return Answer(card=reply_lines.help_card(alert))
        if alert:
            several = len(self._contexts.settings.workspaces) > 1
            line = reply_lines.line_about(line, alert, several=several)
        asker = Asker(user=user, is_bot=bool(event.get("bot_id")), channel=channel)
        answer = await self._dispatcher.perform(line, asker)
        return answer if alert else replace(answer, noted=False)

    async def _alert_of(self, places: Any, thread_ts: str) -> Alert | None:
        """The alert whose card a thread belongs to; None elsewhere, or where its workspace left the settings."""
        alert = await self._contexts.store.alerts.in_message(places, thread_ts) if thread_ts else None
        return alert if alert and alert.workspace in self._contexts.settings.workspaces else None

    async def joined(self, body: Body, _: AsyncRespond) -> None:
        """The bot joined a channel: held alerts are posted, and whoever invited it gets the greeting.

        If the bot joined a subscribed channel itself, there is no `inviter`
        (https://docs.slack.dev/reference/events/member_joined_channel).
        """
        event = body["event"]
        if event.get("user") == await self._directory.own_id():
            await self._reopen(event["channel"])
            if event.get("inviter"):
                await Thread(self._slack, channel=event["channel"]).reply(Answer(card=GREETING))

    async def visit(self, body: Body, _: AsyncRespond) -> None:
        """A person opens the Home tab."""
        event = body["event"]
        if event.get("tab", "home") == "home":
            await self._home.show(event["user"], fresh=bool(event.get("view")))

    async def unknown(self, body: Body, respond: AsyncRespond) -> None:
        """A command of another name, or a button of an older version."""
        await self._say(Answer(card=UNKNOWN), body, respond)

    async def on_error(self, error: Exception, respond: AsyncRespond, body: Body) -> None:
        """An exception from a listener: the person gets an error with a reference."""
        await self._say(Answer(card=failure(error)), body, respond)

    async def _say(self, answer: Answer, body: Body, respond: AsyncRespond) -> None:
        """Answer at the request's address, else in a modal, else directly, where it is known who asked."""
        user = body.get("user") or {}
        if not (body.get("user_id") or (isinstance(user, dict) and user.get("id"))):
            return
        asker = _asker(body)
        if body.get("response_url"):
            address = Address(
                respond, self._slack, person=asker.user, channel=asker.channel, thread_ts=thread_of(body)
            )
            await address.reply(answer)
            return
        trigger = str(body.get("trigger_id") or "")
        try:
            await self._modals.open_answer(trigger, person=asker.user, channel="", card=answer.card)
        except SlackError:
            await Thread(self._slack, channel=asker.user).reply(answer)

    async def outdated_view(self, ack: AsyncAck) -> None:
        await ack(response_action="update", view=forms.ack_view(UNKNOWN))

    async def no_choices(self, ack: AsyncAck) -> None:
        await ack(options=[])

    async def ignored(self, _body: Body, _respond: AsyncRespond) -> None:
        """Slack wants it acknowledged, and nothing follows."""


def _asker(body: Body) -> Asker:
    """The person who sent a command, or pressed something in a message or a view."""
    user, place = body.get("user") or {}, body.get("channel") or {}
    channel = body.get("channel_id") or place.get("id") or forms.channel_of(body.get("view") or {})
    return Asker(
        user=body.get("user_id") or user.get("id", ""),
        name=body.get("user_name") or user.get("username", ""),
        channel=channel,
        channel_name=body.get("channel_name") or place.get("name") or "",
    )


def _asked(action: Mapping[str, Any]) -> Action:
    """Read the action of a click; the dispatcher says of a line that means nothing what would have been right."""
    at, person = action.get("selected_date_time"), action.get("selected_user")
    value = str((action.get("selected_option") or {}).get("value") or action.get("value") or "")
    if at or person:
        value = str(action["action_id"]).removeprefix(PICK)
    try:
        asked = read_value(value)
    except UsageError:
        return Typed(value)
    if (at or person) and isinstance(asked, OnAlert):
        return replace(asked, detail=str(at)) if at else replace(asked, person=str(person))
    return asked
