"""`report`: reads the data of a client report, and answers with its summary."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, date, timedelta
from typing import Any

from shared.api.models import Inbox, StatsRow
from shared.api.pace import Priority
from shared.commands.base import Result
from shared.commands.periods import Period
from shared.commands.report import Report
from shared.commands.run import CommandContext
from shared.commands.running.client_report import (
    MOST_REPLIES,
    REPLY_WINDOW,
    Bucket,
    Change,
    ClientReport,
    DomainReport,
    report_data,
    without_leads,
)
from shared.commands.running.day_range import Range, range_of
from shared.commands.running.overview import Part, read_part
from shared.commands.running.stats_table import group_names, label_of, read_past, total_facts
from shared.domain import evidence
from shared.domain.card import Card, Fact, Tone
from shared.domain.dns_facts import dns_fact, in_dns
from shared.domain.health import roll_up
from shared.domain.snapshot import service_day
from shared.domain.totals import totals
from shared.domain_health.report import DomainReport as DnsReport
from shared.history import History, HistoryUnavailable
from shared.records.records import PeriodRecords
from shared.records.replies import PositiveReply
from shared.text.formats import show_days, show_number, show_span

MOST_DAYS = 62
"""Days that are charted one by one; of a longer range, weeks are."""
POINTS = 60
"""Of a domain's health over the range."""


async def report(arguments: Report, context: CommandContext) -> Result:
    """`report [last week|last month|7d|FROM..TO]`; names no lead."""
    made = without_leads(await read_report(arguments.period, context))
    return Result(card=summary(made), rows=(report_data(made),))


def summary(made: ClientReport) -> Card:
    """The report in one message."""
    still = ", including today so far" if made.running else ""
    compared = (
        (evidence.show_compared(*made.before_days, running=made.running),)
        if made.before_days and made.before
        else ()
    )
    return Card(
        title=f"Report{made.whose}, {show_days(made.first, made.last)}{still}",
        text=(*compared, *made.gaps),
        facts=(
            *total_facts(made.total, before=made.before, running=made.running),
            _touch(made),
            _domains(made),
            _incidents(made),
        ),
    )


def _touch(made: ClientReport) -> Fact:
    label = "Time to claim"
    touches = made.touches
    if touches is None:
        return Fact(label=label, value="unknown", tone=Tone.UNKNOWN)
    if touches.median is None:
        return Fact(label=label, value="no interested replies claimed yet")
    typical = show_span(timedelta(seconds=touches.median))
    waiting = made.replies - touches.count
    left = f", {waiting:,} not claimed yet" if waiting else ""
    return Fact(label=label, value=f"median {typical} of {touches.count:,}{left}")


def _domains(made: ClientReport) -> Fact:
    if made.domains is None:
        return Fact(label="Domains", value="unknown", tone=Tone.UNKNOWN)
    if not made.domains:
        return Fact(label="Domains", value="none")
    bad = [one for one in made.domains if one.tone is not Tone.GOOD]
    details = "; ".join(f"{one.domain}: {one.text}" for one in bad[:3])
    healthy = f"{len(made.domains) - len(bad)} of {show_number(len(made.domains), 'domain')} healthy"
    return Fact(label="Domains", value=f"{healthy}{'; ' if details else ''}{details}")


def _incidents(made: ClientReport) -> Fact:
    if made.incidents is None or made.changes is None:
        return Fact(label="Incidents", value="unknown", tone=Tone.UNKNOWN)
    counts = f"{show_number(len(made.incidents), 'incident')}, {show_number(len(made.changes), 'change')}"
    return Fact(label="Incidents", value=counts)


async def read_report(
    period: Period, context: CommandContext, *, most: int | None = MOST_REPLIES, named: bool = False
) -> ClientReport:
    """Everything that the report tells; what can't be read is listed in the gaps. Raises `OutreachError` for the counts.

    `most` positive replies are listed, all of them if it is None; who wrote them is read only if `named`.
    """
    asked = range_of(period, today=service_day(context.client, now=context.now()))
    rows, names, buckets, inboxes, past = await asyncio.gather(
        _stats(context, asked.start, asked.end),
        group_names(context, by="sequence"),
        _buckets(context, asked),
        read_part(context.client.list_inboxes(priority=Priority.INTERACTIVE)),
        read_past(asked, by="sequence", context=context),
    )
    recorded, positive, courses, dns = await asyncio.gather(
        read_part(_period(context, asked)),
        read_part(_positive(context, asked, most=most, named=named)),
        _courses(context, asked),
        read_part(_dns(context)),
    )
    known = recorded.value if positive.value is not None else None
    return ClientReport(
        workspace=context.workspace.name,
        first=asked.start,
        last=asked.end,
        made_at=context.now(),
        running=asked.running,
        sequences=tuple(
            replace(row, group=label_of(row, names))
            for row in sorted(rows, key=lambda row: -(row.sends or 0))
        ),
        before=past,
        before_days=(before.start, before.end) if (before := asked.compared_with) else None,
        buckets=buckets,
        domains=_domain_reports(inboxes, courses, dns, context),
        replies=known.replies if known else 0,
        touches=known.touches if known else None,
        positive=positive.value if known else None,
        incidents=tuple(known.incidents) if known else None,
        changes=tuple(Change(at=one.at, who=one.actor.name, text=one.result) for one in known.changes)
        if known
        else None,
        gaps=_gaps(recorded if recorded.error else positive, inboxes),
    )


