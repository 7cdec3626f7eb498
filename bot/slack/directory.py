"""Slack's users, user groups and channels, cached."""

from __future__ import annotations

import asyncio
import contextlib
import difflib
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import structlog

from bot.blockkit import channels_in, with_channel_names
from bot.slack.permissions import Person
from bot.slack.web_api import SlackError, WebApi
from shared.api.pace import boot_time
from shared.commands.base import Place
from shared.domain.card import Card
from shared.frozen import frozen
from shared.records import Actor

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
TIMEOUT_SECONDS = 5.0
MOST_NAMED = 20
"""Channels of one card that are asked about."""
MOST_MENTIONED = 10
"""People of one text who are asked about; what is behind stays as it was sent."""
_MENTION = re.compile(r"<@([UW][A-Z0-9]+)>")
INVITE = "Type /invite @outreach there, then try again."
_ABSENT = "not_in_channel"
_NOT_THERE = frozenset({"channel_not_found", "method_not_supported_for_channel_type"})

log = structlog.get_logger("people")


def everybody(channel: str) -> Actor:
    """The readers of what stands in a channel."""
    return Actor(name="everybody", channel=channel)


@frozen
class Channel:
    """A channel that the bot can see."""

    id: str
    name: str
    is_private: bool
    """A private channel or a conversation: known to its members only."""
    is_archived: bool
    is_open: bool
    """The bot is a member, or it is a conversation with the bot."""
    person: str
    """The other person of the bot's direct messages there."""

    @classmethod
    def from_info(cls, channel: str, info: Mapping[str, Any]) -> Channel:
        return cls(
            id=channel,
            name=str(info.get("name") or ""),
            is_private=any(info.get(kind) for kind in ("is_private", "is_group", "is_mpim", "is_im")),
            is_archived=bool(info.get("is_archived")),
            is_open=bool(info.get("is_member") or info.get("is_im")),
            person=str(info.get("user") or ""),
        )


