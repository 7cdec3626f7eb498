"""What people do: type, click, submit, choose; each act becomes what Slack sends to the app."""

from __future__ import annotations

from typing import Any

from sandbox.slack.people import input_values
from sandbox.slack.people.response_urls import Replies
from sandbox.slack.state import seed
from sandbox.slack.state.errors import Refusal
from sandbox.slack.state.model import Channel, Json, Message, User
from sandbox.slack.state.settings import Credentials, Settings
from sandbox.slack.state.triggers import Reply, Trigger
from sandbox.slack.to_bot import payloads
from sandbox.slack.to_bot.delivery import Ack, Delivery
from sandbox.slack.world.message_checks import content
from sandbox.slack.world.views import Stage
from sandbox.slack.world.world import World


class ImpossibleActError(Exception):
    """Something that no person could do in Slack: an unknown button, a channel that is not theirs."""


class People:
    """Everybody in the workspace, acting on it and on the bot."""

    def __init__(
        self,
        world: World,
        *,
        settings: Settings,
        credentials: Credentials,
        delivery: Delivery,
        replies: Replies,
    ) -> None:
        self.world = world
        self.settings = settings
        self.token = credentials.verification_token
        self.delivery = delivery
        self.replies = replies
        self.stage = Stage(world)

    def person(self, name: str) -> User:
        """Someone who can act; raises `ImpossibleActError`."""
        try:
            user = self.world.user(name)
        except Refusal as refusal:
            raise ImpossibleActError(f"no person {name!r}") from refusal
        if user.is_bot:
            raise ImpossibleActError(f"{name!r} is a bot")
        return user

    def place(self, name: str, user: User) -> Channel:
        """A conversation in which `user` is; raises `ImpossibleActError`."""
        try:
            channel = self.world.channel(name)
        except Refusal as refusal:
            raise ImpossibleActError(f"no channel {name!r}") from refusal
        if user.id not in channel.members:
            raise ImpossibleActError(f"{user.name} is not in {channel.name}")
        return channel

    def _trigger(self, user: User, channel: Channel | None, *, from_view: bool = False) -> Trigger:
        now = self.world.clock.now()
        return self.world.triggers.issue(
            user=user.id, channel=channel.id if channel else None, now=now, from_view=from_view
        )

    def _reply(self, user: User, channel: Channel, message: Message | None = None) -> Reply:
        return self.world.triggers.open_reply(
            user=user.id,
            channel=channel.id,
            now=self.world.clock.now(),
            message_ts=message.ts if message else None,
            thread_ts=message.thread_ts if message and message.is_reply else None,
        )

    def _complain(self, user: User, channel: Channel, text: str) -> None:
        self.world.post(channel, user=seed.SLACKBOT.id, text=text, seen_by=user.id)

    def _failed(self, user: User, ack: Ack, **where: Any) -> None:
        self.world.feed.publish("failure", {"error": ack.error, **where}, only_for=user.id)

    async def command(self, typed: str, *, user: User, channel: Channel) -> Json:
        """Type a slash command; Slackbot says so when the bot does not answer in time."""
        name, _, text = typed.strip().partition(" ")
        known = next((c for c in self.settings.commands if c["command"] == name), None)
        if known is None:
            self._complain(user, channel, f"`{name}` is not a valid command.")
            raise ImpossibleActError(f"{name} is not a valid command")
        if known.get("should_escape"):
            text = self._escaped(text)
        trigger, reply = self._trigger(user, channel), self._reply(user, channel)
        form = payloads.slash_command(
            name,
            text.strip(),
            user=user,
            channel=channel,
            token=self.token,
            trigger_id=trigger.id,
            response_url=self.replies.url(reply),
        )
        ack = await self.delivery.ask("slash_commands", form, name=typed.strip()[:120])
        self._take_answer(ack, user=user, channel=channel, name=name, reply=reply)
        return {"ack": ack.to_json(), "trigger_id": trigger.id, "response_url": self.replies.url(reply)}

    def _escaped(self, text: str) -> str:
        users = {user.name: user.id for user in self.world.users.values()}
        channels = {channel.name: channel.id for channel in self.world.channels.values()}
        return payloads.escaped(text, users=users, channels=channels)

    def _take_answer(self, ack: Ack, *, user: User, channel: Channel, name: str, reply: Reply) -> None:
        if not ack.ok:
            self._complain(user, channel, f"`{name}` failed with the error `{ack.error}`")
        elif ack.body:
            body = {"text": ack.body} if isinstance(ack.body, str) else ack.body
            try:
                self.replies.say(reply, body)
            except Refusal as refusal:
                self._complain(user, channel, f"`{name}` failed with the error `{refusal.error}`")

    async def click(self, message: Message, *, user: User, element: Json) -> Json:
        """Act on an element of a message; `element` says which, and what was chosen."""
        channel = self.world.channels[message.channel]
        block, chosen = self._wanted(message.blocks, element)
        trigger, reply = self._trigger(user, channel), self._reply(user, channel, message)
        payload = payloads.message_actions(
            self._action(block, chosen, element),
            user=user,
            channel=channel,
            message=message,
            state=input_values.state(message.blocks, element.get("values") or {}),
            token=self.token,
            trigger_id=trigger.id,
            response_url=self.replies.url(reply),
        )
        ack = await self.delivery.ask("interactive", payload, name=f"action {chosen['action_id']}"[:120])
        if not ack.ok:
            self._failed(user, ack, channel=channel.id, ts=message.ts, action_id=chosen["action_id"])
        return {"ack": ack.to_json(), "trigger_id": trigger.id, "response_url": self.replies.url(reply)}

    async def click_in_view(self, view: Json, *, user: User, element: Json) -> Json:
        """Act on an element of a modal or of the Home tab."""
        block, chosen = self._wanted(view["blocks"], element)
        trigger = self._trigger(user, None, from_view=view["type"] == "modal")
        payload = payloads.view_actions(
            self._action(block, chosen, element),
            user=user,
            view=view,
            state=input_values.state(view["blocks"], element.get("values") or {}),
            token=self.token,
            trigger_id=trigger.id,
        )
        ack = await self.delivery.ask("interactive", payload, name=f"action {chosen['action_id']}"[:120])
        if not ack.ok:
            self._failed(user, ack, view=view["id"], action_id=chosen["action_id"])
        return {"ack": ack.to_json(), "trigger_id": trigger.id}

    def _wanted(self, blocks: list[Json], element: Json) -> tuple[Json, Json]:
        found = input_values.find(
            blocks,
            action_id=element.get("action_id"),
            block_id=element.get("block_id"),
            text=element.get("text"),
        )
        if found is None:
            known = [
                str(one.get("text", {}).get("text", one["action_id"]))
                for _, one in input_values.elements(blocks)
            ]
            raise ImpossibleActError(f"no such element; there are: {', '.join(known) or 'none'}")
        return found

    def _action(self, block: Json, chosen: Json, element: Json) -> Json:
        value = input_values.value_of(chosen, element.get("value", input_values.UNSET))
        if chosen["type"] in ("static_select", "overflow") and value["selected_option"] is None:
            known = ", ".join(option["value"] for option in input_values.options(chosen))
            raise ImpossibleActError(f"no such option; there are: {known}")
        return payloads.action_of(block, chosen, value, now=self.world.clock.now())

    def say(self, text: str, *, user: User, channel: Channel, thread_ts: str | None = None) -> Message:
        """Post a message as a person; a mention of the bot reaches it as an event."""
        said = content({"text": text})
        if channel.is_archived:
            raise ImpossibleActError(f"{channel.name} is archived")
        message = self.world.post(channel, user=user.id, text=said.text, thread_ts=thread_ts)
        self.world.read_until[user.id, channel.id] = message.ts
        return message
