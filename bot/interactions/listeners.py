"""What happens on each request of Slack: it is acknowledged first, and answered in a task of its own.

All do the same: read who asks, what and where (`Origin`), run the line, and send its Card back, only to the person or,
after a change, to the channel. The person always gets an answer, even after a failure, and a refusal never replaces the
card that was clicked.

A response address accepts five messages within half an hour; an answer uses at most two. If it accepts no more, the
answer is a message that only the person sees. A slash command's address can replace and delete nothing
(https://github.com/slackapi/bolt-python/issues/1268), and what is said at the address of a card can't be replaced
either: so only a question that the person alone sees shows that its answer takes long.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import secrets
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

from bot import blockkit
from bot.blockkit import (
    LOOKS,
    PICK,
    RUN,
    Confirm,
    Message,
    OnAlert,
    OpenForm,
    ShowSample,
    change_of,
    read_value,
)
from bot.cards import write_answer, write_note
from bot.commands import dispatch
from bot.commands.context import Answer, WorkspaceCache
from bot.commands.dispatch import FORMS, WHICH_ALERT, Asker, CommandDispatcher, failure
from bot.core import Core
from bot.interactions import forms
from bot.interactions.gate import ANSWERED_WITHIN, RequestGate, read_text
from bot.interactions.home import HomeTab
from bot.slack.web_api import NO_UNFURL, POST, SlackError, WebApi, respond_to
from bot.telemetry import logs
from shared.api.errors import OutreachError
from shared.commands import invocation
from shared.commands.base import CommandContext
from shared.commands.help import Help
from shared.commands.status import Status
from shared.commands.subscribe import Subscribe
from shared.domain.card import Action, Button, Card, Tone, Typed, warning
from shared.domain.event_kinds import INTERESTED, PAUSED
from shared.frozen import frozen
from shared.records import RecordsUnavailable
from shared.store.messages import AWAITED, PlannedPost
from shared.store.post_kinds import ANSWER
from shared.store.subscriptions import about_setting
from shared.text.tokenize import from_slack

CHOICES_SECONDS = 2.0
"""The service gets so long to list its sequences: Slack waits three seconds for a menu's options."""
OTHERS_SECONDS = 0.2
"""An answer begins so late at most because other requests wait for their acknowledgement."""
UPDATE_DELAY_SECONDS = 0.3
"""An answer waits so long for the acknowledgement that changes its view, which would be painted over it."""
PROGRESS_AFTER = 2.0
"""Seconds after which a note says that the answer takes longer."""
UNKNOWN = warning(
    "This button is from an older version",
    "It no longer works. `/outreach help` lists the current commands.",
    buttons=(Button("Help", Help()),),
)
NOBODY = warning(
    "Slack didn't say who sent this", "Workflows can't run commands. Mention me from your own account."
)
ON_ITS_WAY = Card("Working …", text=("The answer will appear here.",))
GREETING = Card(
    "Outreach is ready",
    text=(
        "I can post interested replies and paused domains to this channel, with buttons to claim replies and pause sequences.",
        "`/outreach subscriptions` shows what is posted here, `/outreach subscribe` adds to it.",
        "In a thread, mention me, followed by the command.",
    ),
    buttons=(
        Button("Subscribe this channel", Subscribe(events=(INTERESTED, PAUSED)), tone=Tone.GOOD),
        Button("Show a sample card", ShowSample()),
        Button("Help", Help()),
    ),
    footer="Guests can view, but not change anything. People from other organizations see nothing unless an admin allows it.",
)
Body = Mapping[str, Any]
Listener = Callable[[Body, "Origin"], Coroutine[Any, Any, None]]
_CALLED = re.compile(r"^\s*<@[^>]+>\s*")
_ANSWERED = frozenset({"command", "shortcut", "message_action", "block_actions"})
"""Requests that have an answer also where they come from an older version."""

log = structlog.get_logger("dialogs")
_WORKING = blockkit.render(ON_ITS_WAY)


