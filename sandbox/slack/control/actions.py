"""The control API's actions: what a person does in Slack, and how the bot answered."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any

from sandbox.slack.control.reports import described
from sandbox.slack.people import input_values, modals
from sandbox.slack.state.errors import InvalidActionError
from sandbox.slack.state.model import Channel, Json, Message, User
from sandbox.slack.web_api.files import MAX_BYTES, file_object, register
from sandbox.slack.workspace import Workspace

Body = dict[str, Any]


def acting_user(workspace: Workspace, body: Body) -> User:
    """Who acts: `user`, or the first person there is; raises `InvalidActionError`."""
    first = next(user.id for user in workspace.world.users.values() if not user.is_bot)
    return workspace.people.person(str(body.get("user") or first))


def _channel(workspace: Workspace, body: Body, user: User) -> Channel:
    """`channel`, `dm` for the conversation with the bot of `app`, or the first channel."""
    name = body.get("channel") or next(iter(workspace.world.channels))
    if name == "dm":
        return workspace.world.direct(user.id, workspace.installation(body.get("app")).app)
    return workspace.people.channel(str(name), user)


def _message(workspace: Workspace, body: Body, user: User) -> Message:
    channel = _channel(workspace, body, user)
    found = channel.find(str(body["ts"]))
    if found is None or found.seen_by not in (None, user.id):
        raise InvalidActionError(f"no message {body['ts']} in {channel.name}")
    return found


def _values(body: Body) -> Json:
    values = body.get("values") or {}
    if not isinstance(values, dict):
        raise InvalidActionError("values: an object by block id and action id")
    return values


async def _answers(workspace: Workspace, body: Body, *, user: User, channel: Channel, since: int) -> Json:
    """What the bot did since: messages that `user` sees in `channel`, changes, and the view in front."""
    min_answers = int(body.get("answers", 1))

    def seen() -> list[Json]:
        return _seen(workspace, user=user, channel=channel, since=since)

    def enough() -> bool:
        return len(seen()) >= min_answers or _opened(workspace, user=user, since=since)

    await _wait(workspace, body, enough)
    return {"answers": seen(), "view": workspace.people.views.top(user.id)}


async def _wait(workspace: Workspace, body: Body, condition: Callable[[], bool]) -> None:
    seconds = float(body.get("wait", 0))
    if seconds:
        await workspace.feed.until(condition, timeout=min(seconds, 30.0))


def _seen(workspace: Workspace, *, user: User, channel: Channel, since: int) -> list[Json]:
    """The latest state of each message that the bot or Slackbot posted or changed."""
    latest: dict[str, Json] = {}
    for item in workspace.feed.since(since) or []:
        if item.kind not in ("message", "message_changed") or item.data["channel"] != channel.id:
            continue
        if item.only_for in (None, user.id) and workspace.world.users[item.data["user"]].is_bot:
            latest[item.data["ts"]] = item.data
    return list(latest.values())


def _opened(workspace: Workspace, *, user: User, since: int) -> bool:
    events = workspace.feed.since(since) or []
    return any(item.kind in ("view", "home") and item.only_for == user.id for item in events)


def _home(workspace: Workspace, body: Body, user: User) -> Json | None:
    return workspace.people.views.home(user.id, workspace.installation(body.get("app")).app)


async def command(workspace: Workspace, body: Body) -> Json:
    """`{text, user, channel, wait, answers}`: type a slash command."""
    user = acting_user(workspace, body)
    channel = _channel(workspace, body, user)
    since = workspace.feed.number
    done = await workspace.people.command(str(body["text"]), user=user, channel=channel)
    return {**done, **await _answers(workspace, body, user=user, channel=channel, since=since)}


async def message(workspace: Workspace, body: Body) -> Json:
    """`{text, user, channel, thread_ts, wait}`: post a message; a bot that is nobody's app can, too."""
    bot = workspace.world.users.get(str(body.get("user")))
    apps = {one.app.user for one in workspace.installations}
    user = bot if bot and bot.is_bot and bot.id not in apps else acting_user(workspace, body)
    channel = _channel(workspace, body, user)
    since = workspace.feed.number
    posted = workspace.people.post(
        str(body["text"]), user=user, channel=channel, thread_ts=body.get("thread_ts")
    )
    workspace.events.message_posted(posted, channel=channel)
    answers = await _answers(workspace, body, user=user, channel=channel, since=since)
    return {"message": described(workspace, posted), **answers}


async def click(workspace: Workspace, body: Body) -> Json:
    """`{user, channel, ts, action_id | text, block_id, value, values, wait}`, or `view: true`, or `home: true`.

    With `element`, a text or an action id, and no place: in the modal in front, else on the newest message that has it,
    else at Home.
    """
    user = acting_user(workspace, body)
    people = workspace.people
    if "element" in body:
        body = _located(workspace, body, user)
    since = workspace.feed.number
    if body.get("view") or body.get("home"):
        view = _view(workspace, body, user)
        done = await people.click_in_view(view, user=user, element=body)
        channel = workspace.world.direct(user.id, people.app_of(view).app)
    else:
        target = _message(workspace, body, user)
        channel = workspace.world.channels[target.channel]
        done = await people.click(target, user=user, element=body)
    return {**done, **await _answers(workspace, body, user=user, channel=channel, since=since)}