class UserDirectory:
    """`find` a person, a group's name, a channel; what Slack does not tell now is what it told last.

    The people of the `rota` are read regularly and kept, so that no alert waits for Slack.
    """

    def __init__(self, slack: WebApi, *, groups: Iterable[str] = (), rota: Iterable[str] = ()) -> None:
        self._slack, self._groups, self._rota = slack, tuple(groups), sorted(set(rota))
        self._cached: dict[tuple[str, str], tuple[float, Any]] = {}

    async def _ask(
        self, kind: str, key: str, fetch: Callable[[], Awaitable[Any]], seconds: float = TIMEOUT_SECONDS
    ) -> Any:
        """What Slack says, or said a short time ago; None where it has not answered for long."""
        at, answer = self._cached.get((kind, key), (0.0, None))
        age = boot_time() - at
        if answer is not None and age < (PERSON_SECONDS if kind in _PERSONAL else FRESH_SECONDS):
            return answer
        try:
            async with asyncio.timeout(seconds):
                answer = await fetch()
        except (SlackError, TimeoutError) as error:
            log.warning("Slack didn't respond", kind=kind, key=key, error=str(error))
            # Whom Slack no longer knows must not keep what they could do.
            if age >= STALE_SECONDS or (isinstance(error, SlackError) and error.code in GONE):
                self._cached.pop((kind, key), None)
                return None
            return answer
        if len(self._cached) >= MAX_CACHED:
            self._cached.clear()
        self._cached[kind, key] = (boot_time(), answer)
        return answer

    def _known(self, kind: str, key: str) -> Any:
        """What Slack has said before, without asking."""
        return self._cached.get((kind, key), (0.0, None))[1]

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

    async def find(self, user: str, *, name: str = "", seconds: float = TIMEOUT_SECONDS) -> Person:
        """The person; when Slack does not answer in time, the last that was known, or one who may change nothing."""
        person, *members = await asyncio.gather(
            self._ask("user", user, partial(self._person, user), seconds),
            *(self._ask("group", group, partial(self._members, group), seconds) for group in self._groups),
        )
        groups = [group for group, who in zip(self._groups, members, strict=True) if user in (who or ())]
        unknown = Person(id=user, name=name or user, is_known=False)
        return replace(person or unknown, groups=frozenset(groups))

    async def _person(self, user: str) -> Person:
        if not self._slack.identity:
            await self._slack.call("auth.test")
        info = (await self._slack.read("users.info", user=user)).get("user") or {}
        return Person.from_user({**info, "id": user}, home=self._slack.identity)

    async def _members(self, group: str) -> frozenset[str]:
        answer = await self._slack.read("usergroups.users.list", usergroup=group)
        return frozenset(str(user) for user in answer.get("users") or ())

    async def read_rota(self) -> None:
        """Ask Slack about everybody in rotas, one after the other: its limit is a hundred a minute."""
        for user in self._rota:
            await self.find(user)

    def name(self, user: str) -> str:
        """The name of a person in a rota; empty where Slack has not told it."""
        person: Person | None = self._known("user", user)
        return person.name if person else ""

    def is_gone(self, user: str) -> bool:
        """True if a person in a rota was deactivated, is a guest, or is of another organization. Others can take turns."""
        person: Person | None = self._known("user", user)
        return person is not None and not person.is_member

    async def with_names(self, text: str) -> str:
        """A person's words with whom they mention by name, since they are shown as they are: `@ben` for `<@U1>`."""
        for user in list(dict.fromkeys(_MENTION.findall(text)))[:MOST_MENTIONED]:
            text = text.replace(f"<@{user}>", f"@{(await self.find(user)).name}")
        return text

    async def find_named(self, name: str) -> str:
        """The id of the one person with a name, `@ann`; empty if several people have it, or none."""
        wanted = name.lstrip("@").casefold()
        people = (await self._people()).items()
        having = [user for user, names in people if wanted in map(str.casefold, names)]
        return having[0] if len(having) == 1 else ""

    async def people(self) -> Sequence[str]:
        """The names of everybody here who can do something: `ann`."""
        return sorted({names[0] for names in (await self._people()).values()}, key=str.casefold)

    async def _people(self) -> Mapping[str, Sequence[str]]:
        """The names of each person here who can do something: the one that is shown first."""

        async def read() -> dict[str, list[str]]:
            people = {}
            async for user in self._listed("users.list", "members"):
                person, profile = Person.from_user(user, home={}), user.get("profile") or {}
                names = (person.name, user.get("name"), profile.get("real_name"))
                if not (person.is_bot or person.is_deleted):
                    people[person.id] = [str(name) for name in names if name]
            return people

        return await self._ask("people", "", read) or {}

    async def posts_anywhere(self) -> bool:
        """True if the bot may post to public channels that it is not in."""
        with contextlib.suppress(SlackError):
            await self._slack.call("auth.test", seconds=TIMEOUT_SECONDS)
        return "chat:write.public" in self._slack.scopes

    # -- channels

    async def channel(self, channel: str) -> Channel | None:
        """The channel; None where Slack does not tell."""
        known: Channel | None = await self._ask("channel", channel, partial(self._fetch_channel, channel))
        return known

    async def _fetch_channel(self, channel: str) -> Channel:
        info = (await self._slack.read("conversations.info", channel=channel)).get("channel") or {}
        return Channel.from_info(channel, info)

    def forget_channel(self, channel: str) -> None:
        """A channel was renamed, archived or moved: cached data about it and about all names is dropped."""
        self._cached.pop(("channel", channel), None)
        self._cached.pop(("channels", ""), None)

    async def _channels(self) -> dict[str, Channel]:
        channels: dict[str, Channel] = {}
        kinds = "public_channel,private_channel"
        async for info in self._listed("conversations.list", "channels", types=kinds):
            name, channel = str(info["name"]).lower(), Channel.from_info(str(info["id"]), info)
            if not (channel.is_archived and name in channels):  # another one may have its name since
                channels[name] = channel
        return channels

    async def sees(self, channel: str, viewer: Actor) -> bool:
        """True if a viewer may know of a channel: everybody of a public one, its members of a private one.

        False too where Slack doesn't tell, and where there is no such channel.
        """
        if channel == viewer.channel:
            return True
        place = await self.channel(channel)
        if place is None or not place.is_private or place.person:
            return place is not None and place.person in {"", viewer.id}
        return channel in await self._memberships_of(viewer)

    async def may_read(self, about: str, channel: str) -> bool:
        """True if everybody who reads a channel may know what another one gets."""
        return not about or await self.sees(about, everybody(channel))

    async def _memberships_of(self, viewer: Actor) -> frozenset[str]:
        """The private channels of a person that the bot is in too: Slack tells it of no others.

        https://docs.slack.dev/reference/methods/users.conversations
        """

        async def read() -> frozenset[str]:
            kinds = "private_channel,mpim"
            shared = self._listed("users.conversations", "channels", user=viewer.id, types=kinds)
            return frozenset([str(info["id"]) async for info in shared])

        mine = await self._ask("memberships", viewer.id, read) if viewer.id else None
        return frozenset({viewer.channel}) | (mine or frozenset())

    async def locate(self, channel: str, viewer: Actor | None = None) -> Place:
        """The id of a channel that is given by id or as `#sales`, or its refusal.

        A private channel that a viewer may not know of is refused like a missing one.
        """
        if not channel.startswith("#"):
            hidden = viewer is not None and not await self.sees(channel, viewer)
            return _no_channel(channel) if hidden else Place(channel=channel)
        channels = await self._ask("channels", "", self._channels)
        if channels is None:
            refusal, fix = f"Slack couldn't be asked about {channel}", "Try again, or give the channel's id."
            return Place(channel=channel, error="unreachable", refusal=refusal, fix=fix)
        mine, name = await self._memberships_of(viewer) if viewer else None, channel[1:].lower()
        ids = {
            other: known.id
            for other, known in channels.items()
            if mine is None or not known.is_private or known.id in mine
        }
        if name in ids:
            return Place(channel=ids[name])
        return _no_channel(channel, near=difflib.get_close_matches(name, ids, n=3))

    async def find_place(self, channel: str, viewer: Actor | None = None) -> Place:
        """Answer if alerts can be posted to a channel and read back there; a public one is joined for that.

        https://docs.slack.dev/reference/methods/conversations.join
        """
        place = await self.locate(channel, viewer)
        if place.refusal:
            return place
        channel = place.channel
        try:
            info = await self._fetch_channel(channel)
        except SlackError as error:
            if error.code in _NOT_THERE:
                return _no_channel(channel)
            log.warning("channel not checked", channel=channel, error=str(error))
            # An error shows with the first alert.
            return replace(place, note=f"Slack couldn't check this channel: {error.code}.")
        name = f"#{info.name or channel}"
        if info.is_archived:
            fix = "Unarchive it, or choose another."
            place = replace(place, error="is_archived", refusal=f"{name} is archived", fix=fix)
        elif not (info.is_open or await self._joins(channel)):
            place = replace(place, error=_ABSENT, refusal=f"The bot isn't in {name}", fix=INVITE)
        return place

    async def _joins(self, channel: str) -> bool:
        """Join a channel; True also where the bot can post without."""
        try:
            await self._slack.call("conversations.join", channel=channel)
        except SlackError as error:
            log.warning("channel not joined", channel=channel, error=str(error))
            return error.code == "missing_scope" and await self.posts_anywhere()
        return True

    async def can_post(self, channel: str) -> bool:
        """True where Slack is known to take messages of the bot: it sees a private channel only as a member."""
        place = await self.channel(channel)
        return place is not None and (place.is_private or await self.posts_anywhere())

    async def shown_name(self, channel: str, viewer: Actor) -> str:
        """`#sales`; a private channel has a name for its members only. Empty where Slack does not tell."""
        if channel == viewer.channel and channel.startswith("D"):
            return "this conversation"
        place = await self.channel(channel)
        if place is None or not place.name:
            return ""
        return f"#{place.name}" if await self.sees(channel, viewer) else "a private channel"

    async def name_channels(self, card: Card, viewer: Actor) -> Card:
        """The card with its channels by name, as far as the viewer may know them."""
        channels = sorted(channels_in(card))[:MOST_NAMED]
        if not channels:
            return card
        told = await asyncio.gather(*(self.shown_name(channel, viewer) for channel in channels))
        return with_channel_names(card, dict(zip(channels, told, strict=True)))

    def known_name(self, channel: str) -> str:
        """`#sales`, as far as it was asked before, for people of any channel; else the id."""
        place: Channel | None = self._known("channel", channel)
        if place is None or place.is_private or not place.name:
            return f"channel {channel}"
        return f"#{place.name}"

    async def permalink(self, channel: str, ts: str) -> str:
        """The address of a message; empty where Slack does not tell."""

        async def read() -> str:
            info = await self._slack.read("chat.getPermalink", channel=channel, message_ts=ts)
            return str(info.get("permalink") or "")

        return await self._ask("link", f"{channel} {ts}", read) or ""


def _no_channel(channel: str, *, near: Sequence[str] = ()) -> Place:
    # By its id it would be shown as a private channel, which a missing one isn't.
    named = channel if channel.startswith("#") else "that channel"
    meant = f"Did you mean {', '.join(f'#{name}' for name in near)}? " if near else ""
    fix = f"{meant}If it is private, the bot must be a member. {INVITE}"
    return Place(channel=channel, error="channel_not_found", refusal=f"The bot can't see {named}", fix=fix)
