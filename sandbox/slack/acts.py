"""The acts of people in Slack, and what Slack sends to the bot for each."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from pydantic import BaseModel, ConfigDict

from sandbox.slack import inputs, payloads, response_urls, seed, views
from sandbox.slack.content import checked_content
from sandbox.slack.delivery import FORM_TYPE, Ack, Delivery
from sandbox.slack.errors import InvalidActionError, SlackError
from sandbox.slack.model import Channel, Json, Message, User
from sandbox.slack.settings import Amount, LocalUrl, Word
from sandbox.slack.workspace import Workspace

MAX_WAIT_SECONDS = 30.0
CONNECTION_TROUBLE = "We had some trouble connecting. Try again?"


class Body(BaseModel):
    """The fields of acts and queries; each takes those that it names."""

    model_config = ConfigDict(extra="forbid")

    user: str = seed.ANN.name
    channel: str | None = None
    wait: Amount = 0
    team: str = ""
    text: str | None = None
    thread_ts: str | None = None
    ts: str | None = None
    action_id: str = ""
    block_id: str = ""
    value: Any = None
    values: dict[str, Any] = {}
    offered: list[dict[str, Any]] = []
    view: bool = False
    home: bool = False
    callback_id: str | None = None
    name: str | None = None
    limit: int = 10_000
    after: int = 0
    everything: bool = False
    url: LocalUrl = None
    advance: float | None = None
    act: str | None = None
    revoked: bool = True
    uninstalled: bool = False
    set: frozenset[Word] | None = None
    add: frozenset[Word] = frozenset()
    remove: frozenset[Word] | str = frozenset()
    archived: bool = True
    id: str | None = None
    invite: str | None = None
    event: dict[str, Any] | None = None
    event_id: str = ""
    body: str | None = None
    content_type: str = FORM_TYPE

    def need(self, name: str) -> Any:
        """Return a field. Raises `InvalidActionError` where it isn't there."""
        value = getattr(self, name)
        if value is None:
            raise InvalidActionError(f"missing: {name}")
        return value


class Act:
    """One act of a person, as a request tells it. Raises `InvalidActionError` where they can't act.

    `or_bot` lets another app's bot act.
    """

    def __init__(self, workspace: Workspace, delivery: Delivery, body: Body, *, or_bot: bool = False) -> None:
        self.workspace = workspace
        self.delivery = delivery
        self.body = body
        self.user = person(workspace, body.user, or_bot=or_bot)
        self._since = workspace.feed.number

    @property
    def channel(self) -> Channel:
        """The conversation that the act names, if the person is in it."""
        name = self.body.channel or seed.ALERTS
        if name == "dm":
            return self.workspace.direct(self.user.id)
        try:
            channel = self.workspace.channel(name)
        except SlackError as error:
            raise InvalidActionError(f"no channel {name!r}") from error
        if self.user.id not in channel.members:
            raise InvalidActionError(f"{self.user.name} is not in {channel.name}")
        return channel

    @property
    def top(self) -> Json:
        """The open modal."""
        view = views.top_view(self.workspace, self.user.id)
        if view is None:
            raise InvalidActionError(f"no modal is open for {self.user.name}")
        return view

    @property
    def home(self) -> Json | None:
        return views.home_view(self.workspace, self.user.id)

    @property
    def message(self) -> Message:
        channel, ts = self.channel, self.body.need("ts")
        found = channel.find(ts)
        if found is None or found.seen_by not in (None, self.user.id):
            raise InvalidActionError(f"no message {ts} in {channel.name}")
        return found

    def element(self) -> tuple[Json, Json, Message | None, Json]:
        """Return a block, its element, and the message or the view that they are in."""
        body, message = self.body, None
        view: Json = {}
        if body.view:
            view = self.top
        elif body.home:
            view = self.home or {"blocks": []}
        else:
            message = self.message
        blocks = message.blocks if message else view["blocks"]
        found = inputs.find(blocks, action_id=body.action_id, text=body.text or "", block_id=body.block_id)
        return *found, message, view

    async def interact(self, kind: str, *, name: str, **fields: Any) -> Ack:
        payload = payloads.interaction(kind, self.workspace, user=self.user, **fields)
        payload = payloads.from_team(payload, self.body.team)
        return await self.delivery.send("interactive", payload, name=name)

    async def answers(self, channel: Channel) -> Json:
        """Return what the bot did since: messages in the channel, and the view in front."""
        await self.wait(lambda: bool(self._seen(channel)) or self.opened())
        view = views.top_view(self.workspace, self.user.id)
        return {"answers": self._seen(channel), "view": view}

    async def wait(self, condition: Callable[[], bool]) -> None:
        if self.body.wait:
            seconds = min(self.body.wait, MAX_WAIT_SECONDS)
            await self.workspace.feed.until(condition, timeout=seconds)

    def _seen(self, channel: Channel) -> list[Json]:
        """Return the last state of each message of the bot or Slackbot that the person sees."""
        latest: dict[str, Json] = {}
        for event in self.workspace.feed.since(self._since) or []:
            is_message = event.kind in ("message", "message_changed")
            if is_message and event.only_for in (None, self.user.id):
                by_bot = self.workspace.users[event.data["user"]].is_bot
                if by_bot and event.data["channel"] == channel.id:
                    latest[event.data["ts"]] = event.data
        return list(latest.values())

    def opened(self) -> bool:
        events = self.workspace.feed.since(self._since) or []
        return any(one.kind in ("view", "home") and one.only_for == self.user.id for one in events)


