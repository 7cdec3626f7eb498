"""`status`: what a workspace is doing, and everything that isn't fine. What is fine is left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from shared.commands.base import COMMANDS, Arguments, CommandContext, Part, Result, read_part
from shared.commands.replies import unclaimed_fact
from shared.domain import evidence
from shared.domain.card import Button, Card, Fact, Row, Table, Tone, columns
from shared.text.formats import show_count, show_number, show_span

if TYPE_CHECKING:
    from shared.api.models import Inbox, StatsRow
    from shared.api.models import Sequence as Campaign
    from shared.domain.workspace_verdict import WorkspaceVerdict
    from shared.domain_health.report import DomainReport
    from shared.records import AlertsSummary

REJECTIONS = {
    "is_archived": "archived",
    "not_in_channel": "the bot isn't in it",
    "channel_not_found": "deleted, or private without the bot",
    "token_revoked": "the bot's token was revoked",
}
"""Slack's usual errors, in words."""
_STATES = {
    "dead": "undeliverable",
    "uncertain": "uncertain: being looked up in Slack",
    "unsure": "unsure: may be in Slack, which can't be read",
    "held": "held until quiet hours end",
    "unreadable": "unreadable deliveries",
}
"""The words of the messages that wait, by state."""
NO_BOT = "not running, so replies and alerts aren't recorded. Start it with `outreach bot`."
DOMAINS_SHOWN = 10


class Status(Arguments):
    """Show an overview on one page."""

    verb = "status"
    own_fields = ("workspace", "last_delivery_at", "tone")
    examples = ("status",)

    async def run(self, context: CommandContext) -> Result:
        from shared.domain.health import worst
        from shared.domain.workspace_verdict import judge

        # One look at everything at once: each part has its own error, and a slow one delays no other.
        seen = await _look(context)
        verdict = judge(seen.inboxes.value or (), thresholds=context.workspace.thresholds)
        dns = _dns(seen, verdict, context)
        facts = [*_service(seen, verdict), *dns, _today(seen.today), *_alerts(seen, context)]
        facts += _budget(context)
        if seen.bot.value is False:
            facts.append(Fact("Bot", NO_BOT, tone=Tone.WARN))
        facts += (Fact("Bot", problem, tone=Tone.BAD) for problem in context.problems())
        # DNS that nobody has checked yet makes nothing else unknown.
        judged = [fact for fact in facts if not (fact in dns and fact.tone is Tone.UNKNOWN)]
        troubled = [domain for domain in verdict.domains if domain.tone is not Tone.GOOD]
        rows = [Row((one.domain, "; ".join(one.reasons)), tone=one.tone) for one in troubled[:DOMAINS_SHOWN]]
        links = ("sequences", "domains", "replies", "stats")
        card = Card(
            context.titled("Status"),
            tone=worst(one.tone for one in judged if one.tone is not Tone.INFO),
            facts=facts,
            table=Table(columns("Domain", "State"), rows, total=len(troubled)),
            buttons=[Button(name.capitalize(), COMMANDS[name]()) for name in links],
            footer=f"As of {context.show(context.now())}",
        )
        is_down = len(seen.service_errors) == 3
        problem = "the service is unreachable" if is_down else ""
        return Result(card, rows=(_data(seen, verdict, context),), problem=problem)


class Overview(NamedTuple):
    """Everything that `status` looks at."""

    sequences: Part[tuple[Campaign, ...]]
    inboxes: Part[tuple[Inbox, ...]]
    today: Part[StatsRow]
    alerts: Part[AlertsSummary]
    bot: Part[bool]
    dns: Part[Mapping[str, DomainReport]]

    @property
    def service_errors(self) -> list[Exception]:
        return [part.error for part in self[:3] if part.error]


async def _look(context: CommandContext) -> Overview:
    import asyncio

    async def today() -> StatsRow:
        return evidence.totals(await context.stats(context.today, context.today))

    records, parts = context.records, list[Awaitable[Any]]()
    parts += (context.sequences(), context.inboxes(), today())
    parts += (records.summary(context.workspace.name), records.bot_is_running())
    parts.append(records.domains.reports())
    return Overview(*await asyncio.gather(*map(read_part, parts)))


def _service(seen: Overview, verdict: WorkspaceVerdict) -> Iterator[Fact]:
    """Its sequences and inboxes, and what of it can't be read."""
    if errors := seen.service_errors:
        state = "not available" if len(errors) == 3 else "partly available"
        yield Fact("Service", f"{state}: {errors[0]}", tone=Tone.BAD)
    if seen.sequences.value is None:
        yield seen.sequences.unknown("Sequences")
    else:
        counts = Counter(one.status or "unknown" for one in seen.sequences.value)
        ordered = sorted(counts, key=lambda word: (word != "active", word != "paused", word))
        value = ", ".join(f"{counts[word]} {word}" for word in ordered) or "none"
        yield Fact("Sequences", value)
    if seen.inboxes.value is None:
        yield seen.inboxes.unknown("Inboxes")
    else:
        yield Fact("Inboxes", verdict.text if seen.inboxes.value else "none", tone=verdict.tone)


