"""Permissions in Slack. Pure.

Without configured roles, full members of the Slack workspace can change things, and guests and bots can only view.
People from other organizations, who can be in a shared channel, can do nothing, unless `[roles]` lists their id or lets
them view a channel's own workspace.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

from shared.commands import Command, Role
from shared.domain.card import Card, Tone
from shared.settings import MEMBERS, Roles

EVERYBODY = Roles()
"""What holds without any `[roles]`."""


SHOWN = frozenset({"help", "whoami", "subscriptions"})
"""What outsiders can view in a channel that is open to them and isn't an alert channel."""
OPEN = SHOWN | {"status", "replies", "sequences", "inboxes", "stats", "leads", "lead"}
"""What an outsider may read of a workspace in its alert channel; `audit` tells of other channels, too."""
MEMBERS_ONLY = frozenset({"audit"})
"""What guests can't view: it tells who did what, also in channels that they aren't in."""
_BOTS = ("is_bot", "is_workflow_bot", "is_connector_bot")
_SLACKBOT = "USLACKBOT"


class Reach(Enum):
    """How much a person may read."""

    NOTHING = "nothing"
    CHANNEL = "channel"
    EVERYTHING = "everything"


@dataclass(frozen=True, slots=True, kw_only=True)
class Organization:
    """The bot's own Slack workspace and, if any, its Enterprise organization (auth.test).

    https://docs.slack.dev/reference/methods/auth.test
    """

    team: str = ""
    enterprise: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """A Slack user, as far as it matters here (users.info, usergroups.users.list)."""

    id: str
    name: str
    is_guest: bool = False
    is_outsider: bool = False
    is_admin: bool = False
    is_bot: bool = False
    is_deleted: bool = False
    """Their account is deactivated."""
    is_known: bool = True
    """False when Slack could not be asked."""
    groups: frozenset[str] = frozenset()
    """Those of the groups named in the settings that the person is in."""
    zone: str = ""
    """The time zone of their profile; empty where Slack does not tell."""
    role: Role | None = None
    """The role that the settings give in the channel where the person acts; None: that of everybody's rule."""
    reach: Reach | None = None
    """What the person may read in that channel; None: what everybody's rule gives."""

    @classmethod
    def from_user(cls, user: Mapping[str, Any], *, home: Organization) -> Person:
        """Read the `user` object of users.info; whoever it does not place in `home` is an outsider.

        `enterprise_user` only says that the person's workspace belongs to an Enterprise organization: its
        `enterprise_id` says to which (https://docs.slack.dev/reference/methods/users.info,
        https://docs.slack.dev/apis/slack-connect).
        """
        profile, member = user.get("profile") or {}, user.get("enterprise_user") or {}
        same_team = bool(home.team) and user.get("team_id") == home.team
        same_enterprise = bool(home.enterprise) and member.get("enterprise_id") == home.enterprise
        return cls(
            id=str(user.get("id") or ""),
            name=str(profile.get("display_name") or user.get("name") or user.get("id") or ""),
            is_guest=bool(user.get("is_restricted") or user.get("is_ultra_restricted")),
            is_outsider=bool(user.get("is_stranger")) or not (same_team or same_enterprise),
            is_admin=(same_team and _is_admin(user)) or (same_enterprise and _is_admin(member)),
            is_bot=str(user.get("id") or "") == _SLACKBOT or any(user.get(flag) for flag in _BOTS),
            is_deleted=bool(user.get("deleted")),
            zone=str(user.get("tz") or ""),
        )

    @property
    def is_member(self) -> bool:
        return self.is_known and not (self.is_guest or self.is_outsider or self.is_bot or self.is_deleted)


def _is_admin(user: Mapping[str, Any]) -> bool:
    return bool(user.get("is_admin") or user.get("is_owner"))


def with_role(person: Person, *, rules: Roles, channel: str) -> Person:
    """The person with the role and the reach that hold in this channel."""
    role, limit = _granted(person, rules), rules.channels.get(channel)
    reach = _reach(person, rules, channel)
    role = min(role, limit, key=_rank) if isinstance(limit, Role) else role
    return replace(person, role=role, reach=reach)


