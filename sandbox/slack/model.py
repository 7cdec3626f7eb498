"""The objects of a Slack workspace, and their form in the Web API."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Team:
    """The Slack workspace itself."""

    id: str
    name: str
    domain: str


@dataclass(frozen=True, slots=True, kw_only=True)
class App:
    """The ids of the installed app: its own, its bot's, and that of the bot's user."""

    id: str
    bot_id: str
    user: str
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class User:
    """A person or a bot.

    A stranger is a person of another organization, known here by a shared channel (Slack Connect).
    """

    id: str
    name: str
    real_name: str
    title: str = ""
    team_id: str = "T0SANDBOX1"
    enterprise_id: str = ""
    is_admin: bool = False
    is_bot: bool = False
    is_restricted: bool = False
    is_stranger: bool = False
    deleted: bool = False
    tz: str = "Europe/Berlin"

    @property
    def email(self) -> str:
        return f"{self.name}@example.com"

    def to_slack(self, *, with_email: bool = True) -> Json:
        """Return a user object as users.info has it; `email` needs the scope `users:read.email`.

        Everybody in an Enterprise organization has `enterprise_user`, also in another organization
        (https://docs.slack.dev/reference/objects/user-object, https://docs.slack.dev/apis/slack-connect).
        """
        profile = {"real_name": self.real_name, "display_name": self.name, "title": self.title}
        if with_email:
            profile["email"] = self.email
        shown: Json = {
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
        }
        if self.enterprise_id:
            shown["enterprise_user"] = {
                "id": self.id.replace("U", "W", 1),
                "enterprise_id": self.enterprise_id,
                "is_admin": self.is_admin,
                "is_owner": False,
                "teams": [self.team_id],
            }
        return shown


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """A user group, mentioned as `<!subteam^S…>`."""

    id: str
    handle: str
    name: str
    users: list[str]

    def to_slack(self) -> Json:
        return {"id": self.id, "name": self.name, "handle": self.handle}


@dataclass(slots=True, kw_only=True)
class Message:
    """A message and its history.

    `posted_at` is in seconds since 1970. `seen_by` is the only reader of an ephemeral message, and
    `app` is the app that posted it, if one did.
    """

    ts: str
    channel: str
    user: str
    text: str
    team: str
    posted_at: float
    blocks: list[Json] = field(default_factory=list)
    attachments: list[Json] = field(default_factory=list)
    thread_ts: str | None = None
    broadcast: bool = False
    metadata: Json | None = None
    seen_by: str | None = None
    app: App | None = None
    edited_at: str | None = None
    revisions: list[Json] = field(default_factory=list)
    replies: list[str] = field(default_factory=list)
    repliers: list[str] = field(default_factory=list)

    @property
    def is_reply(self) -> bool:
        return self.thread_ts is not None and self.thread_ts != self.ts

    @property
    def in_channel(self) -> bool:
        return not self.is_reply or self.broadcast

    def to_slack(self, *, with_metadata: bool = False) -> Json:
        """Return a message object as conversations.history has it."""
        body: Json = {
            "type": "message",
            "ts": self.ts,
            "user": self.user,
            "text": self.text,
            "team": self.team,
        }
        # What people wrote has no bot_id: by this a bot knows its own messages again.
        if self.app is not None:
            body |= {"bot_id": self.app.bot_id, "app_id": self.app.id}
        optional = {
            "subtype": "thread_broadcast" if self.broadcast else None,
            "blocks": self.blocks,
            "attachments": self.attachments,
            "metadata": self.metadata if with_metadata else None,
            "edited": {"user": self.user, "ts": self.edited_at} if self.edited_at else None,
        }
        body |= {name: value for name, value in optional.items() if value}
        # Replies name their thread; its first message does so only once there are any.
        if self.is_reply:
            body["thread_ts"] = self.thread_ts
        elif self.replies:
            body |= {
                "thread_ts": self.ts,
                "reply_count": len(self.replies),
                "reply_users": list(self.repliers),
                "latest_reply": self.replies[-1],
            }
        return body

    def to_json(self) -> Json:
        """Return all that is known of a message, for people and tests; the bot gets `to_slack`."""
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
    """A conversation; `direct` is the person in a direct message with the bot.

    `posted` counts every message that was posted here; of very many only the newest are kept.
    """

    id: str
    name: str
    members: list[str]
    is_private: bool = False
    is_archived: bool = False
    direct: str | None = None
    topic: str = ""
    messages: dict[str, Message] = field(default_factory=dict)
    ephemerals: dict[str, Message] = field(default_factory=dict)
    posted: int = 0

    @property
    def kind(self) -> str:
        """The type of the conversation, as the Web API names it."""
        if self.direct:
            return "im"
        return "private_channel" if self.is_private else "public_channel"

    def everything(self) -> list[Message]:
        """Return messages and ephemerals in the order in which they were posted."""
        # Nearly always there are none, and sorting a long channel takes a while.
        if not self.ephemerals:
            return list(self.messages.values())
        both = (*self.messages.values(), *self.ephemerals.values())
        return sorted(both, key=lambda message: message.ts)

    def find(self, ts: str) -> Message | None:
        return self.messages.get(ts) or self.ephemerals.get(ts)

    def to_slack(self, *, viewer: str) -> Json:
        """Return a conversation object as conversations.info has it."""
        shown: Json = {
            "id": self.id,
            "created": 1_735_689_600,
            "is_im": self.direct is not None,
            "is_archived": self.is_archived,
            "is_mpim": False,
        }
        # A direct message has no name, no topic and no members that Slack would tell.
        if self.direct is not None:
            return {**shown, "user": self.direct}
        return {
            **shown,
            "name": self.name,
            "is_channel": not self.is_private,
            "is_group": self.is_private,
            "is_private": self.is_private,
            "is_member": viewer in self.members,
            "creator": self.members[0] if self.members else "",
            "topic": {"value": self.topic, "creator": "", "last_set": 0},
        }
