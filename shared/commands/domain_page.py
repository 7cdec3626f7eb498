"""The page of `domain`: all that is known of a sending domain, and why it is as it is. Imported with the first one."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from shared.api.models import StatsRow
from shared.commands.base import DOMAIN, Result
from shared.commands.inboxes import Inboxes, no_inboxes
from shared.commands.pause import Pause
from shared.commands.run import CommandContext, Part, read_part
from shared.domain.card import Button, Card, Fact, Row, Table, Tone, columns
from shared.domain.dns_facts import (
    advice,
    as_data,
    change_of,
    check_text,
    dns_fact,
    dns_facts,
    in_dns,
    problems_of,
)
from shared.domain.health import DomainHealth, roll_up, show_counts, worst
from shared.domain.paused_domains import advice as advice_when_paused
from shared.domain.totals import totals
from shared.domain_health.lookup import Lookup, resolvers_of, system_resolvers
from shared.domain_health.report import DomainChange, DomainReport, Value
from shared.frozen import frozen
from shared.records.domains import DomainPast
from shared.text.formats import clip, show_number, show_rate, show_some, show_span

WEEK, LOOK_BACK = timedelta(days=7), timedelta(days=30)
MOST_CHANGES, MOST_SEQUENCES = 8, 6
HIGH_BOUNCE_RATE = 0.05
"""Above it receivers take a domain for a spammer's: https://support.google.com/a/answer/81126"""
LOOK_UP_SECONDS = 8.0
"""A person gets an answer within ten."""


@frozen
class Page:
    """All that is known of a domain at a moment."""

    name: str
    now: datetime
    health: DomainHealth
    sent: Part[StatsRow]
    recorded: Part[object]
    """The bot's records, from which come the report and what follows; nothing where they can't be read."""
    report: DomainReport | None = None
    changes: Sequence[DomainChange] = ()
    week: DomainPast = DomainPast()
    month: DomainPast = DomainPast()
    paused: frozenset[str] = frozenset()
    """The paused sequences, by their names in small letters."""

    @property
    def bounce_rate(self) -> float | None:
        """The share of the last 7 days; None where not all of its bounces or sends are known."""
        week, sends = self.week, self.sent.value.sends if self.sent.value else None
        # More bounces than sends: today's bounces may be of mails that were sent before the week.
        if not week.known_from or week.known_from > self.now - WEEK or not sends or week.bounced > sends:
            return None
        return week.bounced / sends

    @property
    def bounces_much(self) -> bool:
        return (self.bounce_rate or 0) > HIGH_BOUNCE_RATE


async def run(name: str, context: CommandContext) -> Result:
    """Read all parts of the page at once, each by itself: what can't be read is unknown, and hides no other."""
    inboxes, now, records, asked = await context.inboxes(), context.now(), context.records, in_dns(name)
    own = [one for one in inboxes if (one.domain or "").lower() == name]
    # A domain without inboxes isn't one of ours: whoever types one gets no look-ups of others' DNS.
    if not own:
        domains = sorted({inbox.domain for inbox in inboxes if inbox.domain})
        return no_inboxes(f"No inboxes send from {clip(name)}", name, domains, argument="name")
    (health,) = roll_up(own, thresholds=context.workspace.thresholds)
    addresses = {address for one in own for address in (one.id, one.email)}

    async def read_sent() -> StatsRow:
        last = context.today
        rows = await context.stats(last - WEEK + timedelta(days=1), last, by="inbox")
        return totals(row for row in rows if row.group in addresses)

    async def read_records() -> dict[str, Any]:
        reports, changes, week, month = await asyncio.gather(
            records.domains.reports([asked]),
            records.domains.changes([asked], now - LOOK_BACK),
            records.domain_past(context.workspace.name, name, now - WEEK),
            records.domain_past(context.workspace.name, name, now - LOOK_BACK),
        )
        return {"report": reports.get(asked), "changes": changes, "week": week, "month": month}

    sent, recorded, campaigns = await asyncio.gather(
        read_part(read_sent()), read_part(read_records()), read_part(context.sequences())
    )
    paused = frozenset(one.label.casefold() for one in campaigns.value or () if one.status == "paused")
    known = recorded.value or {}
    known["report"] = known.get("report") or await _look_up(asked, context)
    page = Page(name=name, now=now, health=health, sent=sent, recorded=recorded, paused=paused, **known)
    return _result(page, context)


