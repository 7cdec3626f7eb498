"""The people and channels at the start: all kinds that permissions depend on."""

from __future__ import annotations

from sandbox.slack.model import App, Channel, Group, Team, User

TEAM = Team(id="T0SANDBOX1", name="Outbound Labs", domain="outbound-labs")
APP = App(id="A0OUTREACH", bot_id="B0OUTREACH", user="U0OUTREACH", name="Outreach")
BOT = User(id=APP.user, name="outreach", real_name="Outreach", is_bot=True, tz="UTC")
SLACKBOT = User(id="USLACKBOT", name="slackbot", real_name="Slackbot", is_bot=True, tz="UTC")

ANN = User(
    id="U0ANN00001",
    name="ann",
    real_name="Ann Kirsch",
    title="Head of Outbound",
    is_admin=True,
)
BEN = User(
    id="U0BEN00002",
    name="ben",
    real_name="Ben Okafor",
    title="Account Executive",
    tz="Europe/London",
)
CLEO = User(
    id="U0CLEO0003",
    name="cleo",
    real_name="Cleo Marín",
    title="SDR",
    tz="America/New_York",
)
DEV = User(
    id="U0DEV00004",
    name="dev",
    real_name="Dev Rao",
    title="Deliverability",
    tz="Asia/Kolkata",
)
GUS = User(
    id="U0GUS00005",
    name="gus",
    real_name="Gus Lindqvist",
    title="Contractor",
    is_restricted=True,
)
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
    """Return fresh channels: the bot is in two public ones and a private one, not in the rest."""
    full = [ANN.id, BEN.id, CLEO.id, DEV.id]
    return [
        Channel(
            id=ALERTS,
            name="outreach-alerts",
            members=[*full, GUS.id, BOT.id],
            topic="Interested replies and paused domains",
        ),
        Channel(
            id=SALES,
            name="sales",
            members=[*full, EVA.id, BOT.id],
            topic="Pipeline, shared with Northwind",
        ),
        Channel(
            id=GENERAL,
            name="general",
            members=full,
            topic="Company-wide, without the bot",
        ),
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
            id=OUTSIDE,
            name="hiring",
            members=[ANN.id, DEV.id],
            is_private=True,
            topic="Without the bot",
        ),
    ]
