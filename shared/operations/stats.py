"""The counts, their rates, and how they changed."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping

from shared.api.errors import OutreachError
from shared.api.http.rate_limit import Priority
from shared.api.models import Grouping, StatsRow, as_dict
from shared.commands import Invocation
from shared.commands.periods import PERSON, STATS_GROUPS
from shared.domain.card import Button, Card, Chart, Column, Fact, Row, Table, columns, number
from shared.domain.reports import change, rate, totals
from shared.domain.snapshot import service_day
from shared.operations import people
from shared.operations.context import CommandContext
from shared.operations.day_range import Range, range_of
from shared.text.formats import show_change, show_count, show_days, show_rate

NUMBERS = ("Sends", "Replies", "Reply rate", "Positive", "Positive rate", "Meetings")
COLUMNS = columns("Group", *map(number, NUMBERS), Column(title="", bar=True))
MOST_CHARTED = 10
"""Groups that a chart shows."""


async def stats(invocation: Invocation, context: CommandContext) -> Card:
    """`stats [by sequence|step|variant|inbox|person] [7d|last week|FROM..TO]`."""
    if invocation.values["by"] == PERSON:
        return await people.stats_by_person(invocation, context)
    by: Grouping = invocation.values["by"]
    asked = range_of(invocation.values, today=service_day(context.client, now=context.now()))
    start, end = asked.ends
    rows, before, names = await asyncio.gather(
        context.client.stats(group_by=by, start=start, end=end, priority=Priority.INTERACTIVE),
        _total_before(asked, by=by, context=context),
        _group_names(context, by=by),
    )
    if by in {"sequence", "inbox"}:
        rows = tuple(sorted(rows, key=lambda row: -(row.sends or 0)))
    total = totals(rows)
    return Card(
        title=f"Stats by {by}, {asked.name}",
        facts=total_facts(total, before=before) if rows else (),
        table=_table(rows, total, names, by=by) if rows else None,
        chart=_chart(rows, names, by=by),
        text=_compared(asked, before) if rows else ("Nothing was counted in this time.",),
        buttons=_buttons(by, asked),
        data=tuple(map(as_dict, rows)),
    )


def _compared(asked: Range, before: StatsRow | None) -> tuple[str, ...]:
    """With what, where a change is shown."""
    if before is None or not before.sends:
        return ()
    still = "; today is not over" if asked.running else ""
    return (f"Changes are against {show_days(asked.before.start, asked.before.end)}{still}.",)


async def _total_before(asked: Range, *, by: Grouping, context: CommandContext) -> StatsRow | None:
    """For comparison only: where it cannot be read, the change is unknown."""
    if asked.has_started:
        return None
    start, end = asked.before.ends
    try:
        return totals(
            await context.client.stats(group_by=by, start=start, end=end, priority=Priority.INTERACTIVE)
        )
    except OutreachError:
        return None


async def _group_names(context: CommandContext, *, by: str) -> Mapping[str, str]:
    """Id of a sequence to name, since a group may be either; a name that is shared comes with the id."""
    try:
        known = await context.client.list_sequences(priority=Priority.INTERACTIVE) if by == "sequence" else ()
    except OutreachError:
        return {}
    shared = Counter(one.label.casefold() for one in known)
    return {
        one.id: f"{one.label} ({one.id})" if shared[one.label.casefold()] > 1 else one.label for one in known
    }


def total_facts(total: StatsRow, *, before: StatsRow | None = None) -> tuple[Fact, ...]:
    """The four counts with rates and, where known, the change against the time before."""

    def fact(label: str, now: int | None, earlier: int | None, *, rated: bool = True) -> Fact:
        parts = [show_count(now)]
        if rated and (share := rate(now, total.sends)) is not None:
            parts.append(f"({show_rate(share)})")
        moved = change(now, earlier)
        if moved is not None:
            parts.append(show_change(moved))
        return Fact(label=label, value=" ".join(parts))

    old = before or StatsRow(group="")
    return (
        fact("Sends", total.sends, old.sends, rated=False),
        fact("Replies", total.replies, old.replies),
        fact("Positive", total.positive_replies, old.positive_replies),
        fact("Meetings", total.meetings, old.meetings),
    )


def _table(rows: tuple[StatsRow, ...], total: StatsRow, names: Mapping[str, str], *, by: str) -> Table:
    best = max((rate(row.replies, row.sends) or 0 for row in rows), default=0)
    lines = [_row(row, label=names.get(row.group) or _label(row.group, by), best=best) for row in rows]
    if len(rows) > 1:
        lines.append(_row(total, label="All", best=best))
    return Table(columns=COLUMNS, rows=tuple(lines))


def _chart(rows: tuple[StatsRow, ...], names: Mapping[str, str], *, by: str) -> Chart | None:
    """The reply and positive rates by group, of the groups with most sends, in the order of the table."""
    sent = sorted((row for row in rows if row.sends), key=lambda row: -(row.sends or 0))[:MOST_CHARTED]
    shown = [row for row in rows if row in sent]
    if not shown:
        return None
    return Chart(
        title=f"Rates by {by}, in per cent",
        labels=tuple(names.get(row.group) or _label(row.group, by) for row in shown),
        series=(
            ("Replies", tuple(_percent(row.replies, row.sends) for row in shown)),
            ("Positive", tuple(_percent(row.positive_replies, row.sends) for row in shown)),
        ),
        bars=True,
    )


def _percent(part: int | None, whole: int | None) -> float | None:
    share = rate(part, whole)
    return None if share is None else round(share * 100, 1)


def _label(group: str, by: str) -> str:
    """A bare number or letter says what it counts: `Step 1`."""
    return f"{by.capitalize()} {group}" if len(group) < 3 else group


def _row(row: StatsRow, *, label: str, best: float) -> Row:
    replied = rate(row.replies, row.sends)
    return Row(
        cells=(
            label,
            row.sends,
            row.replies,
            show_rate(replied),
            row.positive_replies,
            show_rate(rate(row.positive_replies, row.sends)),
            row.meetings,
            rate(replied, best),
        )
    )


def _buttons(by: str, asked: Range) -> tuple[Button, ...]:
    others = [grouping for grouping in STATS_GROUPS if grouping != by]
    links = (Button(label=f"by {grouping}", command=f"stats by {grouping}") for grouping in others)
    week = Button(label="Last 7 days", command=f"stats by {by} 7d")
    return (*(() if asked.name == "last 7 days" else (week,)), *links)
