"""`domain`: one page about a sending domain that answers why it is as it is."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from shared.api.models import Inbox, StatsRow
from shared.api.models import Sequence as Campaign
from shared.api.pace import Priority
from shared.commands.base import COMMANDS, DOMAIN, Problem, Result, clip, did_you_mean
from shared.commands.domain import Domain
from shared.commands.inboxes import Inboxes
from shared.commands.pause import Pause
from shared.commands.run import CommandContext
from shared.commands.running.dns_now import look_up
from shared.commands.running.overview import Part, read_part
from shared.commands.status import Status
from shared.domain.card import Button, Card, Fact, Row, Table, Tone, columns
from shared.domain.dns_facts import advice, as_data, dns_fact, dns_facts, in_dns, problem_text, problems_of
from shared.domain.evidence import rate_of
from shared.domain.health import DomainHealth, roll_up, show_counts, worst
from shared.domain.paused_domains import advice as advice_when_paused
from shared.domain.snapshot import service_day
from shared.domain.totals import totals
from shared.domain_health.report import CheckReport, DomainChange, DomainReport, Value
from shared.domain_health.wording import change_of
from shared.records.audit import AuditEntry
from shared.records.domains import DomainPast
from shared.text.formats import show_number, show_rate, show_span, show_time

WEEK = timedelta(days=7)
LOOK_BACK = timedelta(days=30)
MOST_CHANGES = 8
MOST_SEQUENCES = 6
HIGH_BOUNCES = 0.05
"""Of the sends, above which receivers take a domain for a spammer's: https://support.google.com/a/answer/81126"""
DNS_OFF = "off: [dns] enabled = false in the settings"


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """What the bot knows of a domain."""

    report: DomainReport | None
    changes: Sequence[DomainChange]
    week: DomainPast
    month: DomainPast


@dataclass(frozen=True, slots=True, kw_only=True)
class Happened:
    """Something that changed, for the list of last changes."""

    at: datetime
    what: str
    kind: str
    tone: Tone = Tone.INFO


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """All that is known of a domain at a moment."""

    name: str
    health: DomainHealth
    sent: Part[StatsRow]
    recorded: Part[Recorded]
    campaigns: Part[tuple[Campaign, ...]]
    changed: Mapping[str, AuditEntry]
    dns_is_on: bool
    looked_up: DomainReport | None = None
    """What was looked up for this answer, because the bot has not checked the domain yet."""

    @property
    def report(self) -> DomainReport | None:
        known = self.recorded.value.report if self.recorded.value else None
        return known or self.looked_up

    @property
    def week(self) -> DomainPast:
        return self.recorded.value.week if self.recorded.value else DomainPast()

    @property
    def month(self) -> DomainPast:
        return self.recorded.value.month if self.recorded.value else DomainPast()


async def domain(arguments: Domain, context: CommandContext) -> Result:
    """`domain DOMAIN`."""
    inboxes = await context.client.list_inboxes(priority=Priority.INTERACTIVE)
    own = [one for one in inboxes if (one.domain or "").lower() == arguments.name]
    if not own:
        return _unknown(arguments.name, {one.domain for one in inboxes if one.domain})
    sent, recorded, campaigns = await asyncio.gather(
        read_part(_sent(own, context)),
        read_part(_recorded(arguments.name, context)),
        read_part(context.client.list_sequences(priority=Priority.INTERACTIVE)),
    )
    is_known = recorded.value is not None and recorded.value.report is not None
    (health,) = roll_up(own, thresholds=context.workspace.thresholds)
    page = Page(
        name=arguments.name,
        health=health,
        sent=sent,
        recorded=recorded,
        campaigns=campaigns,
        changed=await _changed(recorded, campaigns, context),
        dns_is_on=context.settings is None or context.settings.dns.enabled,
        looked_up=None if is_known else await look_up(in_dns(arguments.name), context),
    )
    return _result(page, context)


