"""`stats`: the totals of a period, one verdict, and one table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Literal, NamedTuple, Self

from shared.api.words import GROUPINGS, Grouping
from shared.commands.base import ArgumentError, Arguments, Command, Result, Words, none_left, unknown_word
from shared.commands.replies import LATE_SECONDS
from shared.commands.times import RANGES, DayRange, Period, named_range, read_period
from shared.domain.card import Button, Card, Fact, Row, Table, columns, number
from shared.text.formats import show_count, show_number, show_rate, show_span

if TYPE_CHECKING:
    from shared.api.models import StatsRow
    from shared.api.pace import Priority
    from shared.commands.run import CommandContext
    from shared.records.replies import Waits

PERSON: Literal["person"] = "person"
STATS_GROUPS: tuple[Grouping | Literal["person"], ...] = (*GROUPINGS, PERSON)
"""The groups of `stats`: the service's own, and who claimed."""
CAVEATS = {"variant": " One name may cover variants of several sequences."}
COUNTED = {
    "Sends": "sends",
    "Replies": "replies",
    "Positive": "positive_replies",
    "Meetings": "meetings",
}
COLUMNS = columns(
    "Group",
    number("Sends", narrow=""),
    number("Replies", narrow=""),
    number("Reply rate", narrow="Replies"),
    number("Positive"),
    number("Positive rate", narrow=""),
    number("Meetings", narrow=""),
)


class Stats(Arguments):
    """`stats [by sequence|step|variant|inbox|person] [7d|last week|FROM..TO]`."""

    verb = "stats"
    by: Grouping | Literal["person"] = "sequence"
    period: Period = Period()

    @classmethod
    def read(cls, words: Words) -> Self:
        given = cls()
        if words and words[0].is_one_of("by"):
            words = words[1:]
            if not words:
                raise ArgumentError("Group by what?", hint=f"Choose from: {', '.join(STATS_GROUPS)}.")
        if words and words[0].text[:1].isalpha() and not named_range(words):
            typed = words[0].text.lower()
            singular = {"inboxes": "inbox", "people": PERSON}.get(typed, typed.removesuffix("s"))
            by = next((group for group in STATS_GROUPS if group == singular), None)
            if by is None or words[0].quoted:
                raise unknown_word(words[0], (*STATS_GROUPS, *RANGES))
            given, words = cls(by=by), words[1:]
        if words:
            period, words = read_period(words)
            given = replace(given, period=period)
        none_left(words)
        return given

    def write(self) -> Iterable[str]:
        by = () if self.by == "sequence" else ("by", self.by)
        return (*by, *self.period.write())


async def _run(arguments: Stats, context: CommandContext) -> Result:
    import asyncio

    by = arguments.by
    if by == PERSON:
        return await _by_person(arguments.period, context)
    asked = arguments.period.on(context.today)
    rows, change, names = await asyncio.gather(
        context.stats(*asked.asked, by=by),
        read_change(asked, context),
        sequence_names(context) if by == "sequence" else _no_names(),
    )
    # Ten thousand inboxes take most of a second, so not on an event loop.
    return await asyncio.to_thread(_result, rows, change, names, by=by, asked=asked, context=context)


