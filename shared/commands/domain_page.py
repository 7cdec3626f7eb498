"""The page of `domain`: all that is known of a sending domain, and why it is as it is. Imported with the first one."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from shared.api.models import StatsRow
from shared.commands.base import DOMAIN, CommandContext, Part, Result, not_done, read_part
from shared.commands.inboxes import Inboxes, need_inboxes, state_of
from shared.commands.pause import Pause
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
from shared.domain.evidence import totals
from shared.domain.health import DomainHealth, roll_up, show_counts, worst
from shared.domain.paused_domains import advice as advice_when_paused
from shared.domain_health.lookup import Lookup, resolvers_of, system_resolvers
from shared.domain_health.report import DomainChange, DomainReport
from shared.frozen import frozen
from shared.records import DomainPast, DomainPause
from shared.text.formats import clip, clip_name, show_number, show_rate, show_some, show_span

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
    recorded: Part[Mapping[str, Any]]
    """What follows, where the bot's records can be read."""
    report: DomainReport | None = None
    changes: Sequence[DomainChange] = ()
    week: DomainPast = DomainPast()
    month: DomainPast = DomainPast()

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
    # A domain without inboxes isn't one of ours: whoever types one gets no look-ups of others' DNS.
    own = await need_inboxes(name, context)
    if not own:
        return not_done("This account has no inboxes", why="no such inbox")
    now, records, asked, last = context.now(), context.records, in_dns(name), context.today
    addresses, workspace = {address for one in own for address in (one.id, one.email)}, context.workspace

    async def read_sent() -> StatsRow:
        rows = await context.stats(last - WEEK + timedelta(days=1), last, by="inbox")
        return totals(row for row in rows if row.group in addresses)

    async def read_records() -> dict[str, Any]:
        reports, changes, week, month = await asyncio.gather(
            records.domains.reports([asked]),
            records.domains.changes([asked], now - LOOK_BACK),
            records.domain_past(workspace.name, name, now - WEEK),
            records.domain_past(workspace.name, name, now - LOOK_BACK),
        )
        return {"report": reports.get(asked), "changes": changes, "week": week, "month": month}

    sent, recorded, campaigns = await asyncio.gather(
        read_part(read_sent()), read_part(read_records()), read_part(context.sequences())
    )
    known = {**(recorded.value or {})}
    known["report"] = known.get("report") or await _look_up(asked, context)
    (health,) = roll_up(own, thresholds=workspace.thresholds)
    page = Page(name=name, now=now, health=health, sent=sent, recorded=recorded, **known)
    paused = {one.label.casefold() for one in campaigns.value or () if one.status == "paused"}
    return _result(page, paused, context)


async def _look_up(name: str, context: CommandContext) -> DomainReport | None:
    """Its DNS at once, for who asks before the bot has checked it; None where it isn't checked, or not in time."""
    settings = context.settings.dns
    # Whoever turned the checks off doesn't want the names of domains in queries.
    if not settings.enabled:
        return None
    lookup = Lookup(resolvers_of(settings.resolvers) or system_resolvers(), selectors=settings.selectors)
    try:
        async with asyncio.timeout(LOOK_UP_SECONDS):
            return (await lookup.look(name, None, context.now())).report
    except TimeoutError:
        return None


def _result(page: Page, paused: Collection[str], context: CommandContext) -> Result:
    health, report, show, happened = page.health, page.report, context.show, _happened(page)
    broken = ", its DNS is broken" if problems_of(report, now=page.now) else ""
    facts = (_inboxes(health), _sends(page), *_from_records(page, paused, context))
    why, steps = _why(page, context), _next(page)
    buttons = [Button("Show inboxes", Inboxes(filter=page.name))]
    # A domain that the service paused sends nothing: pausing its sequences would help nobody.
    if not health.paused and health.tone in {Tone.BAD, Tone.WARN}:
        pause = Pause(target=(f"{DOMAIN}{page.name}",))
        buttons.append(Button("Pause all …", pause, tone=Tone.BAD))
    rows = [Row((show(at), what), tone=tone) for at, what, _kind, tone in happened]
    card = Card(
        f"{clip(page.name)}: {state_of(health)}{broken}",
        tone=worst(fact.tone for fact in facts if fact.tone is not Tone.INFO),
        text=(*why, *(f"Next: {step[:1].lower()}{step[1:]}" for step in steps)),
        facts=facts,
        table=Table(columns("Last changes", "What"), rows),
        buttons=buttons,
        footer=f"As of {show(page.now)}",
    )
    sent, week, is_known = page.sent.value, page.week, page.week.known_from is not None
    data = {
        "domain": page.name,
        "paused": health.paused,
        "inboxes": health.inboxes,
        "lowest_health": health.lowest,
        "sends": sent and sent.sends,
        "replies": sent and sent.replies,
        "positive_replies": sent and sent.positive_replies,
        "bounces": week.bounced if is_known else None,
        "hard_bounces": week.hard if is_known else None,
        "opt_outs": week.opted_out if is_known else None,
        "bounce_rate": page.bounce_rate,
        "dns": as_data(report, now=page.now),
        "sequences": [*page.month.sequences] if page.recorded.value else None,
        "changes": [{"at": at.isoformat(), "kind": kind, "what": what} for at, what, kind, _ in happened],
        "why": why,
        "advice": steps,
    }
    return Result(card, rows=(data,))


