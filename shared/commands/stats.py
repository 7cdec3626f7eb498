"""`stats`: the totals of a period, one verdict, and one table; `report`: a period for a client, which names no lead."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, date, timedelta
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self

from shared.api.words import GROUPINGS, Grouping
from shared.commands.base import (
    ArgumentError,
    Arguments,
    CommandContext,
    Result,
    Words,
    read_part,
)
from shared.commands.times import DayRange, range_of, read_period
from shared.domain import evidence
from shared.domain.card import Button, Card, Fact, Row, Table, Tone, columns, number
from shared.text.formats import show_count, show_number, show_rate, show_span

if TYPE_CHECKING:
    from shared.api.models import StatsRow
    from shared.domain.health import DomainHealth
    from shared.records import PeriodRecords, Waits

PERSON: Literal["person"] = "person"
STATS_GROUPS: tuple[Grouping | Literal["person"], ...] = (*GROUPINGS, PERSON)
"""The groups of `stats`: the service's own, and who claimed."""
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
    """Show sends, replies, positive replies, meetings and rates, or times to claim by person."""

    verb = "stats"
    usage = "[by sequence|step|variant|inbox|person] [7d|last week|FROM..TO]"
    own_fields = ("id",)
    examples = (
        "stats",
        "stats by step 7d",
        "stats yesterday",
        "stats by person last week",
        "stats by inbox 2026-01-01..2026-01-31",
    )

    by: Grouping | Literal["person"] = "sequence"
    period: str = ""
    """As `read_period` gives it; empty: the service's own 30 days."""

    @classmethod
    def read(cls, words: Words) -> Self:
        forms = {form: group for group in STATS_GROUPS for form in (group, f"{group}s")}
        groups = [forms[word.text.lower()] for word in words if word.is_one_of(*forms)]
        words = tuple(word for word in words if not word.is_one_of("by", *forms))
        period = read_period(words, *STATS_GROUPS)
        return cls(by=groups[0] if groups else "sequence", period=period)

    def write(self) -> Iterable[str]:
        by = () if self.by == "sequence" else ("by", self.by)
        return (*by, *self.period.split())

    async def run(self, context: CommandContext) -> Result:
        import asyncio

        by = self.by
        if by == PERSON:
            return await _by_person(self.period, context)
        asked = range_of(self.period, context.today)
        rows, change = await asyncio.gather(
            context.stats(asked.start, asked.end, by=by), read_change(asked, context)
        )
        names = await sequence_names(context) if by == "sequence" else {}
        # Ten thousand inboxes take most of a second, so not on an event loop.
        lines, text, data = await asyncio.to_thread(_lines, rows, names, by)
        # Which days are counted is said where the reader's own day is another than the service's.
        if context.local_day != asked.today:
            text.append(f"{asked}. For the service, today is {asked.today:%-d %B}.")
        card = Card(
            f"Stats by {by}, {asked.name}",
            text=text,
            facts=total_facts(rows, change) if rows else (),
            table=Table(COLUMNS, lines),
            buttons=_others(by, asked),
            footer=change.text if rows and change else "",
        )
        return Result(card, rows=data)


def _lines(
    rows: Iterable[StatsRow], names: Mapping[str, str], by: Grouping
) -> tuple[list[Row], list[str], list[Mapping[str, object]]]:
    """The table, the verdict, and the data."""
    from shared.api.models import as_dict

    lines, data, rates = [], list[Mapping[str, object]](), []
    for row in sorted(rows, key=lambda row: (-(row.positive_replies or 0), -(row.sends or 0), row.group)):
        sends, replies, positive = row.sends, row.replies, row.positive_replies
        label = label_of(row, names)
        # A bare number or letter says what it counts: `Step 1`.
        label = f"{by.capitalize()} {label}" if len(label) < 3 else label
        shares = (_rate(replies, sends), _rate(positive, sends))
        lines.append(Row((label, sends, replies, shares[0], positive, shares[1], row.meetings)))
        data.append({**as_dict(row), **evidence.rates_data(sends=sends, replies=replies, positive=positive)})
        rates.append((label, evidence.rate_of(positive, sends)))
    # A later step reaches only people who haven't replied: steps can't be compared.
    contest = evidence.contest(rates) if by != "step" else ""
    verdict = f"Positive replies: {contest}." if contest else ""
    return lines, [verdict if lines else "No activity in this period."], data


