"""`status`: the overview of a workspace. A part that can't be read is shown as unknown and hides no other."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Generic, NamedTuple, TypeVar

from shared.api.errors import OutreachError
from shared.api.models import Inbox, StatsRow
from shared.api.models import Sequence as Campaign
from shared.api.pace import Priority
from shared.api.words import COUNTS
from shared.commands.base import Problem, Result
from shared.commands.inboxes import Inboxes
from shared.commands.replies import Replies
from shared.commands.run import CommandContext
from shared.commands.running.absences import away_facts
from shared.commands.sequences import Sequences
from shared.commands.stats import Stats
from shared.commands.status import Status
from shared.domain.card import Button, Card, Fact, Row, Table, Tone, columns, number
from shared.domain.dns_facts import broken_checks, dns_overview, in_dns
from shared.domain.health import DomainHealth, count_by_kind, worst
from shared.domain.snapshot import service_day
from shared.domain.totals import totals
from shared.domain.workspace_verdict import WorkspaceVerdict, judge
from shared.domain_health.report import DomainReport
from shared.records.audit import Absence
from shared.records.records import AlertsSummary, RecordsUnavailable
from shared.settings import DEFAULT
from shared.text.formats import show_count, show_number, show_span, show_time

T = TypeVar("T")
ASKED = 3
"""Requests to the service; when all of them fail, there is no status to show."""
REJECTIONS = {
    "is_archived": "archived",
    "not_in_channel": "the bot isn't in it",
    "channel_not_found": "deleted, or private without the bot",
    "token_revoked": "the bot's token was revoked",
}
"""Slack's usual errors, in words."""
NO_BOT = "not running, so replies and alerts aren't recorded. Start it with `outreach bot`."


@dataclass(frozen=True, slots=True, kw_only=True)
class Part(Generic[T]):
    """One thing that `status` looks at: its value, or why there is none."""

    value: T | None = None
    error: Exception | None = None

    @property
    def why(self) -> str:
        return of_reading(self.error.message if isinstance(self.error, OutreachError) else str(self.error))

    def unknown(self, label: str) -> Fact:
        return Fact(label=label, value=f"unknown: {self.why}", tone=Tone.UNKNOWN)


def of_reading(text: str) -> str:
    """An error's words without what they say of a change: nothing was to be changed."""
    return text.replace(" Nothing was changed.", "")


async def read_part(reading: Awaitable[T]) -> Part[T]:
    """Read it; a failure of the service or the records is kept as such."""
    try:
        return Part(value=await reading)
    except (OutreachError, RecordsUnavailable) as error:
        return Part(error=error)


class Overview(NamedTuple):
    """Everything that `status` shows."""

    sequences: Part[tuple[Campaign, ...]]
    inboxes: Part[tuple[Inbox, ...]]
    today: Part[StatsRow]
    alerts: Part[AlertsSummary]
    bot: Part[bool]
    dns: Part[Mapping[str, DomainReport]]

    @property
    def service_errors(self) -> list[Exception]:
        return [part.error for part in (self.sequences, self.inboxes, self.today) if part.error]


async def status(_: Status, context: CommandContext) -> Result:
    """Sequences, inbox health, today's numbers, alerts, the service, the request budget."""
    parts, dns, absences = await asyncio.gather(
        asyncio.gather(
            read_part(context.client.list_sequences(priority=Priority.INTERACTIVE)),
            read_part(context.client.list_inboxes(priority=Priority.INTERACTIVE)),
            read_part(_total_today(context)),
            read_part(_alerts_summary(context)),
            read_part(_bot_is_running(context)),
        ),
        read_part(_dns_reports(context)),
        read_part(_absences(context)),
    )
    seen = Overview(*parts, dns)
    verdict = judge(seen.inboxes.value or (), thresholds=context.workspace.thresholds)
    domains = verdict.domains
    dns_facts = _dns(seen, verdict, context)
    facts = (
        _service(seen),
        _sequences(seen.sequences),
        _inboxes(seen.inboxes, verdict),
        *dns_facts,
        _today(seen.today),
        *_unclaimed(seen, context),
        *_alerts(seen.alerts, context),
        *away_facts(absences.value or (), context),
        _budget(context, now=context.now()),
        *((Fact(label="Bot", value=NO_BOT, tone=Tone.WARN),) if seen.bot.value is False else ()),
        *(Fact(label="Bot", value=problem, tone=Tone.BAD) for problem in context.problems()),
    )
    return Result(
        card=Card(
            title="Status" if context.workspace.name == DEFAULT else f"Status of {context.workspace.name}",
            # DNS that nobody has checked yet makes nothing else unknown.
            tone=worst(
                fact.tone
                for fact in facts
                if fact.tone is not Tone.INFO and not (fact in dns_facts and fact.tone is Tone.UNKNOWN)
            ),
            facts=facts,
            table=_troubled(domains),
            buttons=tuple(
                Button(label=action.verb.capitalize(), action=action)
                for action in (Sequences(), Inboxes(), Stats(), Replies())
            ),
            footer=f"As of {show_time(context.now(), now=context.now(), zone=context.zone)}",
        ),
        rows=(_data(seen, verdict, context),),
        problem=Problem(text="the service is unreachable") if len(seen.service_errors) == ASKED else None,
    )


