"""`report`: what a client is shown of a period: counts, time to claim, domains, incidents and changes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Self

from shared.commands.base import ArgumentError, Arguments, Command, Data, Face, Result, Words, none_left
from shared.commands.stats import Change, label_of, read_change, sequence_names, total_facts
from shared.commands.times import RANGES, DayRange, Period, read_period
from shared.domain.card import Card, Fact, Tone
from shared.text.formats import show_number, show_span
from shared.text.tokenize import Word

if TYPE_CHECKING:
    from shared.api.models import StatsRow
    from shared.commands.run import CommandContext
    from shared.records.records import PeriodRecords
    from shared.records.replies import PositiveReply

LONGEST_REPORT_DAYS = 366
ADDRESS = r"[^@\s<>,;:()\"'“”]+@[^@\s<>,;:()\"'“”]+"
HIDDEN = "(address)"
FAST_SECONDS = 3600.0
"""A first touch within it counts as fast."""
MOST_REPLIES = 500
"""Positive replies that are listed, unless all are asked for."""
MOST_DAYS = 62
"""Days that are counted one by one; of a longer range, weeks are."""


class Report(Arguments):
    """`report [last week|last month|7d|FROM..TO]`."""

    verb = "report"
    period: Period = Period(name="last week")

    @classmethod
    def read(cls, words: Words) -> Self:
        """A period, `last-month` too; last week where none is given."""
        split: list[Word] = []
        for word in words:
            named = word.text.lower().replace("-", " ")
            parts = named.split() if named in RANGES and not word.quoted else [word.text]
            split += (Word(text=part, quoted=word.quoted) for part in parts)
        if not split:
            return cls()
        period, after = read_period(tuple(split))
        none_left(after)
        days = (period.ends[1] - period.ends[0]).days + 1 if period.ends else period.days or 0
        if days > LONGEST_REPORT_DAYS:
            hint = f"Give at most {LONGEST_REPORT_DAYS} days."
            raise ArgumentError("A report covers at most a year.", hint=hint)
        return cls(period=period)

    def write(self) -> Iterable[str]:
        return self.period.write()


async def _run(arguments: Report, context: CommandContext) -> Result:
    made = await read_report(arguments.period, context)
    return Result(summary(made), rows=(report_data(made),))


class Made(Data):
    """The values of a report; None could not be read, and `gaps` says why, in sentences."""

    workspace: str
    days: DayRange
    made_at: datetime
    sequences: Sequence[StatsRow]
    """The busiest first, by name."""
    total: StatsRow
    change: Change | None
    buckets: Sequence[tuple[DayRange, StatsRow]]
    """The counts of each day, or week."""
    domains: Sequence[Mapping[str, object]] | None
    recorded: PeriodRecords | None
    positive: Sequence[PositiveReply]
    gaps: Sequence[str]


async def read_report(
    period: Period, context: CommandContext, *, most: int | None = MOST_REPLIES, named: bool = False
) -> Made:
    """Everything that the report tells. Raises `OutreachError` for the counts.

    `most` positive replies are listed, all of them if it is None; who wrote them is read only if `named`.
    """
    import asyncio

    from shared.commands.run import read_part
    from shared.domain.totals import totals

    asked = period.on(context.today)
    length, spans, start = 1 if (asked.end - asked.start).days < MOST_DAYS else 7, [], asked.start
    while start <= asked.end:
        spans.append(DayRange(start=start, end=min(start + timedelta(days=length - 1), asked.end)))
        start += timedelta(days=length)
    rows, names, buckets, domains, change = await asyncio.gather(
        context.stats(asked.start, asked.end),
        sequence_names(context),
        asyncio.gather(*(context.stats(one.start, one.end) for one in spans)),
        read_part(_domains(context)),
        read_change(asked, context),
    )
    recorded, positive = await asyncio.gather(
        read_part(_recorded(asked, context)), read_part(_positive(asked, context, most=most, named=named))
    )
    gaps = []
    if unread := next((part for part in (recorded, positive) if part.error), None):
        gaps.append(f"Interested replies, incidents and changes are unavailable: {unread.why}")
    if domains.error:
        gaps.append(f"Domain health is unavailable: {domains.why}")
    busiest = sorted(rows, key=lambda row: -(row.sends or 0))
    return Made(
        workspace=context.workspace.name,
        days=asked,
        made_at=context.now(),
        sequences=[replace(row, group=label_of(row, names)) for row in busiest],
        total=totals(rows),
        change=change,
        buckets=list(zip(spans, map(totals, buckets), strict=True)),
        domains=domains.value,
        recorded=recorded.value if positive.value is not None else None,
        positive=positive.value or (),
        gaps=gaps,
    )


async def _recorded(asked: DayRange, context: CommandContext) -> PeriodRecords:
    start, end = asked.moments(UTC)
    return await context.need_records().period(context.workspace.name, start, end, late=FAST_SECONDS)


async def _positive(
    asked: DayRange, context: CommandContext, *, most: int | None, named: bool
) -> Sequence[PositiveReply]:
    """Read the replies; all of them are read a day at a time, as PostgreSQL interrupts one long reading."""
    records, name = context.need_records(), context.workspace.name
    start, end = asked.moments(UTC)
    if most is not None:
        return await records.positive_replies(name, start, end, most=most, named=named)
    replies: list[PositiveReply] = []
    while start < end:
        day_end = min(end, start + timedelta(days=1))
        replies += await records.positive_replies(name, start, day_end, named=named)
        start = day_end
    return replies


async def _domains(context: CommandContext) -> Sequence[Mapping[str, object]]:
    """The state of the domains, and of their DNS where it is checked."""
    from shared.commands.run import read_part
    from shared.domain.dns_facts import dns_fact, in_dns
    from shared.domain.health import roll_up

    domains, inboxes = [], await context.inboxes()
    is_off = context.records is None or (context.settings and not context.settings.dns.enabled)
    reports = None if is_off else await read_part(context.need_records().domains.reports())
    for one in roll_up(inboxes, thresholds=context.workspace.thresholds):
        dns: dict[str, object] = {"dns": "unknown" if reports else None, "dns_tone": Tone.UNKNOWN}
        if reports and reports.value is not None:
            known = reports.value.get(in_dns(one.domain))
            fact = dns_fact(known, now=context.now(), zone=context.zone)
            dns = {"dns": fact.value, "dns_tone": fact.tone}
        text, name = "; ".join(one.reasons) or "healthy", one.domain or "unknown"
        state = {"domain": name, "inboxes": one.inboxes, "score": one.lowest, "tone": one.tone, "text": text}
        domains.append({**state, **dns})
    return domains


def summary(made: Made) -> Card:
    """The report in one message; it names no lead."""
    from shared.settings import DEFAULT

    whose = "" if made.workspace == DEFAULT else f" for {made.workspace}"
    still = ", including today so far" if made.days.running else ""
    values = {"Time to claim": _touch(made), "Domains": _healthy(made), "Incidents": ""}
    if recorded := made.recorded:
        counts = (
            show_number(len(recorded.incidents), "incident"),
            show_number(len(recorded.changes), "change"),
        )
        values["Incidents"] = ", ".join(counts)
    facts = (
        Fact(label, value or "unknown", tone=Tone.INFO if value else Tone.UNKNOWN)
        for label, value in values.items()
    )
    change = [made.change.text] if made.change else []
    return Card(
        f"Report{whose}, {made.days}{still}",
        text=tuple(map(hide, (*change, *made.gaps))),
        facts=(*total_facts(made.total, made.change), *facts),
    )


def _touch(made: Made) -> str:
    if made.recorded is None:
        return ""
    touches, waiting = made.recorded.touches, made.recorded.replies - made.recorded.touches.count
    if touches.median is None:
        return "no interested replies claimed yet"
    left = f", {waiting:,} not claimed yet" if waiting else ""
    return f"median {show_span(timedelta(seconds=touches.median))} of {touches.count:,}{left}"


def _healthy(made: Made) -> str:
    if not made.domains:
        return "" if made.domains is None else "none"
    bad = [
        f"{domain['domain']}: {domain['text']}" for domain in made.domains if domain["tone"] is not Tone.GOOD
    ]
    counted = f"{len(made.domains) - len(bad)} of {show_number(len(made.domains), 'domain')} healthy"
    return "; ".join((counted, *bad[:3]))


def hide(text: str) -> str:
    """The text without email addresses."""
    return re.sub(ADDRESS, HIDDEN, text)


def report_data(made: Made, *, with_leads: bool = False) -> dict[str, object]:
    """The report for `--json`: the service's words as keys, times in ISO 8601, spans in seconds.

    Without leads it has none of their names, companies and addresses, and no address in any text.
    """
    recorded = made.recorded
    data: dict[str, object] = {
        "workspace": made.workspace,
        "from": made.days.start.isoformat(),
        "to": made.days.end.isoformat(),
        "complete": not made.days.running,
        "made_at": made.made_at,
        "totals": _counts(made.total),
        "before": _counts(made.change.before) if made.change else None,
        "sequences": [{"group": row.group, **_counts(row)} for row in made.sequences],
        "days": [
            {"from": days.start.isoformat(), "to": days.end.isoformat(), **_counts(row)}
            for days, row in made.buckets
        ],
        **dict.fromkeys(("positive", "median_first_touch_seconds", "incidents", "changes")),
        "domains": made.domains,
        "gaps": list(made.gaps),
    }
    if recorded:
        data["positive"] = [asdict(one) for one in made.positive]
        data["median_first_touch_seconds"] = recorded.touches.median
        data["incidents"] = [asdict(incident) for incident in recorded.incidents]
        data["changes"] = [
            {"at": change.at, "who": change.actor.name, "text": change.result} for change in recorded.changes
        ]
    plain: dict[str, object] = _plain(data, with_leads=with_leads)
    return plain


def _counts(row: StatsRow) -> dict[str, object]:
    """The counts with their rates and the bounds of each."""
    from shared.api.words import COUNTS
    from shared.domain.evidence import rates_data

    rates = rates_data(sends=row.sends, replies=row.replies, positive=row.positive_replies)
    return {**{name: getattr(row, name) for name in COUNTS}, **rates}


def _plain(value: Any, *, with_leads: bool) -> Any:
    """The value as JSON has it; what names a lead is emptied, unless leads are wanted."""
    if isinstance(value, Mapping):
        emptied = () if with_leads or "touched_after" not in value else ("lead", "company", "email")
        return {
            name: "" if name in emptied else _plain(one, with_leads=with_leads) for name, one in value.items()
        }
    if isinstance(value, list | tuple):
        return [_plain(one, with_leads=with_leads) for one in value]
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, timedelta):
        return value.total_seconds()
    return hide(value) if isinstance(value, str) and not with_leads else value


COMMAND = Command(
    arguments=Report,
    run=_run,
    rank=190,
    usage="[last week|last month|7d|FROM..TO]",
    summary="Show a client report for a period: sends, replies, meetings, health, incidents",
    own_fields=("workspace", "from", "to", "made_at", "at"),
    examples=("report", "report last month", "report 2026-03-01..2026-03-31"),
    # In a shell it is its own program.
    faces=frozenset({Face.SLACK, Face.DASHBOARD}),
)