def person(workspace: Workspace, name: str, *, or_bot: bool = False) -> User:
    """Find someone who can act. Raises `InvalidActionError`."""
    try:
        user = workspace.user(name)
    except SlackError as error:
        known = ", ".join(user.name for user in workspace.users.values() if not user.is_bot)
        raise InvalidActionError(f"no person {name!r}; there are: {known}") from error
    if user.id == seed.BOT.id or (user.is_bot and not or_bot):
        raise InvalidActionError(f"{name!r} is a bot")
    if user.deleted:
        raise InvalidActionError(f"{user.name} is deactivated")
    return user


async def command(act: Act) -> Json:
    """Type a slash command: text. Slackbot reports a bot that doesn't answer in time.

    Answers ack {ok, ms, status, error, body}, trigger_id, response_url, answers and view.
    """
    workspace, channel, user = act.workspace, act.channel, act.user
    # Slack takes the spaces around a command away before it looks for its name.
    typed = act.body.need("text").strip()
    name, _, text = typed.partition(" ")
    commands = {one.command: one for one in workspace.settings.commands}

    def notice(text: str) -> None:
        workspace.post(channel, user=seed.SLACKBOT.id, text=text, seen_by=user.id)

    if name not in commands:
        notice(f"`{name}` is not a valid command.")
        raise InvalidActionError(f"{name} is not a valid command")
    if commands[name].should_escape:
        text = payloads.escaped(text, workspace)
    issued = workspace.issue_response_url(user.id, channel)
    handed_out = {
        "trigger_id": workspace.issue_trigger(user.id),
        "response_url": response_urls.address(workspace, issued),
    }
    form = payloads.slash_command(name, text.strip(), workspace, user, channel, **handed_out)
    form = payloads.from_team(form, act.body.team)
    # Never sent again: a command that was carried out late must not be carried out twice.
    ack = await act.delivery.send("slash_commands", form, name=typed)
    error = ack.error
    if ack.ok and ack.body:
        body = {"text": ack.body} if isinstance(ack.body, str) else ack.body
        try:
            response_urls.respond(workspace, issued, body)
        except SlackError as refusal:
            error = refusal.error
    if error is not None:
        notice(f"`{name}` failed with the error `{error}`")
    return {"ack": ack.to_json(), **handed_out, **await act.answers(channel)}


async def message(act: Act) -> Json:
    """Post a message: text, thread_ts; the user may be another app's bot.

    Answers message and answers.
    """
    workspace, channel = act.workspace, act.channel
    content = checked_content({"text": act.body.need("text")}, workspace.block_problems)
    if channel.is_archived:
        raise InvalidActionError(f"{channel.name} is archived")
    posted = workspace.post(channel, user=act.user.id, text=content["text"], thread_ts=act.body.thread_ts)
    workspace.read_until[act.user.id, channel.id] = posted.ts
    act.delivery.message_posted(posted, channel, team=act.body.team)
    return {"message": posted.to_json(), **await act.answers(channel)}


async def click(act: Act) -> Json:
    """Act on an element of the message ts, of the open modal (view) or of Home (home).

    It is named by action_id or a button's text, and block_id. value is the choice (an option's
    value, an id, a date, a list), values are those of inputs beside it. Answers as command does.
    """
    workspace, user = act.workspace, act.user
    block, element, source, view = act.element()
    is_chosen = "value" in act.body.model_fields_set
    value = act.body.value if is_chosen else inputs.UNSET
    action = inputs.action_of(block, element, value, now=workspace.clock.now())
    blocks = source.blocks if source else view["blocks"]
    state = inputs.state(blocks, act.body.values)
    handed_out = {"trigger_id": workspace.issue_trigger(user.id)}
    if source is not None:
        channel = workspace.channels[source.channel]
        issued = workspace.issue_response_url(user.id, channel, source)
        handed_out["response_url"] = response_urls.address(workspace, issued)
        fields: Json = {"channel": channel, "state": state}
        # The content of an ephemeral message is not sent.
        if source.seen_by is None:
            fields["message"] = source.to_slack()
    else:
        channel = workspace.direct(user.id)
        fields = {"view": {**view, "state": state}}
    ack = await act.interact(
        "block_actions",
        name=f"action {element['action_id']}",
        container=payloads.container(source, view),
        actions=[action],
        **handed_out,
        **fields,
    )
    # The page shows a triangle beside what was clicked, as Slack does.
    if not ack.ok:
        place = {"ts": source.ts} if source else {"view": view["id"]}
        workspace.feed.publish("failure", {"error": ack.error, **place}, only_for=user.id)
    return {"ack": ack.to_json(), **handed_out, **await act.answers(channel)}