async def _total_today(context: CommandContext) -> StatsRow:
    day = service_day(context.client, now=context.now())
    return totals(await context.client.stats(start=day, end=day, priority=Priority.INTERACTIVE))


async def _absences(context: CommandContext) -> Sequence[Absence]:
    return await context.need_records().turns.absences()


async def _bot_is_running(context: CommandContext) -> bool:
    return await context.need_records().bot_is_running()


async def _dns_reports(context: CommandContext) -> Mapping[str, DomainReport]:
    return await context.need_records().domains.reports()


async def _alerts_summary(context: CommandContext) -> AlertsSummary:
    return await context.need_records().summary(context.workspace.name)


def _service(seen: Overview) -> Fact:
    errors = seen.service_errors
    if not errors:
        return Fact(label="Service", value="reachable", tone=Tone.GOOD)
    text = "partly available" if len(errors) < ASKED else "not available"
    return Fact(label="Service", value=f"{text}: {of_reading(str(errors[0]))}", tone=Tone.BAD)


def _sequences(part: Part[tuple[Campaign, ...]]) -> Fact:
    if part.value is None:
        return part.unknown("Sequences")
    counts = Counter(sequence.status or "unknown" for sequence in part.value)
    ordered = sorted(counts.items(), key=lambda pair: (pair[0] != "active", pair[0] != "paused", pair[0]))
    return Fact(label="Sequences", value=", ".join(f"{count} {word}" for word, count in ordered) or "none")


def _inboxes(part: Part[tuple[Inbox, ...]], verdict: WorkspaceVerdict) -> Fact:
    if part.value is None:
        return part.unknown("Inboxes")
    return Fact(label="Inboxes", value=verdict.text if part.value else "none", tone=verdict.tone)


def _dns(seen: Overview, verdict: WorkspaceVerdict, context: CommandContext) -> tuple[Fact, ...]:
    """The DNS of the domains; nothing where it isn't checked, or the domains are unknown."""
    if seen.inboxes.value is None or (context.settings and not context.settings.dns.enabled):
        return ()
    if seen.dns.value is None:
        return (seen.dns.unknown("DNS"),)
    names = [in_dns(domain.domain) for domain in verdict.domains if domain.domain]
    fact = dns_overview(seen.dns.value, names, now=context.now())
    return (fact,) if fact else ()


def _today(part: Part[StatsRow]) -> Fact:
    if part.value is None:
        return part.unknown("Today")
    # Without rates: a day's replies answer the sends of days before.
    now = part.value
    counts = (
        (now.sends, "send", "sends"),
        (now.replies, "reply", "replies"),
        (now.positive_replies, "positive", "positive"),
        (now.meetings, "meeting", "meetings"),
    )
    counted = (f"{show_count(count)} {one if count == 1 else many}" for count, one, many in counts)
    return Fact(label="Today", value=", ".join(counted))


def _unclaimed(seen: Overview, context: CommandContext) -> tuple[Fact, ...]:
    """Unclaimed interested replies; nothing where Alerts says that they are unknown."""
    known = seen.alerts.value
    if known is None:
        return ()
    if not known.unclaimed and seen.bot.value is False:
        return (Fact(label="Unclaimed replies", value="none recorded", tone=Tone.UNKNOWN),)
    if not known.unclaimed:
        return (Fact(label="Unclaimed replies", value="none", tone=Tone.GOOD),)
    oldest = known.oldest_unclaimed_at
    waited = f", the oldest for {show_span(context.now() - oldest)}" if oldest else ""
    return (Fact(label="Unclaimed replies", value=f"{known.unclaimed:,}{waited}", tone=Tone.WARN),)