@frozen
class Origin(Asker):
    """A request of Slack: who asks, and the place of the answer."""

    thread_ts: str
    """The thread in which the person wrote or clicked; an answer goes there only when it is named.

    https://docs.slack.dev/interactivity/handling-user-interaction#publishing_in_thread
    """
    trigger: str
    """With it a modal can be opened within three seconds."""
    respond: AsyncRespond | None
    """The response address."""
    view: str
    """The open modal that shows the answer."""
    is_home: bool
    """It was clicked on Home, which shows the result itself."""
    is_ephemeral: bool
    """Only the person sees the message that was clicked."""
    clicked_ts: str
    """The message that was clicked."""
    asked: Action | None = None
    """The action of the click."""
    event_ts: str
    """The message of the person that is answered once."""

    @property
    def places(self) -> tuple[str, ...]:
        """The ids under which the store may know this channel's messages.

        What was posted to a person is stored under the person's id and stands in their D… channel with the bot.
        """
        return (self.channel, self.user) if self.channel.startswith("D") else (self.channel,)


class Listeners(AsyncMiddleware):
    """Bolt's only middleware beside its own; `drain` waits for the answers under way."""

    def __init__(self, core: Core, *, self_test: Callable[[CommandContext], Awaitable[Card]]) -> None:
        self._contexts, self._slack, self.gate = core.contexts, core.slack, RequestGate(core)
        self._cache = WorkspaceCache(core.contexts)
        self._dispatcher = CommandDispatcher(
            core.contexts, core.directory, signals=core.signals, self_test=self_test
        )
        self._answers, self._home = Answers(core), HomeTab(core, cache=self._cache)
        self._active: set[asyncio.Task[None]] = set()
        self._arriving, self._acknowledged = 0, asyncio.Event()
        self._listeners: Mapping[tuple[str, str], Listener] = {
            ("command", "/outreach"): self._command,
            ("block_actions", RUN): self._click,
            ("block_actions", forms.WORKSPACE): self._choose_workspace,
            ("event_callback", "app_mention"): self._message,
            ("event_callback", "message"): self._message,
            ("event_callback", "member_joined_channel"): self._joined,
            ("event_callback", "app_home_opened"): self._visit,
            # Global shortcuts, which are chosen in no channel.
            ("shortcut", "status"): lambda _, origin: self._act(invocation(Status()), origin),
            ("shortcut", "pause_form"): lambda _, origin: self._act(OpenForm(verb="pause"), origin),
        }

    async def async_process(
        self,
        *,
        req: AsyncBoltRequest,
        resp: BoltResponse,
        next: Any,  # noqa: A002 # Bolt's name
    ) -> BoltResponse:
        """Acknowledge a request: what this returns is Bolt's answer to Slack. One of an odd shape gets 400."""
        body, ack = req.body, req.context.ack
        self._arriving += 1
        self._acknowledged.clear()
        try:
            if not await self.gate.admits(body):
                return await ack()
            origin, listener = _origin(body, req.context.respond), self._listener(body)
            if body.get("type") == "block_suggestion":
                return await ack(options=await self._choices(body, origin))
            if body.get("type") == "view_submission":
                return await self._submit(body["view"], ack, origin)
            if listener:
                self._start(listener(body, origin), origin)
            return await ack()
        except (AttributeError, LookupError, TypeError, ValueError) as error:
            log.warning("request not understood", error=type(error).__name__, exc_info=error)
            return BoltResponse(status=400)
        finally:
            self._arriving -= 1
            if not self._arriving:
                self._acknowledged.set()

    def _listener(self, body: Body) -> Listener | None:
        """The listener of a request; commands, clicks and shortcuts of older versions have one, too."""
        kind = "command" if "command" in body else body["type"]
        if kind == "block_actions":
            name = body["actions"][0]["action_id"].partition("_")[0]
        else:
            name = read_text(body, "event.type", "command", "callback_id")
        unknown = self._unknown if kind in _ANSWERED else None
        return self._listeners.get((kind, name), unknown)

    def _start(self, work: Coroutine[Any, Any, None], origin: Origin) -> None:
        async def finish() -> None:
            # Many who ask at once are all acknowledged before the first answer takes the processor.
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(OTHERS_SECONDS):
                    await self._acknowledged.wait()
            try:
                await work
            except Exception as error:  # noqa: BLE001 # the person gets an error with a reference
                await self._answers.send(Answer(failure(error)), origin)

        task = asyncio.create_task(finish(), name="listener")
        # The event loop itself keeps no reference that would hold a running task.
        self._active.add(task)
        task.add_done_callback(self._active.discard)

    async def drain(self, seconds: float) -> None:
        """Wait for the answers under way before the bot ends."""
        if self._active:
            await asyncio.wait(self._active, timeout=seconds)

    async def _answer(self, answering: Awaitable[Answer], origin: Origin) -> None:
        """Answer, and show on Home what became of it to whom it is open."""
        answer = await self._answers.run(answering, origin)
        is_stale = (answer.public or answer.on_card) and origin.user in self._home.visitors
        if origin.is_home or is_stale:
            await self._home.show(origin.user)

    async def _command(self, body: Body, origin: Origin) -> None:
        """`/outreach …`."""
        line = Typed(from_slack(body.get("text") or ""))
        await self._answer(self._dispatcher.perform(line, origin), origin)

    async def _click(self, body: Body, origin: Origin) -> None:
        """A button or a menu's entry: its value is the line. One that leads somewhere has led there already."""
        clicked = body["actions"][0]
        if "url" in clicked and not clicked.get("value"):
            return
        await self._act(_asked(clicked), origin)

    async def _act(self, asked: Action, origin: Origin) -> None:
        if isinstance(asked, OpenForm):
            await self._open_form(asked, origin)
            return
        origin = replace(origin, asked=asked)
        is_look = isinstance(asked, OnAlert) and asked.verb in LOOKS
        # Home shows what its buttons did. A look may take long and doesn't concern the channel.
        needs_modal = is_look or not (origin.channel or isinstance(asked, OnAlert | ShowSample))
        if needs_modal and not origin.view:
            with contextlib.suppress(SlackError):
                origin = await self._answers.open_modal(origin)
        await self._answer(self._dispatcher.perform(asked, origin), origin)

    async def _open_form(self, asked: OpenForm, origin: Origin) -> None:
        """A command's empty form, while the trigger of the click is valid."""
        if asked.verb not in FORMS:  # a button of an older version
            await self._answers.open_modal(origin, UNKNOWN)
            return
        caller = await self._dispatcher.caller_in_time(origin)
        if caller.may(asked.verb):
            view = self._form(asked.verb, origin.channel, asked.workspace)
            await self._slack.call("views.open", trigger_id=origin.trigger, view=view)
        else:
            refused = await caller.refuse(asked.verb, asked.verb, asked.workspace)
            await self._answers.open_modal(origin, refused.card)

    async def _choose_workspace(self, body: Body, origin: Origin) -> None:
        """Another workspace is chosen in a form."""
        view, name = body["view"], body["actions"][0]["selected_option"]["value"]
        if verb := forms.verb_of(view):
            changed = self._form(verb, origin.channel, name)
            await self._slack.call("views.update", view_id=view["id"], hash=view["hash"], view=changed)

    def _form(self, verb: str, channel: str, workspace: str) -> forms.View:
        names = tuple(self._contexts.settings.workspaces)
        chosen = self._contexts.workspace_or_own(workspace, channel=channel).name
        return forms.form_view(verb, channel, workspace=chosen, workspaces=names)

    async def _submit(self, view: Body, ack: AsyncAck, origin: Origin) -> BoltResponse:
        """A form: errors are shown at their fields, else its command runs, and the modal shows the answer."""
        arguments = forms.read_form(view)
        if arguments is None:
            return await ack(response_action="update", view=forms.ack_view(UNKNOWN))
        if isinstance(arguments, dict):
            return await ack(response_action="errors", errors=arguments)
        asked = invocation(arguments, workspace=forms.metadata_of(view, forms.WORKSPACE))

        async def answer() -> None:
            await asyncio.sleep(UPDATE_DELAY_SECONDS)
            await self._answer(self._dispatcher.perform(asked, origin), origin)

        self._start(answer(), origin)
        return await ack(response_action="update", view=forms.ack_view(ON_ITS_WAY, channel=origin.channel))

    async def _choices(self, body: Body, origin: Origin) -> list[dict[str, Any]]:
        """The options of a menu of sequences while a person types; none where the service does not answer in time."""
        view = body.get("view") or {}
        verb = forms.verb_of(view)
        if not verb:
            return []
        name = forms.metadata_of(view, forms.WORKSPACE)
        workspace = self._contexts.workspace_or_own(name, channel=origin.channel).name
        try:
            if not (await self._dispatcher.caller_in_time(origin)).may(verb):
                return []
            async with asyncio.timeout(CHOICES_SECONDS):
                sequences = await self._cache.read("list_sequences", workspace)
        except (OutreachError, TimeoutError) as error:
            log.info("no sequences for a menu", error=type(error).__name__)
            return []
        return forms.options(sequences, str(body.get("value") or ""))

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
            return Answer(NOBODY)
        workspaces, alerts = self._contexts.settings.workspaces, self._contexts.store.alerts
        alert = await alerts.in_message(origin.places, thread_ts) if thread_ts else None
        if alert is None or alert.workspace not in workspaces:
            if dispatch.needs_alert(line):
                return Answer(WHICH_ALERT)
            return replace(await self._dispatcher.perform(Typed(line), origin), noted=False)
        action = dispatch.action_about(line, alert, several=len(workspaces) > 1)
        return await self._dispatcher.perform(action, origin)

    async def _joined(self, body: Body, origin: Origin) -> None:
        """The bot joined a channel: held alerts are posted, and whoever invited it gets the greeting.

        If the bot joined a subscribed channel itself, there is no `inviter`
        (https://docs.slack.dev/reference/events/member_joined_channel).
        """
        if origin.user == self._slack.identity.get("user_id"):
            await self.gate.reopen(origin.channel)
            if body["event"].get("inviter"):
                await self._answers.say(GREETING, origin.channel)

    async def _visit(self, body: Body, origin: Origin) -> None:
        """A person opens the app's tabs."""
        if body["event"].get("tab", "home") == "home":
            if body["event"].get("view"):  # what they saw last stands there until it is read anew
                self._home.visitors.add(origin.user)
            await self._home.show(origin.user)

    async def _unknown(self, _: Body, origin: Origin) -> None:
        """A command of another name, or a button of an older version."""
        await self._answers.send(Answer(UNKNOWN), origin)


