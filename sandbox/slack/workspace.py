"""The Slack workspace: who and what is in it, and how messages come, change and go.

Nothing is checked here and nothing is sent to the bot.
"""

from __future__ import annotations

import math
import secrets
from collections import Counter
from dataclasses import dataclass, field
from typing import Any, TypeVar

from sandbox.clock import Clock
from sandbox.faults import Faults
from sandbox.slack import seed
from sandbox.slack.blockkit import Surface, problems
from sandbox.slack.errors import SlackError, refuse_if
from sandbox.slack.faults import SlackFault
from sandbox.slack.feed import Feed, Traffic
from sandbox.slack.model import Channel, Json, Message, User
from sandbox.slack.settings import Credentials, Settings
from sandbox.slack.sockets import Sockets

T = TypeVar("T")

MAX_MESSAGES = 20_000
"""The messages kept in one channel."""
MAX_REVISIONS = 100
MAX_TICKETS = 10_000


TRIGGER_SECONDS = 3.0
"""A trigger works once, within three seconds (https://docs.slack.dev/surfaces/modals)."""
RESPONSE_URL_SECONDS = 1800.0
RESPONSE_URL_USES = 5
"""A response address works five times within 30 minutes.

https://docs.slack.dev/interactivity/handling-user-interaction
"""


@dataclass(slots=True, kw_only=True)
class Trigger:
    """The right to open one view for one person."""

    user: str
    made_at: float
    id: str = field(default_factory=lambda: f"{secrets.randbelow(10**12)}.{secrets.token_hex(16)}")
    used: bool = False

    def redeem(self, *, now: float) -> None:
        """Use it up. Raises `SlackError` where it was used before, or is too old."""
        refuse_if(self.used, "exchanged_trigger_id")
        refuse_if(now - self.made_at > TRIGGER_SECONDS, "expired_trigger_id")
        self.used = True


@dataclass(slots=True, kw_only=True)
class ResponseUrl:
    """A response address: where it answers, and how often it was used.

    `message_ts` is the message that was acted on; a slash command and a view have none.
    """

    user: str
    channel: str
    made_at: float
    id: str = field(default_factory=lambda: f"{secrets.randbelow(10**12)}/{secrets.token_urlsafe(18)}")
    message_ts: str | None = None
    uses: int = 0

    def use(self, *, now: float) -> None:
        """Use it once. Raises `SlackError` where it is used up, or too old."""
        if now - self.made_at > RESPONSE_URL_SECONDS:
            raise SlackError("expired_url")
        refuse_if(self.uses >= RESPONSE_URL_USES, "used_url")
        self.uses += 1


CALLS_PER_MINUTE = {1: 1, 2: 20, 3: 50, 4: 100}
"""The calls that Slack promises at least for each tier of methods."""
_TIER_1_BURST = 5
"""Slack tolerates "a small amount of burst behavior" where it promises one call a minute."""