def _alerts(part: Part[AlertsSummary], context: CommandContext) -> tuple[Fact, ...]:
    if part.value is None:
        return (part.unknown("Alerts"),)
    known, now = part.value, context.now()
    waiting = f"{known.waiting} waiting"
    if known.oldest_waiting_at:
        waiting += f", the oldest for {show_span(now - known.oldest_waiting_at)}"
    extra = (
        (known.dead, "undeliverable"),
        (known.uncertain, "uncertain: being looked up in Slack"),
        (known.unsure, "unsure: may be in Slack, which can't be read"),
        (known.held, "held until quiet hours end"),
        (known.unreadable, "unreadable deliveries"),
    )
    waiting += "".join(f", {count} {word}" for count, word in extra if count)
    last = f"{show_span(now - known.last_delivery_at)} ago" if known.last_delivery_at else "none so far"
    stuck = known.dead or known.unsure
    tone = Tone.BAD if stuck else Tone.WARN if known.uncertain or known.unreadable else Tone.GOOD
    facts = [Fact(label="Alerts", value=waiting, tone=tone), Fact(label="Last delivery", value=last)]
    own = known.broken_channels
    if own:
        text = ", ".join(f"{channel} ({REJECTIONS.get(error, error)})" for channel, error in own.items())
        facts.append(Fact(label="Channels that reject posts", value=text, tone=Tone.BAD))
    refused = {error: count for error, count in known.refusals.items() if error not in {*own.values()}}
    if refused:
        text = ", ".join(f"{show_number(count, 'message')} ({error})" for error, count in refused.items())
        facts.append(Fact(label="Refused by Slack", value=text, tone=Tone.BAD))
    if known.unknown_timers:
        text = f"{', '.join(known.unknown_timers)}: due, but unknown to this version. Upgrade the bot."
        facts.append(Fact(label="Timers", value=text, tone=Tone.WARN))
    orphaned = known.orphaned_timers(context.settings.workspaces) if context.settings else {}
    if orphaned:
        facts.append(
            Fact(label="Timed pauses of unknown workspaces", value=orphan_note(orphaned), tone=Tone.WARN)
        )
    return tuple(facts)


def orphan_note(orphaned: Mapping[str, int]) -> str:
    """What to do about timed pauses whose workspace was removed or renamed."""
    names = ", ".join(f"{show_number(count, 'pause')} in {name}" for name, count in orphaned.items())
    return f"{names}: not in the settings, so they won't resume. Add the workspace again, or resume them yourself."


def _budget(context: CommandContext, *, now: datetime) -> Fact:
    budget = context.client.budget
    text = f"{budget.used_last_second} of {round(budget.rate, 1):g} requests in the last second"
    if budget.waiting:
        text += f", {budget.waiting} waiting"
    if budget.resumes_at and budget.resumes_at > now.timestamp():
        return Fact(
            label="Budget",
            value=f"stopped for {budget.resumes_at - now.timestamp():.0f} s (429)",
            tone=Tone.WARN,
        )
    return Fact(label="Budget", value=text)


def _troubled(domains: Sequence[DomainHealth]) -> Table | None:
    troubled = [domain for domain in domains if domain.tone is not Tone.GOOD]
    rows = (Row(cells=(d.domain, d.lowest, "; ".join(d.reasons)), tone=d.tone) for d in troubled[:10])
    titles = columns("Domain", number("Lowest health"), "Why")
    return Table(columns=titles, rows=tuple(rows), total=len(troubled)) if troubled else None


def _data(seen: Overview, verdict: WorkspaceVerdict, context: CommandContext) -> dict[str, object]:
    sequences, today, alerts = seen.sequences.value, seen.today.value, seen.alerts.value
    budget = context.client.budget
    last = alerts.last_delivery_at if alerts else None
    return {
        "workspace": context.workspace.name,
        "reachable": not seen.service_errors,
        "problem": next((of_reading(str(error)) for error in seen.service_errors), None),
        "sequences": None if sequences is None else dict(Counter(s.status or "unknown" for s in sequences)),
        "inboxes": None if seen.inboxes.value is None else count_by_kind(verdict.domains),
        "verdict": None if seen.inboxes.value is None else verdict.as_data(),
        **{name: today and getattr(today, name) for name in COUNTS},
        "dns_problems": None if seen.dns.value is None else broken_checks(seen.dns.value, now=context.now()),
        "unclaimed_replies": alerts and alerts.unclaimed,
        "alerts_waiting": alerts and alerts.waiting,
        "last_delivery_at": last.isoformat() if last else None,
        "requests_per_second": budget.rate,
        "throttled": budget.throttled_count,
    }
