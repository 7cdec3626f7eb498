"""Slack's users, user groups and channels, cached."""

from __future__ import annotations

import asyncio
import contextlib
import difflib
import re
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar, cast

import structlog

from bot.slack.permissions import Organization, Person
from bot.slack.web_api import SlackError, WebApi
from shared.commands.run import Place
from shared.settings import MEMBERS

FRESH_SECONDS, STALE_SECONDS = 600.0, 3600.0
"""Seconds for which an answer is used without asking again, and for which it is used where Slack does not answer."""
PERSON_SECONDS = 60.0
"""The same for people, groups and memberships: who loses a role or leaves a channel loses what it gave within a minute."""
_PERSONAL = frozenset({"user", "group", "memberships"})
GONE = frozenset({"user_not_found", "user_not_visible", "users_not_found", "no_such_subteam"})
"""Slack's error codes for a user or group that no longer exists."""
MAX_CACHED, MAX_PAGES = 5_000, 20
PAGE = 999
"""Channels on a page: Slack takes a limit under 1,000 (docs.slack.dev/reference/methods/conversations.list)."""
TIMEOUT = 5
INVITE = "Type /invite @outreach there, then try again."
_NOT_THERE = frozenset({"channel_not_found", "method_not_supported_for_channel_type"})
_NAMING = frozenset({"subscribe", "unsubscribe", "subscriptions", "digest"})
"""The commands that name channels; elsewhere a `#` may belong to a sequence's name."""
_NAMED = re.compile(r"(?<![\w<&])#([^\s#<>&,|\"]{1,80})")

log = structlog.get_logger("people")
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Viewer:
    """Who reads an answer, and in which channel; without a user, everybody there."""

    user: str = ""
    channel: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Channel:
    """A channel that the bot can see."""

    id: str
    name: str
    is_private: bool
    """A private channel or a conversation: known to its members only."""
    person: str = ""
    """With whom the bot's direct messages there are."""