class RateLimiter:
    """A token bucket for each key."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._levels: dict[str, tuple[float, float]] = {}

    def take(self, key: str, *, rate: float, burst: int) -> None:
        """Take a token; `rate` tokens come back in a second, up to `burst`. A rate of 0 limits nothing.

        Raises `SlackError` (ratelimited) with the whole seconds after which to come back.
        """
        if rate <= 0:
            return
        now = self._clock.now()
        level, at = self._levels.get(key, (float(burst), now))
        level = min(float(burst), level + max(0.0, now - at) * rate)
        if level < 1:
            self._levels[key] = (level, now)
            raise SlackError("ratelimited", retry_after=max(1, math.ceil((1 - level) / rate)))
        self._levels[key] = (level - 1, now)

    def take_call(self, method: str, *, tier: int | None, factor: float) -> None:
        """Take a call of a method, which allows `factor` times what its tier promises.

        Without a tier, and with a factor of 0, nothing is limited. Raises `SlackError`.
        """
        if tier is not None:
            calls = CALLS_PER_MINUTE[tier] * factor
            burst = max(math.ceil(calls), _TIER_1_BURST)
            self.take(f"calls of {method}", rate=calls / 60, burst=burst)


def trim(mapping: dict[str, T], *, size: int) -> None:
    """Drop the oldest entries over `size`, so that a stand-in can run for weeks."""
    while len(mapping) > size:
        del mapping[next(iter(mapping))]


class Workspace:
    """Everything that the Web API, the control API and the page read and change.

    `origin` is the stand-in's address. `boot` differs at every start, so that a page notices one.
    """

    def __init__(self, *, settings: Settings, credentials: Credentials, clock: Clock, origin: str) -> None:
        self.settings = settings
        self.credentials = credentials
        self.clock = clock
        self.origin = origin
        self.boot = secrets.token_hex(8)
        self.feed = Feed()
        self.traffic = Traffic(self.feed, clock)
        self.sockets = Sockets(clock, self.feed)
        self._last_micro = 0
        self._first_settings = settings.model_copy()
        self.revoked = False
        self._start_over()

    def _start_over(self) -> None:
        self.users = {user.id: user for user in seed.USERS}
        self.groups = {group.id: group for group in seed.GROUPS}
        self.channels = {channel.id: channel for channel in seed.channels()}
        self.views: dict[str, Json] = {}
        self.modals: dict[str, str] = {}  # the id of the modal that a person has open
        self.homes: dict[str, str] = {}  # the id of a person's Home
        self.read_until: dict[tuple[str, str], str] = {}  # by person and channel
        self.alerts: Counter[str] = Counter()
        self.triggers: dict[str, Trigger] = {}
        self.response_urls: dict[str, ResponseUrl] = {}
        self.faults: Faults[SlackFault] = Faults()
        self.limits = RateLimiter(self.clock)

    def reset(self, *, everything: bool) -> None:
        """Forget messages, people's changes, views, faults and counts.

        With `everything`, also settings, token and time are as at the start; connections stay.
        """
        if everything:
            for name in Settings.model_fields:
                setattr(self.settings, name, getattr(self._first_settings, name))
            self.clock.reset()
            self.revoked = False
        self.traffic.clear()
        self._start_over()
        self.feed.publish("reset", {})

    # People and places

    def user(self, name: str) -> User:
        """Find someone by id or name. Raises `SlackError` (user_not_found)."""
        wanted = name.lstrip("@")
        for user in self.users.values():
            if name == user.id or wanted == user.name:
                return user
        raise SlackError("user_not_found")

    def channel(self, name: str) -> Channel:
        """Find a conversation by id or name. Raises `SlackError` (channel_not_found)."""
        found = self.channels.get(name)
        if found is not None:
            return found
        wanted = name.lstrip("#")
        for channel in self.channels.values():
            if channel.name == wanted:
                return channel
        raise SlackError("channel_not_found")

    def direct(self, user: str) -> Channel:
        """Return the direct message between a person and the bot; the first time it is opened.

        Raises `SlackError` (user_not_found, cannot_dm_bot).
        """
        person = self.user(user)
        refuse_if(person.is_bot, "cannot_dm_bot")
        id_ = f"D0{person.id[2:]}"
        if id_ not in self.channels:
            members = [person.id, seed.BOT.id]
            self.channels[id_] = Channel(id=id_, name=f"dm-{person.name}", members=members, direct=person.id)
            self.feed.publish("channels", {}, only_for=person.id)
        return self.channels[id_]

    def change_id(self, channel: Channel, new: str) -> str:
        """Give a channel another id, as where a private one is shared; returns the one before."""
        old = channel.id
        self.channels = {(new if key == old else key): one for key, one in self.channels.items()}
        channel.id = new
        for message in channel.everything():
            message.channel = new
        return old

    # What Slack accepts here

    def block_problems(self, blocks: Any, *, surface: Surface = "message", at: str = "/blocks") -> list[str]:
        """List what this workspace refuses in blocks."""
        return problems(blocks, surface=surface, at=at, refused=self.settings.refused_blocks)

    # Messages

    def stamp(self) -> str:
        """Return a ts that is later than every one before."""
        # A ts is also a message's id, so that two in the same microsecond can't be.
        self._last_micro = max(self._last_micro + 1, round(self.clock.now() * 1e6))
        return f"{self._last_micro // 1_000_000}.{self._last_micro % 1_000_000:06d}"

    def message(self, channel: Channel, ts: Any) -> Message:
        """Find a message that everybody sees. Raises `SlackError` (message_not_found)."""
        found = channel.messages.get(str(ts))
        if found is None:
            raise SlackError("message_not_found")
        return found

    def post(self, channel: Channel, *, user: str, text: str, **details: Any) -> Message:
        """Post a message; `details` are further fields of `Message`."""
        details["blocks"] = with_ids(details.get("blocks") or [])
        message = Message(
            ts=self.stamp(),
            channel=channel.id,
            user=user,
            text=text,
            team=seed.TEAM.id,
            posted_at=self.clock.now(),
            **details,
        )
        # Ephemerals are apart, because neither history nor an update may find them.
        kept = channel.messages if message.seen_by is None else channel.ephemerals
        kept[message.ts] = message
        channel.posted += message.seen_by is None
        trim(kept, size=MAX_MESSAGES)
        self._add_to_thread(channel, message)
        self._count_alerts(message)
        self.announce(message, kind="message")
        return message

    def _add_to_thread(self, channel: Channel, message: Message) -> None:
        parent = channel.messages.get(message.thread_ts or "")
        if parent is None or message.seen_by is not None or not message.is_reply:
            return
        parent.replies.append(message.ts)
        if message.user not in parent.repliers:
            parent.repliers.append(message.user)
        self.announce(parent)

    def _count_alerts(self, message: Message) -> None:
        """Count how often each alert was posted; a message about several alerts names them all."""
        payload = (message.metadata or {}).get("event_payload") or {}
        if payload.get("alert_id") is not None:
            several = payload.get("alert_ids")
            named = several if isinstance(several, list) else [payload["alert_id"]]
            self.alerts.update(map(str, named))

    def change(self, message: Message, **fields: Any) -> None:
        """Change a message in place; its content before is kept."""
        before = {
            "at": self.clock.now(),
            "text": message.text,
            "blocks": message.blocks,
            "metadata": message.metadata,
        }
        message.revisions.append(before)
        del message.revisions[:-MAX_REVISIONS]
        if "blocks" in fields:
            fields["blocks"] = with_ids(fields["blocks"])
        for name, value in fields.items():
            setattr(message, name, value)
        message.edited_at = self.stamp()
        self.announce(message)

    def delete(self, message: Message) -> None:
        """Take a message out of its conversation and its thread."""
        channel = self.channels[message.channel]
        # In either, since only a response address may name an ephemeral.
        channel.messages.pop(message.ts, None)
        channel.ephemerals.pop(message.ts, None)
        parent = channel.messages.get(message.thread_ts or "")
        if parent is not None and message.ts in parent.replies:
            parent.replies.remove(message.ts)
            self.announce(parent)
        gone = {"channel": message.channel, "ts": message.ts, "thread_ts": message.thread_ts}
        self.feed.publish("message_deleted", gone, only_for=message.seen_by)

    def announce(self, message: Message, *, kind: str = "message_changed") -> None:
        self.feed.publish(kind, message.to_json(), only_for=message.seen_by)

    # What an interaction hands out

    def issue_trigger(self, user: str) -> str:
        issued = Trigger(user=user, made_at=self.clock.now())
        self.triggers[issued.id] = issued
        trim(self.triggers, size=MAX_TICKETS)
        return issued.id

    def issue_response_url(self, user: str, channel: Channel, message: Message | None = None) -> ResponseUrl:
        issued = ResponseUrl(
            user=user,
            channel=channel.id,
            made_at=self.clock.now(),
            message_ts=message.ts if message else None,
        )
        self.response_urls[issued.id] = issued
        trim(self.response_urls, size=MAX_TICKETS)
        return issued


def with_ids(blocks: list[Json]) -> list[Json]:
    """Return blocks as Slack stores them, where every block and every element has an id."""
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
