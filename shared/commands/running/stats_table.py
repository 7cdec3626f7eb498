"""`stats`: counts, rates and changes."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from shared.api.errors import OutreachError
from shared.api.models import StatsRow, as_dict
from shared.api.pace import Priority
from shared.api.values import fold
from shared.api.words import Grouping
from shared.commands.base import Result, clip
from shared.commands.periods import Period
from shared.commands.run import CommandContext
from shared.commands.running import people
from shared.commands.running.day_range import Range, range_of
from shared.commands.stats import STATS_GROUPS, Stats
from shared.domain import evidence
from shared.domain.card import Button, Card, Chart, Column, Fact, Row, Table, columns, number
from shared.domain.snapshot import is_known_from, service_day
from shared.domain.totals import rate, totals
from shared.text.formats import show_count, show_days

COLUMNS = columns(
    "Group",
    number("Sends", narrow=""),
    number("Replies", narrow=""),
    number("Reply rate", narrow="Replies"),
    number("Positive", narrow=""),
    number("Positive rate", narrow="Positive"),
    number("Meetings", narrow=""),
    Column(title="", bar=True),
)
MOST_CHARTED = 10
"""Groups that a chart shows."""
NOTHING_COUNTED = "No activity in this period."
COMPARABLE: Mapping[str, str] = {
    "sequence": "Sequences reach different people, which can explain a difference.",
    "step": "Later steps only reach people who haven't replied yet, so steps can't be compared directly.",
    "variant": "The service doesn't report which sequence a variant belongs to, so one name can cover several sequences.",
    "inbox": "Inboxes can send different sequences, which can explain a difference.",
}
"""What speaks against comparing the groups."""
ONE_SEQUENCE = "Only rows of the same sequence are compared."
MOST_VERDICTS = 8


async def stats(arguments: Stats, context: CommandContext) -> Result:
    """`stats [by sequence|step|variant|inbox|person] [7d|last week|FROM..TO]`."""
    by = arguments.by
    if by == "person":
        return await people.stats_by_person(arguments.period, context)
    asked = range_of(arguments.period, today=service_day(context.client, now=context.now()))
    start, end = asked.ends
    rows, past, names = await asyncio.gather(
        context.client.stats(group_by=by, start=start, end=end, priority=Priority.INTERACTIVE),
        read_past(asked, by=by, context=context),
        group_names(context, by=by),
    )
    return await asyncio.to_thread(_result, rows, past, names, by=by, asked=asked, note=_note(asked, context))


def _note(asked: Range, context: CommandContext) -> str:
    """Which days are counted, where the title alone could be misread."""
    still = ", including today so far" if asked.running and asked.days > 1 else ""
    own_day = context.now().astimezone(context.zone).date()
    abroad = f" For the service, today is {asked.today:%-d %B}." if own_day != asked.today else ""
    return f"{show_days(asked.start, asked.end)}{still}.{abroad}" if still or abroad else ""


def _result(
    rows: tuple[StatsRow, ...],
    past: StatsRow | None,
    names: Mapping[str, str],
    *,
    by: Grouping,
    asked: Range,
    note: str,
) -> Result:
    """The card and the data; ten thousand inboxes take most of a second, so not on an event loop."""
    if by in {"sequence", "inbox"}:
        rows = tuple(sorted(rows, key=lambda row: -(row.sends or 0)))
    total = totals(rows)
    return Result(
        card=Card(
            title=f"Stats by {by}, {asked.name}",
            facts=total_facts(total, before=past, running=asked.running) if rows else (),
            table=_table(rows, total, names, by=by) if rows else None,
            charts=_charts(rows, names, by=by),
            text=(
                *(_verdict(rows, names, by=by) if rows else (NOTHING_COUNTED,)),
                *(line for line in (note, _compared(asked, past)) if line),
            ),
            buttons=_buttons(by, asked, counted=bool(rows)),
        ),
        rows=tuple(map(_data, rows)),
    )


def _compared(asked: Range, past: StatsRow | None) -> str:
    """With what the rates are compared; empty where nothing is."""
    before = asked.compared_with
    if before is None or past is None:
        return ""
    return evidence.show_compared(before.start, before.end, running=asked.running)


async def read_past(asked: Range, *, by: Grouping, context: CommandContext) -> StatsRow | None:
    """The counts that a range is compared with; None where they can't be read, aren't fully known, or are zero."""
    before = asked.compared_with
    if before is None:
        return None
    try:
        past, known = await asyncio.gather(
            context.client.stats(
                group_by=by, start=before.start, end=before.end, priority=Priority.INTERACTIVE
            ),
            is_known_from(context.client, before.start, priority=Priority.INTERACTIVE),
        )
    except OutreachError:
        return None
    counted = totals(past)
    return counted if known and counted.sends else None


async def group_names(context: CommandContext, *, by: str) -> Mapping[str, str]:
    """Id of a sequence to name, since a group may be either; a name that is shared comes with the id."""
    try:
        known = await context.client.list_sequences(priority=Priority.INTERACTIVE) if by == "sequence" else ()
    except OutreachError:
        return {}
    shared = Counter(one.label.casefold() for one in known)
    return {
        one.id: f"{one.label} ({one.id})" if shared[one.label.casefold()] > 1 else one.label for one in known
    }


def label_of(row: StatsRow, names: Mapping[str, str]) -> str:
    """The name of the row's sequence: its group may be an id, or a name that another sequence has too."""
    ids = (row.id or "", row.group, *(value for value in row.raw.values() if isinstance(value, str)))
    return next((names[one] for one in ids if one in names), row.group)


