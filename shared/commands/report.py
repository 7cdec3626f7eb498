"""`report`: what a client is shown of a period: counts, time to claim, domains, incidents and changes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from shared.commands.base import ArgumentError, Arguments, Command, Face, Result, Words, none_left
from shared.commands.stats import Change, label_of, read_change, sequence_names, total_facts
from shared.commands.times import RANGES, DayRange, Period, read_period
from shared.domain.card import Card, Fact, Tone
from shared.text.formats import show_number, show_span
from shared.text.tokenize import Word

if TYPE_CHECKING:
    from shared.api.models import Inbox, StatsRow
    from shared.commands.run import CommandContext, Part
    from shared.domain_health.report import DomainReport
    from shared.records.records import PeriodRecords
    from shared.records.replies import PositiveReply

LONGEST_REPORT_DAYS = 366
ADDRESS = re.compile(r"[^@\s<>,;:()\"'“”]+@[^@\s<>,;:()\"'“”]+")
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
    period: Period = Period(name="last week")  # frozen

    @classmethod
    def read(cls, words: Words) -> Self:
        """A period, `last-month` too; last week where none is given."""
        split = tuple(Word(text=part, quoted=word.quoted) for word in words for part in _parts(word))
        if not split:
            return cls()
        found, rest = read_period(split)
        none_left(rest)
        days = (found.ends[1] - found.ends[0]).days + 1 if found.ends else found.days or 0
        if days > LONGEST_REPORT_DAYS:
            hint = f"Give at most {LONGEST_REPORT_DAYS} days."
            raise ArgumentError("A report covers at most a year.", hint=hint)
        return cls(period=found)

    def write(self) -> Iterable[str]:
        return self.period.write()


def _parts(word: Word) -> list[str]:
    named = word.text.lower().replace("-", " ")
    return named.split() if named in RANGES and not word.quoted else [word.text]


async def _run(arguments: Report, context: CommandContext) -> Result:
    made = await read_report(arguments.period, context)
    return Result(card=summary(made), rows=(report_data(made),))


class Made(NamedTuple):
    """The values of a report; None could not be read, and `gaps` says why, in sentences."""

    workspace: str
    days: DayRange
    made_at: datetime
    sequences: Sequence[StatsRow]
    """The busiest first, by name."""
    change: Change | None
    buckets: Sequence[tuple[DayRange, StatsRow]]
    """The counts of each day, or week."""
    domains: Sequence[Mapping[str, object]] | None
    recorded: PeriodRecords | None
    positive: Sequence[PositiveReply]
    gaps: Sequence[str]

    @property
    def total(self) -> StatsRow:
        from shared.domain.totals import totals

        return totals(self.sequences)


async def read_report(
    period: Period, context: CommandContext, *, most: int | None = MOST_REPLIES, named: bool = False
) -> Made:
    """Everything that the report tells. Raises `OutreachError` for the counts.

    `most` positive replies are listed, all of them if it is None; who wrote them is read only if `named`.
    """
    import asyncio

    from shared.commands.run import read_part

    asked = period.on(context.today)
    rows, names, buckets, inboxes, change = await asyncio.gather(
        context.stats(asked.start, asked.end),
        sequence_names(context),
        _buckets(asked, context),
        read_part(context.inboxes()),
        read_change(asked, context),
    )
    recorded, positive, dns = await asyncio.gather(
        read_part(_recorded(asked, context)),
        read_part(_positive(asked, context, most=most, named=named)),
        read_part(_dns(context)),
    )
    unread = (
        (recorded if recorded.error else positive, "Interested replies, incidents and changes"),
        (inboxes, "Domain health"),
    )
    return Made(
        workspace=context.workspace.name,
        days=asked,
        made_at=context.now(),
        sequences=[
            replace(row, group=label_of(row, names))
            for row in sorted(rows, key=lambda row: -(row.sends or 0))
        ],
        change=change,
        buckets=buckets,
        domains=_domains(inboxes, dns, context),
        recorded=recorded.value if positive.value is not None else None,
        positive=positive.value or (),
        gaps=[
            f"{what} {'is' if part is inboxes else 'are'} unavailable: {part.why}"
            for part, what in unread
            if part.error
        ],
    )


async def _buckets(asked: DayRange, context: CommandContext) -> Sequence[tuple[DayRange, StatsRow]]:
    import asyncio

    from shared.domain.totals import totals

    length, spans, start = 1 if (asked.end - asked.start).days < MOST_DAYS else 7, [], asked.start
    while start <= asked.end:
        spans.append(DayRange(start=start, end=min(start + timedelta(days=length - 1), asked.end)))
        start += timedelta(days=length)
    read = await asyncio.gather(*(context.stats(one.start, one.end) for one in spans))
    return list(zip(spans, map(totals, read), strict=True))


async def _recorded(asked: DayRange, context: CommandContext) -> PeriodRecords:
    start, end = asked.moments(UTC)
    return await context.need_records().period(context.workspace.name, start, end, late=FAST_SECONDS)


async def _positive(
    asked: DayRange, context: CommandContext, *, most: int | None, named: bool
) -> Sequence[PositiveReply]:
    """Where all are listed, each day by itself: one long reading is interrupted by PostgreSQL."""
    records, name = context.need_records(), context.workspace.name
    start, end = asked.moments(UTC)
    if most is not None:
        return await records.positive_replies(name, start, end, most=most, named=named)
    found: list[PositiveReply] = []
    while start < end:
        day_end = min(end, start + timedelta(days=1))
        found += await records.positive_replies(name, start, day_end, named=named)
        start = day_end
    return found


async def _dns(context: CommandContext) -> Mapping[str, DomainReport] | None:
    """How the DNS of the domains stands; None where it isn't checked."""
    if context.records is None or (context.settings and not context.settings.dns.enabled):
        return None
    return await context.records.domains.reports()


