"""The state of the stand-in: users, channels, messages and open views."""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from sandbox.slack.blockkit.blocks import Surface, problems
from sandbox.slack.blockkit.plain_text import notification
from sandbox.slack.blockkit.rules import problem
from sandbox.slack.state.errors import SlackError, refuse_if
from sandbox.slack.state.feed import Entry, Feed, Kind, Transcript
from sandbox.slack.state.model import App, Channel, Group, Json, Message, Team, User, trim
from sandbox.slack.state.settings import Clock, Settings
from sandbox.slack.state.triggers import Triggers

MAX_MESSAGES = 20_000
"""Messages kept in one channel."""
MAX_REVISIONS = 100


def with_ids(blocks: list[Json]) -> list[Json]:
    return [_with_id(block) for block in blocks]


def _with_id(block: Json) -> Json:
    filled = {**block, "block_id": block.get("block_id") or secrets.token_urlsafe(4)}
    if block["type"] in ("actions", "context"):
        filled["elements"] = [_with_action_id(element) for element in block["elements"]]
    for name in ("accessory", "element"):
        if isinstance(block.get(name), dict):
            filled[name] = _with_action_id(block[name])
    return filled


def _with_action_id(element: Json) -> Json:
    if element["type"] in ("image", "mrkdwn", "plain_text"):
        return element
    return {**element, "action_id": element.get("action_id") or secrets.token_urlsafe(4)}