def _why(page: Page, context: CommandContext) -> Sequence[str]:
    """The causes of the state, as far as they are known, the earliest first."""
    pause = next(iter(page.month.pauses), None) if page.health.paused else None
    causes = []
    for problem in problems_of(page.report, now=page.now):
        # What broke before the pause may have led to it; what broke after it can't have.
        is_first = pause and problem.since and problem.since <= pause.at
        broke = check_text(problem, now=page.now, zone=context.zone)
        causes.append(f"{broke}{', before it was paused' if is_first else ''}.")
    if pause and not pause.recovered_at:
        causes.append(f"The service paused it at {context.show(pause.at)}{_reason(pause)}.")
    if page.bounces_much:
        share = f"{show_rate(page.bounce_rate)} of its emails of the last 7 days bounced"
        causes.append(f"{share}; above {HIGH_BOUNCE_RATE:.0%}, receivers distrust a domain.")
    dns = dns_fact(page.report, now=page.now).tone
    # Nothing is called the cause unless it is known; else the reader learns what is missing.
    if causes or (page.health.tone is Tone.GOOD and dns is Tone.GOOD):
        return causes
    unknown = {
        "DNS": dns is Tone.UNKNOWN,
        "bounces": page.week.known_from is None,
        "sends": page.sent.value is None or page.sent.value.sends is None,
    }
    named = ", ".join(name for name, is_so in unknown.items() if is_so)
    return (f"No cause is known. Unknown: {named}." if named else "No cause is known.",)


def _next(page: Page) -> Sequence[str]:
    """The advice: about DNS first, as the rest comes back without it."""
    steps = advice(page.report, now=page.now)
    if page.health.paused:
        week = page.week
        return (*steps, advice_when_paused(page.month.reason, bounced=week.bounced, left=week.opted_out))
    if page.bounces_much:
        return (*steps, "verify the addresses in its sequences, and remove those that bounce.")
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


def _from_records(page: Page, paused: Collection[str], context: CommandContext) -> Iterator[Fact]:
    """What the bot has recorded of its bounces, its DNS and its sequences."""
    bounces, sequences, week, rate = "Bounces, 7 days", "Sequences", page.week, page.bounce_rate
    # Without the records it isn't known whether the bot has checked its DNS: a look-up of now would hide that.
    if page.recorded.value is None:
        yield from map(page.recorded.unknown, (bounces, "DNS", sequences))
        return
    if week.known_from is None:
        yield Fact(bounces, "unknown: no delivery has come yet", tone=Tone.UNKNOWN)
    else:
        hard = f" ({week.hard} hard)" if week.hard else ""
        text = f"{show_number(week.bounced, 'bounce')}{hard}, {show_number(week.opted_out, 'opt-out')}"
        if rate is not None:
            text += f"; {show_rate(rate)} of its sends bounced"
        if week.known_from > page.now - WEEK:
            text += f"; known for {show_span(page.now - week.known_from)} only"
        yield Fact(bounces, text, tone=Tone.BAD if page.bounces_much else Tone.INFO)
    if not context.settings.dns.enabled:
        yield Fact("DNS", "off: [dns] enabled = false in the settings", tone=Tone.UNKNOWN)
    else:
        yield from dns_facts(page.report, now=page.now, zone=context.zone)
    if not page.month.sequences:
        yield Fact(sequences, "unknown: no delivery named one in the last 30 days", tone=Tone.UNKNOWN)
        return
    labels = [
        f"{clip_name(name)}{' (paused)' if name.casefold() in paused else ''}"
        for name in page.month.sequences
    ]
    yield Fact(sequences, show_some(labels, MOST_SEQUENCES, separator=" · "))


def _reason(pause: DomainPause) -> str:
    return f": {pause.reason}" if pause.reason else ""


def _happened(page: Page) -> Sequence[tuple[datetime, str, str, Tone]]:
    """The last changes of its DNS and by the service, the newest first: when, what, its kind and tone."""
    happened = []
    for change in page.changes:
        tone = Tone.GOOD if change.recovered else Tone.INFO
        tone = Tone.BAD if change.after.value == "problem" else tone
        happened.append((change.at, change_of(change), "dns", tone))
    for pause in page.month.pauses:
        happened.append((pause.at, f"Paused by the service{_reason(pause)}", "paused", Tone.BAD))
        if pause.recovered_at:
            happened.append((pause.recovered_at, "Recovered", "recovered", Tone.GOOD))
    return sorted(happened, key=lambda one: one[0], reverse=True)[:MOST_CHANGES]