def _domains(
    inboxes: Part[tuple[Inbox, ...]],
    dns: Part[Mapping[str, DomainReport] | None],
    context: CommandContext,
) -> Sequence[Mapping[str, object]] | None:
    from shared.domain.dns_facts import dns_fact, in_dns
    from shared.domain.health import roll_up

    if inboxes.value is None:
        return None
    found = []
    for one in roll_up(inboxes.value, thresholds=context.workspace.thresholds):
        shown: dict[str, object] = {"dns": None, "dns_tone": Tone.UNKNOWN}
        if dns.error:
            shown["dns"] = "unknown"
        elif dns.value is not None:
            fact = dns_fact(dns.value.get(in_dns(one.domain)), now=context.now(), zone=context.zone)
            shown = {"dns": fact.value, "dns_tone": fact.tone}
        found.append(
            {
                "domain": one.domain or "unknown",
                "inboxes": one.inboxes,
                "score": one.lowest,
                "tone": one.tone,
                "text": "; ".join(one.reasons) or "healthy",
                **shown,
            }
        )
    return found


def summary(made: Made) -> Card:
    """The report in one message; it names no lead."""
    from shared.settings import DEFAULT

    whose = "" if made.workspace == DEFAULT else f" for {made.workspace}"
    still = ", including today so far" if made.days.running else ""
    incidents = Fact(label="Incidents", value="unknown", tone=Tone.UNKNOWN)
    if known := made.recorded:
        counts = (show_number(len(known.incidents), "incident"), show_number(len(known.changes), "change"))
        incidents = Fact(label="Incidents", value=", ".join(counts))
    return Card(
        title=f"Report{whose}, {made.days}{still}",
        text=tuple(hide(text) for text in (*([made.change.text] if made.change else ()), *made.gaps)),
        facts=(
            *total_facts(made.total, made.change),
            _touch(made),
            _healthy(made),
            incidents,
        ),
    )


def _touch(made: Made) -> Fact:
    label, known = "Time to claim", made.recorded
    if known is None:
        return Fact(label=label, value="unknown", tone=Tone.UNKNOWN)
    if known.touches.median is None:
        return Fact(label=label, value="no interested replies claimed yet")
    typical = show_span(timedelta(seconds=known.touches.median))
    waiting = known.replies - known.touches.count
    left = f", {waiting:,} not claimed yet" if waiting else ""
    return Fact(label=label, value=f"median {typical} of {known.touches.count:,}{left}")


def _healthy(made: Made) -> Fact:
    label, domains = "Domains", made.domains
    if domains is None:
        return Fact(label=label, value="unknown", tone=Tone.UNKNOWN)
    if not domains:
        return Fact(label=label, value="none")
    bad = [one for one in domains if one["tone"] is not Tone.GOOD]
    counted = f"{len(domains) - len(bad)} of {show_number(len(domains), 'domain')} healthy"
    return Fact(
        label=label, value="; ".join((counted, *(f"{one['domain']}: {one['text']}" for one in bad[:3])))
    )


def hide(text: str) -> str:
    """The text without email addresses."""
    return ADDRESS.sub(HIDDEN, text)


def report_data(made: Made, *, with_leads: bool = False) -> dict[str, object]:
    """The report for `--json`: the service's words as keys, times in ISO 8601, spans in seconds.

    Without leads it has none of their names, companies and addresses, and no address in any text.
    """
    known = made.recorded
    data: dict[str, object] = {
        "workspace": made.workspace,
        "from": made.days.start.isoformat(),
        "to": made.days.end.isoformat(),
        "complete": not made.days.running,
        "made_at": made.made_at.isoformat(),
        "totals": _counts(made.total),
        "before": _counts(made.change.before) if made.change else None,
        "sequences": [{"group": row.group, **_counts(row)} for row in made.sequences],
        "days": [
            {"from": days.start.isoformat(), "to": days.end.isoformat(), **_counts(row)}
            for days, row in made.buckets
        ],
        "positive": None if known is None else [asdict(one) for one in made.positive],
        "median_first_touch_seconds": known.touches.median if known else None,
        "domains": made.domains,
        "incidents": None if known is None else [asdict(one) for one in known.incidents],
        "changes": None
        if known is None
        else [{"at": one.at, "who": one.actor.name, "text": one.result} for one in known.changes],
        "gaps": list(made.gaps),
    }
    found: dict[str, object] = _plain(data, with_leads=with_leads)
    return found


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
    own_fields=frozenset({"workspace", "from", "to", "made_at", "at"}),
    examples=("report", "report last month", "report 2026-03-01..2026-03-31"),
    # In a shell it is its own program.
    faces=frozenset({Face.SLACK, Face.DASHBOARD}),
)