async def options(act: Act) -> Json:
    """Type value into an external select, named as in click. Answers options.

    There are none where Slack has no address to ask.
    """
    workspace = act.workspace
    block, element, source, view = act.element()
    if not (workspace.settings.loads_options or workspace.sockets.ready):
        return {"ack": None, "options": []}
    ack = await act.interact(
        "block_suggestion",
        name=f"options {element['action_id']}",
        action_id=element["action_id"],
        block_id=block["block_id"],
        value=str(act.body.value or ""),
        container=payloads.container(source, view),
        **({"view": view} if view else {}),
    )
    body = ack.body if ack.ok and isinstance(ack.body, dict) else {}
    return {"ack": ack.to_json(), "options": inputs.options(body)[:100]}


async def shortcut(act: Act) -> Json:
    """Choose a global shortcut: callback_id. Answers as command does."""
    callback_id, channel = act.body.need("callback_id"), act.channel
    trigger = act.workspace.issue_trigger(act.user.id)
    name = f"shortcut {callback_id}"
    ack = await act.interact("shortcut", name=name, trigger_id=trigger, callback_id=callback_id)
    return {"ack": ack.to_json(), "trigger_id": trigger, **await act.answers(channel)}


async def submit_view(act: Act) -> Json:
    """Press the button of the open modal: values by action id, or by block id and action id.

    offered: options of external selects. Answers errors by block id, view, ack and answers.
    """
    view, channel = act.top, act.channel
    state = inputs.state(view["blocks"], act.body.values, offered=act.body.offered)
    # Slack asks for these itself, and the app isn't told until they are filled in.
    if errors := inputs.missing(view["blocks"], state):
        return {"errors": errors, "view": view, "ack": None, "answers": []}
    ack = await act.interact(
        "view_submission",
        name=f"submit {view['callback_id']}",
        trigger_id=act.workspace.issue_trigger(act.user.id),
        view={**view, "state": state},
        response_urls=[],
    )
    outcome: Json = {"errors": {"": CONNECTION_TROUBLE}, "error": ack.error}
    if ack.ok:
        body = ack.body if isinstance(ack.body, dict) else {}
        try:
            outcome = {"errors": _respond(act, view, body)}
        except SlackError as refusal:
            outcome |= {"error": refusal.error, "messages": list(refusal.messages)}
    shown_view = views.top_view(act.workspace, act.user.id)
    answers = await act.answers(channel)
    return {**answers, **outcome, "ack": ack.to_json(), "view": shown_view}


def _respond(act: Act, view: Json, body: Json) -> Json:
    """Carry out a `response_action`; returns errors by block id. Raises `SlackError`."""
    workspace, user, new = act.workspace, act.user.id, body.get("view")
    match body.get("response_action"):
        case "errors":
            return _input_errors(view, body.get("errors"))
        case "update":
            views.update_view(workspace, view, new)
        case "clear" | None:
            views.close_view(workspace, user)
        case kind:
            line = f"unknown response_action: {kind}"
            raise SlackError("invalid_response_action", messages=[line])
    return {}


def _input_errors(view: Json, errors: Any) -> Json:
    """Return errors by block id. Raises `SlackError` unless they name input blocks of the view."""
    known = {block["block_id"] for block in view["blocks"] if block["type"] == "input"}
    if not isinstance(errors, dict) or not errors or not set(errors) <= known:
        line = f"errors must name input blocks: {', '.join(sorted(known))}"
        raise SlackError("invalid_errors", messages=[line])
    return errors


async def close_view(act: Act) -> Json:
    """Close the open modal. Answers view."""
    assert act.top
    views.close_view(act.workspace, act.user.id)
    return {"view": None}


async def open_home(act: Act) -> Json:
    """Open the bot's Home. Answers view."""
    view: Json = {"view": act.home} if act.home else {}
    channel = act.workspace.direct(act.user.id).id
    act.delivery.fire("app_home_opened", user=act.user.id, channel=channel, tab="home", **view)
    await act.wait(act.opened)
    return {"view": act.home}


async def mark_read(act: Act) -> Json:
    """Mark everything in channel as read."""
    channel = act.channel
    last = next(reversed(channel.messages), "0")
    act.workspace.read_until[act.user.id, channel.id] = last
    return {"read_until": last}


PersonAct = Callable[[Act], Awaitable[Json]]
ACTS: dict[str, PersonAct] = {
    "command": command,
    "message": message,
    "click": click,
    "options": options,
    "shortcut": shortcut,
    "view/submit": submit_view,
    "view/close": close_view,
    "home/open": open_home,
    "read": mark_read,
}
