"""What people do: type, click, choose shortcuts; each action becomes what Slack sends to the app."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from sandbox.slack.people import input_values
from sandbox.slack.people.response_urls import ResponseUrls
from sandbox.slack.state import seed
from sandbox.slack.state.errors import InvalidActionError, SlackError
from sandbox.slack.state.model import App, Channel, Json, Message, User
from sandbox.slack.state.triggers import ResponseUrl, Trigger
from sandbox.slack.to_bot import payloads
from sandbox.slack.to_bot.delivery import Ack
from sandbox.slack.to_bot.installation import Installation
from sandbox.slack.world.message_checks import content
from sandbox.slack.world.views import Views
from sandbox.slack.world.world import World

_NAMED = re.compile(r"(?<![\w<@#/])([@#])([a-z0-9][a-z0-9._-]*)")


class People:
    """Everybody in the workspace, acting on it and on the bots."""

    def __init__(
        self,
        world: World,
        *,
        installations: Sequence[Installation],
        response_urls: ResponseUrls,
    ) -> None:
        self.world = world
        self.views = Views(world)
        self._installations = installations
        self._response_urls = response_urls

    def person(self, name: str) -> User:
        """Someone who can act; raises `InvalidActionError`."""
        try:
            user = self.world.user(name)
        except SlackError as error:
            people = ", ".join(one.name for one in self.world.users.values() if not one.is_bot)
            raise InvalidActionError(f"no person {name!r}; there are: {people}") from error
        if user.is_bot:
            raise InvalidActionError(f"{name!r} is a bot")
        if user.deleted:
            raise InvalidActionError(f"{user.name} is deactivated")
        return user

    def named_channel(self, name: str) -> Channel:
        """A conversation by id or by name; raises `InvalidActionError`."""
        try:
            return self.world.channel(name)
        except SlackError as error:
            raise InvalidActionError(f"no channel {name!r}") from error

    def channel(self, name: str, user: User) -> Channel:
        """A conversation in which `user` is; raises `InvalidActionError`."""
        channel = self.named_channel(name)
        if user.id not in channel.members:
            raise InvalidActionError(f"{user.name} is not in {channel.name}")
        return channel

    def app_of(self, view: Json) -> Installation:
        return next(one for one in self._installations if one.app.id == view["app_id"])

    def app_of_message(self, message: Message) -> Installation:
        """The app that posted a message; raises `InvalidActionError`."""
        found = next((one for one in self._installations if one.app == message.app), None)
        if found is None:
            raise InvalidActionError(f"no app posted the message {message.ts}")
        return found

    def issue_trigger(
        self, app: App, user: User, channel: Channel | None = None, *, from_view: bool = False
    ) -> Trigger:
        place, now = channel.id if channel else None, self.world.clock.now()
        return self.world.triggers.issue(
            Trigger(app=app, user=user.id, channel=place, made_at=now, from_view=from_view)
        )

    def _issue_response_url(
        self, app: App, user: User, channel: Channel, message: Message | None = None
    ) -> tuple[ResponseUrl, str]:
        issued = ResponseUrl(app=app, user=user.id, channel=channel.id, made_at=self.world.clock.now())
        if message is not None:
            issued.message_ts = message.ts
        self.world.triggers.issue_response_url(issued)
        return issued, self._response_urls.address(issued)

    async def interact(self, kind: str, *, to: Installation, user: User, name: str, **fields: Any) -> Ack:
        """Send an interaction to an app."""
        payload = payloads.interaction(kind, self.world, to, user=user, **fields)
        return await to.delivery.send("interactive", payload, name=name)

    def _owner_of(self, command: str) -> tuple[Installation, Json] | None:
        """The app that a command goes to: of several that have it, the one that was installed last.

        https://docs.slack.dev/interactivity/implementing-slash-commands
        """
        for one in reversed(self._installations):
            known = next((known for known in one.settings.commands if known["command"] == command), None)
            if known is not None and one.installed:
                return one, known
        return None

    async def command(self, typed: str, *, user: User, channel: Channel) -> Json:
        """Type a slash command; Slackbot reports it when the bot does not answer in time."""
        name, _, text = typed.strip().partition(" ")
        owner = self._owner_of(name)
        if owner is None:
            self._post_notice(user, channel, f"`{name}` is not a valid command.")
            raise InvalidActionError(f"{name} is not a valid command")
        to, known = owner
        if known.get("should_escape"):
            users = {one.name: one.id for one in self.world.users.values()}
            channels = {one.name: one.id for one in self.world.channels.values()}
            text = payloads.escaped(text, users=users, channels=channels)
        trigger = self.issue_trigger(to.app, user, channel)
        issued, response_url = self._issue_response_url(to.app, user, channel)
        form = payloads.slash_command(
            name,
            text.strip(),
            self.world,
            to,
            user=user,
            channel=channel,
            trigger_id=trigger.id,
            response_url=response_url,
        )
        ack = await to.delivery.send("slash_commands", form, name=typed.strip())
        error = ack.error
        if ack.ok and ack.body:
            try:
                body = {"text": ack.body} if isinstance(ack.body, str) else ack.body
                self._response_urls.post(issued, body)
            except SlackError as refused:
                error = refused.error
        if error is not None:
            self._post_notice(user, channel, f"`{name}` failed with the error `{error}`")
        return {"ack": ack.to_json(), "trigger_id": trigger.id, "response_url": response_url}

    def _post_notice(self, user: User, channel: Channel, text: str) -> None:
        self.world.post(channel, user=seed.SLACKBOT.id, text=text, seen_by=user.id)

    async def click(self, message: Message, *, user: User, element: Json) -> Json:
        """Act on an element of a message; `element` says which, and what was chosen."""
        channel, to = self.world.channels[message.channel], self.app_of_message(message)
        action, state = self._action(message.blocks, element)
        trigger = self.issue_trigger(to.app, user, channel)
        _, response_url = self._issue_response_url(to.app, user, channel, message)
        ack = await self.interact(
            "block_actions",
            to=to,
            user=user,
            name=f"action {action['action_id']}",
            trigger_id=trigger.id,
            container=payloads.message_container(message),
            channel=channel,
            # The content of an ephemeral message is not sent.
            **({} if message.seen_by else {"message": message.to_slack()}),
            state=state,
            response_url=response_url,
            actions=[action],
        )
        place = {"channel": channel.id, "ts": message.ts, "action_id": action["action_id"]}
        self._report_failure(user, ack, place)
        return {"ack": ack.to_json(), "trigger_id": trigger.id, "response_url": response_url}

    async def click_in_view(self, view: Json, *, user: User, element: Json) -> Json:
        """Act on an element of a modal or of the Home tab."""
        action, state = self._action(view["blocks"], element)
        to = self.app_of(view)
        trigger = self.issue_trigger(to.app, user, from_view=view["type"] == "modal")
        ack = await self.interact(
            "block_actions",
            to=to,
            user=user,
            name=f"action {action['action_id']}",
            trigger_id=trigger.id,
            container={"type": "view", "view_id": view["id"]},
            view={**view, "state": state},
            actions=[action],
        )
        self._report_failure(user, ack, {"view": view["id"], "action_id": action["action_id"]})
        return {"ack": ack.to_json(), "trigger_id": trigger.id}

    def _report_failure(self, user: User, ack: Ack, place: Json) -> None:
        if not ack.ok:
            self.world.feed.publish("failure", {"error": ack.error, **place}, only_for=user.id)

    def _action(self, blocks: list[Json], element: Json) -> tuple[Json, Json]:
        """One entry of `actions`, and the state of the inputs around it."""
        block, chosen = input_values.find(blocks, element)
        value = input_values.value_of(chosen, element.get("value", input_values.UNSET))
        if chosen["type"] in ("static_select", "overflow") and value["selected_option"] is None:
            known = ", ".join(option["value"] for option in input_values.options(chosen))
            raise InvalidActionError(f"no such option; there are: {known}")
        action = payloads.action_of(block, chosen, value, now=self.world.clock.now())
        return action, input_values.state(blocks, element.get("values") or {})

    async def shortcut(
        self, callback_id: str, *, to: Installation, user: User, message: Message | None = None
    ) -> Json:
        """Choose a global shortcut of an app, or one of a message's menu."""
        fields: Json = {"callback_id": callback_id}
        channel = None
        if message is not None:
            channel = self.world.channels[message.channel]
            _, response_url = self._issue_response_url(to.app, user, channel, message)
            fields |= {"message_ts": message.ts, "message": message.to_slack(), "response_url": response_url}
        trigger = self.issue_trigger(to.app, user, channel)
        ack = await self.interact(
            "message_action" if message else "shortcut",
            to=to,
            user=user,
            name=f"shortcut {callback_id}",
            trigger_id=trigger.id,
            channel=channel,
            **fields,
        )
        return {"ack": ack.to_json(), "trigger_id": trigger.id}

    def with_mentions(self, text: str) -> str:
        """What a person typed, with `@name` and `#name` as Slack's composer sends them; unknown names stay text.

        https://docs.slack.dev/messaging/formatting-message-text#mentioning-users
        """
        names = {"here": "<!here>", "channel": "<!channel>", "everyone": "<!everyone>"}
        names |= {group.handle: f"<!subteam^{group.id}>" for group in self.world.groups.values()}
        names |= {user.name: f"<@{user.id}>" for user in self.world.users.values()}
        channels = {one.name: f"<#{one.id}|{one.name}>" for one in self.world.channels.values()}

        def mention(match: re.Match[str]) -> str:
            known = names if match[1] == "@" else channels
            name = match[2].rstrip(".")
            return known[name] + match[2][len(name) :] if name in known else match[0]

        return _NAMED.sub(mention, text)

    def post(self, text: str, *, user: User, channel: Channel, thread_ts: str | None = None) -> Message:
        """Post a message as a person; a mention of the bot reaches it as an event."""
        text = content({"text": text})["text"]
        if channel.is_archived:
            raise InvalidActionError(f"{channel.name} is archived")
        message = self.world.post(channel, user=user.id, text=text, thread_ts=thread_ts)
        self.world.read_until[user.id, channel.id] = message.ts
        return message
