"""Events of the workspace, for the apps that subscribed to them (docs.slack.dev/reference/events)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any
from urllib.parse import urlsplit

from sandbox.slack.state.links import links_of
from sandbox.slack.state.model import Channel, Json, Message, User
from sandbox.slack.to_bot import payloads
from sandbox.slack.to_bot.installation import Installation
from sandbox.slack.world.world import World


class Events:
    """Sends each event to the apps that subscribed to it."""

    def __init__(self, world: World, installations: Sequence[Installation]) -> None:
        self._world = world
        self._installations = installations

    def fire(self, kind: str, /, **fields: Any) -> None:
        """Send one event to every app that subscribed to it."""
        for one in self._installations:
            if kind in one.settings.events:
                self.send(one, kind, **fields)

    def send(self, to: Installation, kind: str, /, *, event_id: str = "", **fields: Any) -> None:
        """Send one event to an app that is installed; `event_id` is that of an earlier event, which is sent again."""
        if not to.installed:
            return
        payload = payloads.event_callback(
            {"type": kind, **fields, "event_ts": fields.get("event_ts") or self._world.stamp()},
            self._world,
            to,
            event_id=event_id,
        )
        to.delivery.event(payload)

    def message_posted(self, message: Message, *, channel: Channel) -> None:
        """A person or a bot posted a message: a mention, or a message where an app listens.

        A bot's own messages are sent to it too, under its `bot_id`
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
        if message.app is not None:
            fields |= {"bot_id": message.app.bot_id, "app_id": message.app.id}
        if message.is_reply:
            fields["thread_ts"] = str(message.thread_ts)
        channel_type, subscription = _MESSAGE_EVENTS[channel.kind]
        for one in self._installations:
            bot, events = one.app.user, one.settings.events
            if bot not in channel.members:
                continue
            mentioned = f"<@{bot}>" in message.text and channel.direct is None and message.user != bot
            if mentioned and "app_mention" in events:
                self.send(one, "app_mention", **fields)
            if subscription in events:
                self.send(one, "message", channel_type=channel_type, **fields)
        if not speaker.is_bot:
            self._links_shared(message, channel=channel)

    def _links_shared(self, message: Message, *, channel: Channel) -> None:
        """https://docs.slack.dev/reference/events/link_shared, also where the bot isn't a member."""
        thread: Json = {"thread_ts": message.thread_ts} if message.is_reply else {}
        for one in self._installations:
            links = [
                {"domain": domain, "url": url}
                for url in links_of(message.text)
                for domain in one.settings.unfurl_domains
                if f".{urlsplit(url).hostname}".endswith(f".{domain}")
            ]
            if links and "link_shared" in one.settings.events:
                self.send(
                    one,
                    "link_shared",
                    user=message.user,
                    channel=channel.id,
                    message_ts=message.ts,
                    **thread,
                    is_bot_user_member=one.app.user in channel.members,
                    links=links,
                    source="conversations_history",
                    unfurl_id=f"{channel.id}-{message.ts}",
                )

    def home_opened(self, user: User, *, of: Installation, tab: str, view: dict[str, Any] | None) -> None:
        """Someone opened an app's Home."""
        if "app_home_opened" in of.settings.events:
            shown: dict[str, Any] = {"view": view} if view else {}
            channel = self._world.direct(user.id, of.app).id
            self.send(of, "app_home_opened", user=user.id, channel=channel, tab=tab, **shown)

    def assistant_opened(self, opened: Message, *, user: User, to: Installation, context: Json) -> None:
        """https://docs.slack.dev/reference/events/assistant_thread_started."""
        thread = {
            "user_id": user.id,
            "context": {"team_id": self._world.team.id, **context},
            "channel_id": opened.channel,
            "thread_ts": opened.ts,
        }
        if "assistant_thread_started" in to.settings.events:
            self.send(to, "assistant_thread_started", assistant_thread=thread)

    def member_joined(self, user: str, *, channel: Channel, inviter: str | None = None) -> None:
        """Someone, or a bot, joined a channel."""
        self._member_changed(
            "member_joined_channel", user, channel, **({"inviter": inviter} if inviter else {})
        )

    def member_left(self, user: str, *, channel: Channel) -> None:
        """Someone, or a bot, left a channel."""
        kind = "group_left" if channel.is_private else "channel_left"
        for one in self._installations:
            if user == one.app.user and kind in one.settings.events:
                self.send(one, kind, channel=channel.id)
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

    def revoked(self, of: Installation, kinds: Iterable[str]) -> None:
        """An app's token was taken back, perhaps with the whole app; `kinds` are the events in their order.

        https://docs.slack.dev/reference/events/app_uninstalled,
        https://docs.slack.dev/reference/events/tokens_revoked
        """
        fields: dict[str, Json] = {
            "app_uninstalled": {},
            "tokens_revoked": {"tokens": {"oauth": [], "bot": [of.app.user]}},
        }
        for kind in kinds:
            if kind in of.settings.events:
                self.send(of, kind, **fields[kind])

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
