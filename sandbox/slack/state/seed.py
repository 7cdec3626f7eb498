"""The initial workspace: all kinds of people and channels that permissions depend on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from sandbox.slack.state.model import App, Channel, Group, Team, User

TEAM = Team()
APP = App(id="A0OUTREACH", bot_id="B0OUTREACH", user="U0OUTREACH", name="Outreach")
BOT = User(id=APP.user, name="outreach", real_name="Outreach", is_bot=True, tz="UTC")
SLACKBOT = User(id="USLACKBOT", name="slackbot", real_name="Slackbot", is_bot=True, tz="UTC")

ANN = User(id="U0ANN00001", name="ann", real_name="Ann Kirsch", title="Head of Outbound", is_admin=True)
BEN = User(id="U0BEN00002", name="ben", real_name="Ben Okafor", title="Account Executive", tz="Europe/London")
CLEO = User(id="U0CLEO0003", name="cleo", real_name="Cleo Marín", title="SDR", tz="America/New_York")
DEV = User(id="U0DEV00004", name="dev", real_name="Dev Rao", title="Deliverability", tz="Asia/Kolkata")
GUS = User(id="U0GUS00005", name="gus", real_name="Gus Lindqvist", title="Contractor", is_restricted=True)
EVA = User(
    id="U0EVA00006",
    name="eva",
    real_name="Eva Brandt",
    title="Northwind Partners",
    team_id="T0NORTHWND",
    is_stranger=True,
)

USERS = (ANN, BEN, CLEO, DEV, GUS, EVA, BOT, SLACKBOT)
GROUPS = (
    Group(id="S0SALESAES", handle="sales-aes", name="Account executives", users=(ANN.id, BEN.id)),
    Group(id="S0DELIVERY", handle="deliverability", name="Deliverability", users=(DEV.id,)),
)

ALERTS = "C0ALERTS01"
SALES = "C0SALES002"
GENERAL = "C0GENERAL3"
ARCHIVED = "C0ARCHIVE4"
PRIVATE = "C0LEADERS5"
OUTSIDE = "C0PRIVATE6"


def channels() -> list[Channel]:
    """Fresh conversations: the bot in two public ones and a private one, absent from the rest."""
    full = [ANN.id, BEN.id, CLEO.id, DEV.id]
    return [
        Channel(
            id=ALERTS,
            name="outreach-alerts",
            members=[*full, GUS.id, BOT.id],
            topic="Interested replies and paused domains",
        ),
        Channel(
            id=SALES, name="sales", members=[*full, EVA.id, BOT.id], topic="Pipeline, shared with Northwind"
        ),
        Channel(id=GENERAL, name="general", members=full, topic="Company-wide, without the bot"),
        Channel(
            id=ARCHIVED,
            name="q3-launch",
            members=[*full, BOT.id],
            is_archived=True,
            topic="Done and archived",
        ),
        Channel(
            id=PRIVATE,
            name="leadership",
            members=[ANN.id, BEN.id, BOT.id],
            is_private=True,
            topic="Numbers only",
        ),
        Channel(
            id=OUTSIDE, name="hiring", members=[ANN.id, DEV.id], is_private=True, topic="Without the bot"
        ),
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Contents:
    """What a fresh workspace holds."""

    team: Team
    users: Sequence[User]
    groups: Sequence[Group]
    channels: Callable[[], Sequence[Channel]]


FIRST = Contents(team=TEAM, users=USERS, groups=GROUPS, channels=channels)

NORTHWIND = Team(id="T0NORTHWND", name="Northwind Partners", domain="northwind")
_EVA = replace(EVA, title="Founder", is_admin=True, is_stranger=False)
_NIA = User(id=BEN.id, name="nia", real_name="Nia Laurent", title="Account Manager", team_id=NORTHWIND.id)


def northwind_channels() -> list[Channel]:
    """Conversations of the second workspace: one has the id of another in the first workspace."""
    members = [_EVA.id, _NIA.id, BOT.id]
    return [
        Channel(id="C0NORTH001", name="general", members=members, topic="All of Northwind"),
        Channel(id=SALES, name="pipeline", members=members, topic="Replies that Northwind works on"),
    ]


SECOND = Contents(
    team=NORTHWIND,
    users=(_EVA, _NIA, replace(BOT, team_id=NORTHWIND.id), replace(SLACKBOT, team_id=NORTHWIND.id)),
    groups=(
        Group(id="S0NORTHALL", handle="partners", name="Partners", users=(_EVA.id,), team_id=NORTHWIND.id),
    ),
    channels=northwind_channels,
)
"""A second workspace, where the app is not installed yet.

Ids of users, channels and bots are unique to a workspace only, so some are those of other things in the first
(https://docs.slack.dev/reference/objects/user-object).
"""

COMMANDS = (
    {
        "command": "/outreach",
        "description": "Sequences, inboxes, stats and alerts",
        "usage_hint": "help | status | pause SEQUENCE | resume SEQUENCE | inboxes | stats",
        "should_escape": False,
    },
)
SCOPES = frozenset(
    [
        "channels:read",
        "channels:history",
        "channels:join",
        "groups:read",
        "groups:history",
        "im:read",
        "im:history",
        "im:write",
        "chat:write",
        "chat:write.public",
        "users:read",
        "usergroups:read",
        "dnd:read",
        "reactions:read",
        "reactions:write",
        "files:read",
        "files:write",
        "channels:manage",
        "groups:write",
        "mpim:read",
        "mpim:history",
        "mpim:write",
        "pins:read",
        "pins:write",
        "bookmarks:read",
        "bookmarks:write",
        "assistant:write",
        "links:read",
        "links:write",
        "emoji:read",
        "team:read",
        "users:read.email",
        "users.profile:read",
        "commands",
        "app_mentions:read",
    ]
)
"""What the app holds until a manifest asks for less."""
EVENTS = frozenset(
    {
        "app_home_opened",
        "app_mention",
        "app_uninstalled",
        "channel_archive",
        "channel_id_changed",
        "channel_left",
        "channel_rename",
        "channel_unarchive",
        "group_archive",
        "group_left",
        "group_rename",
        "group_unarchive",
        "member_joined_channel",
        "tokens_revoked",
    }
)
