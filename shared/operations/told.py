"""Everything that a channel is told of, each with where that was said and what undoes it.

Three places say it: `subscribe`, the rules of `[routes]` in the settings, and being a workspace's alert channel.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from shared.alerting import UNASKED, Quiet, Routing, Rule
from shared.card import Button, Card, Column, Row, Table
from shared.commands import COMMANDS, Invocation, render
from shared.commands.routing import HERE
from shared.desk import Desk
from shared.operations.outcome import need_records
from shared.records import Subscription
from shared.settings import DEFAULT, Settings, Workspace

MOST_UNDO_BUTTONS, MOST_IN_A_ROW = 5, 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One thing that a channel is told of."""

    workspace: str
    subscription: Subscription
    origin: str
    """Where it was said."""
    place: str = ""
    """What is to be changed in the settings; empty where a command undoes it."""
    mention: str = ""

    def undo(self, *, channel: str, several: bool) -> str:
        """The command that ends it, or the setting that does."""
        if self.place:
            return self.place
        one = self.subscription
        values = {"events": (one.event,), "sequence": one.sequence, "inbox": one.inbox, "channel": channel}
        return render(
            Invocation(
                command=COMMANDS["unsubscribe"],
                values={**values, "condensed": False},
                workspace=self.workspace if several else None,
            )
        )

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


async def lines_of(desk: Desk, channel: str) -> tuple[Line, ...]:
    """The channel's whole set, over all workspaces. Raises `RecordsUnavailable`."""
    found: list[Line] = []
    for workspace in workspaces_of(desk):
        typed = await need_records(desk).subscriptions(workspace.name, channel)
        rules = rules_of(desk.settings, workspace, channel)
        found += (Line(workspace=workspace.name, subscription=one, origin="subscribe") for one in typed)
        found += (_ruled(rule, workspace, desk.settings) for rule in rules)
        found += _unasked(workspace, channel, desk.settings, asked=[*typed, *(r.subscription for r in rules)])
    return tuple(found)


def workspaces_of(desk: Desk) -> Sequence[Workspace]:
    """Every workspace that the desk knows of."""
    return tuple(desk.settings.workspaces.values()) if desk.settings else (desk.workspace,)


def rules_of(settings: Settings | None, workspace: Workspace, channel: str) -> list[Rule]:
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
        for kind in UNASKED
    ]


def _setting_of(workspace: Workspace) -> str:
    """What makes a channel the one to which its alerts go."""
    if not workspace.alert_channel:
        return "[routes] fallback"
    own = f"[workspaces.{workspace.name}] alert_channel"
    return "OUTREACH_ALERT_CHANNEL" if workspace.name == DEFAULT else own


def _condensed(kind: str, asked: Sequence[Subscription]) -> bool:
    whole = [one for one in asked if one.event in {kind, "*"} and not one.sequence and not one.inbox]
    return bool(whole) and all(one.condensed for one in whole)


def card_of(title: str, lines: Sequence[Line], *, desk: Desk, channel: str) -> Card:
    """The set as a table, with a button for each of those that a command undoes."""
    several = len(workspaces_of(desk)) > 1
    here = HERE if channel == desk.actor.channel else channel
    typed = [line for line in lines if not line.place]
    nothing = "Nothing. `subscribe` changes that; interested replies go to the alert channel in any case."
    return Card(
        title=title,
        text=() if lines else (nothing,),
        table=_table([(line, line.undo(channel=here, several=several)) for line in lines], several=several),
        buttons=tuple(
            Button(
                label=f"End {_named(line, several=several)}",
                command=line.undo(channel=channel, several=several),
                menu=len(typed) > MOST_IN_A_ROW,
            )
            for line in typed[:MOST_UNDO_BUTTONS]
        ),
        data=tuple(line.data for line in lines),
    )


def _named(line: Line, *, several: bool) -> str:
    one = line.subscription
    where = line.workspace if several else ""
    return " · ".join(filter(None, (one.event, one.sequence, one.inbox, where)))


def _table(lines: Sequence[tuple[Line, str]], *, several: bool) -> Table | None:
    """Only the columns in which something is said."""
    said = [(_cells(line, several=several), undo) for line, undo in lines]
    used = [title for title in _TITLES if any(cells[title] for cells, _ in said)]
    rows = tuple(Row(cells=(*(cells[title] or "all" for title in used), undo)) for cells, undo in said)
    columns = tuple(Column(title=title) for title in (*used, "To undo"))
    return Table(columns=columns, rows=rows) if rows else None


_TITLES = ("Event", "Workspace", "Sequence", "Inbox", "Form", "Calls", "From")


def _cells(line: Line, *, several: bool) -> Mapping[str, str]:
    one = line.subscription
    return {
        "Event": one.event,
        "Workspace": line.workspace if several else "",
        "Sequence": one.sequence,
        "Inbox": one.inbox,
        "Form": "condensed" if one.condensed else "full",
        "Calls": line.mention,
        "From": line.origin,
    }


def policy(settings: Settings | None, *, channel: str) -> tuple[str, ...]:
    """What `[routes]` says of every channel, and of this one as the fallback."""
    routes = settings.routes if settings else Routing()
    return (
        *((_quiet(routes.quiet),) if routes.quiet else ()),
        *((f"An interested reply calls {routes.mention}.",) if routes.mention else ()),
        *(
            ("It is the fallback: told of channels that take no alerts.",)
            if routes.fallback == channel
            else ()
        ),
    )


def _quiet(hours: Quiet) -> str:
    said = f"{hours.start:%H:%M} to {hours.end:%H:%M} {hours.zone}"
    return f"Quiet from {said}: what can wait waits, and nobody is called."