def _dns(seen: Overview, verdict: WorkspaceVerdict, context: CommandContext) -> tuple[Fact, ...]:
    """The DNS problems of the domains; none where it isn't checked, or the domains are unknown."""
    from shared.domain.dns_facts import dns_overview, in_dns

    if seen.inboxes.value is None or not context.settings.dns.enabled:
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
    sends, replies = show_number(now.sends, "send"), show_number(now.replies, "reply")
    positive, meetings = show_count(now.positive_replies), show_number(now.meetings, "meeting")
    return Fact("Today", f"{sends}, {replies}, {positive} positive, {meetings}")


def _alerts(seen: Overview, context: CommandContext) -> Iterator[Fact]:
    """Replies that wait for a person, and posts that don't get to Slack."""
    known, now = seen.alerts.value, context.now()
    if known is None:
        yield seen.alerts.unknown("Alerts")
        return
    unclaimed, oldest = known.unclaimed, known.oldest_unclaimed_at
    fact = unclaimed_fact(unclaimed, oldest, is_running=seen.bot.value is not False, now=now)
    if fact.tone is not Tone.GOOD:
        yield fact
    counts, at = known.counts, known.oldest_waiting_at
    oldest_for = f", the oldest for {show_span(now - at)}" if at else ""
    states = {"waiting": f"waiting{oldest_for}", **_STATES}
    waiting = [f"{counts[state]} {words}" for state, words in states.items() if counts[state]]
    if waiting:
        is_stuck, is_odd = counts["dead"] or counts["unsure"], counts["uncertain"] or counts["unreadable"]
        tone = Tone.BAD if is_stuck else Tone.WARN if is_odd else Tone.INFO
        yield Fact("Alerts", ", ".join(waiting), tone=tone)
    if known.last_delivery_at is None:
        yield Fact("Last delivery", "none so far", tone=Tone.UNKNOWN)
    own = known.broken_channels
    if own:
        text = ", ".join(f"{channel} ({REJECTIONS.get(error, error)})" for channel, error in own.items())
        yield Fact("Channels that reject posts", text, tone=Tone.BAD)
    refused = {error: count for error, count in known.refusals.items() if error not in {*own.values()}}
    if refused:  # for good, with Slack's own word
        text = ", ".join(f"{show_number(count, 'message')} ({error})" for error, count in refused.items())
        yield Fact("Refused by Slack", text, tone=Tone.BAD)
    if orphaned := known.orphaned_timers(context.settings.workspaces):
        names = ", ".join(f"{show_number(count, 'pause')} in {name}" for name, count in orphaned.items())
        text = f"{names}: not in the settings, so they won't resume. Add the workspace again, or resume them yourself."
        yield Fact("Timed pauses of unknown workspaces", text, tone=Tone.WARN)


def _budget(context: CommandContext) -> Iterator[Fact]:
    """The requests of the key, only while some wait or the service has stopped them."""
    budget, now = context.client.budget, context.now().timestamp()
    # Shown only while it explains why answers are late.
    if budget.resumes_at and budget.resumes_at > now:
        stopped = f"stopped for {budget.resumes_at - now:.0f} s (429)"
        yield Fact("Requests", stopped, tone=Tone.WARN)
    elif budget.waiting:
        yield Fact("Requests", f"{budget.waiting} waiting, at {round(budget.rate, 1):g} a second")


def _data(seen: Overview, verdict: WorkspaceVerdict, context: CommandContext) -> dict[str, object]:
    from shared.api.words import COUNTS
    from shared.domain.dns_facts import broken_checks

    sequences, today, alerts = seen.sequences.value, seen.today.value, seen.alerts.value
    budget = context.client.budget
    last = alerts.last_delivery_at if alerts else None
    # Where no bot records replies, that none waits isn't known.
    unclaimed = alerts.unclaimed if alerts and (alerts.unclaimed or seen.bot.value is not False) else None
    return {
        "workspace": context.workspace.name,
        "reachable": not seen.service_errors,
        "problem": next((str(error) for error in seen.service_errors), None),
        "sequences": None if sequences is None else dict(Counter(s.status or "unknown" for s in sequences)),
        "inboxes": None if seen.inboxes.value is None else dict(verdict.counts),
        "verdict": None if seen.inboxes.value is None else verdict.as_data(),
        **{name: today and getattr(today, name) for name in COUNTS},
        "dns_problems": None if seen.dns.value is None else broken_checks(seen.dns.value, now=context.now()),
        "unclaimed_replies": unclaimed,
        "alerts_waiting": alerts and alerts.counts["waiting"],
        "last_delivery_at": last.isoformat() if last else None,
        "requests_per_second": budget.rate,
        "throttled": budget.throttled_count,
    }
