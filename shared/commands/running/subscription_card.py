"""Subscriptions of a channel, as a Card: one row for what one command removes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

from shared.api.event_kinds import EVENTS, kind_of, word_of
from shared.commands import render
from shared.commands.base import Result
from shared.commands.channels import HERE
from shared.commands.run import CommandContext
from shared.commands.running.sources import Line, list_workspaces
from shared.commands.subscribe import Unsubscribe
from shared.domain.alert_settings import Routing
from shared.domain.card import Button, Card, Row, Table, columns
from shared.text.formats import plural

FULL = "full"
MOST_UNDO_BUTTONS, MOST_IN_A_ROW, MOST_NAMED, MOST_LINES = 5, 3, 6, 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Lines that differ in nothing but the event and, where the settings say it, the workspace."""

    line: Line
    events: tuple[str, ...]
    workspaces: tuple[str, ...]

    def back(self, *, channel: str) -> Unsubscribe:
        """The command that ends them."""
        one = self.line.subscription
        return Unsubscribe(events=self.events, sequence=one.sequence, inbox=one.inbox, channel=channel)

    def undo(self, *, channel: str, several: bool) -> str:
        """The line that ends them, or where the settings say it."""
        workspace = self.line.workspace if several else None
        return self.line.place or render(self.back(channel=channel), workspace=workspace)


def grouped(lines: Sequence[Line]) -> list[Group]:
    """In the order of the lines."""
    events: dict[tuple[object, ...], list[Line]] = {}
    for line in lines:
        events.setdefault((line.workspace, *_alike(line)), []).append(line)
    places: dict[tuple[object, ...], list[list[Line]]] = {}
    for (workspace, *alike), ones in events.items():
        kinds = tuple(one.subscription.event for one in ones)
        apart = "" if ones[0].place else workspace
        places.setdefault((apart, kinds, *alike), []).append(ones)
    return [
        Group(
            line=alike[0][0],
            events=tuple(one.subscription.event for one in alike[0]),
            workspaces=tuple(ones[0].workspace for ones in alike),
        )
        for alike in places.values()
    ]


def _alike(line: Line) -> tuple[object, ...]:
    one = line.subscription
    return (one.sequence, one.inbox, one.condensed, line.origin, line.place, line.mention)


async def card_of(title: str, lines: Sequence[Line], *, context: CommandContext, channel: str) -> Result:
    """The set as a table, with a button for each of those that a command undoes."""
    several = len(list_workspaces(context)) > 1
    groups = grouped(lines)
    typed = [group for group in groups if not group.line.place]
    own = context.workspace.alert_channel or ""
    always = " Interested replies always go to the alert channel." if own else ""
    nothing = f"This channel has no subscriptions.{always}"
    here = HERE if channel == context.actor.channel else channel
    table = await _table(groups, context=context, here=here)
    few = len(groups) <= MOST_LINES
    return Result(
        card=Card(
            title=title,
            text=(nothing,) if table is None else _lines(table) if few else (),
            table=None if few else table,
            buttons=tuple(
                Button(
                    label=f"Unsubscribe {_named(group, several=several)}",
                    action=group.back(channel=channel),
                    workspace=group.line.workspace if several else "",
                    menu=len(typed) > MOST_IN_A_ROW,
                )
                for group in typed[:MOST_UNDO_BUTTONS]
            ),
        ),
        rows=tuple(line.data for line in lines),
    )


def _lines(table: Table) -> tuple[str, ...]:
    """A few are sentences, in which all can be read without moving a table to and fro."""
    titles = [column.title for column in table.columns]
    found = []
    for row in table.rows:
        event, *shown, undo = (str(cell) for cell in row.cells)
        named = zip(titles[1:-1], shown, strict=True)
        parts = [f"{_BEFORE[title]}{cell}" for title, cell in named if cell not in {"all", FULL}]
        gets = f"{event[:1].upper()}{event[1:]}"
        found.append(f"{': '.join(filter(None, (gets, ', '.join(parts))))}. To remove: {undo}")
    return tuple(found)


_BEFORE = {"Only for": "only for ", "Workspace": "in ", "Form": ""}


def _named(group: Group, *, several: bool) -> str:
    where = group.line.workspace if several else ""
    return " · ".join(filter(None, (_events(group.events), _only(group.line), where)))


async def _table(groups: Sequence[Group], *, context: CommandContext, here: str) -> Table | None:
    """Only the columns that have content."""
    known = list_workspaces(context)
    several = len(known) > 1
    shown = [await _cells(group, known=len(known), display_name=context.display_name) for group in groups]
    used = [title for title in _TITLES if any(cells[title] for cells in shown)]
    rows = tuple(
        Row(cells=(*(cells[title] or "all" for title in used), group.undo(channel=here, several=several)))
        for cells, group in zip(shown, groups, strict=True)
    )
    return Table(columns=columns(*used, "To remove"), rows=rows) if rows else None


_TITLES = ("Event", "Only for", "Workspace", "Form")


async def _cells(
    group: Group, *, known: int, display_name: Callable[[str], Awaitable[str]]
) -> Mapping[str, str]:
    who, names = group.line.mention, group.workspaces
    calls = f", mentions {await display_name(who)}" if who else ""
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return {
        "Event": name_events(group.events),
        "Only for": _only(group.line),
        "Workspace": "" if len(names) == known else ", ".join(names[:MOST_NAMED]) + more,
        "Form": ("condensed" if group.line.subscription.condensed else FULL) + calls,
    }


def name_events(kinds: Sequence[str]) -> str:
    """`bounces, opt-outs and interested replies`."""
    if {*kinds} == {*EVENTS} or "*" in kinds:
        return "all events"
    *others, last = (plural(kind_of(kind).noun) for kind in kinds)
    return f"{', '.join(others)} and {last}" if others else last


def _events(kinds: Sequence[str]) -> str:
    """The words that commands take."""
    return "all" if {*kinds} == {*EVENTS} or "*" in kinds else ", ".join(map(word_of, kinds))


def _only(line: Line) -> str:
    one = line.subscription
    return " · ".join(filter(None, (one.sequence, one.inbox)))


async def policy(context: CommandContext, *, channel: str) -> tuple[str, ...]:
    """What `[routes]` says of the channel's quiet hours, of who is called, and of it as the fallback."""
    routes = context.settings.routes if context.settings else Routing()
    own = routes.channel_policy(channel)
    lines = []
    if quiet := own.quiet:
        hours = f"{quiet.start:%H:%M} to {quiet.end:%H:%M} {quiet.zone}"
        lines.append(f"Quiet hours {hours}: non-urgent alerts are held, nobody is mentioned.")
    if own.mention:
        lines.append(f"Interested replies mention {await context.display_name(own.mention)}.")
    if routes.fallback == channel:
        lines.append("This is the fallback channel: it is notified when another channel rejects alerts.")
    return tuple(lines)
