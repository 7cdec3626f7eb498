"""The day or the week in one message, for `digest now` and for the bot's digests."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from operator import itemgetter

from shared.api.event_kinds import EVENTS
from shared.api.models import Inbox, StatsRow
from shared.api.pace import Priority
from shared.commands.digest import Digest
from shared.commands.inboxes import Inboxes
from shared.commands.replies import Replies
from shared.commands.run import CommandContext
from shared.commands.running import people
from shared.commands.running.overview import Part, read_part
from shared.commands.running.reply_lists import LATE_SECONDS
from shared.commands.running.stats_table import group_names, label_of, total_facts
from shared.commands.stats import Stats
from shared.domain import evidence
from shared.domain.card import Button, Card, Chart, Fact, Tone
from shared.domain.snapshot import is_known_from, service_day
from shared.domain.totals import totals
from shared.domain.workspace_verdict import WorkspaceVerdict, judge
from shared.records.replies import UnclaimedReplies, Waits
from shared.settings import DEFAULT
from shared.text.formats import show_days, show_number, show_span

CLAIM_DAYS = 30
"""An older claim that isn't done is forgotten rather than open."""
NAMED = 8
"""People whose claims a digest counts by name."""
CHARTED = 14
"""Days that the chart shows: the period and what it is compared with, at least."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Period:
    """The day, or the days, that a digest is about; they ended yesterday."""

    last: date
    length: int

    @property
    def first(self) -> date:
        return self.last - timedelta(days=self.length - 1)

    @property
    def before(self) -> Period:
        """The same weekdays, a week before."""
        return Period(last=self.last - timedelta(weeks=1), length=self.length)

    @property
    def span(self) -> tuple[datetime, datetime]:
        """From its beginning until before its end, in UTC."""
        began = datetime.combine(self.first, time.min, UTC)
        return began, began + timedelta(days=self.length)

    def __str__(self) -> str:
        return show_days(self.first, self.last)


@dataclass(frozen=True, slots=True, kw_only=True)
class Claims:
    """How long replies waited until they were claimed: in the period, in the one before, by sequence. None: no claims."""

    now: Waits | None
    before: Waits | None
    by_sequence: Sequence[Waits]


async def digest_card(context: CommandContext, *, length: int = 1, so_far: bool = False) -> Card:
    """The days that ended yesterday, at most seven, or today so far, against the one before: rates, who claimed, what waits."""
    today = service_day(context.client, now=context.now())
    period = Period(last=today if so_far else today - timedelta(days=1), length=length)
    days, sequences, inboxes, came, replies, claims = await asyncio.gather(
        read_part(_days(context, last=period.last)),
        read_part(_by_sequence(context, period)),
        read_part(context.client.list_inboxes()),
        read_part(_arrivals(context, period)),
        read_part(_open(context)),
        read_part(_claims(context, period)),
    )
    claimed = await read_part(_claim_counts(context))
    speeds = (await read_part(people.read_speeds(context, *period.span))).value or people.Speeds()
    known = await read_part(is_known_from(context.client, period.before.first, priority=Priority.BULK))
    verdict = judge(inboxes.value or (), thresholds=context.workspace.thresholds)
    whose = "Digest" if context.workspace.name == DEFAULT else f"Digest of {context.workspace.name}"
    return Card(
        title=f"{whose}, {'today so far' if so_far else period}",
        tone=Tone.UNKNOWN if inboxes.value is None else verdict.tone,
        text=(_compared(period, so_far=so_far, known=bool(known.value)),),
        facts=(
            *_numbers(days, length=period.length, compared=bool(known.value) and not so_far),
            *_extremes(sequences),
            *_times(claims.value),
            _came(came, so_far=so_far),
            _waiting(replies, context=context),
            *_claimed(claimed),
            _domains(inboxes, verdict),
        ),
        table=people.speed_table(speeds),
        charts=(*_charts(days, last=period.last), *people.speed_charts(speeds)),
        buttons=(
            *((_UNCLAIMED,) if replies.value is None or replies.value.oldest_at else ()),
            Button(label="Stats", action=Stats()),
            *((_UNHEALTHY,) if verdict.tone is not Tone.GOOD and inboxes.value else ()),
            *(() if so_far else (_TODAY,)),
        ),
    )


def _compared(period: Period, *, so_far: bool, known: bool) -> str:
    if so_far:
        return "Today isn't over, so it isn't compared."
    if not known:
        return f"Not compared: the counts of {period.before} are incomplete."
    return f"Compared with {period.before} (same {'weekday' if period.length == 1 else 'weekdays'})."


_UNCLAIMED = Button(label="Show unclaimed", action=Replies())
_UNHEALTHY = Button(label="Unhealthy inboxes", action=Inboxes(filter="unhealthy"))
_TODAY = Button(label="Today so far", action=Digest(action="today"))


async def _days(context: CommandContext, *, last: date) -> tuple[StatsRow, ...]:
    days = [last - timedelta(days=back) for back in range(CHARTED - 1, -1, -1)]
    read = (context.client.stats(start=day, end=day, priority=Priority.BULK) for day in days)
    return tuple(totals(rows) for rows in await asyncio.gather(*read))


async def _claim_counts(context: CommandContext) -> Mapping[str, int]:
    since = context.now() - timedelta(days=CLAIM_DAYS)
    return await context.need_records().claim_counts(context.workspace.name, since)


async def _by_sequence(context: CommandContext, period: Period) -> tuple[tuple[str, StatsRow], ...]:
    rows, names = await asyncio.gather(
        context.client.stats(start=period.first, end=period.last), group_names(context, by="sequence")
    )
    return tuple((label_of(row, names), row) for row in rows)


async def _claims(context: CommandContext, period: Period) -> Claims:
    records, name = context.need_records(), context.workspace.name
    late = float(LATE_SECONDS)
    now = await records.claim_times(name, *period.span, late=late)
    before = await records.claim_times(name, *period.before.span, late=late)
    by_sequence = await records.claim_times(name, *period.span, by="sequence", late=late)
    return Claims(now=next(iter(now), None), before=next(iter(before), None), by_sequence=by_sequence)


async def _arrivals(context: CommandContext, period: Period) -> tuple[Mapping[str, int], Mapping[str, int]]:
    """The events of the period, and of the one before it: none where these are not all known."""
    records, name = context.need_records(), context.workspace.name
    came, before = period.span, period.before.span
    heard = await records.guardrails.heard_since(name)
    known = heard is not None and heard <= before[0].timestamp()
    return await records.arrivals(name, *came), await records.arrivals(name, *before) if known else {}


async def _open(context: CommandContext) -> UnclaimedReplies:
    return await context.need_records().open_replies(context.workspace.name, most=0)


def _numbers(part: Part[tuple[StatsRow, ...]], *, length: int, compared: bool) -> tuple[Fact, ...]:
    if part.value is None:
        return (part.unknown("Numbers"),)
    now, before = totals(part.value[-length:]), totals(part.value[-length - 7 : -7])
    return total_facts(now, before=before if compared else None)


def _extremes(part: Part[tuple[tuple[str, StatsRow], ...]]) -> tuple[Fact, ...]:
    """The sequences with the highest and the lowest positive rate, of those that sent enough to tell."""
    rated = [
        (found.share, name, found)
        for name, row in part.value or ()
        if (found := evidence.rate_of(row.positive_replies, row.sends)) is not None and found.enough
    ]
    if len(rated) < 2:
        return ()
    (_, worst_one, low), (_, best_one, high) = (
        min(rated, key=itemgetter(0, 1)),
        max(rated, key=itemgetter(0, 1)),
    )
    chance = "" if evidence.changed(high, low) else " (may be chance)"
    return (
        Fact(label="Best", value=f"{best_one} · {high} positive{chance}"),
        Fact(label="Worst", value=f"{worst_one} · {low} positive"),
    )


def _times(claims: Claims | None) -> tuple[Fact, ...]:
    """The median time to claim, of all and against before, and per sequence."""
    if claims is None or claims.now is None:
        return ()
    before = f", {_median(claims.before)} before" if claims.before else ""
    everybody = f"median {_median(claims.now)} ({show_number(claims.now.count, 'claim')}){before}"
    return (
        Fact(label="Time to claim", value=everybody),
        Fact(label="By sequence", value=_medians(claims.by_sequence)),
    )


def _medians(groups: Sequence[Waits]) -> str:
    order = sorted(groups, key=lambda one: one.median or 0.0)
    more = f", and {len(order) - 5} more" if len(order) > 5 else ""
    return ", ".join(f"{one.name or 'no sequence'} {_median(one)}" for one in order[:5]) + more


def _median(claims: Waits) -> str:
    return show_span(timedelta(seconds=claims.median or 0.0))


def _charts(part: Part[tuple[StatsRow, ...]], *, last: date) -> tuple[Chart, ...]:
    if part.value is None or not any(row.sends for row in part.value):
        return ()
    days = [last - timedelta(days=back) for back in range(len(part.value) - 1, -1, -1)]
    series = (
        ("Replies", tuple(row.replies for row in part.value)),
        ("Positive", tuple(row.positive_replies for row in part.value)),
    )
    labels = tuple(f"{day:%-d %b}" for day in days)
    return (Chart(title=f"Replies of {len(days)} days, to {last:%-d %B}", labels=labels, series=series),)


def _came(part: Part[tuple[Mapping[str, int], Mapping[str, int]]], *, so_far: bool) -> Fact:
    """Deliveries by kind, posted or not."""
    if part.value is None:
        return part.unknown("New events")
    came, before = part.value
    counts = []
    for kind in sorted(came, key=lambda kind: (-came[kind], kind)):
        moved = "" if so_far else evidence.show_count_change(came[kind], before.get(kind))
        counts.append(
            show_number(came[kind], EVENTS[kind].noun if kind in EVENTS else kind)
            + (f" ({moved})" if moved not in {"", evidence.NO_CHANGE} else "")
        )
    return Fact(label="New events", value=", ".join(counts) or "none")


def _waiting(part: Part[UnclaimedReplies], *, context: CommandContext) -> Fact:
    if part.value is None:
        return part.unknown("Unclaimed replies")
    if part.value.oldest_at is None:
        return Fact(label="Unclaimed replies", value="none", tone=Tone.GOOD)
    oldest = context.now() - part.value.oldest_at
    return Fact(
        label="Unclaimed replies",
        value=f"{part.value.count:,}, the oldest for {show_span(oldest)}",
        tone=Tone.WARN,
    )


def _claimed(part: Part[Mapping[str, int]]) -> tuple[Fact, ...]:
    """Who has claimed how many replies that are not done."""
    counted = ", ".join(f"@{name} {count:,}" for name, count in [*(part.value or {}).items()][:NAMED])
    rest = len(part.value or ()) - NAMED
    more = f" and {rest} more" if rest > 0 else ""
    return (Fact(label="Claimed, not done", value=f"{counted}{more}"),) if counted else ()


def _domains(part: Part[tuple[Inbox, ...]], verdict: WorkspaceVerdict) -> Fact:
    if part.value is None:
        return part.unknown("Domains")
    troubled = [d for d in verdict.domains if d.tone is not Tone.GOOD]
    text = "; ".join((verdict.text, *(f"{d.domain} ({', '.join(d.reasons)})" for d in troubled[:5])))
    more = f"; {len(troubled) - 5} more" if len(troubled) > 5 else ""
    return Fact(label="Domains", value=text + more, tone=verdict.tone)
