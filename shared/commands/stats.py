"""`stats`: the totals of a period, one verdict, and one table; or times to claim by person."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Literal, NamedTuple, Self

from shared.api.words import GROUPINGS, Grouping
from shared.commands.base import ArgumentError, Arguments, Command, Result, Words, none_left, unknown_word
from shared.commands.times import RANGES, DayRange, Period, named_range, read_period
from shared.domain.card import Button, Card, Fact, Row, Table, columns, number
from shared.text.formats import show_count, show_number, show_rate, show_span
from shared.text.tokenize import Word

if TYPE_CHECKING:
    from shared.api.models import StatsRow
    from shared.commands.run import CommandContext
    from shared.records.replies import Waits

PERSON: Literal["person"] = "person"
STATS_GROUPS: tuple[Grouping | Literal["person"], ...] = (*GROUPINGS, PERSON)
"""What `stats` groups by: the service's own, and who claimed."""
LATE_SECONDS = 300
"""Seconds after which an unclaimed reply is late."""
NOTHING = "No activity in this period."
CAVEATS = {"variant": " One name may cover variants of several sequences."}
COLUMNS = columns(
    "Group",
    number("Sends", narrow=""),
    number("Replies", narrow=""),
    number("Reply rate", narrow="Replies"),
    number("Positive"),
    number("Positive rate", narrow=""),
    number("Meetings", narrow=""),
)
PERSON_COLUMNS = columns(
    "Person",
    number("Claims"),
    number("Median"),
    number("P90", narrow=""),
    number(f"Within {LATE_SECONDS // 60} min"),
    number("Done", narrow=""),
)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Stats(Arguments):
    """`stats [by sequence|step|variant|inbox|person] [7d|last week|FROM..TO]`."""

    verb = "stats"
    by: Grouping | Literal["person"] = "sequence"
    period: Period = Period()  # noqa: RUF009 # frozen

    @classmethod
    def read(cls, words: Words) -> Self:
        given, rest = cls(), words
        if rest and rest[0].is_one_of("by"):
            rest = rest[1:]
            if not rest:
                raise ArgumentError("Group by what?", hint=f"Choose from: {', '.join(STATS_GROUPS)}.")
        if rest and rest[0].text[:1].isalpha() and not named_range(rest):
            given, rest = cls(by=_grouping(rest[0])), rest[1:]
        if rest:
            period, rest = read_period(rest)
            given = replace(given, period=period)
        none_left(rest)
        return given

    def write(self) -> Iterable[str]:
        by = () if self.by == "sequence" else ("by", self.by)
        return (*by, *self.period.write())


def _grouping(word: Word) -> Grouping | Literal["person"]:
    plurals = {"inboxes": "inbox", "people": PERSON}
    singular = plurals.get(word.text.lower(), word.text.lower().removesuffix("s"))
    for group in STATS_GROUPS:
        if group == singular and not word.quoted:
            return group
    raise unknown_word(word, (*STATS_GROUPS, *RANGES))


