"""The control API's actions: what a person does in Slack, and how the bot answered."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any

from sandbox.slack.control.reports import described
from sandbox.slack.people import input_values, modals
from sandbox.slack.state import seed
from sandbox.slack.state.errors import InvalidActionError
from sandbox.slack.state.model import Channel, Json, Message, User
from sandbox.slack.to_bot.installation import Installation
from sandbox.slack.web_api.files import MAX_BYTES, file_object, register
from sandbox.slack.workspace import Workspace

Body = dict[str, Any]


def acting_user(workspace: Workspace, body: Body) -> User:
    """Who acts: `user`, or the first person there is; raises `InvalidActionError`."""
    first = next(user.id for user in workspace.world.users.values() if not user.is_bot)
    return workspace.people.person(str(body.get("user") or first))


def speaking_bot(workspace: Workspace, body: Body) -> User | None:
    """The bot that posts as `user`, if it belongs to no app."""
    found = workspace.world.users.get(str(body.get("user")))
    apps = {one.app.user for one in workspace.installations}
    return found if found and found.is_bot and found.id not in apps else None


class Act:
    """One thing that a person does, as the body of the request tells it; raises `InvalidActionError`."""

    def __init__(self, workspace: Workspace, body: Body, user: User | None = None) -> None:
        self.workspace = workspace
        self.body = body
        self.people = workspace.people
        self.user = user or acting_user(workspace, body)
        self._since = workspace.feed.number

    @property
    def app(self) -> Installation:
        return self.workspace.installation(self.body.get("app"))

    @property
    def channel(self) -> Channel:
        """`channel`, `dm` for the conversation with the bot of `app`, `slackbot` for Slack's assistant, or the first channel."""
        name = self.body.get("channel") or next(iter(self.workspace.world.channels))
        if name == "dm":
            return self.workspace.world.direct(self.user.id, self.app.app)
        if name == "slackbot":
            return self.workspace.assistant.conversation(self.user)
        return self.people.channel(str(name), self.user)

    @property
    def message(self) -> Message:
        channel = self.channel
        found = channel.find(str(self.body["ts"]))
        if found is None or found.seen_by not in (None, self.user.id):
            raise InvalidActionError(f"no message {self.body['ts']} in {channel.name}")
        return found

    @property
    def home(self) -> Json | None:
        return self.people.views.home(self.user.id, self.app.app)

    @property
    def view(self) -> Json:
        found = self.home if self.body.get("home") else self.people.views.top(self.user.id)
        if found is None:
            raise InvalidActionError(f"nothing is open for {self.user.name}")
        return found

    def locate(self) -> None:
        """Put the place of its `element` into the body."""
        self.body = {**self.body, **self._place(str(self.body["element"]))}

    def _place(self, name: str) -> Json:
        modal, home = self.people.views.top(self.user.id), self.home
        if self.body.get("ts"):
            return input_values.named(self.message.blocks, name)
        if modal is not None:
            return {"view": True, **input_values.named(modal["blocks"], name)}
        for message in self._newest_first():
            if name in input_values.names(message.blocks):
                place = {"channel": message.channel, "ts": message.ts}
                return {**place, **input_values.named(message.blocks, name)}
        return {"home": True, **input_values.named(home["blocks"] if home else [], name)}

    def _newest_first(self) -> list[Message]:
        """The messages that the user sees, in `channel` or anywhere."""
        channels = [one for one in self.workspace.world.channels.values() if self.user.id in one.members]
        if self.body.get("channel"):
            channels = [self.channel]
        every = [one for channel in channels for one in channel.everything()]
        seen = [one for one in every if one.seen_by in (None, self.user.id)]
        return sorted(seen, key=lambda message: message.ts, reverse=True)

    async def answers(self, channel: Channel, *, besides: int = 0) -> Json:
        """What the bot did since: messages that the user sees in `channel`, changes, and the view in front.

        `besides`: so many messages of the bot's user were already there, of Slack's making.
        """
        min_answers = int(self.body.get("answers", 1))
        await self.wait(lambda: len(self._seen(channel)) >= min_answers + besides or self.opened())
        return {"answers": self._seen(channel), "view": self.people.views.top(self.user.id)}

    async def wait(self, condition: Callable[[], bool]) -> None:
        seconds = float(self.body.get("wait", 0))
        if seconds:
            await self.workspace.feed.until(condition, timeout=min(seconds, 30.0))

    def _seen(self, channel: Channel) -> list[Json]:
        """The latest state of each message that the bot or Slackbot posted or changed."""
        latest: dict[str, Json] = {}
        for item in self.workspace.feed.since(self._since) or []:
            if item.kind not in ("message", "message_changed") or item.data["channel"] != channel.id:
                continue
            by_bot = self.workspace.world.users[item.data["user"]].is_bot
            if item.only_for in (None, self.user.id) and by_bot:
                latest[item.data["ts"]] = item.data
        return list(latest.values())

    def opened(self) -> bool:
        events = self.workspace.feed.since(self._since) or []
        return any(item.kind in ("view", "home") and item.only_for == self.user.id for item in events)


async def command(act: Act) -> Json:
    """`{text, user, channel, wait, answers}`: type a slash command."""
    channel = act.channel
    done = await act.people.command(str(act.body["text"]), user=act.user, channel=channel)
    return {**done, **await act.answers(channel)}


