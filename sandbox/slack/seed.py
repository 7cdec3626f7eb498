"""The people and channels at the start, from `seed.toml`."""

from __future__ import annotations

from typing import Any

from sandbox.data import read_toml
from sandbox.slack.model import App, Channel, Group, Team, User

_FILE: dict[str, Any] = read_toml(__file__, "seed.toml")
TEAM, APP = Team(**_FILE["team"]), App(**_FILE["app"])
USERS = tuple(User(**one) for one in _FILE["users"])
ANN, BEN, CLEO, DEV, GUS, EVA, BOT, SLACKBOT = USERS
GROUPS = tuple(Group(**one) for one in _FILE["groups"])
ALERTS, SALES, GENERAL, ARCHIVED, PRIVATE, OUTSIDE = (str(one["id"]) for one in _FILE["channels"])


def channels() -> list[Channel]:
    """Return fresh channels, whose members may change."""
    return [Channel(**one | {"members": list(one["members"])}) for one in _FILE["channels"]]
