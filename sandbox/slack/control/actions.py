"""The control API's acts: what a person does in Slack, and what came of it."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

from sandbox.slack.people import modals
from sandbox.slack.people.people import ImpossibleActError
from sandbox.slack.state import seed
from sandbox.slack.state.model import Channel, Json, Message, User
from sandbox.slack.state.rendering import shown
from sandbox.slack.web_api.files import MOST_BYTES, described, register

if TYPE_CHECKING:
    from sandbox.slack.server import SlackStandIn

Body = dict[str, Any]


def _who(standin: SlackStandIn, body: Body) -> User:
    return standin.workspace.people.person(str(body.get("user") or seed.ANN.id))


def _where(standin: SlackStandIn, body: Body, user: User) -> Channel:
    people = standin.workspace.people
    name = str(body.get("channel") or seed.ALERTS)
    if name == "dm":
        return standin.workspace.world.direct(user.id)
    return people.place(name, user)


def _message(standin: SlackStandIn, body: Body, user: User) -> Message:
    channel = _where(standin, body, user)
    found = channel.find(str(body["ts"]))
    if found is None or found.seen_by not in (None, user.id):
        raise ImpossibleActError(f"no message {body['ts']} in {channel.name}")
    return found


def _values(body: Body) -> Json:
    values = body.get("values") or {}
    if not isinstance(values, dict):
        raise ImpossibleActError("values: an object by block id and action id")
    return values


async def _answers(standin: SlackStandIn, body: Body, *, user: User, channel: Channel, since: int) -> Json:
    """What the bot did since: messages that `user` sees in `channel`, changes, and the view in front."""
    wanted = float(body.get("wait", 0))
    at_least = int(body.get("answers", 1))

    def seen() -> list[Json]:
        return _seen(standin, user=user, channel=channel, since=since)

    def enough() -> bool:
        return len(seen()) >= at_least or _opened(standin, user=user, since=since)

    if wanted:
        await standin.feed.until(enough, timeout=min(wanted, 30.0))
    return {"answers": seen(), "view": standin.workspace.people.stage.top(user.id)}


def _seen(standin: SlackStandIn, *, user: User, channel: Channel, since: int) -> list[Json]:
    """The latest state of each message that the bot or Slackbot posted or changed."""
    latest: dict[str, Json] = {}
    for item in standin.feed.since(since) or []:
        if item.kind not in ("message", "message_changed") or item.data["channel"] != channel.id:
            continue
        if item.only_for in (None, user.id) and standin.workspace.world.users[item.data["user"]].is_bot:
            latest[item.data["ts"]] = item.data
    return list(latest.values())


def _opened(standin: SlackStandIn, *, user: User, since: int) -> bool:
    happened = standin.feed.since(since) or []
    return any(item.kind in ("view", "home") and item.only_for == user.id for item in happened)


async def command(standin: SlackStandIn, body: Body) -> Json:
    """`{text, user, channel, wait, answers}`: type a slash command."""
    user = _who(standin, body)
    channel = _where(standin, body, user)
    since = standin.feed.number
    done = await standin.workspace.people.command(str(body["text"]), user=user, channel=channel)
    return {**done, **await _answers(standin, body, user=user, channel=channel, since=since)}


async def message(standin: SlackStandIn, body: Body) -> Json:
    """`{text, user, channel, thread_ts, wait}`: say something; another app's bot can, too."""
    space = standin.workspace
    bot = space.world.users.get(str(body.get("user")))
    user = bot if bot and bot.is_bot and bot.id != seed.BOT.id else _who(standin, body)
    channel = _where(standin, body, user)
    since = standin.feed.number
    said = space.people.say(str(body["text"]), user=user, channel=channel, thread_ts=body.get("thread_ts"))
    space.events.said(said, channel=channel)
    answers = await _answers(standin, body, user=user, channel=channel, since=since)
    return {"message": shown(said), **answers}


async def click(standin: SlackStandIn, body: Body) -> Json:
    """`{user, channel, ts, action_id | text, block_id, value, values, wait}`, or `view: true`, or `home: true`."""
    user = _who(standin, body)
    people = standin.workspace.people
    since = standin.feed.number
    if body.get("view") or body.get("home"):
        done = await people.click_in_view(_view(standin, body, user), user=user, element=body)
        channel = standin.workspace.world.direct(user.id)
    else:
        target = _message(standin, body, user)
        channel = standin.workspace.world.channels[target.channel]
        done = await people.click(target, user=user, element=body)
    return {**done, **await _answers(standin, body, user=user, channel=channel, since=since)}