def render_answer(answer: Answer) -> Message:
    """The answer as a message."""
    card, items = answer.card, answer.items
    card = replace(card, footer=" · ".join(filter(None, (card.footer, answer.by))))
    if answer.public and not (items or card.table or card.quote):
        # What was done is news for a channel, and no headline.
        return blockkit.render_condensed(replace(card, tone=Tone.INFO))
    return blockkit.render(card, items)


class Answers:
    """`run` waits for an answer and sends it; `send` sends one that is known already.

    A change is posted through the delivery queue: within the same limits as alerts, before them, and it survives a rate
    limit or a restart, because it waits in the store like an alert.
    """

    def __init__(self, core: Core) -> None:
        self._contexts, self._directory, self._slack = core.contexts, core.directory, core.slack
        self._store, self._changed = core.store, core.signals.changed

    async def run(self, answering: Awaitable[Answer], to: Origin) -> Answer:
        """Wait for the answer and send it; a question that only the person sees says meanwhile that it takes long.

        A change that was made in a modal is posted in its channel, and one that was made in private in the alert channel.
        """
        task = asyncio.ensure_future(answering)
        try:
            done, _ = await asyncio.wait({task}, timeout=PROGRESS_AFTER)
            is_late = not done and to.is_ephemeral and isinstance(to.asked, Confirm)
            if is_late and to.respond:
                await _send(to.respond, _WORKING, replace_original=True)
            answer = await task
        finally:
            # A bot that is stopped meanwhile leaves nothing running unseen.
            task.cancel()
        if is_late:  # it takes the place of the note
            answer = replace(answer, settles=True)
        place = to.channel
        if not place or place.startswith("D"):
            place = self._contexts.workspace_or_own(answer.workspace).alert_channel or ""
        # A modal is seen by one person alone, so the channel has no answer yet; what was changed in private, none at all.
        is_answered = place == to.channel and not to.view
        is_news = answer.public and place and not is_answered
        if is_news and await self._directory.may_read(answer.about, place):
            await self._post(answer, place)
        await self.send(answer, to)
        return answer

    async def send(self, answer: Answer, to: Origin) -> None:
        """Send an answer to the modal or address of its request, into its thread, or directly."""
        if to.view:
            await self._show_in_modal(answer, to)
        elif to.respond:
            await self._respond(answer, to.respond, to)
        elif to.event_ts:
            if not answer.noted:
                await self._post(answer, to.channel, thread_ts=to.thread_ts, about=to.event_ts)
        elif not answer.on_card:  # Home shows what was done, and this only what was refused
            await self.say(answer.card, to.user)

    async def open_modal(self, to: Origin, card: Card = ON_ITS_WAY) -> Origin:
        """Open a modal, which must be done within three seconds, and is filled when the answer is ready."""
        view = forms.answer_view(card, channel=to.channel)
        opened = await self._slack.call("views.open", trigger_id=to.trigger, view=view)
        return replace(to, view=str(opened["view"]["id"]))

    async def say(self, card: Card, channel: str) -> None:
        """Post it in a channel, or to a person."""
        await self._call(POST, blockkit.render(card), channel=channel)

    async def _show_in_modal(self, answer: Answer, to: Origin) -> None:
        view = forms.answer_view(answer.card, items=answer.items, channel=to.channel)
        try:
            await self._slack.call("views.update", view_id=to.view, view=view)
        except SlackError as error:
            log.info("modal already closed", error=str(error)[:100])
            if not answer.public:
                await self._call(POST, render_answer(answer), channel=to.user)

    async def _respond(self, answer: Answer, respond: AsyncRespond, to: Origin) -> None:
        """Answer at the address. A question that was clicked goes with its answer; the card that was clicked stays.

        A message of a change that the bot can't edit itself, where it isn't a member, becomes that of its Undo.
        """
        is_stored = reaches = False
        with contextlib.suppress(RecordsUnavailable):
            if to.clicked_ts and not to.is_ephemeral:  # then the delivery worker repaints it
                is_stored = await self._store.repaints.covers(to.places, to.clicked_ts)
            if answer.public:  # where the bot can post it itself, it can edit it later
                reaches = await self._store.outbox.reaches(to.channel)
                reaches = reaches or await self._directory.can_post(to.channel)
        is_replaced = to.is_ephemeral and answer.settles
        is_silent = (answer.on_card and (is_stored or is_replaced)) or (answer.edited and is_stored)
        if is_replaced and (is_silent or answer.public):
            await respond_to(respond, {"delete_original": True})
        if is_silent:
            return
        if reaches:
            await self._post(answer, to.channel, thread_ts=to.thread_ts)
            return
        if answer.public:  # an answer for everybody never takes the place of what one person sees
            is_replaced = not is_stored and change_of(to.asked) > 0
        at = {"thread_ts": to.thread_ts or None}
        how = dict[str, Any](replace_original=is_replaced)
        if not is_replaced:
            how |= at | {"response_type": "in_channel" if answer.public else "ephemeral"}
        if not await _send(respond, render_answer(answer), **how):  # it takes nothing any more
            method, reader = (POST, None) if answer.public else ("chat.postEphemeral", to.user)
            await self._call(method, render_answer(answer), channel=to.channel, user=reader, **at)

    async def _post(self, answer: Answer, channel: str, *, thread_ts: str = "", about: str = "") -> None:
        """Queue it, once per `about`; if the store doesn't respond, send it directly."""
        change = max((change_of(button.action) for button in answer.card.buttons), default=0)
        workspace, setting = answer.workspace, answer.setting
        subject = about_setting(workspace, setting) if setting else f"{ANSWER}:"
        planned = PlannedPost(
            dedupe=f"{subject}{channel}:{about or secrets.token_hex(8)}",
            channel=channel,
            kind=ANSWER,
            urgency=AWAITED,
            note=write_note(answer.card) if change else write_answer(render_answer(answer)),
            thread_ts=thread_ts,
            undo=change,
        )
        try:
            if setting:
                await self._store.plan_about(workspace, setting, planned, number=answer.number)
            else:
                await self._store.outbox.plan([(workspace, planned)])
        except RecordsUnavailable as error:
            log.warning("an answer is sent without the queue", error=str(error))
            await self._call(POST, render_answer(answer), channel=channel, thread_ts=thread_ts or None)
        else:
            self._changed()

    async def _call(self, method: str, message: Message, **body: Any) -> None:
        """Call Slack with a message; what it refuses is lost."""
        how = NO_UNFURL if method == POST else {}
        try:
            await self._slack.call(method, retry=True, **message.body, **how, **body)
        except SlackError as error:
            log.warning("an answer was lost", error=str(error)[:200], channel=body["channel"])