class UserDirectory:
    """`find` a person, a group's name, a channel; what Slack does not tell now is what it told last."""

    def __init__(
        self,
        slack: WebApi,
        *,
        groups: Iterable[str] = (),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._slack, self._clock = slack, clock
        self._groups = tuple(groups)
        self._cached: dict[tuple[str, str], tuple[float, Any]] = {}
        self._home = Organization()

    async def find(self, user: str, *, name: str = "") -> Person:
        """The person; when Slack does not answer, the last that was known, or one who may change nothing."""
        person = await self._cached_call("user", user, lambda: self._person(user))
        if person is None:
            person = Person(id=user, name=name or user, is_known=False)
        return replace(person, groups=await self._groups_of(user))

    async def find_named(self, name: str) -> tuple[str, Sequence[tuple[str, str]]]:
        """The id of the one person of a name, `@ann`; empty if it isn't one, with ids and names of those like it."""
        known = await self._cached_call("people", "", self._people) or {}
        wanted = name.lstrip("@").casefold()
        found = [user for user, names in known.items() if wanted in {one.casefold() for one in names}]
        if len(found) == 1:
            return found[0], ()
        handles = {names[0].casefold(): user for user, names in known.items()}
        near = [handles[one] for one in difflib.get_close_matches(wanted, handles, n=3, cutoff=0.5)]
        return "", [(user, known[user][0]) for user in found[:3] or near]

    async def nearest(self, user: str) -> str:
        """The person with an id like this one: `U0ANN00001 (@ann)`; empty if none has."""
        known = await self._cached_call("people", "", self._people) or {}
        near = difflib.get_close_matches(user, known, n=1, cutoff=0.7)
        return f"{near[0]} (@{known[near[0]][0]})" if near else ""

    async def people(self) -> Sequence[str]:
        """The names of everybody here who can do something: `ann`."""
        known = await self._cached_call("people", "", self._people) or {}
        return sorted({names[0] for names in known.values() if names}, key=str.casefold)

    async def _people(self) -> dict[str, tuple[str, ...]]:
        """The names of each person here who can do something: the one that is shown first."""
        found = {}
        async for one in self._listed("users.list", of="members"):
            person = Person.from_user(one, home=Organization())
            if not (person.is_bot or person.is_deleted):
                profile = one.get("profile") or {}
                names = (person.name, one.get("name"), profile.get("real_name"))
                found[person.id] = tuple(str(name) for name in names if name)
        return found

    async def _groups_of(self, user: str) -> frozenset[str]:
        members = await asyncio.gather(
            *(self._cached_call("group", group, partial(self._members, group)) for group in self._groups)
        )
        return frozenset(g for g, who in zip(self._groups, members, strict=True) if who and user in who)

    async def _cached_call(self, kind: str, key: str, fetch: Callable[[], Awaitable[T]]) -> T | None:
        at, known = self._cached.get((kind, key), (0.0, None))
        age = self._clock() - at
        if known is not None and age < (PERSON_SECONDS if kind in _PERSONAL else FRESH_SECONDS):
            return cast("T", known)
        try:
            known = await asyncio.wait_for(fetch(), TIMEOUT)
        except (SlackError, TimeoutError) as error:
            log.warning("Slack didn't respond", kind=kind, key=key, error=str(error))
            if age >= STALE_SECONDS or (isinstance(error, SlackError) and error.code in GONE):
                self._cached.pop((kind, key), None)
                return None
            return cast("T | None", known)
        if len(self._cached) >= MAX_CACHED:
            self._cached.clear()
        self._cached[kind, key] = (self._clock(), known)
        return cast("T | None", known)

    async def own_id(self) -> str:
        return await self._cached_call("self", "", self._self) or ""

    async def _self(self) -> str:
        return str((await self._slack.call("auth.test")).get("user_id") or "")

    async def posts_anywhere(self) -> bool:
        """Whether the bot may post to public channels that it is not in."""
        with contextlib.suppress(SlackError):
            await self._slack.call("auth.test", seconds=TIMEOUT)
        return "chat:write.public" in self._slack.scopes

    async def _person(self, user: str) -> Person:
        if not self._home.team:
            own = await self._slack.call("auth.test")
            self._home = Organization(
                team=str(own.get("team_id") or ""), enterprise=str(own.get("enterprise_id") or "")
            )
        info = (await self._slack.read("users.info", user=user)).get("user") or {}
        return Person.from_user({**info, "id": user}, home=self._home)

    async def _members(self, group: str) -> frozenset[str]:
        answer = await self._slack.read("usergroups.users.list", usergroup=group)
        return frozenset(str(user) for user in answer.get("users") or ())

    async def with_channels(self, line: str, viewer: Viewer | None = None) -> str:
        """The line with every `#name` that is a channel written as Slack writes it when it knows the id."""
        if line.partition(" ")[0].lower() not in _NAMING or not _NAMED.search(line):
            return line
        known = await self._names(viewer) or {}
        return _NAMED.sub(lambda m: f"<#{known[m[1].lower()]}>" if m[1].lower() in known else m[0], line)

    async def _names(self, viewer: Viewer | None) -> Mapping[str, str] | None:
        """The ids of the channels that a viewer may know of, by name; None where Slack doesn't tell."""
        known = await self._cached_call("channels", "", self._channels)
        if known is None:
            return None
        mine = await self._memberships_of(viewer) if viewer else None
        return {
            name: one.id
            for name, one in known.items()
            if mine is None or not one.is_private or one.id in mine
        }

    async def _channels(self) -> dict[str, Channel]:
        found: dict[str, Channel] = {}
        async for one in self._listed("conversations.list", types="public_channel,private_channel"):
            name = str(one["name"]).lower()
            if not (one.get("is_archived") and name in found):  # another one may have its name since
                found[name] = self._read_channel(str(one["id"]), one)
        return found

    async def _listed(
        self, method: str, *, of: str = "channels", **query: Any
    ) -> AsyncIterator[Mapping[str, Any]]:
        cursor: str | None = None
        for _page in range(MAX_PAGES):
            answer = await self._slack.read(method, limit=PAGE, cursor=cursor, **query)
            for one in answer.get(of) or ():
                yield one
            cursor = (answer.get("response_metadata") or {}).get("next_cursor")
            if not cursor:
                break

    def _read_channel(self, channel: str, info: Mapping[str, Any]) -> Channel:
        private = any(info.get(kind) for kind in ("is_private", "is_group", "is_mpim", "is_im"))
        name, person = (str(info.get(key) or "") for key in ("name", "user"))
        return Channel(id=channel, name=name, is_private=private, person=person)

    async def sees(self, channel: str, viewer: Viewer) -> bool:
        """Whether a viewer may know of a channel: everybody of a public one, its members of a private one.

        False too where Slack doesn't tell, and where there is no such channel.
        """
        if channel == viewer.channel:
            return True
        known = await self._channel(channel)
        if known is None or not known.is_private or known.person:
            return known is not None and known.person in {"", viewer.user}
        return channel in await self._memberships_of(viewer)

    async def _memberships_of(self, viewer: Viewer) -> frozenset[str]:
        """The private channels of a person that the bot is in too: Slack tells it of no others.

        https://docs.slack.dev/reference/methods/users.conversations
        """
        if not viewer.user:
            return frozenset({viewer.channel})
        fetch = partial(self._memberships, viewer.user)
        return frozenset({viewer.channel}) | (
            await self._cached_call("memberships", viewer.user, fetch) or frozenset()
        )

    async def _memberships(self, user: str) -> frozenset[str]:
        shared = self._listed("users.conversations", user=user, types="private_channel,mpim")
        return frozenset([str(one["id"]) async for one in shared])

    async def refusal(self, channel: str, viewer: Viewer | None) -> Place | None:
        """Why a viewer can't name this channel; None if they can. A private channel is refused like a missing one."""
        if not channel.startswith("#"):
            return None if viewer is None or await self.sees(channel, viewer) else _no_channel(channel)
        known = await self._names(viewer)
        if known is None:
            return Place(
                channel=channel,
                error="unreachable",
                refusal=f"Slack couldn't be asked about {channel}",
                fix="Try again, or give the channel's id.",
            )
        if channel[1:].lower() in known:
            return None
        return _no_channel(channel, near=difflib.get_close_matches(channel[1:].lower(), known, n=3))

    async def find_place(self, channel: str, viewer: Viewer | None = None) -> Place:
        """Whether alerts can be posted to a channel and read back there; a public one is joined for that.

        https://docs.slack.dev/reference/methods/conversations.join
        """
        if refusal := await self.refusal(channel, viewer):
            return refusal
        if channel.startswith("#"):
            channel = (await self._names(viewer) or {}).get(channel[1:].lower(), channel)
        try:
            info = (await self._slack.read("conversations.info", channel=channel)).get("channel") or {}
            return await self._joined(channel, info)
        except SlackError as error:
            if error.code in _NOT_THERE:
                return _no_channel(channel)
            log.warning("channel not checked", channel=channel, error=str(error))
            note = f"Slack couldn't check this channel: {error.code}."
            return Place(channel=channel, note=note)  # an error shows with the first alert

    async def _joined(self, channel: str, info: Mapping[str, Any]) -> Place:
        name = f"#{info.get('name') or channel}"
        if info.get("is_archived"):
            return Place(
                channel=channel,
                error="is_archived",
                refusal=f"{name} is archived",
                fix="Unarchive it, or choose another.",
            )
        if info.get("is_member") or info.get("is_im"):
            return Place(channel=channel)
        try:
            await self._slack.call("conversations.join", channel=channel)
        except SlackError as error:
            if error.code == "missing_scope" and await self.posts_anywhere():
                return Place(channel=channel)
            log.warning("channel not joined", channel=channel, error=str(error))
            return Place(
                channel=channel, error="not_in_channel", refusal=f"The bot isn't in {name}", fix=INVITE
            )
        return Place(channel=channel)

    async def can_post(self, channel: str) -> bool:
        """True where Slack is known to take messages of the bot: it sees a private channel only as a member."""
        known = await self._channel(channel)
        return known is not None and (known.is_private or await self.posts_anywhere())

    async def channel_name(self, channel: str) -> str:
        """`sales`; empty where Slack does not tell."""
        known = await self._channel(channel)
        return known.name if known else ""

    async def shown_name(self, channel: str, viewer: Viewer) -> str:
        """`#sales`; a private channel has a name for its members only. Empty where Slack does not tell."""
        known = await self._channel(channel)
        if known is None or not known.name:
            return ""
        return f"#{known.name}" if await self.sees(channel, viewer) else "a private channel"

    def known_name(self, channel: str) -> str:
        """`#sales`, as far as it was asked before, for people of any channel; else the id."""
        known: Channel | None = self._cached.get(("channel", channel), (0.0, None))[1]
        if known is None or not (known.name or known.person):
            return f"Channel {channel}"
        if known.person:
            return f"Conversation {channel}"
        return f"Private channel {channel}" if known.is_private else f"#{known.name}"

    async def _channel(self, channel: str) -> Channel | None:
        return await self._cached_call("channel", channel, lambda: self._fetch_channel(channel))

    async def _fetch_channel(self, channel: str) -> Channel:
        info = (await self._slack.read("conversations.info", channel=channel)).get("channel") or {}
        return self._read_channel(channel, info)

    def forget_channel(self, channel: str) -> None:
        """A channel was renamed, archived or moved: cached data about it and about all names is dropped."""
        self._cached.pop(("channel", channel), None)
        self._cached.pop(("channels", ""), None)

    async def permalink(self, channel: str, ts: str) -> str:
        return await self._cached_call("link", f"{channel} {ts}", lambda: self._permalink(channel, ts)) or ""

    async def _permalink(self, channel: str, ts: str) -> str:
        info = await self._slack.read("chat.getPermalink", channel=channel, message_ts=ts)
        return str(info.get("permalink") or "")

    async def display_name(self, who: str) -> str:
        return "everyone in the channel" if who == "here" else await self._display_name(who)

    async def display_names(self, who: Iterable[str], *, limit: int = 5) -> str:
        """Who can: `@ann, @ben, @sales-aes`, by name; empty if there are none."""
        known = sorted({*who} - ({"admins"} if MEMBERS in who else set()))  # they are members, too
        names = await asyncio.gather(*(self._display_name(one) for one in known[:limit]))
        more = [f"{len(known) - limit} more"] if len(known) > limit else []
        return ", ".join((*names, *more))

    async def _display_name(self, who: str) -> str:
        if who == MEMBERS:
            return "full members of this Slack workspace"
        if who == "admins":
            return "admins of this Slack workspace"
        if who.startswith("S"):
            handles = await self._cached_call("handles", "", self._handles) or {}
            return f"@{handles.get(who, who)}"
        return f"@{(await self.find(who)).name}"

    async def _handles(self) -> dict[str, str]:
        answer = await self._slack.read("usergroups.list")
        groups = answer.get("usergroups") or ()
        return {str(one["id"]): str(one.get("handle") or one["id"]) for one in groups}


def _no_channel(channel: str, *, near: Sequence[str] = ()) -> Place:
    # By its id it would be shown as a private channel, which a missing one isn't.
    named = channel if channel.startswith("#") else "that channel"
    meant = f"Did you mean {', '.join(f'#{name}' for name in near)}? " if near else ""
    fix = f"{meant}If it is private, the bot must be a member. {INVITE}"
    return Place(channel=channel, error="channel_not_found", refusal=f"The bot can't see {named}", fix=fix)