def _unknown(name: str, known: set[str]) -> Result:
    return Result(
        card=Card(
            title=f"No inboxes send from {clip(name)}",
            tone=Tone.WARN,
            text=(did_you_mean(name, sorted(known)),) if known else (),
            buttons=(Button(label="All inboxes", action=Inboxes()),),
        ),
        problem=Problem(text="no such domain", argument="name"),
    )


async def _sent(own: Sequence[Inbox], context: CommandContext) -> StatsRow:
    """The counts of the domain's inboxes in the last 7 days."""
    last = service_day(context.client, now=context.now())
    first = last - WEEK + timedelta(days=1)
    rows = await context.client.stats(group_by="inbox", start=first, end=last, priority=Priority.INTERACTIVE)
    names = {name for one in own for name in (one.id, one.email)}
    return totals(row for row in rows if row.group in names)


async def _recorded(name: str, context: CommandContext) -> Recorded:
    records, now = context.need_records(), context.now()
    workspace = context.workspace.name
    asked = in_dns(name)
    reports, changes, week, month = await asyncio.gather(
        records.domains.reports([asked]),
        records.domains.changes([asked], now - LOOK_BACK),
        records.domain_past(workspace, name, now - WEEK),
        records.domain_past(workspace, name, now - LOOK_BACK),
    )
    return Recorded(report=reports.get(asked), changes=changes, week=week, month=month)


async def _changed(
    recorded: Part[Recorded], campaigns: Part[tuple[Campaign, ...]], context: CommandContext
) -> Mapping[str, AuditEntry]:
    """The last pause or resumption of each of the domain's sequences, by its name; for those who may read the audit."""
    if not recorded.value or not campaigns.value or not context.allows(COMMANDS["audit"]):
        return {}
    names = {name.casefold() for name in recorded.value.month.sequences}
    labels = {one.id: one.label for one in campaigns.value if one.label.casefold() in names}
    found = await read_part(context.need_records().last_changes(context.workspace.name, list(labels)))
    return {labels[name]: entry for name, entry in (found.value or {}).items() if name in labels}


def _result(page: Page, context: CommandContext) -> Result:
    now = context.now()
    why, happened = _why(page, context), _happened(page)
    facts = (
        _inboxes_fact(page),
        *_sent_facts(page, now),
        *_dns_facts(page, context),
        _sequences_fact(page),
    )
    return Result(
        card=Card(
            title=_title(page, now),
            tone=worst(fact.tone for fact in facts if fact.tone is not Tone.INFO),
            text=(*why, *(f"Next: {text}" for text in _next(page, now))),
            facts=facts,
            table=_table(happened, context),
            buttons=_buttons(page),
            footer=f"As of {show_time(now, now=now, zone=context.zone)}",
        ),
        rows=(_data(page, why, happened, now),),
    )


def _title(page: Page, now: datetime) -> str:
    """The state and, where it is known, what broke."""
    problems = problems_of(page.report, now=now)
    if page.health.paused:
        state = "is paused"
    elif page.health.tone is Tone.GOOD:
        state = "is healthy, but its DNS is broken" if problems else "is healthy"
    elif page.health.tone is Tone.UNKNOWN:
        state = "is in an unknown state"
    else:
        state = "is at risk" if page.health.tone is Tone.WARN else "is in bad health"
    return f"{clip(page.name)} {state}"


def _why(page: Page, context: CommandContext) -> tuple[str, ...]:
    """What explains the state, as far as it is known; what broke first comes first."""
    now, zone = context.now(), context.zone
    problems = problems_of(page.report, now=now)
    causes = [f"{problem_text(one, now=now, zone=zone)}{_before_pause(one, page)}." for one in problems]
    if page.health.paused and (pause := next(iter(page.month.pauses), None)) and not pause.recovered_at:
        reason = f": {pause.reason}" if pause.reason else ""
        causes.append(f"The service paused it {show_time(pause.at, now=now, zone=zone)}{reason}.")
    rate = _bounce_rate(page, now)
    if rate is not None and rate > HIGH_BOUNCES:
        causes.append(
            f"{show_rate(rate)} of its emails of the last 7 days bounced; above {HIGH_BOUNCES:.0%}, receivers distrust a domain."
        )
    if causes or (page.health.tone is Tone.GOOD and dns_fact(page.report, now=now).tone is Tone.GOOD):
        return tuple(causes)
    unknown = _unknown_parts(page, now)
    return (f"No cause is known. Unknown: {', '.join(unknown)}.",) if unknown else ("No cause is known.",)