async def _send(respond: AsyncRespond, message: Message, **how: Any) -> bool:
    return await respond_to(respond, {**message.body, **NO_UNFURL, **how})


def _origin(body: Body, respond: AsyncRespond | None) -> Origin:
    """Who sent a command or a message, or pressed something, and the place of the answer.

    Raises `TypeError` where an id isn't a text, and `LookupError` where nobody asks.
    """
    first = partial(read_text, body)
    view, container, event = body.get("view") or {}, body.get("container") or {}, body.get("event") or {}
    user = first("event.user") if event else first("user_id", "user.id")
    if not (user or event):
        raise LookupError("nobody asks")
    return Origin(
        user=user,
        name=first("user_name", "user.username"),
        # A bot's message has `bot_id`, whatever name it was posted under; a workflow's may have no `user`.
        # https://docs.slack.dev/reference/events/message/bot_message
        is_bot=bool(event.get("bot_id")),
        channel=first("event.channel", "channel_id", "channel.id") or forms.metadata_of(view, "channel"),
        thread_ts=first("event.thread_ts", "container.thread_ts"),
        trigger=first("trigger_id"),
        respond=respond if body.get("response_url") else None,
        view=first("view.id") if view.get("type") == "modal" else "",
        is_home=view.get("type") == "home",
        is_ephemeral=bool(container.get("is_ephemeral")),
        clicked_ts=first("message.ts"),
        event_ts=first("event.ts"),
    )


def _asked(action: Mapping[str, Any]) -> Action:
    """Read the action of a click."""
    picked = {"detail": action.get("selected_date_time"), "person": action.get("selected_user")}
    given: dict[str, Any] = {name: str(value) for name, value in picked.items() if value}
    value = str((action.get("selected_option") or {}).get("value") or action.get("value") or "")
    if given:
        value = str(action["action_id"]).removeprefix(PICK)
    asked = read_value(value)
    return replace(asked, **given) if isinstance(asked, OnAlert) else asked


def bolt_app(listeners: Listeners, slack: WebApi) -> AsyncApp:
    """Have Bolt read requests for the listeners; it makes no call to Slack before it acknowledges, once the bot knows itself."""

    async def authorize(enterprise_id: str | None, team_id: str | None) -> AuthorizeResult:
        if not slack.identity:  # readiness asks at once and then every minute
            with contextlib.suppress(SlackError):
                await slack.call("auth.test", seconds=ANSWERED_WITHIN)
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
        request_verification_enabled=False,  # a request that comes over HTTP was verified before
        client=slack.client,
        authorize=authorize,
        logger=logs.BOLT,
    )
    app.middleware(listeners)
    return app
