"""Slack's users, user groups and channels, cached."""

from __future__ import annotations

import asyncio
import contextlib
import difflib
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar, cast

import structlog

from bot.slack.permissions import Person, Standing
from bot.slack.web_api import SlackError, WebApi
from shared.commands.run import Place
from shared.frozen import frozen
from shared.settings import Roles

FRESH_SECONDS, STALE_SECONDS = 600.0, 3600.0
"""Seconds for which an answer is used without asking again, and for which it is used where Slack does not answer."""
PERSON_SECONDS = 60.0
"""People, groups and memberships are asked about more often: who loses a role or leaves a channel loses what it gave within a minute."""
ROTA_SECONDS = 120.0
"""Seconds between two readings of the people in rotas."""
_PERSONAL = frozenset({"user", "group", "memberships"})
GONE = frozenset({"user_not_found", "user_not_visible", "users_not_found", "no_such_subteam"})
"""Slack's error codes for a user or group that no longer exists."""
MAX_CACHED, MAX_PAGES = 5_000, 20
PAGE = 999
"""Channels on a page: Slack takes a limit under 1,000 (docs.slack.dev/reference/methods/conversations.list)."""
TIMEOUT_SECONDS = 5
INVITE = "Type /invite @outreach there, then try again."
_NOT_THERE = frozenset({"channel_not_found", "method_not_supported_for_channel_type"})

log = structlog.get_logger("people")
T = TypeVar("T")


@frozen
class Viewer:
    """The reader of an answer in a channel; without a user, everybody there."""

    user: str = ""
    channel: str = ""


@frozen
class Channel:
    """A channel that the bot can see."""

    id: str
    name: str
    is_private: bool
    """A private channel or a conversation: known to its members only."""
    person: str = ""
    """The other person of the bot's direct messages there."""

    @classmethod
    def from_info(cls, channel: str, info: Mapping[str, Any]) -> Channel:
        private = any(info.get(kind) for kind in ("is_private", "is_group", "is_mpim", "is_im"))
        name, person = (str(info.get(key) or "") for key in ("name", "user"))
        return cls(id=channel, name=name, is_private=private, person=person)