async def _look_up(name: str, context: CommandContext) -> DomainReport | None:
    """Its DNS at once, for who asks before the bot has checked it; None where it isn't checked, or not in time."""
    settings = context.settings.dns if context.settings else None
    # Whoever turned the checks off doesn't want the names of domains in queries.
    if settings is None or not settings.enabled:
        return None
    lookup = Lookup(resolvers_of(settings.resolvers) or system_resolvers(), selectors=settings.selectors)
    try:
        async with asyncio.timeout(LOOK_UP_SECONDS):
            return (await lookup.look(name, None, context.now())).report
    except TimeoutError:
        return None


def _result(page: Page, context: CommandContext) -> Result:
    health, show, happened = page.health, context.show, _happened(page)
    facts = (_inboxes(health), _sends(page), _bounces(page), *_dns(page, context), _sequences(page))
    rows = tuple(Row((show(at), what), tone=tone) for at, what, _kind, tone in happened)
    why, steps = _why(page, context), _next(page)
    listed = [{"at": at.isoformat(), "kind": kind, "what": what} for at, what, kind, _tone in happened]
    pause = Button("Pause all …", Pause(target=(f"{DOMAIN}{page.name}",)), tone=Tone.BAD)
    # A domain that the service paused sends nothing: pausing its sequences would help nobody.
    troubled = not health.paused and health.tone in {Tone.BAD, Tone.WARN}
    card = Card(
        _title(page),
        tone=worst(fact.tone for fact in facts if fact.tone is not Tone.INFO),
        text=(*why, *(f"Next: {step}" for step in steps)),
        facts=facts,
        table=Table(columns("Last changes", "What"), rows) if rows else None,
        buttons=(Button("Show inboxes", Inboxes(filter=page.name)), *((pause,) if troubled else ())),
        footer=f"As of {show(page.now)}",
    )
    return Result(card, rows=({**_data(page), "changes": listed, "why": [*why], "advice": [*steps]},))


def _title(page: Page) -> str:
    is_broken = bool(problems_of(page.report, now=page.now))
    states = {
        Tone.GOOD: "is healthy, but its DNS is broken" if is_broken else "is healthy",
        Tone.WARN: "is at risk",
        Tone.UNKNOWN: "is in an unknown state",
    }
    state = "is paused" if page.health.paused else states.get(page.health.tone, "is in bad health")
    return f"{clip(page.name)} {state}"


def _why(page: Page, context: CommandContext) -> tuple[str, ...]:
    """The causes of the state, as far as they are known, the earliest first."""
    pause = next(iter(page.month.pauses), None) if page.health.paused else None
    causes = []
    for problem in problems_of(page.report, now=page.now):
        # What broke before the pause may have led to it; what broke after it can't have.
        is_first = pause and problem.since and problem.since <= pause.at
        broke = check_text(problem, now=page.now, zone=context.zone)
        causes.append(f"{broke}{', before it was paused' if is_first else ''}.")
    if pause and not pause.recovered_at:
        reason = f": {pause.reason}" if pause.reason else ""
        causes.append(f"The service paused it {context.show(pause.at)}{reason}.")
    if page.bounces_much:
        share = f"{show_rate(page.bounce_rate)} of its emails of the last 7 days bounced"
        causes.append(f"{share}; above {HIGH_BOUNCE_RATE:.0%}, receivers distrust a domain.")
    dns = dns_fact(page.report, now=page.now).tone
    # Nothing is called the cause unless it is known; else the reader learns what is missing.
    if causes or (page.health.tone is Tone.GOOD and dns is Tone.GOOD):
        return tuple(causes)
    unknown = {
        "DNS": dns is Tone.UNKNOWN,
        "bounces": page.week.known_from is None,
        "sends": page.sent.value is None or page.sent.value.sends is None,
    }
    named = ", ".join(name for name, is_so in unknown.items() if is_so)
    return (f"No cause is known. Unknown: {named}." if named else "No cause is known.",)


def _next(page: Page) -> tuple[str, ...]:
    """The advice: about DNS first, as the rest comes back without it."""
    steps = advice(page.report, now=page.now)
    if page.health.paused:
        said = advice_when_paused(page.month.reason, bounced=page.week.bounced, left=page.week.opted_out)
        return (*steps, said[:1].upper() + said[1:])
    if page.bounces_much:
        return (*steps, "Verify the addresses in its sequences, and remove those that bounce.")
    return steps