def _others(by: Grouping | Literal["person"], asked: DayRange) -> tuple[Button, ...]:
    """Buttons to the last 7 days, and to the other groups."""
    week = [] if asked.name == "last 7 days" else [Button("Last 7 days", Stats(by=by, period="7d"))]
    return (*week, *(Button(f"By {other}", Stats(by=other)) for other in STATS_GROUPS if other != by))


def _rate(part: int | None, sends: int | None) -> str:
    """`7.1%`, or that the sends are too few for one."""
    if part is None or not sends:
        return show_rate(None)
    return show_rate(part / sends) if sends >= evidence.LEAST_SENDS else evidence.TOO_FEW


class Change(NamedTuple):
    """The counts of full days, and of as many full days before, on the same weekdays, by the service's calendar."""

    now: StatsRow
    before: StatsRow
    days: DayRange
    is_known: bool
    """The counts before are all there: a young account's first days would make everything look like growth."""

    def of(self, name: str) -> str:
        """`▲ 12%` of a rate, or of the count of sends; empty where chance may be the reason."""
        return evidence.clear_change(self.now, self.before, name)

    @property
    def text(self) -> str:
        against = f"{self.days.before} (full days, same weekdays)"
        if any(map(self.of, COUNTED.values())):
            return f"{self.days} compared with {against}."
        return f"No clear change against {against}."


async def read_change(asked: DayRange, context: CommandContext) -> Change | None:
    """Compare the full days of a range; None if that can't be read, isn't fully known, or nothing was sent before."""
    if asked.full is None or asked.end > asked.today:
        return None
    change = (await read_part(compare(asked.full, context))).value
    return change if change and change.is_known and change.before.sends else None


async def compare(days: DayRange, context: CommandContext) -> Change:
    """The counts of full days and of those before."""
    import asyncio

    from shared.domain.snapshot import is_known_from

    before = days.before
    now, past, is_known = await asyncio.gather(
        context.stats(days.start, days.end),
        context.stats(before.start, before.end),
        is_known_from(context.client, before.start),
    )
    return Change(now=evidence.totals(now), before=evidence.totals(past), days=days, is_known=is_known)


async def sequence_names(context: CommandContext) -> Mapping[str, str]:
    """Id of a sequence to name, since a group may be either; a name that is shared comes with the id."""
    listed = (await read_part(context.sequences())).value or ()
    count = Counter(sequence.label.casefold() for sequence in listed)
    names = {}
    for sequence in listed:
        is_shared = count[sequence.label.casefold()] > 1
        names[sequence.id] = f"{sequence.label} ({sequence.id})" if is_shared else sequence.label
    return names


def label_of(row: StatsRow, names: Mapping[str, str]) -> str:
    """The name of the row's sequence: its group may be an id, or a name that another sequence has too."""
    ids = (row.id or "", row.group, *(value for value in row.raw.values() if isinstance(value, str)))
    return next((names[name] for name in ids if name in names), row.group)


def total_facts(rows: Iterable[StatsRow], change: Change | None) -> list[Fact]:
    """The four counts with their rates, and with their changes where these are clear."""
    total, facts = evidence.totals(rows), []
    for label, name in COUNTED.items():
        count = getattr(total, name)
        share = f" ({_rate(count, total.sends)})" if name != "sends" and count and total.sends else ""
        moved = change.of(name) if change else ""
        facts.append(Fact(label, f"{show_count(count)}{share}{f', {moved}' if moved else ''}"))
    return facts


# -- by person: from a reply to its claim

TIME_TO_CLAIM = "Time to claim"
PERSON_COLUMNS = columns(
    "Person",
    number("Claims"),
    number("Median"),
    number("P90", narrow=""),
    number("Within 5 min"),
    number("Done", narrow=""),
)


