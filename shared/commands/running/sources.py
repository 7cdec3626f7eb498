"""All subscriptions of a channel, each with its source and how to remove it.

They come from `subscribe`, from the rules of `[routes]`, and from being a workspace's alert channel.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from shared.api.event_kinds import POSTED_AT_ONCE
from shared.commands.run import CommandContext
from shared.domain.alert_settings import Rule
from shared.records.records import Subscription
from shared.settings import DEFAULT, Settings, Workspace


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One subscription of a channel, and its source."""

    workspace: str
    subscription: Subscription
    origin: str
    """Where it comes from."""
    place: str = ""
    """What to change in the settings; empty if a command undoes it."""
    mention: str = ""

    @property
    def data(self) -> dict[str, object]:
        """For `--json`."""
        one = self.subscription
        return {
            "channel": one.channel,
            "event": one.event,
            "sequence": one.sequence,
            "inbox": one.inbox,
            "condensed": one.condensed,
            "workspace": self.workspace,
            "origin": self.origin,
        }


async def list_sources(context: CommandContext, channel: str) -> tuple[Line, ...]:
    """The channel's whole set, over all workspaces. Raises `RecordsUnavailable`."""
    found: list[Line] = []
    for workspace in list_workspaces(context):
        typed = await context.need_records().subscriptions(workspace.name, channel)
        rules = channel_rules(context.settings, workspace, channel)
        found += (Line(workspace=workspace.name, subscription=one, origin="subscribe") for one in typed)
        found += (_ruled(rule, workspace, context.settings) for rule in rules)
        found += _unasked(
            workspace, channel, context.settings, asked=[*typed, *(r.subscription for r in rules)]
        )
    return tuple(found)


def list_workspaces(context: CommandContext) -> Sequence[Workspace]:
    return tuple(context.settings.workspaces.values()) if context.settings else (context.workspace,)


def channel_rules(settings: Settings | None, workspace: Workspace, channel: str) -> list[Rule]:
    """The rules of `[routes]` that are about a channel."""
    rules = settings.routes.rules if settings else ()
    ours = (rule for rule in rules if rule.workspace in {"", workspace.name})
    return [rule for rule in ours if rule.subscription.channel == channel]


def _ruled(rule: Rule, workspace: Workspace, settings: Settings | None) -> Line:
    return Line(
        workspace=workspace.name,
        subscription=rule.subscription,
        origin=_file(settings),
        place=f"in {_file(settings)}: {rule.place}",
        mention=rule.mention,
    )


def _file(settings: Settings | None) -> str:
    return settings.file.name if settings and settings.file else "the settings"


def _unasked(
    workspace: Workspace, channel: str, settings: Settings | None, *, asked: Sequence[Subscription]
) -> list[Line]:
    """What an alert channel gets in any case; what it asked for itself decides on the form."""
    fallback = settings.routes.fallback if settings else None
    if channel != (workspace.alert_channel or fallback):
        return []
    origin = "alert channel" if workspace.alert_channel else "fallback channel"
    place = f"the setting {_setting_of(workspace)}"
    return [
        Line(
            workspace=workspace.name,
            subscription=Subscription(channel=channel, event=kind, condensed=_condensed(kind, asked)),
            origin=origin,
            place=place,
        )
        for kind in POSTED_AT_ONCE
    ]


def _setting_of(workspace: Workspace) -> str:
    if not workspace.alert_channel:
        return "[routes] fallback"
    return "OUTREACH_ALERT_CHANNEL" if workspace.name == DEFAULT else "alert_channel of the workspace"


def _condensed(kind: str, asked: Sequence[Subscription]) -> bool:
    whole = [one for one in asked if one.event in {kind, "*"} and not one.sequence and not one.inbox]
    return bool(whole) and all(one.condensed for one in whole)