@dataclass(slots=True, kw_only=True)
class World:
    """Everything that a reset forgets."""

    clock: Clock
    feed: Feed
    settings: Settings
    """These stay over a reset."""
    team: Team
    app: App
    """The first app, whose bot direct messages go to by default."""
    channels: dict[str, Channel]
    users: dict[str, User]
    groups: dict[str, Group]
    triggers: Triggers = field(default_factory=Triggers)
    views: dict[str, Json] = field(default_factory=dict)
    stacks: dict[str, list[str]] = field(default_factory=dict)
    homes: dict[tuple[str, App], str] = field(default_factory=dict)
    """The Home views by person and app."""
    files: dict[str, Json] = field(default_factory=dict)
    contents: dict[str, bytes] = field(default_factory=dict)
    read_until: dict[tuple[str, str], str] = field(default_factory=dict)
    alerts: Counter[str] = field(default_factory=Counter)
    scheduled: dict[str, Json] = field(default_factory=dict)
    """Messages that are to be posted later, by their id."""
    assistant: dict[str, Json] = field(default_factory=dict)
    """Status, title and prompts of assistants' threads, by `channel/ts`."""
    transcript: Transcript = field(default_factory=Transcript)
    last_micro: int = 0

    def block_problems(self, blocks: Any, *, surface: Surface = "message", at: str = "/blocks") -> list[str]:
        """What this workspace refuses in blocks: what Block Kit forbids, and files that are not ready."""
        found = problems(blocks, surface=surface, at=at, refused=self.settings.refused_blocks)
        return [*found, *(problem("invalid slack file", place) for place in self._unready_files(blocks, at))]

    def _unready_files(self, value: Any, at: str) -> Iterator[str]:
        """An upload can be shown some time after it is complete, not at once (slackapi/python-slack-sdk#1521)."""
        if isinstance(value, list):
            for index, one in enumerate(value):
                yield from self._unready_files(one, f"{at}/{index}")
        elif isinstance(value, dict):
            for name, one in value.items():
                if name == "slack_file" and not self._is_ready(one):
                    yield f"{at}/{name}"
                yield from self._unready_files(one, f"{at}/{name}")

    def _is_ready(self, wanted: Any) -> bool:
        asked = (wanted.get("id"), wanted.get("url")) if isinstance(wanted, dict) else ()
        return any(
            self.clock.now() >= known["usable_at"]
            for known in self.files.values()
            if "usable_at" in known and (known["id"] in asked or known["address"] in asked)
        )

    def stamp(self) -> str:
        self.last_micro = max(self.last_micro + 1, round(self.clock.now() * 1e6))
        return f"{self.last_micro // 1_000_000}.{self.last_micro % 1_000_000:06d}"

    def user(self, name: str) -> User:
        """Someone by id or by name; raises `SlackError` (user_not_found)."""
        found = self.users.get(name) or next(
            (user for user in self.users.values() if user.name == name.lstrip("@")), None
        )
        if found is None:
            raise SlackError("user_not_found")
        return found

    def channel(self, name: str) -> Channel:
        """A conversation by id or by name, seen from above; raises `SlackError` (channel_not_found)."""
        found = self.channels.get(name) or next(
            (channel for channel in self.channels.values() if channel.name == name.lstrip("#")), None
        )
        if found is None:
            raise SlackError("channel_not_found")
        return found

    def bot_channel(self, name: str, app: App) -> Channel:
        """A conversation as a bot may know it: a private one without the bot does not exist for it."""
        if name in self.users:
            return self.direct(name, app)
        channel = self.channel(name)
        refuse_if(channel.kind != "public_channel" and app.user not in channel.members, "channel_not_found")
        return channel

    def direct(self, user: str, app: App | None = None) -> Channel:
        """The direct message between a bot, the first one's unless given, and `user`, opened if need be."""
        person = self.user(user)
        refuse_if(person.is_bot, "cannot_dm_bot")
        id_, name, bot = f"D0{person.id[2:]}", f"dm-{person.name}", (app or self.app).user
        if bot != self.app.user:
            id_, name = f"{id_}{bot[2:]}", f"{name}-{self.users[bot].name}"
        if id_ not in self.channels:
            self.channels[id_] = Channel(id=id_, name=name, members=[person.id, bot], direct=person.id)
            self.feed.publish("channels", {}, only_for=person.id)
        return self.channels[id_]

    def change_id(self, channel: Channel, new: str) -> str:
        """Give a channel another id, as Slack does when a private one is shared; returns the one before."""
        old = channel.id
        self.channels = {(new if key == old else key): one for key, one in self.channels.items()}
        channel.id = new
        for message in (*channel.messages.values(), *channel.ephemerals.values()):
            message.channel = new
        return old

    def message(self, channel: Channel, ts: Any) -> Message:
        """A message that is there for everybody; raises `SlackError` (message_not_found)."""
        found = channel.messages.get(str(ts))
        if found is None:
            raise SlackError("message_not_found")
        return found

    def post(self, channel: Channel, *, user: str, text: str, **details: Any) -> Message:
        """Say something in `channel`; `details` are further fields of `Message`. Nothing is checked here."""
        ts = self.stamp()
        details["blocks"] = with_ids(details.get("blocks") or [])
        message = Message(
            ts=ts,
            channel=channel.id,
            user=user,
            text=text,
            posted_at=self.clock.now(),
            team=self.team,
            **details,
        )
        kept = channel.messages if message.seen_by is None else channel.ephemerals
        kept[ts] = message
        channel.posted += message.seen_by is None
        trim(kept, size=MAX_MESSAGES)
        self._add_to_thread(channel, message)
        self._count_alert(message)
        self._keep(message, "posted")
        self.announce(message)
        return message

    def _add_to_thread(self, channel: Channel, message: Message) -> None:
        parent = channel.messages.get(message.thread_ts or "")
        if parent is None or message.seen_by is not None or not message.is_reply:
            return
        parent.replies.append(message.ts)
        if message.user not in parent.repliers:
            parent.repliers.append(message.user)
        self.announce(parent, kind="message_changed")

    def _count_alert(self, message: Message) -> None:
        payload = (message.metadata or {}).get("event_payload") or {}
        if isinstance(payload, dict) and payload.get("alert_id") is not None:
            # A message that tells of several alerts names them all.
            several = payload.get("alert_ids")
            self.alerts.update(map(str, several if isinstance(several, list) else [payload["alert_id"]]))

    def change(self, message: Message, **fields: Any) -> None:
        """Change a message in place, keeping its earlier content."""
        message.revisions.append(
            {
                "at": self.clock.now(),
                "text": message.text,
                "blocks": message.blocks,
                "metadata": message.metadata,
            }
        )
        del message.revisions[:-MAX_REVISIONS]
        if "blocks" in fields:
            fields["blocks"] = with_ids(fields["blocks"])
        for name, value in fields.items():
            setattr(message, name, value)
        message.edited_at = self.stamp()
        self._keep(message, "changed")
        self.announce(message, kind="message_changed")

    def _keep(self, message: Message, kind: Kind) -> None:
        self.transcript.add(
            Entry(
                at=self.clock.now(),
                kind=kind,
                user=message.user,
                channel=message.channel,
                ts=message.ts,
                thread_ts=message.thread_ts,
                seen_by=message.seen_by,
                text=message.text,
                blocks=message.blocks,
                attachments=message.attachments,
            )
        )

    def delete(self, message: Message) -> None:
        """Take a message out of its conversation and its thread."""
        self._keep(message, "deleted")
        channel = self.channels[message.channel]
        channel.messages.pop(message.ts, None)
        channel.ephemerals.pop(message.ts, None)
        parent = channel.messages.get(message.thread_ts or "")
        if parent is not None and message.ts in parent.replies:
            parent.replies.remove(message.ts)
            self.announce(parent, kind="message_changed")
        gone = {"channel": message.channel, "ts": message.ts, "thread_ts": message.thread_ts}
        self.feed.publish("message_deleted", gone, only_for=message.seen_by)

    def announce(self, message: Message, *, kind: str = "message") -> None:
        shown = {**message.to_json(), "notification": notification(message.text, message.blocks)}
        self.feed.publish(kind, shown, only_for=message.seen_by)
