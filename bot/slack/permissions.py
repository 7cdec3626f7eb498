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

from shared.commands import COMMANDS, Role
from shared.commands.base import NOTHING_CHANGED
from shared.domain.card import Card, warning
from shared.domain.roles import INCLUDED
from shared.frozen import frozen
from shared.settings import MEMBERS, Roles

SHOWN = frozenset({"help", "whoami", "subscriptions"})
"""Outsiders can view these in a channel that is open to them and isn't an alert channel."""
OPEN = SHOWN | {"status", "replies", "sequences", "inboxes", "stats", "leads", "lead"}
"""Outsiders may read these of a workspace in its alert channel; `audit` tells of other channels, too."""
MEMBERS_ONLY = frozenset({"audit"})
"""Guests can't view the audit log: it tells who did what, also in channels that they aren't in."""
_BOTS = ("is_bot", "is_workflow_bot", "is_connector_bot")
_ADMIN = ("is_admin", "is_owner")
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
            is_admin=(same_team and any(map(user.get, _ADMIN)))
            or (same_enterprise and any(map(member.get, _ADMIN))),
            is_bot=user.get("id") == _SLACKBOT or any(map(user.get, _BOTS)),
            is_deleted=bool(user.get("deleted")),
            zone=str(user.get("tz") or ""),
        )

    @property
    def is_member(self) -> bool:
        return self.is_known and not (self.is_guest or self.is_outsider or self.is_bot or self.is_deleted)


@frozen
class Standing:
    """A person where they act: what they may read and do there, by the settings."""

    person: Person
    rules: Roles = Roles()
    channel: str = ""

    @property
    def role(self) -> Role:
        """The person's role, as far as the channel's limit goes."""
        granted, limit = self._granted, self.rules.channels.get(self.channel)
        return limit if isinstance(limit, Role) and limit in INCLUDED[granted] else granted

    @property
    def _granted(self) -> Role:
        person, admins = self.person, self.rules.admin
        if person.is_bot:
            return Role.READER
        slack_admin = admins is None and person.is_admin and person.is_member
        if slack_admin or self.is_among(admins or frozenset()):
            return Role.ADMIN
        return Role.OPERATOR if self.is_among(self.rules.operator) else Role.READER

    @property
    def reach(self) -> Reach:
        if self._granted is not Role.READER or (self.person.is_known and not self.person.is_outsider):
            return Reach.EVERYTHING
        return Reach.CHANNEL if self.channel in self.rules.outsiders else Reach.NOTHING

    def is_among(self, who: frozenset[str]) -> bool:
        """True where the ids, groups or kinds of people that the settings name include the person."""
        person = self.person
        return person.id in who or bool(person.groups & who) or (MEMBERS in who and person.is_member)

    def may(self, name: str) -> bool:
        """True if the person may give this command; acts on replies, which have no command, have one name together."""
        needed = COMMANDS[name].role if name in COMMANDS else Role.OPERATOR
        if needed is not Role.READER:
            limit = self.rules.channels.get(self.channel)
            # No setting lets a bot change anything: an app can post under any name.
            if self.person.is_bot or (isinstance(limit, frozenset) and name not in limit):
                return False
        # Whom the settings name for a command may run it whatever their role is.
        if self.is_among(self.rules.commands.get(name, frozenset())):
            return True
        is_limited = name in MEMBERS_ONLY and self.person.is_guest and self.role is Role.READER
        reads = self.reach is Reach.EVERYTHING or (self.reach is Reach.CHANNEL and name in OPEN)
        if is_limited or not reads:
            return False
        wanted = self.rules.commands.get(name, {needed.value})
        return not INCLUDED[self.role].isdisjoint(wanted)

    def refusal(self, name: str, *, act: str = "") -> Card:
        """Explain why not; `act` are the words on the button or of the line, where they aren't the command's name."""
        person, why = self.person, f"Your role here, {self.role}, doesn't include it."
        if self.reach is Reach.EVERYTHING and replace(self, channel="").may(name):
            why = "The settings don't allow it in this channel."
        elif not person.is_known:
            why = "Slack didn't say who you are. Try again in a minute."
        elif person.is_bot:
            why = "Bots can't change anything. Run the command from your own account."
        elif person.is_outsider:
            why = _OUTSIDER.get(self.reach, why)
        elif person.is_guest:
            why = "Guests of this Slack workspace can view most things, but not the audit log, and not change anything."
        title = f"You don't have permission to run “{act or name}” here"
        return warning(title, why, NOTHING_CHANGED)


_OUTSIDER = {
    Reach.NOTHING: "People from other organizations don't have access in this channel.",
    Reach.CHANNEL: "People from other organizations can view this channel's own workspace, but not change anything.",
}
