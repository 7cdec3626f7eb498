"""What happens on each request of Slack: it is acknowledged first, and answered in a task of its own.

All do the same: read who asks, what and where (`Origin`), run the line, and send its Card back, only to the person or,
after a change, to the channel. A refusal never replaces the card that was clicked.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import structlog
from slack_bolt.async_app import AsyncAck, AsyncApp, AsyncRespond
from slack_bolt.authorization import AuthorizeResult
from slack_bolt.middleware.async_middleware import AsyncMiddleware
from slack_bolt.request.async_request import AsyncBoltRequest
from slack_bolt.response import BoltResponse

from bot.blockkit.actions import LOOKS, OnAlert, OpenForm, ShowSample, read_value
from bot.blockkit.card_blocks import PICK, RUN
from bot.commands.alerts import reply_lines
from bot.commands.alerts.open_replies import card_links
from bot.commands.answer import Answer
from bot.commands.canned_replies import GREETING, NOBODY, ON_ITS_WAY, UNKNOWN, WHICH_ALERT
from bot.commands.context import CommandContexts, WorkspaceCache
from bot.commands.dispatch import FORMS, CommandDispatcher, failure
from bot.interactions import forms
from bot.interactions.gate import RequestGate
from bot.interactions.home import HomeTab
from bot.interactions.responders import Answers, Origin
from bot.runtime.wakeup import DeliverySignals
from bot.slack.directory import UserDirectory
from bot.slack.manifest import SHORTCUTS
from bot.slack.web_api import SlackError, WebApi
from bot.telemetry import logs
from shared.api.errors import OutreachError
from shared.commands import COMMANDS, UsageError, find_command, invocation
from shared.commands.status import Status
from shared.domain.card import Action, Card, Typed
from shared.text.tokenize import from_slack

IDENTIFIED_WITHIN = 1.0
"""Seconds that the first request may wait for Slack to say who the bot is; acknowledgements have three."""
CHOICES_SECONDS = 2.0
"""The service gets so long to list its sequences: Slack waits three seconds for a menu's options."""
UPDATE_DELAY_SECONDS = 0.3
"""An answer waits so long for the acknowledgement that changes its view, which would be painted over it."""
Body = Mapping[str, Any]
Listener = Callable[[Body, Origin], Coroutine[Any, Any, None]]
_CALLED = re.compile(r"^\s*<@[^>]+>\s*")
_SHOWN_AT_HOME = frozenset({"claim", "release", "done"})

log = structlog.get_logger("dialogs")


