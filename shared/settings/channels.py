"""The Slack channels in the settings, and the same settings with new ids of channels. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

from shared.domain.alert_settings import Routing
from shared.settings.model import Settings
from shared.settings.sections import Roles

T = TypeVar("T")


def named_channels(settings: Settings) -> Iterator[tuple[str, str]]:
    """Each place that names a channel, and the id that stands there."""
    routes, roles = settings.routes, settings.roles
    for name, workspace in settings.workspaces.items():
        yield f"alert_channel of @{name}", workspace.alert_channel or ""
    yield "[routes] fallback", routes.fallback or ""
    yield "[alerts] escalate_to", settings.alert_policy.escalate_to or ""
    yield from ((rule.place, rule.subscription.channel) for rule in routes.rules)
    yield from ((f"[routes.channels.{name}]", name) for name in routes.channels)
    yield from (("[roles] outsiders", name) for name in sorted(roles.outsiders))
    yield from (("[roles.channels]", name) for name in roles.channels)


@dataclass(frozen=True, slots=True, kw_only=True)
class OldId:
    """A place in the settings that names a channel by an id that it no longer has."""

    place: str
    old: str
    new: str

    def __str__(self) -> str:
        return f"{self.place} in the settings names a channel by its old id, {self.old}"


def old_ids(settings: Settings, moved: Mapping[str, str]) -> tuple[OldId, ...]:
    """Each place that names a channel by an old id; `moved` has the new ids by the old ones."""
    return tuple(
        OldId(place=place, old=name, new=moved[name])
        for place, name in named_channels(settings)
        if name in moved
    )


def with_channel_ids(settings: Settings, moved: Mapping[str, str]) -> Settings:
    """The settings with each channel's new id for its old one; `moved` has the new ids by the old ones.

    Where a table has both, the entry under the new id counts.
    """
    workspaces = {
        name: one.model_copy(update={"alert_channel": _new(one.alert_channel, moved)})
        for name, one in settings.workspaces.items()
    }
    followed = settings.model_copy(update={"roles": _roles(settings.roles, moved)})
    vars(followed).update(
        workspaces=workspaces,
        routes=_routes(settings.routes, moved),
        alert_policy=replace(
            settings.alert_policy, escalate_to=_new(settings.alert_policy.escalate_to, moved)
        ),
    )
    return followed


def _new(channel: str | None, moved: Mapping[str, str]) -> str | None:
    return moved.get(channel, channel) if channel else channel


def _roles(roles: Roles, moved: Mapping[str, str]) -> Roles:
    outsiders = frozenset(moved.get(name, name) for name in roles.outsiders)
    return roles.model_copy(update={"outsiders": outsiders, "channels": _keyed(roles.channels, moved)})


def _routes(routes: Routing, moved: Mapping[str, str]) -> Routing:
    def followed(channel: str) -> str:
        return moved.get(channel, channel)

    rules = [
        replace(rule, subscription=replace(rule.subscription, channel=followed(rule.subscription.channel)))
        for rule in routes.rules
    ]
    channels = _keyed(routes.channels, moved)
    return replace(routes, fallback=_new(routes.fallback, moved), rules=tuple(rules), channels=channels)


def _keyed(table: Mapping[str, T], moved: Mapping[str, str]) -> dict[str, T]:
    followed = {moved[name]: value for name, value in table.items() if name in moved}
    return followed | {name: value for name, value in table.items() if name not in moved}