def _gaps(recorded: Part[Any], inboxes: Part[tuple[Inbox, ...]]) -> tuple[str, ...]:
    meanings = (
        (recorded, "Interested replies, incidents and changes are unavailable"),
        (inboxes, "Domain health is unavailable"),
    )
    return tuple(f"{what}: {part.why}" for part, what in meanings if part.error)


async def _dns(context: CommandContext) -> Mapping[str, DnsReport] | None:
    """How the DNS of the domains stands; None where it isn't checked."""
    if context.records is None or (context.settings and not context.settings.dns.enabled):
        return None
    return await context.records.domains.reports()


async def _stats(context: CommandContext, first: date, last: date) -> tuple[StatsRow, ...]:
    return await context.client.stats(start=first, end=last, priority=Priority.INTERACTIVE)


async def _buckets(context: CommandContext, asked: Range) -> tuple[Bucket, ...]:
    length = 1 if (asked.end - asked.start).days < MOST_DAYS else 7
    firsts = [asked.start + timedelta(days=n) for n in range(0, (asked.end - asked.start).days + 1, length)]
    spans = [(first, min(first + timedelta(days=length - 1), asked.end)) for first in firsts]
    read = await asyncio.gather(*(_stats(context, *span) for span in spans))
    return tuple(
        Bucket(first=first, last=last, counts=totals(rows))
        for (first, last), rows in zip(spans, read, strict=True)
    )


async def _period(context: CommandContext, asked: Range) -> PeriodRecords:
    start, end = asked.moments(UTC)
    return await context.need_records().period(context.workspace.name, start, end, late=REPLY_WINDOW)


async def _positive(
    context: CommandContext, asked: Range, *, most: int | None, named: bool
) -> tuple[PositiveReply, ...]:
    """Where all are listed, each day by itself: one long reading is interrupted by PostgreSQL."""
    records, name = context.need_records(), context.workspace.name
    start, end = asked.moments(UTC)
    if most is not None:
        return tuple(await records.positive_replies(name, start, end, most=most, named=named))
    found: list[PositiveReply] = []
    while start < end:
        day_end = min(end, start + timedelta(days=1))
        found += await records.positive_replies(name, start, day_end, named=named)
        start = day_end
    return tuple(found)


async def _courses(context: CommandContext, asked: Range) -> Mapping[str, tuple[float, ...]]:
    """The health of the domains over the range, as far as the history knows it."""
    if context.settings is None:
        return {}
    start, end = asked.moments(UTC)
    try:
        async with History(context.settings.history_database) as history:
            return await history.sparklines(
                context.workspace.name, kind="domain", metric="health_score",
                start=start, end=min(end, context.now()), points=POINTS,
            )  # fmt: skip
    except HistoryUnavailable:
        return {}


def _domain_reports(
    part: Part[tuple[Inbox, ...]],
    courses: Mapping[str, tuple[float, ...]],
    dns: Part[Mapping[str, DnsReport] | None],
    context: CommandContext,
) -> tuple[DomainReport, ...] | None:
    if part.value is None:
        return None

    def dns_of(name: str) -> dict[str, Any]:
        if dns.value is None and dns.error is None:
            return {}
        known = (dns.value or {}).get(in_dns(name))
        fact = dns_fact(known, now=context.now(), zone=context.zone) if dns.value is not None else None
        return {"dns": fact.value if fact else "unknown", "dns_tone": fact.tone if fact else Tone.UNKNOWN}

    domains = roll_up(part.value, thresholds=context.workspace.thresholds)
    return tuple(
        DomainReport(
            domain=one.domain or "unknown",
            inboxes=one.inboxes,
            score=one.lowest,
            tone=one.tone,
            text="; ".join(one.reasons) or "healthy",
            course=courses.get(one.domain, ()),
            **dns_of(one.domain),
        )
        for one in domains
    )