class Listeners(AsyncMiddleware):
    """Bolt's only middleware beside its own; `drain` waits for the answers under way."""

    def __init__(
        self,
        contexts: CommandContexts,
        directory: UserDirectory,
        slack: WebApi,
        *,
        gate: RequestGate,
        signals: DeliverySignals,
        state: Callable[[], Awaitable[Mapping[str, Any]]],
        reopen: Callable[[str], Awaitable[None]],
    ) -> None:
        self._contexts, self._directory, self._slack = contexts, directory, slack
        self._gate, self._reopen = gate, reopen
        links, self._cache = partial(card_links, contexts.store, directory), WorkspaceCache(contexts)
        self._dispatcher = CommandDispatcher(contexts, directory, signals=signals, links=links, state=state)
        self._answers = Answers(contexts, directory, slack, changed=signals.changed)
        self._home = HomeTab(contexts, directory, slack, cache=self._cache, links=links)
        self._active: set[asyncio.Task[None]] = set()
        self._of_events: Mapping[str, Listener] = {
            "app_mention": self._message,
            "message": self._message,
            "member_joined_channel": self._joined,
            "app_home_opened": self._visit,
        }

    async def async_process(
        self,
        *,
        req: AsyncBoltRequest,
        resp: BoltResponse,
        next: Any,  # noqa: A002 # Bolt's name
    ) -> BoltResponse:
        """Acknowledge a request: what this returns is Bolt's answer to Slack. One of an odd shape gets 400."""
        try:
            return await self._acknowledge(req.body, req.context.ack, req.context.respond)
        except (AttributeError, LookupError, TypeError, ValueError) as error:
            log.warning("request not understood", error=type(error).__name__, exc_info=error)
            return BoltResponse(status=400)

    async def _acknowledge(self, body: Body, ack: AsyncAck, respond: AsyncRespond | None) -> BoltResponse:
        if not await self._gate.admits(body):
            return await ack()
        origin, listener = _origin(body, respond), self._listener(body)
        if body.get("type") == "block_suggestion":
            return await ack(options=await self._choices(body, origin))
        if body.get("type") == "view_submission":
            return await self._submit(body["view"], ack, origin)
        if listener:
            self._start(listener(body, origin), origin)
        return await ack()

    def _listener(self, body: Body) -> Listener | None:
        """The listener of a request; commands, clicks and shortcuts of older versions have one, too."""
        kind = "command" if "command" in body else body.get("type")
        if kind == "event_callback":
            return self._of_events.get(body["event"]["type"])
        if kind == "command" and body["command"] == "/outreach":
            return self._command
        if kind == "shortcut" and body["callback_id"] in SHORTCUTS:
            return self._shortcut
        if kind == "block_actions":
            name = body["actions"][0]["action_id"]
            if name == forms.WORKSPACE:
                return self._choose_workspace
            if name.startswith(f"{RUN}_"):
                return self._click
        return self._unknown if kind in {"command", "shortcut", "message_action", "block_actions"} else None

    def _start(self, work: Coroutine[Any, Any, None], origin: Origin) -> None:
        task = asyncio.create_task(self._finish(work, origin), name="listener")
        # The event loop itself keeps no reference that would hold a running task.
        self._active.add(task)
        task.add_done_callback(self._active.discard)

    async def _finish(self, work: Awaitable[None], origin: Origin) -> None:
        try:
            await work
        except Exception as error:  # noqa: BLE001 # the person gets an error with a reference
            await self._answers.tell(failure(error), origin)

    async def drain(self, seconds: float) -> None:
        """Wait for the answers under way before the bot ends."""
        if self._active:
            await asyncio.wait(self._active, timeout=seconds)

    async def _answer(self, answering: Awaitable[Answer], origin: Origin) -> None:
        """Answer, and show on Home what became of it to whom it is open."""
        answer = await self._answers.run(answering, origin)
        if origin.is_home:
            await self._home.show(origin.user, fresh=True)
        elif answer.public or answer.on_card:
            await self._home.refresh(origin.user)

    async def _command(self, body: Body, origin: Origin) -> None:
        """`/outreach …`."""
        await self._answer(self._dispatcher.perform(from_slack(body.get("text") or ""), origin), origin)

    async def _click(self, body: Body, origin: Origin) -> None:
        """A button or a menu's entry: its value is the line. One that leads somewhere has led there already."""
        clicked = body["actions"][0]
        if "url" in clicked and not clicked.get("value"):
            return None
        asked = _asked(clicked)
        if isinstance(asked, OpenForm):
            return await self._open_form(asked, origin)
        origin = replace(origin, asked=asked)
        verb = asked.verb if isinstance(asked, OnAlert) else ""
        shows_itself = verb in _SHOWN_AT_HOME or isinstance(asked, ShowSample)
        # A look may take long and doesn't concern the channel.
        if not origin.view and (verb in LOOKS or (origin.is_home and not shows_itself)):
            with contextlib.suppress(SlackError):
                origin = await self._answers.open_modal(origin)
        return await self._answer(self._dispatcher.perform(asked, origin), origin)

    async def _shortcut(self, body: Body, origin: Origin) -> None:
        """A global shortcut: the form of a pause, or the status in a modal."""
        if body["callback_id"] == "pause_form":
            return await self._open_form(OpenForm(verb="pause"), origin)
        origin = await self._answers.open_modal(origin)
        return await self._answer(self._dispatcher.perform(invocation(Status()), origin), origin)

    async def _open_form(self, asked: OpenForm, origin: Origin) -> None:
        """A command's empty form, while the trigger of the click is valid."""
        refusal: Card | None = UNKNOWN  # a button of an older version
        if asked.verb in FORMS:
            refusal = await self._dispatcher.form_refusal(asked.verb, origin)
        if refusal:
            return await self._answers.tell(refusal, replace(origin, respond=None))
        view = forms.form_view(asked.verb, self._form_request(origin.channel, asked.workspace))
        await self._slack.call("views.open", trigger_id=origin.trigger, view=view)
        return None

    async def _choose_workspace(self, body: Body, origin: Origin) -> None:
        """Another workspace is chosen in a form."""
        view, name = body["view"], body["actions"][0]["selected_option"]["value"]
        if verb := forms.verb_of(view):
            changed = forms.form_view(verb, self._form_request(origin.channel, name))
            await self._slack.call("views.update", view_id=view["id"], hash=view["hash"], view=changed)

    def _form_request(self, channel: str, name: str) -> forms.FormRequest:
        names = tuple(self._contexts.settings.workspaces)
        if len(names) == 1:
            return forms.FormRequest(channel=channel)
        chosen = self._contexts.workspace_or_own(name, channel=channel).name
        return forms.FormRequest(channel=channel, workspace=chosen, workspaces=names)

    async def _submit(self, view: Body, ack: AsyncAck, origin: Origin) -> BoltResponse:
        """A form: errors are shown at their fields, else its command runs, and the modal shows the answer."""
        arguments = forms.read_form(view)
        if arguments is None:
            return await ack(response_action="update", view=forms.ack_view(UNKNOWN))
        if isinstance(arguments, dict):
            return await ack(response_action="errors", errors=arguments)
        asked = invocation(arguments, workspace=forms.workspace_of(view) or None)

        async def answer() -> None:
            await asyncio.sleep(UPDATE_DELAY_SECONDS)
            await self._answer(self._dispatcher.perform(asked, origin), origin)

        self._start(answer(), origin)
        return await ack(response_action="update", view=forms.ack_view(ON_ITS_WAY, channel=origin.channel))

    async def _choices(self, body: Body, origin: Origin) -> list[dict[str, Any]]:
        """The options of a menu of sequences while a person types; none where the service does not answer in time."""
        view, verb = body.get("view") or {}, forms.verb_of(body.get("view") or {})
        if body["action_id"] != forms.SEQUENCE or not verb:
            return []
        workspace = self._contexts.workspace_or_own(forms.workspace_of(view), channel=origin.channel)
        listing = asyncio.wait_for(self._cache.sequences(workspace), CHOICES_SECONDS)
        try:
            sequences, refusal = await asyncio.gather(listing, self._dispatcher.form_refusal(verb, origin))
        except (OutreachError, TimeoutError) as error:
            log.info("no sequences for a menu", error=type(error).__name__)
            return []
        return [] if refusal else forms.options(sequences, str(body.get("value") or ""))

    async def _message(self, body: Body, origin: Origin) -> None:
        """`@outreach …`, which works in threads, where slash commands do not, or a direct message to the bot."""
        event, thread = body["event"], origin.thread_ts
        if event["type"] == "app_mention":
            origin = replace(origin, thread_ts=thread or origin.event_ts)
        # Edits and joins are messages with a subtype; and two bots must not go on talking to each other.
        elif event.get("channel_type") != "im" or origin.is_bot or event.get("subtype"):
            return
        line = from_slack(_CALLED.sub("", event.get("text") or ""))
        await self._answer(self._answer_to(line, origin, thread), origin)

    async def _answer_to(self, line: str, origin: Origin, thread_ts: str) -> Answer:
        """The answer to a line that may be in the thread of an alert's card, of which it speaks then."""
        if not origin.user:
            return Answer(card=NOBODY)
        workspaces, alerts = self._contexts.settings.workspaces, self._contexts.store.alerts
        alert = await alerts.in_message(origin.places, thread_ts) if thread_ts else None
        if alert is None or alert.workspace not in workspaces:
            if reply_lines.needs_alert(line):
                return Answer(card=WHICH_ALERT)
            return replace(await self._dispatcher.perform(line, origin), noted=False)
        if find_command(line.strip()) is COMMANDS["help"]:
            return Answer(card=reply_lines.help_card(alert))
        line = reply_lines.line_about(line, alert, several=len(workspaces) > 1)
        return await self._dispatcher.perform(line, origin)

    async def _joined(self, body: Body, origin: Origin) -> None:
        """The bot joined a channel: held alerts are posted, and whoever invited it gets the greeting.

        If the bot joined a subscribed channel itself, there is no `inviter`
        (https://docs.slack.dev/reference/events/member_joined_channel).
        """
        if origin.user == await self._directory.own_id():
            await self._reopen(origin.channel)
            if body["event"].get("inviter"):
                await self._answers.say(GREETING, origin.channel)

    async def _visit(self, body: Body, origin: Origin) -> None:
        """A person opens the Home tab."""
        event = body["event"]
        if event.get("tab", "home") == "home":
            await self._home.show(origin.user, fresh=bool(event.get("view")))

    async def _unknown(self, _: Body, origin: Origin) -> None:
        """A command of another name, or a button of an older version."""
        await self._answers.tell(UNKNOWN, origin)