async def _by_person(period: str, context: CommandContext) -> Result:
    """Everyone who claimed or marked done in the period, and all together."""
    from shared.records import Waits  # late, as all that only an answer needs

    asked = range_of(period, context.local_day)
    records, name, span = context.records, context.workspace.name, asked.moments(context.zone)
    total, *claimed = await records.claim_times(name, *span)
    claims = {one.name: one for one in claimed}
    done = await records.done_counts(name, *span)
    people = [claims.get(person) or Waits(name=person) for person in {**claims, **done}]
    people.sort(key=lambda one: (-one.count, -done.get(one.name, 0), one.name))
    lines, data = [], []
    for one in people:
        count = done.get(one.name, 0)
        in_time = one.in_time / one.count if one.count else None
        spans = (_wait(one.median), _wait(one.p90))
        lines.append(Row((f"@{one.name}", one.count, *spans, show_rate(in_time), count)))
        waits = {"median_seconds": one.median, "p90_seconds": one.p90, "within_5_minutes": in_time}
        data.append({"person": one.name, "claims": one.count, **waits, "done": count})
    value = f"{show_waits(total)}, {show_number(sum(done.values()), 'reply')} done"
    none = "No interested replies were claimed or marked done in this period."
    card = Card(
        f"Stats by person, {asked.name}",
        text=() if people else (none,),
        facts=[Fact(TIME_TO_CLAIM, value)] if people else (),
        table=Table(PERSON_COLUMNS, lines),
        buttons=_others(PERSON, asked),
    )
    return Result(card, rows=data)


def _wait(seconds: float | None) -> str:
    return show_rate(None) if seconds is None else show_span(timedelta(seconds=seconds))


def show_waits(waits: Waits) -> str:
    """`12 claims, median 3 min`."""
    if not waits.count:
        return "no claims"
    return f"{show_number(waits.count, 'claim')}, median {_wait(waits.median)}"


# -- the report of a period for a client

LONGEST_REPORT_DAYS = 366
ADDRESS = r"[^@\s<>,;:()\"'“”]+@[^@\s<>,;:()\"'“”]+"
HIDDEN = "(address)"
MOST_DAYS = 62
"""Days that are counted one by one; a longer range is counted by weeks."""


class Report(Arguments):
    """Show a client report for a period: sends, replies, meetings, health, incidents."""

    verb = "report"
    usage = "[last week|last month|7d|FROM..TO]"
    own_fields = ("workspace", "from", "to", "made_at", "at")
    examples = ("report", "report last month", "report 2026-03-01..2026-03-31")

    period: str = "last week"

    @classmethod
    def read(cls, words: Words) -> Self:
        return cls(period=read_period(words) or cls.period)

    def write(self) -> Iterable[str]:
        return self.period.split()

    async def run(self, context: CommandContext) -> Result:
        """Read everything concurrently. Raises `OutreachError` for the counts; other parts are gaps."""
        import asyncio

        from shared.domain.health import roll_up

        asked, name = range_of(self.period, context.today), context.workspace.name
        if (asked.end - asked.start).days >= LONGEST_REPORT_DAYS:
            hint = f"Give at most {LONGEST_REPORT_DAYS} days."
            raise ArgumentError("A report covers at most a year.", hint=hint)
        spans = _spans(asked)
        rows, names, counted, inboxes, change, recorded = await asyncio.gather(
            context.stats(asked.start, asked.end),
            sequence_names(context),
            asyncio.gather(*(context.stats(span.start, span.end) for span in spans)),
            read_part(context.inboxes()),
            read_change(asked, context),
            read_part(context.records.period(name, *asked.moments(UTC))),
        )
        gaps = []
        if recorded.error:
            gaps.append(f"Interested replies, incidents and changes are unavailable: {recorded.why}")
        if inboxes.error:
            gaps.append(f"Domain health is unavailable: {inboxes.why}")
        past = recorded.value
        domains = None
        if inboxes.value is not None:
            domains = roll_up(inboxes.value, thresholds=context.workspace.thresholds)
        data: dict[str, object] = {
            "workspace": name,
            "from": asked.start,
            "to": asked.end,
            "complete": not asked.running,
            "made_at": context.now(),
            "totals": _counts(evidence.totals(rows)),
            "before": _counts(change.before) if change else None,
            # Names are shared between sequences, so each row is named by its id where the service gives one.
            "sequences": [
                {"group": label_of(row, names), **_counts(row)}
                for row in sorted(rows, key=lambda row: -(row.sends or 0))
            ],
            "days": [
                {"from": span.start, "to": span.end, **_counts(evidence.totals(row))}
                for span, row in zip(spans, counted, strict=True)
            ],
            "median_first_touch_seconds": past and past.touches.median,
            "incidents": past and [asdict(incident) for incident in past.incidents],
            "changes": past
            and [{"at": entry.at, "who": entry.actor.name, "text": entry.result} for entry in past.changes],
            "domains": domains
            and [
                {
                    "domain": one.domain or "unknown",
                    "inboxes": one.inboxes,
                    "score": one.lowest,
                    "tone": one.tone,
                    "text": "; ".join(one.reasons) or "healthy",
                }
                for one in domains
            ],
            "gaps": gaps,
        }
        title = f"{context.titled('Report')}, {asked}{', including today so far' if asked.running else ''}"
        text = [_hide(line) for line in (change.text if change else "", *gaps)]
        facts = (*total_facts(rows, change), *_report_facts(past, domains))
        return Result(Card(title, text=text, facts=facts), rows=(_plain(data),))