def _result(
    rows: Sequence[StatsRow],
    change: Change | None,
    names: Mapping[str, str],
    *,
    by: Grouping,
    asked: DayRange,
    context: CommandContext,
) -> Result:
    from shared.api.models import as_dict
    from shared.domain import evidence
    from shared.domain.totals import totals

    rows = sorted(rows, key=lambda row: (-(row.positive_replies or 0), -(row.sends or 0), row.group))
    labels = [_label(row, names, by) for row in rows]
    rates = (evidence.rate_of(row.positive_replies, row.sends) for row in rows)
    # A later step reaches only people who haven't replied: steps can't be compared.
    contest = evidence.contest(zip(labels, rates, strict=True)) if by != "step" else None
    text = "" if rows else "No activity in this period."
    if contest:
        text = f"Positive replies: {contest}.{CAVEATS.get(by, '')}"
    # Which days are counted is said where the reader's own day is another than the service's.
    is_other_day = context.local_day != asked.today
    days = f"{asked}. For the service, today is {asked.today:%-d %B}." if is_other_day else ""
    table = Table(COLUMNS, tuple(map(_row, labels, rows)))
    week = Button("Last 7 days", Stats(by=by, period=Period(days=7)))
    return Result(
        Card(
            f"Stats by {by}, {asked.name}",
            text=tuple(filter(None, (text, days))),
            facts=total_facts(totals(rows), change) if rows else (),
            table=table if rows else None,
            buttons=(
                *((week,) if asked.name != "last 7 days" else ()),
                *(Button(f"By {other}", Stats(by=other)) for other in STATS_GROUPS if other != by),
            ),
            footer=change.text if rows and change else "",
        ),
        rows=tuple(
            {
                **as_dict(row),
                **evidence.rates_data(sends=row.sends, replies=row.replies, positive=row.positive_replies),
            }
            for row in rows
        ),
    )


def _row(label: str, row: StatsRow) -> Row:
    counts = (row.sends, row.replies, _rate(row.replies, row.sends))
    positive = (row.positive_replies, _rate(row.positive_replies, row.sends))
    return Row((label, *counts, *positive, row.meetings))


def _rate(part: int | None, sends: int | None) -> str:
    """`7.1%`, or that the sends are too few for one."""
    from shared.domain import evidence

    if part is None or not sends:
        return show_rate(None)
    return show_rate(part / sends) if sends >= evidence.LEAST_SENDS else evidence.TOO_FEW


class Change(NamedTuple):
    """The counts of full days, and of as many full days before, on the same weekdays, by the service's calendar."""

    now: StatsRow
    before: StatsRow
    days: DayRange

    def of(self, name: str) -> str:
        """`▲ 12%` of a rate, or of the count of sends; empty where chance may be the reason."""
        from shared.domain.evidence import clear_change

        return clear_change(self.now, self.before, name)

    @property
    def text(self) -> str:
        against = f"{self.days.before} (full days, same weekdays)"
        if any(map(self.of, COUNTED.values())):
            return f"{self.days} compared with {against}."
        return f"No clear change against {against}."


async def read_change(asked: DayRange, context: CommandContext) -> Change | None:
    """Compare the full days of a range; None if that can't be read, isn't fully known, or nothing was sent before."""
    from shared.api.errors import OutreachError
    from shared.api.pace import Priority

    if asked.full is None or asked.end > asked.today:
        return None
    try:
        change, is_known = await compare(asked.full, context, priority=Priority.INTERACTIVE)
    except OutreachError:
        return None
    return change if is_known and change.before.sends else None


async def compare(days: DayRange, context: CommandContext, *, priority: Priority) -> tuple[Change, bool]:
    """The counts of full days and of those before, and whether the latter are fully known."""
    import asyncio

    from shared.domain.snapshot import is_known_from
    from shared.domain.totals import totals

    client, before = context.client, days.before
    now, past, is_known = await asyncio.gather(
        client.stats(start=days.start, end=days.end, priority=priority),
        client.stats(start=before.start, end=before.end, priority=priority),
        is_known_from(client, before.start, priority=priority),
    )
    return Change(now=totals(now), before=totals(past), days=days), is_known


async def _no_names() -> Mapping[str, str]:
    return {}


async def sequence_names(context: CommandContext) -> Mapping[str, str]:
    """Id of a sequence to name, since a group may be either; a name that is shared comes with the id."""
    from shared.api.errors import OutreachError

    try:
        listed = await context.sequences()
    except OutreachError:
        return {}
    count = Counter(sequence.label.casefold() for sequence in listed)
    return {
        sequence.id: f"{sequence.label} ({sequence.id})"
        if count[sequence.label.casefold()] > 1
        else sequence.label
        for sequence in listed
    }