async def message(act: Act) -> Json:
    """`{text, user, channel, thread_ts, typed, wait}`: post a message; a bot that belongs to no app can, too.

    With `typed`, names in it become mentions, as in Slack's composer.
    """
    channel, thread = act.channel, act.body.get("thread_ts")
    text = str(act.body["text"])
    text = act.people.with_mentions(text) if act.body.get("typed") else text
    posted = act.people.post(text, user=act.user, channel=channel, thread_ts=thread)
    act.workspace.events.message_posted(posted, channel=channel)
    if act.workspace.assistant.is_in(channel) and not act.user.is_bot:
        await act.workspace.assistant.hear(text, user=act.user)
    return {"message": described(act.workspace, posted), **await act.answers(channel)}


async def click(act: Act) -> Json:
    """`{user, channel, ts, action_id | text, block_id, value, values, wait}`, or `view: true`, or `home: true`.

    With `element`, a text or an action id, and no place: in the modal in front, else on the newest message that has it,
    else at Home.
    """
    if "element" in act.body:
        act.locate()
    if act.body.get("view") or act.body.get("home"):
        view = act.view
        done = await act.people.click_in_view(view, user=act.user, element=act.body)
        channel = act.workspace.world.direct(act.user.id, act.people.app_of(view).app)
    else:
        target = act.message
        channel = act.workspace.world.channels[target.channel]
        if target.user == seed.SLACKBOT.id:
            done = await act.workspace.assistant.click(target, user=act.user, element=act.body)
            return {**done, **await act.answers(channel)}
        done = await act.people.click(target, user=act.user, element=act.body)
    return {**done, **await act.answers(channel)}


async def tools(act: Act) -> Json:
    """`{user}`: the tools that apps offer to someone through Slack's assistant."""
    return {"tools": await act.workspace.assistant.tools(act.user)}


async def tool(act: Act) -> Json:
    """`{user, name, arguments}`: have Slack's assistant call a tool; answers the result as it came."""
    arguments = act.body.get("arguments") or {}
    if not isinstance(arguments, dict):
        raise InvalidActionError("arguments: not an object")
    return {"result": await act.workspace.assistant.call(act.user, str(act.body["name"]), arguments)}


async def options(act: Act) -> Json:
    """`{user, channel, ts | view, action_id, block_id, value}`: type into an external select."""
    source = act.view if act.body.get("view") or act.body.get("home") else act.message
    return await modals.suggest(act.people, user=act.user, source=source, element=act.body)


async def shortcut(act: Act) -> Json:
    """`{user, callback_id, app}` for a global shortcut; with `channel` and `ts` for a message's."""
    name, channel = str(act.body["callback_id"]), act.channel
    to = act.workspace.installation(act.body.get("app") or _offering(act.workspace, name))
    target = act.message if act.body.get("ts") else None
    done = await act.people.shortcut(name, to=to, user=act.user, message=target)
    return {**done, **await act.answers(channel)}


def _offering(workspace: Workspace, callback_id: str) -> str | None:
    for one in workspace.installations:
        if any(known.get("callback_id") == callback_id for known in one.settings.shortcuts):
            return one.app.id
    return None


async def reaction(act: Act) -> Json:
    """`{user, channel, ts, name}`: react, or take the reaction back."""
    target, by = act.message, act.user.id
    name = str(act.body["name"]).strip(":")
    users = target.reactions.setdefault(name, [])
    added = by not in users
    users.append(by) if added else users.remove(by)
    if not users:
        del target.reactions[name]
    act.workspace.world.announce(target, kind="message_changed")
    act.workspace.events.reaction_changed(target, name=name, by=by, added=added)
    return {"added": added}


async def upload(act: Act) -> Json:
    """`{name, content}`, the bytes as base64: choose a file; what is answered is a value for a `file_input`."""
    content = base64.b64decode(str(act.body["content"]), validate=True)
    if len(content) > MAX_BYTES:
        raise InvalidActionError(f"content: at most {MAX_BYTES} bytes")
    world = act.workspace.world
    known = register(world, str(act.body["name"])[:255], size=len(content))
    world.contents[known["id"]] = content
    return {"file": file_object(known, origin=act.workspace.origin)}


async def submit_view(act: Act) -> Json:
    """`{user, values, offered}`: press the button of the modal in front."""
    values, offered = act.body.get("values") or {}, list(act.body.get("offered") or [])
    if not isinstance(values, dict):
        raise InvalidActionError("values: an object by block id and action id")
    done = await modals.submit(act.people, user=act.user, values=values, offered=offered)
    answers = await act.answers(act.channel)
    return {**done, "answers": answers["answers"]}


async def close_view(act: Act) -> Json:
    """`{user, all}`: close the modal in front, or all of them."""
    return await modals.close(act.people, user=act.user, everything=bool(act.body.get("all")))


async def open_home(act: Act) -> Json:
    """`{user, app, tab, wait}`: open the Home (or `messages`) tab of an app."""
    tab = str(act.body.get("tab") or "home")
    act.workspace.events.home_opened(act.user, of=act.app, tab=tab, view=act.home)
    await act.wait(act.opened)
    return {"view": act.home}


async def open_assistant(act: Act) -> Json:
    """`{user, app, context, wait}`: begin a conversation with an app's assistant, a thread of their direct messages."""
    world = act.workspace.world
    channel = world.direct(act.user.id, act.app.app)
    opened = world.post(channel, user=act.app.app.user, text="New Assistant Thread", app=act.app.app)
    act.workspace.events.assistant_opened(
        opened, user=act.user, to=act.app, context=act.body.get("context") or {}
    )
    answers = await act.answers(channel, besides=1)
    said = [one for one in answers["answers"] if one["ts"] != opened.ts]
    return {"thread_ts": opened.ts, **answers, "answers": said}


async def read(act: Act) -> Json:
    """`{user, channel}`: everything there is read."""
    channel = act.channel
    last = next(reversed(channel.messages), "0")
    act.workspace.world.read_until[act.user.id, channel.id] = last
    return {"read_until": last}
