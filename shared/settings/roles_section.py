"""`[roles]`: who may do what, by user, user group and channel, per command; for pydantic, and as the bot meets it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict

from shared.commands.table import COMMANDS, Role
from shared.settings.alerts_section import Channel, wrong

MEMBERS = "members"
"""Every full member of the Slack workspace."""
CLAIM = "claim"
"""Taking, snoozing and handling alerts, which is no command of the table."""
_WHO = re.compile(r"[USW][A-Z0-9]{2,20}|members")


@dataclass(frozen=True, slots=True, kw_only=True)
class Roles:
    """Ids of users (U…, W…) and user groups (S…), or `members`. None for `admin`: the admins of the Slack workspace."""

    admin: frozenset[str] | None = None
    operator: frozenset[str] = frozenset({MEMBERS})
    commands: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """Who may give a command, instead of whoever has its role: ids, or the names of roles."""
    outsiders: frozenset[str] = frozenset()
    """The channels where people of other organizations may read the channel's own workspace; nowhere by default."""
    channels: Mapping[str, Role | frozenset[str]] = field(default_factory=dict)
    """What may be changed in a channel at most: by a role, or exactly these commands."""

    @property
    def groups(self) -> frozenset[str]:
        named = (self.admin or frozenset()) | self.operator | frozenset().union(*self.commands.values())
        return frozenset(one for one in named if re.fullmatch(r"S[A-Z0-9]{2,20}", one))


def _who(text: str) -> str:
    if not _WHO.fullmatch(text):
        raise wrong("names nobody.", "Use ids of users (U…) or user groups (S…), or members.")
    return text


def _whom(text: str) -> str:
    return text if text in set(Role) else _who(text)


def _command(text: str) -> str:
    if text not in {*COMMANDS, CLAIM}:
        raise wrong("holds a name that is no command.", f"Use one of {', '.join((*COMMANDS, CLAIM))}.")
    return text


Who = Annotated[str, AfterValidator(_who)]
Whom = Annotated[str, AfterValidator(_whom)]
CommandName = Annotated[str, AfterValidator(_command)]


class GivenRoles(BaseModel):
    """`[roles]`, `[roles.commands]`, `[roles.channels]`."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    admin: tuple[Who, ...] | None = None
    operator: tuple[Who, ...] = (MEMBERS,)
    outsiders: tuple[Channel, ...] = ()
    commands: dict[CommandName, tuple[Whom, ...]] = {}
    channels: dict[Channel, Role | tuple[CommandName, ...]] = {}

    def settled(self) -> Roles:
        """As the program uses it."""
        return Roles(
            admin=None if self.admin is None else frozenset(self.admin),
            operator=frozenset(self.operator),
            outsiders=frozenset(self.outsiders),
            commands={name: frozenset(who) for name, who in self.commands.items()},
            channels={
                channel: limit if isinstance(limit, Role) else frozenset(limit)
                for channel, limit in self.channels.items()
            },
        )