def _origin(body: Body, respond: AsyncRespond | None) -> Origin:
    """Who sent a command or a message, or pressed something, and the place of the answer.

    Raises `TypeError` where an id is no text, and `KeyError` where nobody asks.
    """
    view, container, event = body.get("view") or {}, body.get("container") or {}, body.get("event") or {}
    place, message = body.get("channel") or {}, body.get("message") or {}
    user = body.get("user") or {}
    origin = Origin(
        user=event.get("user") or "" if event else body.get("user_id") or user["id"],
        name=body.get("user_name") or user.get("username") or "",
        # A bot's message has `bot_id`, whatever name it was posted under; a workflow's may have no `user`.
        # https://docs.slack.dev/reference/events/message/bot_message
        is_bot=bool(event.get("bot_id")),
        channel=event.get("channel") or body.get("channel_id") or place.get("id") or forms.channel_of(view),
        channel_name=body.get("channel_name") or place.get("name") or "",
        thread_ts=event.get("thread_ts") or container.get("thread_ts") or "",
        trigger=body.get("trigger_id") or "",
        respond=respond if body.get("response_url") else None,
        view=view["id"] if view.get("type") == "modal" else "",
        is_home=view.get("type") == "home",
        is_ephemeral=bool(container.get("is_ephemeral")),
        clicked_ts=message.get("ts") or "",
        event_ts=event.get("ts") or "",
    )
    ids = (origin.user, origin.name, origin.channel, origin.channel_name, origin.thread_ts, origin.trigger)
    if not all(isinstance(text, str) for text in (*ids, origin.view, origin.clicked_ts, origin.event_ts)):
        raise TypeError("an id is no text")
    return origin


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


def bolt_app(listeners: Listeners, slack: WebApi, *, signing_secret: str) -> AsyncApp:
    """Bolt reads and checks requests; it makes no call to Slack before it acknowledges, once the bot knows itself."""

    async def authorize(enterprise_id: str | None, team_id: str | None) -> AuthorizeResult:
        if not slack.identity:  # readiness asks at once and then every minute
            with contextlib.suppress(SlackError):
                await slack.call("auth.test", seconds=IDENTIFIED_WITHIN)
        return AuthorizeResult(
            enterprise_id=enterprise_id,
            team_id=team_id,
            bot_token=slack.client.token,
            # By these Bolt knows the bot's own events and leaves them out.
            bot_id=slack.identity.get("bot_id"),
            bot_user_id=slack.identity.get("user_id"),
        )

    app = AsyncApp(
        name="outreach",  # without a name Bolt reads the source of every frame of the stack to find one
        signing_secret=signing_secret,
        client=slack.client,
        authorize=authorize,
        logger=logs.BOLT,
    )
    app.middleware(listeners)
    return app
