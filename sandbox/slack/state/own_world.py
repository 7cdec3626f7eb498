"""A custom world: team, people, user groups and channels, from JSON or YAML."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

from sandbox.slack.state import seed
from sandbox.slack.state.errors import InvalidActionError
from sandbox.slack.state.model import App, Channel, Group, Team, User

_PARTS = {"team", "users", "groups", "channels"}
_TEAM = {"id", "name", "domain"}
_USER = {field.name for field in fields(User)} - {"name"}
_GROUP = {"id", "name", "users"}
_CHANNEL = {"id", "members", "is_private", "is_archived", "topic", "purpose"}
_BOT = "bot"
"""Stands for the first app's bot among the members of a channel."""


def read_world(body: Mapping[str, Any], apps: Sequence[App] = (seed.APP,)) -> seed.Contents:
    """The contents that `body` describes, with the bots of `apps`; raises `InvalidActionError` naming what would have been right."""
    _known(body, _PARTS, at="")
    given = _object(body, "team")
    _known(given, _TEAM, at="team.")
    team = replace(seed.TEAM, **given)
    users = [_user(name, details, team) for name, details in _named(body, "users")]
    if not users:
        raise InvalidActionError("users: at least one person")
    bot, slackbot = replace(seed.BOT, team_id=team.id), replace(seed.SLACKBOT, team_id=team.id)
    bots = {_BOT: seed.APP.user} | {one.handle: one.user for one in apps}
    ids = {user.name: user.id for user in users} | bots
    groups = [_group(name, details, ids, team) for name, details in _named(body, "groups")]
    channels = [_channel(name, details, ids) for name, details in _named(body, "channels")]
    if not channels:
        raise InvalidActionError("channels: at least one")
    _unique([*(one.id for one in users), *(one.id for one in groups), *(one.id for one in channels)])
    return seed.Contents(
        team=team, users=(*users, bot, slackbot), groups=groups, channels=lambda: [fresh(c) for c in channels]
    )


def written(
    team: Team, users: Iterable[User], groups: Iterable[Group], channels: Iterable[Channel]
) -> dict[str, Any]:
    """What `read_world` reads, of people, groups and channels as they are now; bots and messages are left out."""
    people = [user for user in users if not user.is_bot]
    names = {user.id: user.name for user in people} | {seed.APP.user: _BOT}
    return {
        "team": {"id": team.id, "name": team.name, "domain": team.domain},
        "users": {one.name: _fields(one, _USER - {"is_bot"}) for one in people},
        "groups": {
            one.handle: {"id": one.id, "name": one.name, "users": [names.get(u, u) for u in one.users]}
            for one in groups
        },
        "channels": {
            one.name: _fields(one, _CHANNEL) | {"members": [names[m] for m in one.members if m in names]}
            for one in channels
            if not (one.direct or one.is_mpim)
        },
    }


def _fields(of: User | Channel, names: set[str]) -> dict[str, Any]:
    return {name: getattr(of, name) for name in sorted(names)}


def fresh(channel: Channel) -> Channel:
    """The same channel without a message."""
    return replace(
        channel, members=list(channel.members), messages={}, ephemerals={}, posted=0, pins=[], bookmarks=[]
    )


def _user(name: str, details: Mapping[str, Any], team: Team) -> User:
    _known(details, _USER, at=f"users.{name}.")
    return User(
        **{"id": _id("U", name), "name": name, "real_name": name.title(), "team_id": team.id, **details}
    )


def _group(name: str, details: Mapping[str, Any], ids: Mapping[str, str], team: Team) -> Group:
    _known(details, _GROUP, at=f"groups.{name}.")
    users = tuple(_id_of(one, ids, at=f"groups.{name}.users") for one in details.get("users") or ())
    given = {"id": _id("S", name), "name": name, **details, "users": users}
    return Group(handle=name, team_id=team.id, **given)


def _channel(name: str, details: Mapping[str, Any], ids: Mapping[str, str]) -> Channel:
    """Without `members`, everybody and the bot are in."""
    _known(details, _CHANNEL, at=f"channels.{name}.")
    wanted = details.get("members")
    names = list(dict.fromkeys(ids.values())) if wanted is None else wanted
    members = [_id_of(one, ids, at=f"channels.{name}.members") for one in names]
    return Channel(**{"id": _id("C", name), "name": name, **details, "members": members})


def _id(kind: str, name: str) -> str:
    """An id that is the same in every run: U0ANN00000."""
    return f"{kind}0{re.sub('[^A-Z0-9]', '', name.upper()):0<8}"


def _id_of(name: str, ids: Mapping[str, str], *, at: str) -> str:
    found = name if name in ids.values() else ids.get(str(name))
    if found is None:
        raise InvalidActionError(f"{at}: no user is named {name!r}; there are: {', '.join(ids)}")
    return found


def _named(body: Mapping[str, Any], part: str) -> list[tuple[str, Mapping[str, Any]]]:
    rows = [(str(name), details or {}) for name, details in _object(body, part).items()]
    for name, details in rows:
        if not isinstance(details, Mapping):
            raise InvalidActionError(f"{part}.{name}: not an object")
    return rows


def _object(body: Mapping[str, Any], part: str) -> Mapping[str, Any]:
    value = body.get(part) or {}
    if not isinstance(value, Mapping):
        raise InvalidActionError(f"{part}: not an object")
    return value


def _known(body: Mapping[str, Any], names: set[str], *, at: str) -> None:
    if unknown := set(body) - names:
        listed = ", ".join(sorted(names))
        raise InvalidActionError(f"unknown: {at}{', '.join(sorted(unknown))}; there are: {listed}")


def _unique(ids: list[str]) -> None:
    if doubled := {one for one in ids if ids.count(one) > 1}:
        raise InvalidActionError(f"the same id twice: {', '.join(sorted(doubled))}; give them an `id`")
