"""Events of the workspace, for an app that subscribed to them (docs.slack.dev/reference/events)."""

from __future__ import annotations

from typing import Any

from sandbox.slack.state import seed
from sandbox.slack.state.model import Channel, Message, User
from sandbox.slack.state.settings import Credentials, Settings
from sandbox.slack.to_bot import payloads
from sandbox.slack.to_bot.delivery import Delivery
from sandbox.slack.world.world import World


class Events:
    """Sends the events to which the app is subscribed."""

    def __init__(
        self,
        world: World,
        *,
        settings: Settings,
        credentials: Credentials,
        delivery: Delivery,
    ) -> None:
        self._world = world
        self._settings = settings
        self._token = credentials.verification_token
        self._delivery = delivery

    def fire(self, kind: str, /, *, subscribed_only: bool = True, event_id: str = "", **fields: Any) -> bool:
        """Send one event; false when the app did not subscribe to it, or is not installed.

        `event_id` is that of an earlier event, which is sent again.
        """
        if not self._world.installed or (subscribed_only and kind not in self._settings.events):
            return False
        event = {"type": kind, **fields, "event_ts": fields.get("event_ts") or self._world.stamp()}
        payload = payloads.event_callback(
            event,
            team=self._world.team,
            token=self._token,
            now=self._world.clock.now(),
            enterprise=self._settings.enterprise_id,
            event_id=event_id,
        )
        self._delivery.event(payload)
        return True

    def message_posted(self, message: Message, *, channel: Channel) -> None:
        """A person or the bot itself posted a message: a mention, or a message where the app listens.

        The bot's own messages are sent to it too, under its `bot_id`
        (https://docs.slack.dev/reference/events/message#bot_messages).
        """
        fields: dict[str, Any] = {
            "user": message.user,
            "text": message.text,
            "ts": message.ts,
            "channel": channel.id,
            "team": self._world.team.id,
            "event_ts": message.ts,
        }
        speaker = self._world.users[message.user]
        if speaker.is_bot:
            fields |= {"bot_id": f"B{message.user[1:]}", "team": speaker.team_id}
        if speaker.id == seed.BOT.id:
            fields |= {"bot_id": seed.TEAM.bot_id, "app_id": seed.TEAM.app_id}
        if message.is_reply:
            fields["thread_ts"] = str(message.thread_ts)
        if seed.BOT.id not in channel.members:
            return
        by_itself = message.user == seed.BOT.id
        if f"<@{seed.BOT.id}>" in message.text and channel.direct is None and not by_itself:
            self.fire("app_mention", **fields)
        channel_type, subscription = _MESSAGE_EVENTS[channel.kind]
        if subscription in self._settings.events:
            self.fire("message", subscribed_only=False, channel_type=channel_type, **fields)

    def home_opened(self, user: User, *, tab: str, view: dict[str, Any] | None) -> None:
        channel = self._world.direct(user.id).id
        shown: dict[str, Any] = {"view": view} if view else {}
        self.fire("app_home_opened", user=user.id, channel=channel, tab=tab, **shown)

    def member_joined(self, user: str, *, channel: Channel, inviter: str | None = None) -> None:
        """Someone, or the bot, joined a channel."""
        self._member_changed(
            "member_joined_channel", user, channel, **({"inviter": inviter} if inviter else {})
        )

    def member_left(self, user: str, *, channel: Channel) -> None:
        """Someone, or the bot, left a channel."""
        if user == seed.BOT.id:
            self.fire("group_left" if channel.is_private else "channel_left", channel=channel.id)
        self._member_changed("member_left_channel", user, channel)

    def _member_changed(self, kind: str, user: str, channel: Channel, **fields: Any) -> None:
        channel_type = "G" if channel.is_private else "C"
        self.fire(
            kind, user=user, channel=channel.id, channel_type=channel_type, team=self._world.team.id, **fields
        )

    def channel_archived(self, channel: Channel, *, by: str) -> None:
        kind = "group" if channel.is_private else "channel"
        verb = "archive" if channel.is_archived else "unarchive"
        self.fire(f"{kind}_{verb}", channel=channel.id, user=by)

    def channel_renamed(self, channel: Channel) -> None:
        """https://docs.slack.dev/reference/events/channel_rename."""
        kind = "group" if channel.is_private else "channel"
        shown = {"id": channel.id, "name": channel.name, "created": channel.created}
        self.fire(f"{kind}_rename", channel=shown)

    def channel_id_changed(self, old: str, *, channel: Channel) -> None:
        """https://docs.slack.dev/reference/events/channel_id_changed."""
        self.fire("channel_id_changed", old_channel_id=old, new_channel_id=channel.id)

    def token_revoked(self, *, uninstalled: bool) -> None:
        """The bot's token was taken back, perhaps with the whole app.

        https://docs.slack.dev/reference/events/app_uninstalled,
        https://docs.slack.dev/reference/events/tokens_revoked
        """
        if uninstalled:
            self.fire("app_uninstalled")
        self.fire("tokens_revoked", tokens={"oauth": [], "bot": [seed.BOT.id]})

    def reaction_changed(self, message: Message, *, name: str, by: str, added: bool) -> None:
        item = {"type": "message", "channel": message.channel, "ts": message.ts}
        kind = "reaction_added" if added else "reaction_removed"
        self.fire(kind, user=by, reaction=name, item=item, item_user=message.user)

    def pin_changed(self, message: Message, *, by: str, added: bool) -> None:
        """https://docs.slack.dev/reference/events/pin_added, https://docs.slack.dev/reference/events/pin_removed."""
        item = {"type": "message", "channel": message.channel, "message": message.to_slack()}
        self.fire("pin_added" if added else "pin_removed", user=by, channel_id=message.channel, item=item)


_MESSAGE_EVENTS = {
    "im": ("im", "message.im"),
    "mpim": ("mpim", "message.mpim"),
    "private_channel": ("group", "message.groups"),
    "public_channel": ("channel", "message.channels"),
}
"""The `channel_type` of a message in each type of conversation, and the event that an app subscribes to."""