def _spans(asked: DayRange) -> Sequence[DayRange]:
    """The days of a range, or its weeks where it is long."""
    # Each span is a request: a year by days would take most of a minute at the key's rate.
    length, spans, start = 1 if (asked.end - asked.start).days < MOST_DAYS else 7, [], asked.start
    while start <= asked.end:
        spans.append(DayRange(start=start, end=min(start + timedelta(days=length - 1), asked.end)))
        start += timedelta(days=length)
    return spans


def _report_facts(past: PeriodRecords | None, domains: Sequence[DomainHealth] | None) -> Iterable[Fact]:
    """Time to claim, domains and incidents, in a line each."""
    values: dict[str, str | None] = {TIME_TO_CLAIM: None, "Domains": None, "Incidents": None}
    if past:
        waits, left = show_waits(past.touches), past.replies - past.touches.count
        values[TIME_TO_CLAIM] = f"{waits}, {left:,} not claimed yet" if left else waits
        incidents = show_number(len(past.incidents), "incident")
        values["Incidents"] = f"{incidents}, {show_number(len(past.changes), 'change')}"
    if domains is not None:
        bad = [f"{one.domain}: {'; '.join(one.reasons)}" for one in domains if one.tone is not Tone.GOOD]
        healthy = f"{len(domains) - len(bad)} of {show_number(len(domains), 'domain')} healthy"
        values["Domains"] = "; ".join((healthy, *bad[:3]))
    for label, value in values.items():
        yield Fact(label, value or "unknown", tone=Tone.INFO if value else Tone.UNKNOWN)


def _counts(row: StatsRow) -> dict[str, object]:
    """The counts with their rates and the bounds of each."""
    from shared.api.words import COUNTS

    rates = evidence.rates_data(sends=row.sends, replies=row.replies, positive=row.positive_replies)
    return {**{name: getattr(row, name) for name in COUNTS}, **rates}


def _hide(text: str) -> str:
    """The text without email addresses."""
    return re.sub(ADDRESS, HIDDEN, text)


def _plain(value: Any) -> Any:
    """The value as JSON has it: times in ISO 8601, and no address in any text."""
    if isinstance(value, Mapping):
        return {name: _plain(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    if isinstance(value, date):
        return value.isoformat()
    # Reports go to clients: what people wrote in a reason may hold an address of a lead.
    return _hide(value) if isinstance(value, str) else value