def _view(standin: SlackStandIn, body: Body, user: User) -> Json:
    space = standin.workspace
    if body.get("home"):
        found = space.world.views.get(space.world.homes.get(user.id, ""))
    else:
        found = space.people.stage.top(user.id)
    if found is None:
        raise ImpossibleActError(f"nothing is open for {user.name}")
    return found


async def options(standin: SlackStandIn, body: Body) -> Json:
    """`{user, channel, ts | view, action_id, block_id, value}`: type into an external select."""
    user = _who(standin, body)
    in_view = body.get("view") or body.get("home")
    source = _view(standin, body, user) if in_view else _message(standin, body, user)
    return await modals.suggest(standin.workspace.people, user=user, source=source, element=body)


async def shortcut(standin: SlackStandIn, body: Body) -> Json:
    """`{user, callback_id}` for a global shortcut; with `channel` and `ts` for a message's."""
    user = _who(standin, body)
    since = standin.feed.number
    people = standin.workspace.people
    channel = _where(standin, body, user)
    target = _message(standin, body, user) if body.get("ts") else None
    done = await modals.shortcut(
        people, str(body["callback_id"]), user=user, channel=channel if target else None, message=target
    )
    return {**done, **await _answers(standin, body, user=user, channel=channel, since=since)}


async def reaction(standin: SlackStandIn, body: Body) -> Json:
    """`{user, channel, ts, name}`: react, or take the reaction back."""
    user = _who(standin, body)
    target = _message(standin, body, user)
    name = str(body["name"]).strip(":")
    users = target.reactions.setdefault(name, [])
    added = user.id not in users
    users.append(user.id) if added else users.remove(user.id)
    if not users:
        del target.reactions[name]
    standin.workspace.world.announce(target, kind="message_changed")
    standin.workspace.events.reacted(target, name=name, by=user.id, added=added)
    return {"added": added}


async def upload(standin: SlackStandIn, body: Body) -> Json:
    """`{name, content}`, the bytes as base64: choose a file; what is answered is a value for a `file_input`."""
    content = base64.b64decode(str(body["content"]), validate=True)
    if len(content) > MOST_BYTES:
        raise ImpossibleActError(f"content: at most {MOST_BYTES} bytes")
    world = standin.workspace.world
    known = register(world, str(body["name"])[:255], size=len(content))
    world.contents[known["id"]] = content
    return {"file": described(known, origin=standin.origin)}


async def submit_view(standin: SlackStandIn, body: Body) -> Json:
    """`{user, values, offered}`: press the button of the modal in front."""
    user = _who(standin, body)
    people = standin.workspace.people
    values, offered = _values(body), list(body.get("offered") or [])
    since = standin.feed.number
    done = await modals.submit(people, user=user, values=values, offered=offered)
    channel = _where(standin, body, user)
    answers = await _answers(standin, body, user=user, channel=channel, since=since)
    return {**done, "answers": answers["answers"]}


async def close_view(standin: SlackStandIn, body: Body) -> Json:
    """`{user, all}`: close the modal in front, or all of them."""
    user = _who(standin, body)
    return await modals.close(standin.workspace.people, user=user, everything=bool(body.get("all")))


async def open_home(standin: SlackStandIn, body: Body) -> Json:
    """`{user, tab, wait}`: open the bot's Home (or `messages`) tab."""
    user = _who(standin, body)
    space = standin.workspace
    since = standin.feed.number
    view = space.world.views.get(space.world.homes.get(user.id, ""))
    space.events.opened_home(user, tab=str(body.get("tab") or "home"), view=view)
    wait = float(body.get("wait", 0))
    if wait:
        await standin.feed.until(lambda: _opened(standin, user=user, since=since), timeout=min(wait, 30.0))
    return {"view": space.world.views.get(space.world.homes.get(user.id, ""))}


async def read(standin: SlackStandIn, body: Body) -> Json:
    """`{user, channel}`: everything there is read."""
    user = _who(standin, body)
    channel = _where(standin, body, user)
    last = next(reversed(channel.messages), "0")
    standin.workspace.world.read_until[user.id, channel.id] = last
    return {"read_until": last}
