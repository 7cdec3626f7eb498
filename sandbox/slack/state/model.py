"""The objects of a Slack workspace, and their form in the Web API."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, TypeVar

Json = dict[str, Any]
T = TypeVar("T")


def trim(mapping: dict[str, T], *, size: int) -> None:
    """Drop the oldest entries over `size`, so that a stand-in can run for weeks."""
    while len(mapping) > size:
        del mapping[next(iter(mapping))]


@dataclass(frozen=True, slots=True, kw_only=True)
class Team:
    """The workspace itself."""

    id: str = "T0SANDBOX1"
    name: str = "Outbound Labs"
    domain: str = "outbound-labs"


@dataclass(frozen=True, slots=True, kw_only=True)
class App:
    """An app's ids: its own, its bot's, and that of the user its bot is."""

    id: str
    bot_id: str
    user: str
    name: str = field(compare=False)
    """What its manifest calls it."""

    @property
    def handle(self) -> str:
        """Its bot's name as people mention it: `Deploy Bot` is @deploy-bot."""
        return re.sub(r"[^a-z0-9_-]+", "-", self.name.casefold()).strip("-")


@dataclass(frozen=True, slots=True, kw_only=True)
class User:
    """A person or a bot."""

    id: str
    name: str
    real_name: str
    title: str = ""
    team_id: str = "T0SANDBOX1"
    enterprise_id: str = ""
    """The Enterprise organization the person belongs to, if any."""
    is_admin: bool = False
    is_bot: bool = False
    is_restricted: bool = False
    is_stranger: bool = False
    deleted: bool = False
    """Deactivated: known by name, but unable to do anything."""
    tz: str = "Europe/Berlin"
    status_text: str = ""
    status_emoji: str = ""
    status_expiration: int = 0
    """Unix seconds after which the status is gone; 0: it stays."""
    dnd_start: int = 1
    dnd_end: int = 1
    """When the person is next not to be disturbed, in Unix seconds; 1 where they never are."""

    @property
    def email(self) -> str:
        return f"{self.name}@example.com"

    def dnd(self) -> Json:
        """Their Do Not Disturb as dnd.info has it (https://docs.slack.dev/reference/methods/dnd.info)."""
        times = {"next_dnd_start_ts": self.dnd_start, "next_dnd_end_ts": self.dnd_end}
        return {"dnd_enabled": self.dnd_end > 1, **times}

    def status(self, now: float) -> Json:
        """Their custom status, of which nothing is left when it has expired.

        https://docs.slack.dev/apis/web-api/user-presence-and-status
        """
        over = 0 < self.status_expiration <= now
        return {
            "status_text": "" if over else self.status_text,
            "status_emoji": "" if over else self.status_emoji,
            "status_expiration": 0 if over else self.status_expiration,
        }

    def to_slack(self, *, with_email: bool = True, now: float = 0.0) -> Json:
        """A user object as users.info returns it at a moment; `email` needs the scope `users:read.email`.

        `enterprise_user` is there for everybody in an Enterprise organization, also another one
        (https://docs.slack.dev/reference/objects/user-object, https://docs.slack.dev/apis/slack-connect).
        """
        profile = {
            "real_name": self.real_name,
            "display_name": self.name,
            "title": self.title,
            **self.status(now),
            **({"email": self.email} if with_email else {}),
        }
        member = {
            "id": self.id.replace("U", "W", 1),
            "enterprise_id": self.enterprise_id,
            "is_admin": self.is_admin,
            "is_owner": False,
            "teams": [self.team_id],
        }
        return {
            **({"enterprise_user": member} if self.enterprise_id else {}),
            "id": self.id,
            "team_id": self.team_id,
            "name": self.name,
            "deleted": self.deleted,
            "real_name": self.real_name,
            "tz": self.tz,
            "profile": profile,
            "is_admin": self.is_admin,
            "is_owner": False,
            "is_restricted": self.is_restricted,
            "is_ultra_restricted": False,
            "is_stranger": self.is_stranger,
            "is_bot": self.is_bot,
            "is_app_user": False,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """A user group, mentioned as `<!subteam^S…>`."""

    id: str
    handle: str
    name: str
    users: tuple[str, ...]
    team_id: str = "T0SANDBOX1"

    def to_slack(self) -> Json:
        """A usergroup object as usergroups.list returns it."""
        return {
            "id": self.id,
            "team_id": self.team_id,
            "is_usergroup": True,
            "name": self.name,
            "handle": self.handle,
            "user_count": len(self.users),
            "users": list(self.users),
            "date_delete": 0,
        }


@dataclass(slots=True, kw_only=True)
class Message:
    """A message, its history and what the bot attached to it.

    `posted_at` is in seconds since 1970 with microseconds; `seen_by` names the only reader of an ephemeral.
    """

    ts: str
    channel: str
    user: str
    text: str
    posted_at: float
    blocks: list[Json] = field(default_factory=list)
    attachments: list[Json] = field(default_factory=list)
    thread_ts: str | None = None
    broadcast: bool = False
    metadata: Json | None = None
    seen_by: str | None = None
    app: App | None = None
    """The app that posted it."""
    subtype: str | None = None
    edited_at: str | None = None
    revisions: list[Json] = field(default_factory=list)
    reactions: dict[str, list[str]] = field(default_factory=dict)
    files: list[Json] = field(default_factory=list)
    replies: list[str] = field(default_factory=list)
    repliers: list[str] = field(default_factory=list)
    team: Team = field(default_factory=Team)
    streaming: bool = False

    @property
    def is_reply(self) -> bool:
        return self.thread_ts is not None and self.thread_ts != self.ts

    @property
    def in_channel(self) -> bool:
        return not self.is_reply or self.broadcast

    def to_slack(self, *, with_metadata: bool = False) -> Json:
        """A message object as conversations.history returns it."""
        team = self.team
        body: Json = {"type": "message", "ts": self.ts, "user": self.user, "text": self.text, "team": team.id}
        if self.app is not None:
            profile = {"id": self.app.bot_id, "app_id": self.app.id, "name": self.app.name}
            body |= {"bot_id": self.app.bot_id, "app_id": self.app.id, "bot_profile": profile}
        optional = {
            "subtype": self.subtype,
            "blocks": self.blocks,
            "attachments": self.attachments,
            "files": self.files,
            "metadata": self.metadata if with_metadata else None,
            "edited": {"user": self.user, "ts": self.edited_at} if self.edited_at else None,
            "reactions": [
                {"name": name, "users": users, "count": len(users)} for name, users in self.reactions.items()
            ],
        }
        body |= {name: value for name, value in optional.items() if value}
        if self.is_reply:
            return {**body, "thread_ts": self.thread_ts, "parent_user_id": None}
        if not self.replies:
            return body
        return {
            **body,
            "thread_ts": self.ts,
            "reply_count": len(self.replies),
            "reply_users": list(self.repliers),
            "reply_users_count": len(self.repliers),
            "latest_reply": self.replies[-1],
            "subscribed": False,
        }

    def to_json(self) -> Json:
        """All that is known of a message: for people and for tests, not for the bot."""
        return {
            **self.to_slack(with_metadata=True),
            "channel": self.channel,
            "ephemeral": self.seen_by is not None,
            "seen_by": self.seen_by,
            "in_channel": self.in_channel,
            "posted_at": self.posted_at,
            "by_app": self.app is not None,
            "revisions": list(self.revisions),
        }


@dataclass(slots=True, kw_only=True)
class Channel:
    """A conversation; `direct` is the person of a direct message with a bot."""

    id: str
    name: str
    members: list[str]
    is_private: bool = False
    is_archived: bool = False
    direct: str | None = None
    topic: str = ""
    purpose: str = ""
    pins: list[str] = field(default_factory=list)
    """The ts of pinned messages."""
    bookmarks: list[Json] = field(default_factory=list)
    is_mpim: bool = False
    created: int = 1_735_689_600
    messages: dict[str, Message] = field(default_factory=dict)
    ephemerals: dict[str, Message] = field(default_factory=dict)
    posted: int = 0
    """How many messages were ever posted here; the oldest of very many are not kept."""

    @property
    def kind(self) -> str:
        """The type of conversation, as the Web API names it."""
        if self.direct or self.is_mpim:
            return "im" if self.direct else "mpim"
        return "private_channel" if self.is_private else "public_channel"

    def everything(self) -> list[Message]:
        """Messages and ephemerals in the order in which they came; either alone is ordered already."""
        if not self.ephemerals:
            return list(self.messages.values())
        return sorted((*self.messages.values(), *self.ephemerals.values()), key=lambda message: message.ts)

    def find(self, ts: str) -> Message | None:
        return self.messages.get(ts) or self.ephemerals.get(ts)

    def to_slack(self, *, viewer: str) -> Json:
        """A conversation object as conversations.info returns it."""
        shown: Json = {
            "id": self.id,
            "created": self.created,
            "is_im": self.direct is not None,
            "is_archived": self.is_archived,
            "is_mpim": self.is_mpim,
            "is_org_shared": False,
        }
        if self.direct is not None:
            return {**shown, "user": self.direct, "is_user_deleted": False, "priority": 0}
        return {
            **shown,
            "name": self.name,
            "name_normalized": self.name,
            "is_channel": not self.is_private,
            "is_group": self.is_private,
            "is_private": self.is_private,
            "is_general": self.name == "general",
            "is_member": viewer in self.members,
            "creator": self.members[0] if self.members else "",
            "topic": {"value": self.topic, "creator": "", "last_set": 0},
            "purpose": {"value": self.purpose, "creator": "", "last_set": 0},
            "num_members": len(self.members),
        }