def _reach(person: Person, rules: Roles, channel: str) -> Reach:
    ours = person.is_known and not person.is_outsider
    if ours or _granted(person, rules) is not Role.READER:
        return Reach.EVERYTHING
    return Reach.CHANNEL if channel in rules.outsiders else Reach.NOTHING


def reach_of(person: Person) -> Reach:
    return _reach(person, EVERYBODY, "") if person.reach is None else person.reach


def _rank(role: Role) -> int:
    return list(Role).index(role)


def _granted(person: Person, rules: Roles) -> Role:
    if person.is_bot:
        return Role.READER
    slack_admin = rules.admin is None and person.is_admin and person.is_member
    if slack_admin or _named(person, rules.admin or frozenset()):
        return Role.ADMIN
    return Role.OPERATOR if _named(person, rules.operator) else Role.READER


def _named(person: Person, who: frozenset[str]) -> bool:
    return person.id in who or bool(person.groups & who) or (MEMBERS in who and person.is_member)


def role_of(person: Person) -> Role:
    return _granted(person, EVERYBODY) if person.role is None else person.role


def may(person: Person, name: str, *, needed: Role, rules: Roles = EVERYBODY, channel: str = "") -> bool:
    """Whether the person may give the command of this name, which needs a role unless the settings say whom."""
    limit = rules.channels.get(channel)
    if needed is not Role.READER and isinstance(limit, frozenset) and name not in limit:
        return False
    if person.is_bot and needed is not Role.READER:
        return False
    role, wanted = role_of(person), rules.commands.get(name)
    if wanted is not None and _named(person, wanted):
        return True
    if not _reads(person, name):
        return False
    return (
        role.includes(needed) if wanted is None else any(role.includes(r) for r in Role if r.value in wanted)
    )


def is_named(person: Person, name: str, rules: Roles) -> bool:
    return _named(person, rules.commands.get(name, frozenset()))


def _reads(person: Person, name: str) -> bool:
    if name in MEMBERS_ONLY and person.is_guest and role_of(person) is Role.READER:
        return False
    reach = reach_of(person)
    return reach is Reach.EVERYTHING or (reach is Reach.CHANNEL and name in OPEN)


def allowed(person: Person, command: Command, *, rules: Roles, channel: str) -> bool:
    """`may`, for a command of the table."""
    return may(person, command.name, needed=command.role, rules=rules, channel=channel)


def who_can(name: str, *, needed: Role, rules: Roles) -> frozenset[str]:
    """The ids, groups and kinds of people that a refusal points to."""
    wanted = rules.commands.get(name)
    roles = {needed} if wanted is None else {Role(one) for one in wanted if one in set(Role)}
    named = frozenset() if wanted is None else frozenset(one for one in wanted if one not in set(Role))
    if Role.READER in roles or Role.OPERATOR in roles:
        named |= rules.operator
    if roles:
        named |= rules.admin if rules.admin is not None else frozenset({"admins"})
    return named


def refusal(
    person: Person, act: str, *, needed: Role = Role.OPERATOR, can: str = "", here: bool = False
) -> Card:
    """Why not, and who can; `here` when it is the channel that forbids it."""
    why = "The settings don't allow it in this channel." if here else _why(person)
    return Card(
        title=f"You don't have permission to run {act} here",
        tone=Tone.WARN,
        text=(why, can or _WHO[needed], "Nothing was changed."),
    )


def _why(person: Person) -> str:
    if not person.is_known:
        return "Slack didn't say who you are. Try again in a minute."
    if person.is_bot:
        return "Bots can't change anything. Run the command from your own account."
    if person.is_outsider:
        return _OUTSIDER[reach_of(person)]
    if person.is_guest:
        return "Guests of this Slack workspace can view most things, but not the audit log, and not change anything."
    return f"Your role here, {role_of(person)}, doesn't include it."


_OUTSIDER = {
    Reach.NOTHING: "People from other organizations don't have access in this channel.",
    Reach.CHANNEL: "People from other organizations can view this channel's own workspace, but not change anything.",
    Reach.EVERYTHING: "Your role here doesn't include it.",
}
_WHO = {
    Role.READER: "Everyone can.",
    Role.OPERATOR: "Ask a full member of this Slack workspace.",
    Role.ADMIN: "Ask an admin of this Slack workspace.",
}