def _inboxes(health: DomainHealth) -> Fact:
    counts = "paused" if health.paused else show_counts([health])
    lowest = f"lowest health {health.lowest:g}" if health.lowest is not None else "health unknown"
    return Fact("Inboxes", f"{show_number(health.inboxes, 'inbox')}, {counts}; {lowest}", tone=health.tone)


def _sends(page: Page) -> Fact:
    label, row = "Sends, 7 days", page.sent.value
    if row is None:
        return page.sent.unknown(label)
    if row.sends is None:
        return Fact(label, "unknown", tone=Tone.UNKNOWN)
    replies = "" if row.replies is None else f", {show_number(row.replies, 'reply')}"
    return Fact(label, f"{row.sends:,}{replies}")


def _bounces(page: Page) -> Fact:
    label, week, rate = "Bounces, 7 days", page.week, page.bounce_rate
    if page.recorded.value is None:
        return page.recorded.unknown(label)
    if week.known_from is None:
        return Fact(label, "unknown: no delivery has come yet", tone=Tone.UNKNOWN)
    hard = f" ({week.hard} hard)" if week.hard else ""
    text = f"{show_number(week.bounced, 'bounce')}{hard}, {show_number(week.opted_out, 'opt-out')}"
    if rate is not None:
        text += f"; {show_rate(rate)} of its sends bounced"
    if week.known_from > page.now - WEEK:
        text += f"; known for {show_span(page.now - week.known_from)} only"
    return Fact(label, text, tone=Tone.BAD if page.bounces_much else Tone.INFO)


def _dns(page: Page, context: CommandContext) -> tuple[Fact, ...]:
    # Without the records it isn't known whether the bot has checked it: a look-up of now would hide that.
    if page.recorded.value is None:
        return (page.recorded.unknown("DNS"),)
    if context.settings and not context.settings.dns.enabled:
        return (Fact("DNS", "off: [dns] enabled = false in the settings", tone=Tone.UNKNOWN),)
    return dns_facts(page.report, now=page.now, zone=context.zone)


def _sequences(page: Page) -> Fact:
    label, names = "Sequences", page.month.sequences
    if page.recorded.value is None:
        return page.recorded.unknown(label)
    if not names:
        return Fact(label, "unknown: no delivery named one in the last 30 days", tone=Tone.UNKNOWN)
    labels = [
        f"{clip(name, length=40)}{' (paused)' if name.casefold() in page.paused else ''}" for name in names
    ]
    return Fact(label, show_some(labels, MOST_SEQUENCES, separator=" · "))


def _happened(page: Page) -> Sequence[tuple[datetime, str, str, Tone]]:
    """The last changes of its DNS and by the service, the newest first: when, what, its kind and tone."""
    found = []
    for change in page.changes:
        tone = Tone.GOOD if change.recovered else Tone.INFO
        tone = Tone.BAD if change.after.value is Value.PROBLEM else tone
        found.append((change.at, change_of(change), "dns", tone))
    for pause in page.month.pauses:
        reason = f": {pause.reason}" if pause.reason else ""
        found.append((pause.at, f"Paused by the service{reason}", "paused", Tone.BAD))
        if pause.recovered_at:
            found.append((pause.recovered_at, "Recovered", "recovered", Tone.GOOD))
    return sorted(found, key=lambda one: one[0], reverse=True)[:MOST_CHANGES]


def _data(page: Page) -> dict[str, object]:
    sent, week = page.sent.value, page.week
    is_known = week.known_from is not None
    return {
        "domain": page.name,
        "paused": page.health.paused,
        "inboxes": page.health.inboxes,
        "lowest_health": page.health.lowest,
        "sends": sent and sent.sends,
        "replies": sent and sent.replies,
        "positive_replies": sent and sent.positive_replies,
        "bounces": week.bounced if is_known else None,
        "hard_bounces": week.hard if is_known else None,
        "opt_outs": week.opted_out if is_known else None,
        "bounce_rate": page.bounce_rate,
        "dns": as_data(page.report, now=page.now),
        "sequences": [*page.month.sequences] if page.recorded.value else None,
    }
