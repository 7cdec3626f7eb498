"""The day in one message, for `digest now` and for the bot's daily digest."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import timedelta

from shared.api.models import Inbox, StatsRow
from shared.card import Button, Card, Fact, Tone
from shared.desk import Desk
from shared.health import DomainHealth, roll_up, worst
from shared.operations.outcome import need_records
from shared.operations.overview import Part, alerts_summary, read_part
from shared.operations.stats import total_facts
from shared.records import AlertsSummary, OpenReply
from shared.reports import show_span, totals
from shared.snapshot import service_day


async def digest_card(desk: Desk) -> Card:
    """Yesterday against the day before, what came in 24 hours, what waits, which domains are in trouble."""
    day = service_day(desk.client, now=desk.now()) - timedelta(days=1)
    yesterday, before, inboxes, alerts, replies = await asyncio.gather(
        read_part(_total(desk, days_ago=1)),
        read_part(_total(desk, days_ago=2)),
        read_part(desk.client.list_inboxes()),
        read_part(alerts_summary(desk)),
        read_part(_open(desk)),
    )
    domains = roll_up(inboxes.value or (), thresholds=desk.workspace.thresholds)
    return Card(
        title=f"Digest of {desk.workspace.name} for {day}",
        tone=worst(domain.tone for domain in domains),
        facts=(
            *_numbers(yesterday, before),
            _came(alerts),
            _waiting(replies, desk=desk),
            _domains(inboxes, domains),
        ),
        buttons=tuple(Button(label=word, command=word) for word in ("open", "stats", "inboxes unhealthy")),
    )


async def _total(desk: Desk, *, days_ago: int) -> StatsRow:
    day = service_day(desk.client, now=desk.now()) - timedelta(days=days_ago)
    return totals(await desk.client.stats(start=day, end=day))


async def _open(desk: Desk) -> Sequence[OpenReply]:
    return await need_records(desk).open_replies(desk.workspace.name)


def _numbers(yesterday: Part[StatsRow], before: Part[StatsRow]) -> tuple[Fact, ...]:
    if yesterday.value is None:
        return (yesterday.unknown("Numbers"),)
    return total_facts(yesterday.value, before=before.value)


def _came(part: Part[AlertsSummary]) -> Fact:
    if part.value is None:
        return part.unknown("Came in 24 hours")
    counts = sorted(part.value.deliveries.items(), key=lambda pair: -pair[1])
    return Fact(label="Came in 24 hours", value=", ".join(f"{n} {kind}" for kind, n in counts) or "nothing")


def _waiting(part: Part[Sequence[OpenReply]], *, desk: Desk) -> Fact:
    if part.value is None:
        return part.unknown("Unclaimed replies")
    if not part.value:
        return Fact(label="Unclaimed replies", value="none", tone=Tone.GOOD)
    oldest = desk.now() - min(reply.received_at for reply in part.value)
    return Fact(
        label="Unclaimed replies",
        value=f"{len(part.value)}, the oldest for {show_span(oldest)}",
        tone=Tone.WARN,
    )


def _domains(part: Part[tuple[Inbox, ...]], domains: tuple[DomainHealth, ...]) -> Fact:
    if part.value is None:
        return part.unknown("Domains")
    troubled = [d for d in domains if d.tone is not Tone.GOOD]
    said = "; ".join(f"{d.domain} ({', '.join(d.reasons)})" for d in troubled[:5]) or "all healthy"
    more = f"; and {len(troubled) - 5} more" if len(troubled) > 5 else ""
    return Fact(label="Domains", value=said + more, tone=worst(d.tone for d in domains))