def total_facts(
    total: StatsRow, *, before: StatsRow | None = None, running: bool = False
) -> tuple[Fact, ...]:
    """The four counts with rates and, where chance is an unlikely reason, the change against the same days before.

    The change of sends is of their count, once all days are over; that of the others of their rate.
    """

    def rated(label: str, name: str) -> Fact:
        count = getattr(total, name)
        share = f" ({evidence.show(count, total.sends)})" if count is not None and total.sends else ""
        return Fact(
            label=label, value=f"{show_count(count)}{share}{_told(evidence.rate_change(total, before, name))}"
        )

    sent = _told(evidence.sends_change(total, before, running=running))
    return (
        Fact(label="Sends", value=f"{show_count(total.sends)}{sent}"),
        rated("Replies", "replies"),
        rated("Positive", "positive_replies"),
        rated("Meetings", "meetings"),
    )


def _told(change: str) -> str:
    return f", {change}" if change else ""


def _verdict(rows: tuple[StatsRow, ...], names: Mapping[str, str], *, by: str) -> tuple[str, ...]:
    """Which group is better, by replies and by positive replies, and what speaks against comparing them.

    Where the rows tell their sequence, only those of one sequence are compared.
    """
    homes = [sequence_of(row) for row in rows] if by != "sequence" else [""]
    known = by != "sequence" and all(homes)
    lines: list[str] = []
    for home in sorted(set(homes)) if known else ("",):
        members = [row for row in rows if not known or sequence_of(row) == home]
        within = f" in {clip(home, length=40)}" if known and len(set(homes)) > 1 else ""
        lines += _contests(members, names, by=by, within=within)
    note = ONE_SEQUENCE if known else COMPARABLE[by]
    return (*lines[:MOST_VERDICTS], note) if lines else ()


def sequence_of(row: StatsRow) -> str:
    """The sequence that a row says it belongs to: the document shows no such field, but the service may send one."""
    for name, value in row.raw.items():
        if fold(name) in {"sequenceid", "sequence", "sequencename"}:
            own = (value.get("id") or value.get("name")) if isinstance(value, dict) else value
            if isinstance(own, str) and own:
                return own
    return ""


def _contests(rows: Sequence[StatsRow], names: Mapping[str, str], *, by: str, within: str) -> Iterator[str]:
    for label, name in (("Replies", "replies"), ("Interested replies", "positive_replies")):
        groups = ((_label(row, names, by), evidence.rate_of(getattr(row, name), row.sends)) for row in rows)
        if found := evidence.contest(groups):
            yield f"{label}{within}: {found}."


def _table(rows: tuple[StatsRow, ...], total: StatsRow, names: Mapping[str, str], *, by: str) -> Table:
    best = max((rate(row.replies, row.sends) or 0 for row in rows), default=0)
    lines = [_row(row, label=_label(row, names, by), best=best) for row in rows]
    if len(rows) > 1:
        lines.append(_row(total, label="All", best=best))
    return Table(columns=COLUMNS, rows=tuple(lines))


def _charts(rows: tuple[StatsRow, ...], names: Mapping[str, str], *, by: str) -> tuple[Chart, ...]:
    """The reply and positive rates by group, of the groups with most sends, in the order of the table."""
    sent = sorted((row for row in rows if row.sends), key=lambda row: -(row.sends or 0))[:MOST_CHARTED]
    shown = [row for row in rows if row in sent]
    if not shown:
        return ()
    labels = tuple(_label(row, names, by) for row in shown)
    series = (
        ("Replies", tuple(_percent(row.replies, row.sends) for row in shown)),
        ("Positive", tuple(_percent(row.positive_replies, row.sends) for row in shown)),
    )
    return (Chart(title=f"Rates by {by}, in percent", labels=labels, series=series, bars=True),)


def _percent(part: int | None, whole: int | None) -> float | None:
    share = rate(part, whole)
    return None if share is None else round(share * 100, 1)


def _label(row: StatsRow, names: Mapping[str, str], by: str) -> str:
    """A bare number or letter says what it counts: `Step 1`."""
    label = label_of(row, names)
    return f"{by.capitalize()} {label}" if len(label) < 3 else label


def _row(row: StatsRow, *, label: str, best: float) -> Row:
    replied = rate(row.replies, row.sends)
    return Row(
        cells=(
            label,
            row.sends,
            row.replies,
            _rate_cell(row.replies, row.sends),
            row.positive_replies,
            _rate_cell(row.positive_replies, row.sends),
            row.meetings,
            rate(replied, best),
        )
    )


def _rate_cell(part: int | None, sends: int | None) -> str:
    """`7.1% ±1.8`: a little narrower than in a sentence, for terminals of 60 columns."""
    return evidence.show(part, sends).replace("± ", "±")


def _data(row: StatsRow) -> dict[str, object]:
    return {
        **as_dict(row),
        **evidence.rates_data(sends=row.sends, replies=row.replies, positive=row.positive_replies),
    }


def _buttons(by: Grouping, asked: Range, *, counted: bool) -> tuple[Button, ...]:
    """A longer period; other groupings only where there is something to group."""
    others = [grouping for grouping in STATS_GROUPS if grouping != by and counted]
    links = (Button(label=f"By {grouping}", action=Stats(by=grouping)) for grouping in others)
    week = Button(label="Last 7 days", action=Stats(by=by, period=Period(days=7)))
    return (*(() if asked.name == "last 7 days" else (week,)), *links)
