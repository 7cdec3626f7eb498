"""`report`: a client report for a period: counts, time to claim, domains, incidents and changes. It names no lead."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, date, timedelta
from typing import TYPE_CHECKING, Any, Self

from shared.commands.base import ArgumentError, Arguments, Command, Result, Words, none_left, read_part
from shared.commands.stats import (
    TIME_TO_CLAIM,
    label_of,
    read_change,
    sequence_names,
    show_waits,
    total_facts,
)
from shared.commands.times import RANGES, DayRange, range_of, read_period
from shared.domain.card import Card, Fact, Tone
from shared.text.formats import show_number
from shared.text.tokenize import Word

if TYPE_CHECKING:
    from shared.api.models import StatsRow
    from shared.commands.run import CommandContext
    from shared.records.records import PeriodRecords

LONGEST_REPORT_DAYS = 366
ANY_DAY = date(2024, 1, 1)
"""A day on which to see how long a period is."""
ADDRESS = r"[^@\s<>,;:()\"'“”]+@[^@\s<>,;:()\"'“”]+"
HIDDEN = "(address)"
FAST_SECONDS = 3600.0
"""A first touch within it counts as fast."""
MOST_DAYS = 62
"""Days that are counted one by one; a longer range is counted by weeks."""

Domains = Sequence[Mapping[str, object]]


class Report(Arguments):
    """`report [last week|last month|7d|FROM..TO]`."""

    verb = "report"
    period: str = "last week"

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
        asked = range_of(period, ANY_DAY)
        if (asked.end - asked.start).days >= LONGEST_REPORT_DAYS:
            hint = f"Give at most {LONGEST_REPORT_DAYS} days."
            raise ArgumentError("A report covers at most a year.", hint=hint)
        return cls(period=period)

    def write(self) -> Iterable[str]:
        return self.period.split()


async def _run(arguments: Report, context: CommandContext) -> Result:
    """Read everything concurrently. Raises `OutreachError` for the counts; other parts are gaps."""
    import asyncio

    from shared.domain.totals import totals

    asked, name = range_of(arguments.period, context.today), context.workspace.name
    spans = _spans(asked)
    rows, names, counted, domains, change, recorded = await asyncio.gather(
        context.stats(asked.start, asked.end),
        sequence_names(context),
        asyncio.gather(*(context.stats(span.start, span.end) for span in spans)),
        read_part(_domains(context)),
        read_change(asked, context),
        read_part(context.records.period(name, *asked.moments(UTC), late=FAST_SECONDS)),
    )
    gaps = []
    if recorded.error:
        gaps.append(f"Interested replies, incidents and changes are unavailable: {recorded.why}")
    if domains.error:
        gaps.append(f"Domain health is unavailable: {domains.why}")
    past = recorded.value
    data: dict[str, object] = {
        "workspace": name,
        "from": asked.start,
        "to": asked.end,
        "complete": not asked.running,
        "made_at": context.now(),
        "totals": _counts(totals(rows)),
        "before": _counts(change.before) if change else None,
        # Names are shared between sequences, so each row is named by its id where the service gives one.
        "sequences": [
            {"group": label_of(row, names), **_counts(row)}
            for row in sorted(rows, key=lambda row: -(row.sends or 0))
        ],
        "days": [
            {"from": span.start, "to": span.end, **_counts(totals(row))}
            for span, row in zip(spans, counted, strict=True)
        ],
        "median_first_touch_seconds": past and past.touches.median,
        "incidents": past and [asdict(incident) for incident in past.incidents],
        "changes": past
        and [{"at": entry.at, "who": entry.actor.name, "text": entry.result} for entry in past.changes],
        "domains": domains.value,
        "gaps": gaps,
    }
    title = f"{context.titled('Report')}, {asked}{', including today so far' if asked.running else ''}"
    text = [_hide(line) for line in (change.text if change else "", *gaps)]
    facts = (*total_facts(rows, change), *_facts(past, domains.value))
    return Result(Card(title, text=text, facts=facts), rows=(_plain(data),))


def _spans(asked: DayRange) -> Sequence[DayRange]:
    """The days of a range, or its weeks where it is long."""
    # Each span is a request: a year by days would take most of a minute at the key's rate.
    length, spans, start = 1 if (asked.end - asked.start).days < MOST_DAYS else 7, [], asked.start
    while start <= asked.end:
        spans.append(DayRange(start=start, end=min(start + timedelta(days=length - 1), asked.end)))
        start += timedelta(days=length)
    return spans


async def _domains(context: CommandContext) -> Domains:
    """The state of the domains."""
    from shared.domain.health import roll_up

    return [
        {
            "domain": health.domain or "unknown",
            "inboxes": health.inboxes,
            "score": health.lowest,
            "tone": health.tone,
            "text": "; ".join(health.reasons) or "healthy",
        }
        for health in roll_up(await context.inboxes(), thresholds=context.workspace.thresholds)
    ]


def _facts(past: PeriodRecords | None, domains: Domains | None) -> Iterable[Fact]:
    """Time to claim, domains and incidents, in a line each."""
    values = {TIME_TO_CLAIM: "", "Domains": "", "Incidents": ""}
    if past:
        waiting = past.replies - past.touches.count
        values[TIME_TO_CLAIM] = show_waits(past.touches) + (
            f", {waiting:,} not claimed yet" if waiting else ""
        )
        incidents, changes = (
            show_number(len(past.incidents), "incident"),
            show_number(len(past.changes), "change"),
        )
        values["Incidents"] = f"{incidents}, {changes}"
    if domains is not None:
        bad = [f"{one['domain']}: {one['text']}" for one in domains if one["tone"] is not Tone.GOOD]
        count = len(domains)
        healthy = f"{count - len(bad)} of {show_number(count, 'domain')} healthy" if count else "none"
        values["Domains"] = "; ".join((healthy, *bad[:3]))
    for label, value in values.items():
        yield Fact(label, value or "unknown", tone=Tone.INFO if value else Tone.UNKNOWN)


def _counts(row: StatsRow) -> dict[str, object]:
    """The counts with their rates and the bounds of each."""
    from shared.api.words import COUNTS
    from shared.domain.evidence import rates_data

    rates = rates_data(sends=row.sends, replies=row.replies, positive=row.positive_replies)
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


COMMAND = Command(
    arguments=Report,
    run=_run,
    rank=190,
    usage="[last week|last month|7d|FROM..TO]",
    summary="Show a client report for a period: sends, replies, meetings, health, incidents",
    own_fields=("workspace", "from", "to", "made_at", "at"),
    examples=("report", "report last month", "report 2026-03-01..2026-03-31"),
)
