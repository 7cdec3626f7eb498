"""Who may do what in Slack. Pure.

Until roles are configured, full members of the Slack workspace may change things; guests and people of other
organisations, who can be in a shared channel, may only read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from shared.card import Card, Tone
from shared.commands import Command, Role

_RANKS = {Role.READER: 0, Role.OPERATOR: 1, Role.ADMIN: 2}


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """A Slack user, as far as it matters here (users.info)."""

    id: str
    name: str
    is_guest: bool = False
    is_outsider: bool = False
    is_admin: bool = False
    is_known: bool = True
    """False when Slack could not be asked."""

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
        )


def role_of(person: Person) -> Role:
    """The most that a person may do."""
    if not person.is_known or person.is_guest or person.is_outsider:
        return Role.READER
    return Role.ADMIN if person.is_admin else Role.OPERATOR


def may(person: Person, command: Command) -> bool:
    """Whether the person's role covers the command."""
    return _RANKS[role_of(person)] >= _RANKS[command.role]


def refusal(person: Person, act: str, *, needed: Role = Role.OPERATOR) -> Card:
    """Why not, and who can."""
    return Card(
        title=f"{act} is not for you here",
        tone=Tone.WARN,
        text=(_why(person), _WHO[needed]),
    )


def _why(person: Person) -> str:
    if not person.is_known:
        return "Slack did not tell who you are, so nothing is changed. Try again in a minute."
    if person.is_guest:
        return "You are a guest in this Slack workspace; guests may read, but change nothing."
    if person.is_outsider:
        return "You belong to another organisation; its people may read here, but change nothing."
    return "Your role does not cover it."


_WHO = {
    Role.READER: "Anybody can.",
    Role.OPERATOR: "Ask a full member of this workspace to do it.",
    Role.ADMIN: "Ask an admin of this Slack workspace to do it.",
}