def _located(workspace: Workspace, body: Body, user: User) -> Body:
    """`body` with the place of its `element`; raises `InvalidActionError`."""
    name = str(body["element"])
    modal, home = workspace.people.views.top(user.id), _home(workspace, body, user)
    if body.get("ts"):
        message = _message(workspace, body, user)
        return {**body, **input_values.named(message.blocks, name)}
    if modal is not None:
        return {**body, "view": True, **input_values.named(modal["blocks"], name)}
    for message in _newest_first(workspace, body, user):
        if name in input_values.names(message.blocks):
            place = {"channel": message.channel, "ts": message.ts}
            return {**body, **place, **input_values.named(message.blocks, name)}
    return {**body, "home": True, **input_values.named(home["blocks"] if home else [], name)}


def _newest_first(workspace: Workspace, body: Body, user: User) -> list[Message]:
    """The messages that the user sees, in `channel` or anywhere."""
    channels = [one for one in workspace.world.channels.values() if user.id in one.members]
    if body.get("channel"):
        channels = [_channel(workspace, body, user)]
    seen = [one for channel in channels for one in channel.everything() if one.seen_by in (None, user.id)]
    return sorted(seen, key=lambda message: message.ts, reverse=True)


def _view(workspace: Workspace, body: Body, user: User) -> Json:
    found = _home(workspace, body, user) if body.get("home") else workspace.people.views.top(user.id)
    if found is None:
        raise InvalidActionError(f"nothing is open for {user.name}")
    return found


async def options(workspace: Workspace, body: Body) -> Json:
    """`{user, channel, ts | view, action_id, block_id, value}`: type into an external select."""
    user = acting_user(workspace, body)
    in_view = body.get("view") or body.get("home")
    source = _view(workspace, body, user) if in_view else _message(workspace, body, user)
    return await modals.suggest(workspace.people, user=user, source=source, element=body)


async def shortcut(workspace: Workspace, body: Body) -> Json:
    """`{user, callback_id, app}` for a global shortcut; with `channel` and `ts` for a message's."""
    user = acting_user(workspace, body)
    to = workspace.installation(body.get("app") or _offering(workspace, str(body["callback_id"])))
    since = workspace.feed.number
    channel = _channel(workspace, body, user)
    target = _message(workspace, body, user) if body.get("ts") else None
    done = await workspace.people.shortcut(str(body["callback_id"]), to=to, user=user, message=target)
    return {**done, **await _answers(workspace, body, user=user, channel=channel, since=since)}


def _offering(workspace: Workspace, callback_id: str) -> str | None:
    for one in workspace.installations:
        if any(known.get("callback_id") == callback_id for known in one.settings.shortcuts):
            return one.app.id
    return None


async def reaction(workspace: Workspace, body: Body) -> Json:
    """`{user, channel, ts, name}`: react, or take the reaction back."""
    user = acting_user(workspace, body)
    target = _message(workspace, body, user)
    name = str(body["name"]).strip(":")
    users = target.reactions.setdefault(name, [])
    added = user.id not in users
    users.append(user.id) if added else users.remove(user.id)
    if not users:
        del target.reactions[name]
    workspace.world.announce(target, kind="message_changed")
    workspace.events.reaction_changed(target, name=name, by=user.id, added=added)
    return {"added": added}


async def upload(workspace: Workspace, body: Body) -> Json:
    """`{name, content}`, the bytes as base64: choose a file; what is answered is a value for a `file_input`."""
    content = base64.b64decode(str(body["content"]), validate=True)
    if len(content) > MAX_BYTES:
        raise InvalidActionError(f"content: at most {MAX_BYTES} bytes")
    world = workspace.world
    known = register(world, str(body["name"])[:255], size=len(content))
    world.contents[known["id"]] = content
    return {"file": file_object(known, origin=workspace.origin)}


async def submit_view(workspace: Workspace, body: Body) -> Json:
    """`{user, values, offered}`: press the button of the modal in front."""
    user = acting_user(workspace, body)
    people = workspace.people
    values, offered = _values(body), list(body.get("offered") or [])
    since = workspace.feed.number
    done = await modals.submit(people, user=user, values=values, offered=offered)
    channel = _channel(workspace, body, user)
    answers = await _answers(workspace, body, user=user, channel=channel, since=since)
    return {**done, "answers": answers["answers"]}


async def close_view(workspace: Workspace, body: Body) -> Json:
    """`{user, all}`: close the modal in front, or all of them."""
    user = acting_user(workspace, body)
    return await modals.close(workspace.people, user=user, everything=bool(body.get("all")))


async def open_home(workspace: Workspace, body: Body) -> Json:
    """`{user, app, tab, wait}`: open the Home (or `messages`) tab of an app."""
    user = acting_user(workspace, body)
    since, shown = workspace.feed.number, _home(workspace, body, user)
    workspace.events.home_opened(
        user, of=workspace.installation(body.get("app")), tab=str(body.get("tab") or "home"), view=shown
    )
    await _wait(workspace, body, lambda: _opened(workspace, user=user, since=since))
    return {"view": _home(workspace, body, user)}


async def read(workspace: Workspace, body: Body) -> Json:
    """`{user, channel}`: everything there is read."""
    user = acting_user(workspace, body)
    channel = _channel(workspace, body, user)
    last = next(reversed(channel.messages), "0")
    workspace.world.read_until[user.id, channel.id] = last
    return {"read_until": last}