async def _run(arguments: Stats, context: CommandContext) -> Result:
    import asyncio

    by = arguments.by
    if by == PERSON:
        return await _by_person(arguments.period, context)
    asked = arguments.period.on(context.today)
    rows, change, names = await asyncio.gather(
        context.stats(*asked.asked, by=by), read_change(asked, context), group_names(context, by=by)
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
    found = evidence.contest(zip(labels, rates, strict=True)) if by != "step" else None
    verdict = f"Positive replies: {found}.{CAVEATS.get(by, '')}" if found else ""
    table = [_row(label, row) for label, row in zip(labels, rows, strict=True)]
    week = (Button(label="Last 7 days", action=Stats(by=by, period=Period(days=7))),)
    return Result(
        card=Card(
            title=f"Stats by {by}, {asked.name}",
            text=tuple(filter(None, (verdict if rows else NOTHING, _days(asked, context)))),
            facts=total_facts(totals(rows), change) if rows else (),
            table=Table(columns=COLUMNS, rows=tuple(table)) if rows else None,
            buttons=(
                *(week if asked.name != "last 7 days" else ()),
                *(Button(label=f"By {one}", action=Stats(by=one)) for one in STATS_GROUPS if one != by),
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


def _days(asked: DayRange, context: CommandContext) -> str:
    """Which days are counted, where the reader's own day is another than the service's."""
    if context.local_day == asked.today:
        return ""
    return f"{asked}. For the service, today is {asked.today:%-d %B}."


def _row(label: str, row: StatsRow) -> Row:
    counts = (row.sends, row.replies, _rate(row.replies, row.sends))
    return Row(
        cells=(label, *counts, row.positive_replies, _rate(row.positive_replies, row.sends), row.meetings)
    )


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
        is_same = not any(self.of(name) for name in ("sends", "replies", "positive_replies", "meetings"))
        against = f"{self.days.before} (full days, same weekdays)"
        return f"No clear change against {against}." if is_same else f"{self.days} compared with {against}."


async def read_change(asked: DayRange, context: CommandContext) -> Change | None:
    """How the full days of a range compare; None where that can't be read, isn't fully known, or nothing was sent before."""
    import asyncio

    from shared.api.errors import OutreachError
    from shared.api.pace import Priority
    from shared.domain.snapshot import is_known_from
    from shared.domain.totals import totals

    full = asked.full
    if full is None or asked.end > asked.today:
        return None
    before = full.before
    try:
        now, past, known = await asyncio.gather(
            context.stats(full.start, full.end),
            context.stats(before.start, before.end),
            is_known_from(context.client, before.start, priority=Priority.INTERACTIVE),
        )
    except OutreachError:
        return None
    counted = totals(past)
    return Change(now=totals(now), before=counted, days=full) if known and counted.sends else None


async def group_names(context: CommandContext, *, by: str) -> Mapping[str, str]:
    """Id of a sequence to name, since a group may be either; a name that is shared comes with the id."""
    from shared.api.errors import OutreachError

    try:
        known = await context.sequences() if by == "sequence" else ()
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


def _label(row: StatsRow, names: Mapping[str, str], by: str) -> str:
    """A bare number or letter says what it counts: `Step 1`."""
    label = label_of(row, names)
    return f"{by.capitalize()} {label}" if len(label) < 3 else label


def total_facts(total: StatsRow, change: Change | None) -> tuple[Fact, ...]:
    """The four counts with their rates, and with their changes where these are clear."""
    named = (("Sends", "sends"), ("Replies", "replies"), ("Positive", "positive_replies"))
    facts = []
    for label, name in (*named, ("Meetings", "meetings")):
        count = getattr(total, name)
        share = f" ({_rate(count, total.sends)})" if name != "sends" and count and total.sends else ""
        moved = change.of(name) if change else ""
        facts.append(Fact(label=label, value=f"{show_count(count)}{share}{f', {moved}' if moved else ''}"))
    return tuple(facts)


# -- by person: from a reply to its claim


class Speeds(NamedTuple):
    """How fast everyone is, who claimed most first, and how many each marked done."""

    people: Sequence[Waits]
    everybody: Waits
    done: Mapping[str, int]


async def _by_person(period: Period, context: CommandContext) -> Result:
    asked = period.on(context.local_day)
    speeds = await read_speeds(context, *asked.moments(context.zone))
    week = (Button(label="Last 7 days", action=Stats(by=PERSON, period=Period(days=7))),)
    nothing = "No interested replies were claimed or marked done in this period."
    return Result(
        card=Card(
            title=f"Stats by person, {asked.name}",
            text=() if speeds.people else (nothing,),
            facts=(_summary(speeds),) if speeds.people else (),
            table=speed_table(speeds),
            buttons=(
                *(week if asked.name != "last 7 days" else ()),
                Button(label="By sequence", action=Stats()),
            ),
        ),
        rows=tuple(
            {
                "person": one.name,
                "claims": one.count,
                "median_seconds": one.median,
                "p90_seconds": one.p90,
                "within_5_minutes": one.in_time / one.count if one.count else None,
                "done": speeds.done.get(one.name, 0),
            }
            for one in speeds.people
        ),
    )


async def read_speeds(context: CommandContext, start: datetime, end: datetime) -> Speeds:
    """Everyone who claimed or marked done in the period."""
    from shared.records.replies import Waits

    records, name = context.need_records(), context.workspace.name
    claims = await records.claim_times(name, start, end, by="person", late=LATE_SECONDS)
    everybody = await records.claim_times(name, start, end, late=LATE_SECONDS)
    done = await records.done_counts(name, start, end)
    by_name = {one: Waits(name=one) for one in done} | {one.name: one for one in claims}
    people = sorted(by_name.values(), key=lambda one: (-one.count, -done.get(one.name, 0), one.name))
    return Speeds(people=people, everybody=next(iter(everybody), Waits()), done=done)


def _summary(speeds: Speeds) -> Fact:
    """`12 claims, median 3 min, 80% within 5 min`."""
    claims, median, _, in_time, done = _cells(speeds.everybody, sum(speeds.done.values()))
    counted = show_number(speeds.everybody.count, "claim") if claims else "no claims"
    late = f"{in_time} within {LATE_SECONDS // 60} min"
    return Fact(label="Time to claim", value=f"{counted}, median {median}, {late}, {done} done")


def speed_table(speeds: Speeds) -> Table | None:
    """A row for each person and, of several, one for all."""
    rows = [Row(cells=(f"@{one.name}", *_cells(one, speeds.done.get(one.name, 0)))) for one in speeds.people]
    if len(rows) > 1:
        rows.append(Row(cells=("All", *_cells(speeds.everybody, sum(speeds.done.values())))))
    return Table(columns=PERSON_COLUMNS, rows=tuple(rows)) if rows else None


def _cells(one: Waits, done: int) -> tuple[int, str, str, str, int]:
    median, p90 = (
        show_rate(None) if seconds is None else show_span(timedelta(seconds=seconds))
        for seconds in (one.median, one.p90)
    )
    return one.count, median, p90, show_rate(one.in_time / one.count if one.count else None), done


COMMAND = Command(
    arguments=Stats,
    run=_run,
    rank=80,
    usage="[by sequence|step|variant|inbox|person] [7d|last week|FROM..TO]",
    summary="Show sends, replies, positive replies, meetings and rates, or times to claim by person",
    own_fields=frozenset({"id"}),
    examples=(
        "stats",
        "stats by step 7d",
        "stats yesterday",
        "stats by person last week",
        "stats by inbox 2026-01-01..2026-01-31",
    ),
)