class UserDirectory:
    """`find` a person, a group's name, a channel; what Slack does not tell now is what it told last."""

    def __init__(
        self, slack: WebApi, *, groups: Iterable[str] = (), clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._slack, self._clock, self._groups = slack, clock, tuple(groups)
        self._cached: dict[tuple[str, str], tuple[float, Any]] = {}

    async def _cached_call(self, kind: str, key: str, fetch: Callable[[], Awaitable[T]]) -> T | None:
        at, answer = self._cached.get((kind, key), (0.0, None))
        age = self._clock() - at
        if answer is not None and age < (PERSON_SECONDS if kind in _PERSONAL else FRESH_SECONDS):
            return cast("T", answer)
        try:
            answer = await asyncio.wait_for(fetch(), TIMEOUT_SECONDS)
        except (SlackError, TimeoutError) as error:
            log.warning("Slack didn't respond", kind=kind, key=key, error=str(error))
            # Whom Slack no longer knows must not keep what they could do.
            if age >= STALE_SECONDS or (isinstance(error, SlackError) and error.code in GONE):
                self._cached.pop((kind, key), None)
                return None
            return cast("T | None", answer)
        if len(self._cached) >= MAX_CACHED:
            self._cached.clear()
        self._cached[kind, key] = (self._clock(), answer)
        return cast("T", answer)

    async def _listed(self, method: str, of: str, **query: Any) -> AsyncIterator[Mapping[str, Any]]:
        cursor: str | None = None
        for _page in range(MAX_PAGES):
            answer = await self._slack.read(method, limit=PAGE, cursor=cursor, **query)
            for entry in answer.get(of) or ():
                yield entry
            cursor = (answer.get("response_metadata") or {}).get("next_cursor")
            if not cursor:
                break

    # -- people

    async def find(self, user: str, *, name: str = "") -> Person:
        """The person; when Slack does not answer, the last that was known, or one who may change nothing."""
        person = await self._cached_call("user", user, lambda: self._person(user))
        if person is None:
            person = Person(id=user, name=name or user, is_known=False)
        if not self._groups:
            return person
        members = await asyncio.gather(
            *(self._cached_call("group", group, partial(self._members, group)) for group in self._groups)
        )
        groups = (group for group, who in zip(self._groups, members, strict=True) if who and user in who)
        return replace(person, groups=frozenset(groups))

    async def _person(self, user: str) -> Person:
        if not self._slack.identity:
            await self._slack.call("auth.test")
        info = (await self._slack.read("users.info", user=user)).get("user") or {}
        return Person.from_user({**info, "id": user}, home=self._slack.identity)

    async def _members(self, group: str) -> frozenset[str]:
        answer = await self._slack.read("usergroups.users.list", usergroup=group)
        return frozenset(str(user) for user in answer.get("users") or ())

    async def find_named(self, name: str) -> str:
        """The id of the one person of a name, `@ann`; empty where nobody has it, or several."""
        people = await self._cached_call("people", "", self._people) or {}
        wanted = name.lstrip("@").casefold()
        having = [user for user, names in people.items() if wanted in map(str.casefold, names)]
        return having[0] if len(having) == 1 else ""

    async def people(self) -> Sequence[str]:
        """The names of everybody here who can do something: `ann`."""
        people = await self._cached_call("people", "", self._people) or {}
        return sorted({names[0] for names in people.values() if names}, key=str.casefold)

    async def _people(self) -> dict[str, tuple[str, ...]]:
        """The names of each person here who can do something: the one that is shown first."""
        people = {}
        async for user in self._listed("users.list", "members"):
            person = Person.from_user(user, home={})
            if not (person.is_bot or person.is_deleted):
                profile = user.get("profile") or {}
                names = (person.name, user.get("name"), profile.get("real_name"))
                people[person.id] = tuple(str(name) for name in names if name)
        return people

    async def display_name(self, who: str) -> str:
        """The name of a person or a group, or what a mention of `here` means."""
        if who == "here":
            return "everyone in the channel"
        if who.startswith("S"):
            handles = await self._cached_call("handles", "", self._handles) or {}
            return f"@{handles.get(who, who)}"
        return f"@{(await self.find(who)).name}"

    async def _handles(self) -> dict[str, str]:
        groups = (await self._slack.read("usergroups.list")).get("usergroups") or ()
        return {str(group["id"]): str(group.get("handle") or group["id"]) for group in groups}

    async def own_id(self) -> str:
        """The bot's own id; empty where Slack doesn't tell."""
        with contextlib.suppress(SlackError):
            if not self._slack.identity:
                await self._slack.call("auth.test", seconds=TIMEOUT_SECONDS)
        return str(self._slack.identity.get("user_id") or "")

    async def posts_anywhere(self) -> bool:
        """True if the bot may post to public channels that it is not in."""
        with contextlib.suppress(SlackError):
            await self._slack.call("auth.test", seconds=TIMEOUT_SECONDS)
        return "chat:write.public" in self._slack.scopes

    # -- channels

    async def _channel(self, channel: str) -> Channel | None:
        return await self._cached_call("channel", channel, lambda: self._fetch_channel(channel))

    async def _fetch_channel(self, channel: str) -> Channel:
        info = (await self._slack.read("conversations.info", channel=channel)).get("channel") or {}
        return Channel.from_info(channel, info)

    def forget_channel(self, channel: str) -> None:
        """A channel was renamed, archived or moved: cached data about it and about all names is dropped."""
        self._cached.pop(("channel", channel), None)
        self._cached.pop(("channels", ""), None)

    async def _ids(self, viewer: Viewer | None) -> Mapping[str, str] | None:
        """The ids of the channels that a viewer may know of, by name; None where Slack doesn't tell."""
        channels = await self._cached_call("channels", "", self._channels)
        if channels is None:
            return None
        mine = await self._memberships_of(viewer) if viewer else None
        return {
            name: channel.id
            for name, channel in channels.items()
            if mine is None or not channel.is_private or channel.id in mine
        }

    async def _channels(self) -> dict[str, Channel]:
        channels: dict[str, Channel] = {}
        kinds = "public_channel,private_channel"
        async for info in self._listed("conversations.list", "channels", types=kinds):
            name = str(info["name"]).lower()
            if not (info.get("is_archived") and name in channels):  # another one may have its name since
                channels[name] = Channel.from_info(str(info["id"]), info)
        return channels

    async def sees(self, channel: str, viewer: Viewer) -> bool:
        """True if a viewer may know of a channel: everybody of a public one, its members of a private one.

        False too where Slack doesn't tell, and where there is no such channel.
        """
        if channel == viewer.channel:
            return True
        place = await self._channel(channel)
        if place is None or not place.is_private or place.person:
            return place is not None and place.person in {"", viewer.user}
        return channel in await self._memberships_of(viewer)

    async def may_read(self, about: str, channel: str) -> bool:
        """True if everybody who reads a channel may know what another one gets."""
        return not about or await self.sees(about, Viewer(channel=channel))

    async def _memberships_of(self, viewer: Viewer) -> frozenset[str]:
        """The private channels of a person that the bot is in too: Slack tells it of no others.

        https://docs.slack.dev/reference/methods/users.conversations
        """
        memberships = None
        if viewer.user:
            fetch = partial(self._memberships, viewer.user)
            memberships = await self._cached_call("memberships", viewer.user, fetch)
        return frozenset({viewer.channel}) | (memberships or frozenset())

    async def _memberships(self, user: str) -> frozenset[str]:
        shared = self._listed("users.conversations", "channels", user=user, types="private_channel,mpim")
        return frozenset([str(info["id"]) async for info in shared])

    async def locate(self, channel: str, viewer: Viewer | None = None) -> Place:
        """The id of a channel that is given by id or as `#sales`, or its refusal.

        A private channel that a viewer may not know of is refused like a missing one.
        """
        if not channel.startswith("#"):
            hidden = viewer is not None and not await self.sees(channel, viewer)
            return _no_channel(channel) if hidden else Place(channel=channel)
        ids, name = await self._ids(viewer), channel[1:].lower()
        if ids is None:
            return Place(
                channel=channel,
                error="unreachable",
                refusal=f"Slack couldn't be asked about {channel}",
                fix="Try again, or give the channel's id.",
            )
        if name in ids:
            return Place(channel=ids[name])
        return _no_channel(channel, near=difflib.get_close_matches(name, ids, n=3))

    async def find_place(self, channel: str, viewer: Viewer | None = None) -> Place:
        """Answer if alerts can be posted to a channel and read back there; a public one is joined for that.

        https://docs.slack.dev/reference/methods/conversations.join
        """
        place = await self.locate(channel, viewer)
        if place.refusal:
            return place
        channel = place.channel
        if channel.startswith("D") and viewer and viewer.user:
            return await self._find_conversation(channel, viewer.user)
        try:
            info = (await self._slack.read("conversations.info", channel=channel)).get("channel") or {}
        except SlackError as error:
            if error.code in _NOT_THERE:
                return _no_channel(channel)
            log.warning("channel not checked", channel=channel, error=str(error))
            note = f"Slack couldn't check this channel: {error.code}."
            return Place(channel=channel, note=note)  # an error shows with the first alert
        place, name = Place(channel=channel), f"#{info.get('name') or channel}"
        if info.get("is_archived"):
            fix = "Unarchive it, or choose another."
            return replace(place, error="is_archived", refusal=f"{name} is archived", fix=fix)
        return place if info.get("is_member") or info.get("is_im") else await self._join(place, name)

    async def _join(self, place: Place, name: str) -> Place:
        channel = place.channel
        try:
            await self._slack.call("conversations.join", channel=channel)
        except SlackError as error:
            if not (error.code == "missing_scope" and await self.posts_anywhere()):
                log.warning("channel not joined", channel=channel, error=str(error))
                why = f"The bot isn't in {name}"
                return replace(place, error="not_in_channel", refusal=why, fix=INVITE)
        return place

    async def _find_conversation(self, channel: str, person: str) -> Place:
        """A conversation is a place if it is the person's with the bot: no other takes the bot's messages."""
        try:
            own = await self._slack.message_channel(person)
        except SlackError as error:
            log.warning("channel not checked", channel=channel, error=str(error))
            return Place(channel=channel)  # an error shows with the first alert
        if own == channel:
            return Place(channel=channel)
        fix = "Use a channel, or your own conversation with the bot."
        why = "The bot isn't in this conversation"
        return Place(channel=channel, error="not_in_channel", refusal=why, fix=fix)

    async def can_post(self, channel: str) -> bool:
        """True where Slack is known to take messages of the bot: it sees a private channel only as a member."""
        place = await self._channel(channel)
        return place is not None and (place.is_private or await self.posts_anywhere())

    async def channel_name(self, channel: str) -> str:
        """`sales`; empty where Slack does not tell."""
        place = await self._channel(channel)
        return place.name if place else ""

    async def shown_name(self, channel: str, viewer: Viewer) -> str:
        """`#sales`; a private channel has a name for its members only. Empty where Slack does not tell."""
        name = await self.channel_name(channel)
        if not name:
            return ""
        return f"#{name}" if await self.sees(channel, viewer) else "a private channel"

    def known_name(self, channel: str) -> str:
        """`#sales`, as far as it was asked before, for people of any channel; else the id."""
        place: Channel | None = self._cached.get(("channel", channel), (0.0, None))[1]
        if place is None or not (place.name or place.person):
            return f"Channel {channel}"
        if place.person:
            return f"Conversation {channel}"
        return f"Private channel {channel}" if place.is_private else f"#{place.name}"

    async def permalink(self, channel: str, ts: str) -> str:
        return await self._cached_call("link", f"{channel} {ts}", lambda: self._permalink(channel, ts)) or ""

    async def _permalink(self, channel: str, ts: str) -> str:
        info = await self._slack.read("chat.getPermalink", channel=channel, message_ts=ts)
        return str(info.get("permalink") or "")


def _no_channel(channel: str, *, near: Sequence[str] = ()) -> Place:
    # By its id it would be shown as a private channel, which a missing one isn't.
    named = channel if channel.startswith("#") else "that channel"
    meant = f"Did you mean {', '.join(f'#{name}' for name in near)}? " if near else ""
    fix = f"{meant}If it is private, the bot must be a member. {INVITE}"
    return Place(channel=channel, error="channel_not_found", refusal=f"The bot can't see {named}", fix=fix)


async def may_still_pause(directory: UserDirectory, rules: Roles, user: str, channel: str) -> bool:
    """True if a person may pause sequences, asked when a rule that they added is about to.

    Where Slack does not say who it is, what held when the rule was added holds.
    """
    person = await directory.find(user)
    if not person.is_known or person.is_deleted:
        return not person.is_known
    return Standing(person=person, rules=rules, channel=channel).may("pause")


class RotaPeople:
    """The people in rotas: `name` and `is_gone` answer at once, from what `refresh` has read.

    Read regularly and kept, so that no alert waits for Slack. Who isn't known can take turns.
    """

    def __init__(self, directory: UserDirectory, people: Iterable[str]) -> None:
        self._directory, self._people = directory, sorted(set(people))
        self._known: dict[str, Person] = {}

    async def refresh(self) -> None:
        """Ask Slack about everybody, one after the other: its limit is a hundred a minute."""
        for user in self._people:
            person = await self._directory.find(user)
            if person.is_known:
                self._known[user] = person
            else:
                self._known.pop(user, None)

    def name(self, person: str) -> str:
        """The name as it is shown; empty where Slack doesn't tell."""
        return self._known[person].name if person in self._known else ""

    def is_gone(self, person: str) -> bool:
        """True if the person was deactivated, is a guest, or is of another organization."""
        return person in self._known and not self._known[person].is_member
