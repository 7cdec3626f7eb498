"""Ids of Slack's users, groups and channels, with the Slack workspace they belong to where there are several.

Slack's ids are unique to a workspace only (https://docs.slack.dev/reference/objects/user-object). With one bot
token an id stands alone, `C0123`; where several Slack workspaces installed the bot, it stands behind its team's,
`T0456/C0123`, everywhere but on the wire.
"""

from __future__ import annotations

import re

TEAM = r"T[A-Z0-9]{2,20}"
"""The pattern of a team's id."""


def in_team(team: str, name: str) -> str:
    """An id of a team, which may be empty: there is only one."""
    return f"{team}/{name}" if team and name and "/" not in name else name


def split_id(name: str) -> tuple[str, str]:
    """The team's id, empty where there is only one, and the id within the team."""
    team, slash, rest = name.partition("/")
    return (team, rest) if slash else ("", name)


def bare(name: str) -> str:
    """The id within the team, as Slack knows it."""
    return split_id(name)[1]


def hide_other_teams(text: str, *, team: str) -> str:
    """A text without the ids of other teams; an empty `team` has no others."""

    def hidden(match: re.Match[str]) -> str:
        return match[0] if match["team"] == team else "(another Slack workspace)"

    return _SCOPED.sub(hidden, text) if team else text


_SCOPED = re.compile(rf"(?:<[#@])?(?<![\w/])(?P<team>{TEAM})/[A-Z0-9]+(?:\|[^>]*)?>?")


def is_user(name: str) -> bool:
    """Whether it is the id of a person, whom a message can mention."""
    return bare(name)[:1] in {"U", "W"}
