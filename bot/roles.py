"""Who may do what in Slack. Pure.

Until roles are configured, full members of the Slack workspace may change things; guests and people of other
organisations, who can be in a shared channel, may only read. `[roles]` can name them, and only by id.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from shared.card import Card, Tone
from shared.commands import Command, Role
from shared.settings.roles import MEMBERS, Roles

EVERYBODY = Roles()
"""What holds without any `[roles]`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """A Slack user, as far as it matters here (users.info, usergroups.users.list)."""

    id: str
    name: str
    is_guest: bool = False
    is_outsider: bool = False
    is_admin: bool = False
    is_known: bool = True
    """False when Slack could not be asked."""
    groups: frozenset[str] = frozenset()
    """Those of the groups named in the settings that the person is in."""
    zone: str = ""
    """The time zone of their profile; empty where Slack does not tell."""
    role: Role | None = None
    """The role that the settings give in the channel where the person acts; None: that of everybody's rule."""

    @classmethod
    def from_user(cls, user: Mapping[str, Any], *, team: str) -> Person:
        """Read the `user` object of users.info; `team` is the workspace of the bot, empty when unknown."""
        profile = user.get("profile") or {}
        foreign = bool(team) and str(user.get("team_id") or team) != team
        return cls(
            id=str(user.get("id") or ""),
            name=str(profile.get("display_name") or user.get("name") or user.get("id") or ""),
            is_guest=bool(user.get("is_restricted") or user.get("is_ultra_restricted")),
            is_outsider=bool(user.get("is_stranger")) or (foreign and not user.get("enterprise_user")),
            is_admin=bool(user.get("is_admin") or user.get("is_owner")),
            zone=str(user.get("tz") or ""),
        )

    @property
    def is_member(self) -> bool:
        """Whether this is a full member of the Slack workspace."""
        return self.is_known and not self.is_guest and not self.is_outsider


def seated(person: Person, *, rules: Roles, channel: str) -> Person:
    """The person with the role that holds in this channel."""
    role, limit = _granted(person, rules), rules.channels.get(channel)
    return replace(person, role=min(role, limit, key=_rank) if isinstance(limit, Role) else role)


def _rank(role: Role) -> int:
    return list(Role).index(role)


def _granted(person: Person, rules: Roles) -> Role:
    slack_admin = rules.admin is None and person.is_admin and person.is_member
    if slack_admin or _named(person, rules.admin or frozenset()):
        return Role.ADMIN
    return Role.OPERATOR if _named(person, rules.operator) else Role.READER


def _named(person: Person, who: frozenset[str]) -> bool:
    return person.id in who or bool(person.groups & who) or (MEMBERS in who and person.is_member)


def role_of(person: Person) -> Role:
    """The most that a person may do."""
    return _granted(person, EVERYBODY) if person.role is None else person.role


def may(person: Person, name: str, *, needed: Role, rules: Roles = EVERYBODY, channel: str = "") -> bool:
    """Whether the person may give the command of this name, which needs a role unless the settings say whom."""
    limit = rules.channels.get(channel)
    if needed is not Role.READER and isinstance(limit, frozenset) and name not in limit:
        return False
    role, wanted = role_of(person), rules.commands.get(name)
    if wanted is None:
        return role.includes(needed)
    return any(role.includes(one) for one in Role if one.value in wanted) or _named(person, wanted)


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
    why = "In this channel the settings do not allow it; elsewhere it may be." if here else _why(person)
    return Card(
        title=f"{act} is not for you here",
        tone=Tone.WARN,
        text=(why, can or _WHO[needed], "Nothing was changed."),
        refused=True,
    )


def _why(person: Person) -> str:
    if not person.is_known:
        return "Slack did not tell who you are, so nothing is changed. Try again in a minute."
    if person.is_guest:
        return "You are a guest in this Slack workspace; guests may read, but change nothing."
    if person.is_outsider:
        return "You belong to another organisation; its people may read here, but change nothing."
    return f"Your role here is {role_of(person)}, which does not cover it."


_WHO = {
    Role.READER: "Anybody can.",
    Role.OPERATOR: "Ask a full member of this workspace to do it.",
    Role.ADMIN: "Ask an admin of this Slack workspace to do it.",
}