def label_of(row: StatsRow, names: Mapping[str, str]) -> str:
    """The name of the row's sequence: its group may be an id, or a name that another sequence has too."""
    ids = (row.id or "", row.group, *(value for value in row.raw.values() if isinstance(value, str)))
    return next((names[name] for name in ids if name in names), row.group)


def _label(row: StatsRow, names: Mapping[str, str], by: str) -> str:
    """A bare number or letter says what it counts: `Step 1`."""
    label = label_of(row, names)
    return f"{by.capitalize()} {label}" if len(label) < 3 else label


def total_facts(total: StatsRow, change: Change | None) -> tuple[Fact, ...]:
    """The four counts with their rates, and with their changes where these are clear."""
    facts = []
    for label, name in COUNTED.items():
        count = getattr(total, name)
        share = f" ({_rate(count, total.sends)})" if name != "sends" and count and total.sends else ""
        moved = change.of(name) if change else ""
        facts.append(Fact(label, f"{show_count(count)}{share}{f', {moved}' if moved else ''}"))
    return tuple(facts)


# -- by person: from a reply to its claim

PERSON_COLUMNS = columns(
    "Person",
    number("Claims"),
    number("Median"),
    number("P90", narrow=""),
    number("Within 5 min"),
    number("Done", narrow=""),
)


async def _by_person(period: Period, context: CommandContext) -> Result:
    """Everyone who claimed or marked done in the period, and of several, all together."""
    from shared.records.replies import Waits

    asked = period.on(context.local_day)
    records, name, span = context.records, context.workspace.name, asked.moments(context.zone)
    claims = {one.name: one for one in await records.claim_times(name, *span, by="person", late=LATE_SECONDS)}
    (total,) = await records.claim_times(name, *span, late=LATE_SECONDS) or [Waits()]
    done = await records.done_counts(name, *span)
    people = [claims.get(person) or Waits(name=person) for person in {**claims, **done}]
    people.sort(key=lambda one: (-one.count, -done.get(one.name, 0), one.name))
    rows = [Row((f"@{one.name}", *_waits(one), done.get(one.name, 0))) for one in people]
    whole = (*_waits(total), sum(done.values()))
    if len(rows) > 1:
        rows.append(Row(("All", *whole)))
    counted = show_number(total.count, "claim") if total.count else "no claims"
    value = f"{counted}, median {whole[1]}, {whole[3]} within 5 min, {whole[4]} done"
    week = Button("Last 7 days", Stats(by=PERSON, period=Period(days=7)))
    return Result(
        Card(
            f"Stats by person, {asked.name}",
            text=() if people else ("No interested replies were claimed or marked done in this period.",),
            facts=(Fact("Time to claim", value),) if people else (),
            table=Table(PERSON_COLUMNS, tuple(rows)) if people else None,
            buttons=(
                *((week,) if asked.name != "last 7 days" else ()),
                Button("By sequence", Stats()),
            ),
        ),
        rows=tuple(
            {
                "person": one.name,
                "claims": one.count,
                "median_seconds": one.median,
                "p90_seconds": one.p90,
                "within_5_minutes": one.in_time / one.count if one.count else None,
                "done": done.get(one.name, 0),
            }
            for one in people
        ),
    )


def _waits(waits: Waits) -> tuple[int, str, str, str]:
    median, p90 = (
        show_rate(None) if seconds is None else show_span(timedelta(seconds=seconds))
        for seconds in (waits.median, waits.p90)
    )
    return waits.count, median, p90, show_rate(waits.in_time / waits.count if waits.count else None)


COMMAND = Command(
    arguments=Stats,
    run=_run,
    rank=80,
    usage="[by sequence|step|variant|inbox|person] [7d|last week|FROM..TO]",
    summary="Show sends, replies, positive replies, meetings and rates, or times to claim by person",
    own_fields=("id",),
    examples=(
        "stats",
        "stats by step 7d",
        "stats yesterday",
        "stats by person last week",
        "stats by inbox 2026-01-01..2026-01-31",
    ),
)