def _before_pause(one: CheckReport, page: Page) -> str:
    """Whether a record broke before the service paused the domain, as far as two readings tell."""
    pause = next(iter(page.month.pauses), None)
    if not page.health.paused or pause is None or one.since is None:
        return ""
    return ", before it was paused" if one.since <= pause.at else ""


def _unknown_parts(page: Page, now: datetime) -> list[str]:
    checks = [] if page.dns_is_on else ["DNS"]
    if page.dns_is_on and dns_fact(page.report, now=now).tone is Tone.UNKNOWN:
        checks.append("DNS")
    if page.recorded.value is None or page.week.known_from is None:
        checks.append("bounces")
    if page.sent.value is None or page.sent.value.sends is None:
        checks.append("sends")
    return checks


def _inboxes_fact(page: Page) -> Fact:
    health = page.health
    counts = "paused" if health.paused else show_counts([health])
    lowest = f"lowest health {health.lowest:g}" if health.lowest is not None else "health unknown"
    value = f"{show_number(health.inboxes, 'inbox')}, {counts}; {lowest}"
    return Fact(label="Inboxes", value=value, tone=health.tone)


def _sent_facts(page: Page, now: datetime) -> tuple[Fact, ...]:
    label = "Sends, 7 days"
    if page.sent.value is None:
        sends = page.sent.unknown(label)
    else:
        row = page.sent.value
        found = rate_of(row.replies, row.sends)
        replies = f", replies {found.with_counts}" if found else ""
        known = row.sends is not None
        sends = Fact(
            label=label,
            value=f"{row.sends:,}{replies}" if known else "unknown",
            tone=Tone.INFO if known else Tone.UNKNOWN,
        )
    return (sends, _bounces_fact(page, now))


def _bounces_fact(page: Page, now: datetime) -> Fact:
    label = "Bounces, 7 days"
    if page.recorded.value is None:
        return page.recorded.unknown(label)
    since = page.week.known_from
    if since is None:
        return Fact(label=label, value="unknown: no delivery has come yet", tone=Tone.UNKNOWN)
    week = page.week
    text = show_number(week.bounced, "bounce") + (f" ({week.hard} hard)" if week.hard else "")
    text += f", {show_number(week.opted_out, 'opt-out')}"
    rate = _bounce_rate(page, now)
    if rate is not None:
        text += f"; {show_rate(rate)} of its sends bounced"
    if since > now - WEEK:
        text += f"; known for {show_span(now - since)} only"
    high = rate is not None and rate > HIGH_BOUNCES
    return Fact(label=label, value=text, tone=Tone.BAD if high else Tone.INFO)


def _bounce_rate(page: Page, now: datetime) -> float | None:
    """Of the last 7 days; None where not all of its bounces or sends are known."""
    since = page.week.known_from
    sends = page.sent.value.sends if page.sent.value else None
    bounced = page.week.bounced
    if since is None or since > now - WEEK or not sends or bounced > sends:
        return None
    return bounced / sends


def _dns_facts(page: Page, context: CommandContext) -> tuple[Fact, ...]:
    now, zone = context.now(), context.zone
    if page.recorded.value is None:
        return (page.recorded.unknown("DNS"),)
    if not page.dns_is_on:
        return (Fact(label="DNS", value=DNS_OFF, tone=Tone.UNKNOWN),)
    return dns_facts(page.report, now=now, zone=zone)


def _sequences_fact(page: Page) -> Fact:
    label = "Sequences"
    if page.recorded.value is None:
        return page.recorded.unknown(label)
    names = page.recorded.value.month.sequences
    if not names:
        return Fact(
            label=label, value="unknown: no delivery named one in the last 30 days", tone=Tone.UNKNOWN
        )
    paused = {one.label.casefold() for one in page.campaigns.value or () if one.status == "paused"}
    shown = [f"{clip(name, length=40)}{' (paused)' if name.casefold() in paused else ''}" for name in names]
    more = f" and {len(shown) - MOST_SEQUENCES} more" if len(shown) > MOST_SEQUENCES else ""
    return Fact(label=label, value=" · ".join(shown[:MOST_SEQUENCES]) + more)


