"""Permissions in Slack. Pure.

Without configured roles, full members of the Slack workspace can change things, and guests and bots can only view.
People from other organizations, who can be in a shared channel, can do nothing, unless `[roles]` lists their id or lets
them view a channel's own workspace.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from enum import Enum
from typing import Any

from shared.commands import Role
from shared.domain.card import Card, Tone
from shared.frozen import frozen
from shared.settings import MEMBERS, Roles

EVERYBODY = Roles()
"""These rules hold without any `[roles]`."""


SHOWN = frozenset({"help", "whoami", "subscriptions"})
"""Outsiders can view these in a channel that is open to them and isn't an alert channel."""
OPEN = SHOWN | {"status", "replies", "sequences", "inboxes", "stats", "leads", "lead"}
"""Outsiders may read these of a workspace in its alert channel; `audit` tells of other channels, too."""
MEMBERS_ONLY = frozenset({"audit"})
"""Guests can't view the audit log: it tells who did what, also in channels that they aren't in."""
_BOTS = ("is_bot", "is_workflow_bot", "is_connector_bot")
_SLACKBOT = "USLACKBOT"


class Reach(Enum):
    """The extent of what a person may read."""

    NOTHING = "nothing"
    CHANNEL = "channel"
    EVERYTHING = "everything"


@frozen
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
    role: Role = Role.READER
    """The role where the person acts, see `with_role`."""
    reach: Reach = Reach.NOTHING
    """The extent of what the person may read there."""

    @classmethod
    def from_user(cls, user: Mapping[str, Any], *, home: Mapping[str, Any]) -> Person:
        """Read the `user` object of users.info; whoever it does not place in `home`, the bot's auth.test, is an outsider.

        `enterprise_user` only says that the person's workspace belongs to an Enterprise organization: its
        `enterprise_id` says to which (https://docs.slack.dev/reference/methods/users.info,
        https://docs.slack.dev/apis/slack-connect).
        """
        profile, member = user.get("profile") or {}, user.get("enterprise_user") or {}
        team, enterprise = home.get("team_id"), home.get("enterprise_id")
        same_team = bool(team) and user.get("team_id") == team
        same_enterprise = bool(enterprise) and member.get("enterprise_id") == enterprise
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


def with_role(person: Person, *, rules: Roles = EVERYBODY, channel: str = "") -> Person:
    """The person with the role and the reach that hold in this channel."""
    role, limit = _granted(person, rules), rules.channels.get(channel)
    reach = Reach.CHANNEL if channel in rules.outsiders else Reach.NOTHING
    if role is not Role.READER or (person.is_known and not person.is_outsider):
        reach = Reach.EVERYTHING
    if isinstance(limit, Role) and role.includes(limit):
        role = limit
    return replace(person, role=role, reach=reach)


def _granted(person: Person, rules: Roles) -> Role:
    if person.is_bot:
        return Role.READER
    slack_admin = rules.admin is None and person.is_admin and person.is_member
    if slack_admin or _named(person, rules.admin or frozenset()):
        return Role.ADMIN
    return Role.OPERATOR if _named(person, rules.operator) else Role.READER


def _named(person: Person, who: frozenset[str]) -> bool:
    return person.id in who or bool(person.groups & who) or (MEMBERS in who and person.is_member)


def is_named(person: Person, name: str, rules: Roles) -> bool:
    """True where the settings give the command of this name to the person, and not to a role."""
    return _named(person, rules.commands.get(name, frozenset()))


def may(person: Person, name: str, *, needed: Role, rules: Roles = EVERYBODY, channel: str = "") -> bool:
    """True if a person, see `with_role`, may give this command, which needs a role unless the settings say whom."""
    if needed is not Role.READER:
        limit = rules.channels.get(channel)
        if person.is_bot or (isinstance(limit, frozenset) and name not in limit):
            return False
    if _named(person, rules.commands.get(name, frozenset())):
        return True
    is_limited = name in MEMBERS_ONLY and person.is_guest and person.role is Role.READER
    reads = person.reach is Reach.EVERYTHING or (person.reach is Reach.CHANNEL and name in OPEN)
    if is_limited or not reads:
        return False
    wanted = rules.commands.get(name, {needed.value})
    return any(person.role.includes(role) for role in Role if role.value in wanted)


def who_can(name: str, *, needed: Role, rules: Roles) -> frozenset[str]:
    """The ids, groups and kinds of people that a refusal points to."""
    wanted = rules.commands.get(name)
    roles = {needed} if wanted is None else {Role(who) for who in wanted if who in set(Role)}
    named = frozenset() if wanted is None else frozenset(who for who in wanted if who not in set(Role))
    if Role.READER in roles or Role.OPERATOR in roles:
        named |= rules.operator
    if roles:
        named |= rules.admin if rules.admin is not None else frozenset({"admins"})
    return named


def refusal(
    person: Person, act: str, *, needed: Role = Role.OPERATOR, can: str = "", here: bool = False
) -> Card:
    """Explain why not, and who can; `here` when it is the channel that forbids it."""
    why = f"Your role here, {person.role}, doesn't include it."
    if here:
        why = "The settings don't allow it in this channel."
    elif not person.is_known:
        why = "Slack didn't say who you are. Try again in a minute."
    elif person.is_bot:
        why = "Bots can't change anything. Run the command from your own account."
    elif person.is_outsider:
        why = _OUTSIDER[person.reach]
    elif person.is_guest:
        why = "Guests of this Slack workspace can view most things, but not the audit log, and not change anything."
    return Card(
        title=f"You don't have permission to run {act} here",
        tone=Tone.WARN,
        text=(why, can or _WHO[needed], "Nothing was changed."),
    )


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
