"""Events of the workspace, for an app that subscribed to them (https://docs.slack.dev/reference/events)."""

from __future__ import annotations

from typing import Any

from sandbox.slack import payloads, seed
from sandbox.slack.delivery import Delivery
from sandbox.slack.model import Channel, Json, Message, User
from sandbox.slack.workspace import Workspace

_MESSAGE_EVENTS = {
    "im": ("im", "message.im"),
    "private_channel": ("group", "message.groups"),
    "public_channel": ("channel", "message.channels"),
}
"""The `channel_type` of a message in each type of conversation, and the event to subscribe to."""


class Events:
    """Sends what the bot subscribed to."""

    def __init__(self, workspace: Workspace, delivery: Delivery) -> None:
        self._workspace = workspace
        self._delivery = delivery

    def fire(self, kind: str, /, *, subscription: str = "", from_team: str = "", **fields: Any) -> None:
        """Send an event if the app subscribed to it."""
        if (subscription or kind) in self._workspace.settings.events:
            self.send(kind, fields, from_team=from_team)

    def send(self, kind: str, fields: Json, *, event_id: str = "", from_team: str = "") -> None:
        """Send an event, subscribed to or not.

        With an earlier `event_id` it is that event again; `from_team` makes it another team's.
        """
        if not self._workspace.installed:
            return
        event = {"type": kind, **fields}
        event.setdefault("event_ts", self._workspace.stamp())
        payload = payloads.event_callback(event, self._workspace, event_id=event_id)
        self._delivery.event(payloads.from_team(payload, from_team) if from_team else payload)

    def message_posted(self, message: Message, channel: Channel, *, team: str = "") -> None:
        """Tell of a message: a mention of the bot, or where it listens.

        A bot's own messages are sent to it too, under its `bot_id`
        (https://docs.slack.dev/reference/events/message#bot_messages).
        """
        speaker = self._workspace.users[message.user]
        fields: Json = {
            "user": message.user,
            "text": message.text,
            "ts": message.ts,
            "channel": channel.id,
            "team": speaker.team_id if speaker.is_bot else seed.TEAM.id,
            "event_ts": message.ts,
        }
        if message.app is not None:
            fields |= {"bot_id": message.app.bot_id, "app_id": message.app.id}
        elif speaker.is_bot:
            fields["bot_id"] = f"B{message.user[1:]}"
        if message.is_reply:
            fields["thread_ts"] = message.thread_ts
        if seed.BOT.id not in channel.members:
            return
        is_mention = f"<@{seed.BOT.id}>" in message.text and message.user != seed.BOT.id
        if is_mention and channel.direct is None:
            self.fire("app_mention", from_team=team, **fields)
        channel_type, subscription = _MESSAGE_EVENTS[channel.kind]
        self.fire(
            "message",
            subscription=subscription,
            from_team=team,
            channel_type=channel_type,
            **fields,
        )

    def home_opened(self, user: User, *, tab: str, view: Json | None) -> None:
        shown: Json = {"view": view} if view else {}
        channel = self._workspace.direct(user.id).id
        self.fire("app_home_opened", user=user.id, channel=channel, tab=tab, **shown)

    def member_joined(self, user: str, channel: Channel, *, inviter: str = "") -> None:
        """Tell that someone, or the bot, joined a channel."""
        invited = {"inviter": inviter} if inviter else {}
        self._member_changed("member_joined_channel", user, channel, **invited)

    def member_left(self, user: str, channel: Channel) -> None:
        """Tell that someone, or the bot, left a channel."""
        if user == seed.BOT.id:
            self.fire("group_left" if channel.is_private else "channel_left", channel=channel.id)
        self._member_changed("member_left_channel", user, channel)

    def _member_changed(self, kind: str, user: str, channel: Channel, **fields: Any) -> None:
        channel_type = "G" if channel.is_private else "C"
        self.fire(
            kind,
            user=user,
            channel=channel.id,
            channel_type=channel_type,
            team=seed.TEAM.id,
            **fields,
        )

    def revoked(self, kinds: tuple[str, ...]) -> None:
        """Tell that the token was taken back, perhaps with the app; `kinds` are in their order.

        https://docs.slack.dev/reference/events/app_uninstalled,
        https://docs.slack.dev/reference/events/tokens_revoked
        """
        for kind in kinds:
            fields: Json = {}
            if kind == "tokens_revoked":
                fields["tokens"] = {"oauth": [], "bot": [seed.BOT.id]}
            self.fire(kind, **fields)

    def reaction_changed(self, message: Message, name: str, *, by: str, added: bool) -> None:
        item = {"type": "message", "channel": message.channel, "ts": message.ts}
        kind = "reaction_added" if added else "reaction_removed"
        self.fire(kind, user=by, reaction=name, item=item, item_user=message.user)