def _next(page: Page, now: datetime) -> tuple[str, ...]:
    """What to do: about DNS first, as the rest comes back without it."""
    steps = advice(page.report, now=now)
    rate = _bounce_rate(page, now)
    if page.health.paused:
        said = advice_when_paused(page.month.reason, bounced=page.week.bounced, left=page.week.opted_out)
        return (*steps, said[:1].upper() + said[1:])
    if rate is not None and rate > HIGH_BOUNCES:
        return (*steps, "Verify the addresses in its sequences, and remove those that bounce.")
    return steps


def _happened(page: Page) -> list[Happened]:
    """The last changes of DNS, of the domain and of its sequences, the newest first."""
    recorded = page.recorded.value
    if recorded is None:
        return []
    found = [
        Happened(at=one.at, what=change_of(one), kind="dns", tone=_tone_of(one)) for one in recorded.changes
    ]
    for pause in recorded.month.pauses:
        why = f": {pause.reason}" if pause.reason else ""
        found.append(Happened(at=pause.at, what=f"Paused by the service{why}", kind="paused", tone=Tone.BAD))
        if pause.recovered_at:
            found.append(Happened(at=pause.recovered_at, what="Recovered", kind="recovered", tone=Tone.GOOD))
    for name, entry in page.changed.items():
        verb = "paused" if entry.effect == "paused" else "resumed"
        who = f"@{entry.actor.name}" if entry.actor.face == "slack" else entry.actor.name
        found.append(Happened(at=entry.at, what=f"{who} {verb} {clip(name, length=40)}", kind="sequence"))
    return sorted(found, key=lambda one: one.at, reverse=True)[:MOST_CHANGES]


def _tone_of(one: DomainChange) -> Tone:
    if one.after.value is Value.PROBLEM:
        return Tone.BAD
    return Tone.GOOD if one.recovered else Tone.INFO


def _table(happened: Sequence[Happened], context: CommandContext) -> Table | None:
    if not happened:
        return None
    now, zone = context.now(), context.zone
    rows = (Row(cells=(show_time(one.at, now=now, zone=zone), one.what), tone=one.tone) for one in happened)
    return Table(columns=columns("Last changes", "What"), rows=tuple(rows))


def _buttons(page: Page) -> tuple[Button, ...]:
    looking = (
        Button(label="Show inboxes", action=Inboxes(filter=page.name)),
        Button(label="Status", action=Status()),
    )
    if page.health.paused or page.health.tone in {Tone.GOOD, Tone.UNKNOWN}:
        return looking
    pausing = Button(label="Pause all …", action=Pause(target=(f"{DOMAIN}{page.name}",)), tone=Tone.BAD)
    return (*looking, pausing)


def _data(page: Page, why: Sequence[str], happened: Sequence[Happened], now: datetime) -> dict[str, object]:
    sent, recorded, week = page.sent.value, page.recorded.value, page.week
    known = page.week.known_from
    return {
        "domain": page.name,
        "paused": page.health.paused,
        "inboxes": page.health.inboxes,
        "lowest_health": page.health.lowest,
        "sends": sent and sent.sends,
        "replies": sent and sent.replies,
        "positive_replies": sent and sent.positive_replies,
        "bounces": week.bounced if known else None,
        "hard_bounces": week.hard if known else None,
        "opt_outs": week.opted_out if known else None,
        "bounce_rate": _bounce_rate(page, now),
        "dns": as_data(page.report, now=now),
        "sequences": None if recorded is None else list(recorded.month.sequences),
        "changes": [{"at": one.at.isoformat(), "kind": one.kind, "what": one.what} for one in happened],
        "why": list(why),
        "advice": list(_next(page, now)),
    }
