"""The Slack channels in the settings. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeVar

from shared.settings.model import Settings
from shared.settings.sections import place_of_rule

T = TypeVar("T")


def named_channels(settings: Settings) -> Iterator[tuple[str, str]]:
    """Each place that names a channel, and the id that stands there."""
    routes, roles = settings.routes, settings.roles
    for name, workspace in settings.workspaces.items():
        yield f"alert_channel of @{name}", workspace.alert_channel or ""
    yield "[routes] fallback", routes.fallback or ""
    yield "[alerts] escalate_to", settings.alerts.escalate_to or ""
    yield from ((place_of_rule(number), rule.channel) for number, rule in enumerate(routes.rules, start=1))
    yield from ((f"[routes.channels.{name}]", name) for name in routes.channels)
    yield from (("[roles] outsiders", name) for name in sorted(roles.outsiders))
    yield from (("[roles.channels]", name) for name in roles.channels)
