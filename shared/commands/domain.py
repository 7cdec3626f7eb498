"""`domain DOMAIN`: one page about a sending domain that answers why it is as it is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple, Self

from shared.commands.base import (
    COMMANDS,
    DOMAIN,
    ArgumentError,
    Arguments,
    Command,
    Result,
    Words,
    none_left,
)
from shared.commands.inboxes import Inboxes, no_inboxes
from shared.commands.pause import Pause
from shared.domain.card import Button, Card, Fact, Row, Table, Tone, columns
from shared.text.formats import clip, show_number, show_rate, show_some, show_span
from shared.text.tokenize import quote

if TYPE_CHECKING:
    from shared.api.models import Sequence as Campaign
    from shared.api.models import StatsRow
    from shared.commands.run import CommandContext, Part
    from shared.domain.health import DomainHealth
    from shared.domain_health.report import DomainChange, DomainReport
    from shared.records.audit import AuditEntry
    from shared.records.domains import DomainPast

WEEK, LOOK_BACK = timedelta(days=7), timedelta(days=30)
MOST_CHANGES, MOST_SEQUENCES = 8, 6
HIGH_BOUNCE_RATE = 0.05
"""Above it receivers take a domain for a spammer's: https://support.google.com/a/answer/81126"""
LOOK_UP_SECONDS = 8.0
"""A person gets an answer within ten."""


class Domain(Arguments):
    """`domain DOMAIN`."""

    verb = "domain"
    name: str = ""

    @classmethod
    def read(cls, words: Words) -> Self:
        if not words:
            hint = "Name one of your sending domains: domain mail.acme.com"
            raise ArgumentError("Which domain?", hint=hint)
        none_left(words[1:])
        return cls(name=words[0].text.lower().rpartition("@")[2].rstrip("."))

    def write(self) -> Iterable[str]:
        return (quote(self.name),)


class Recorded(NamedTuple):
    """The bot's records of a domain."""

    report: DomainReport | None
    changes: Sequence[DomainChange]
    week: DomainPast
    month: DomainPast


class Happened(NamedTuple):
    """Something that changed, for the list of last changes."""

    at: datetime
    what: str
    kind: str
    tone: Tone = Tone.INFO


async def _run(arguments: Domain, context: CommandContext) -> Result:
    import asyncio

    from shared.commands.run import read_part
    from shared.domain.dns_facts import in_dns
    from shared.domain.health import roll_up
    from shared.domain.totals import totals

    inboxes = await context.inboxes()
    own = [one for one in inboxes if (one.domain or "").lower() == arguments.name]
    # A domain without inboxes isn't one of ours: whoever types one gets no look-ups of others' DNS.
    if not own:
        domains = sorted({inbox.domain for inbox in inboxes if inbox.domain})
        title = f"No inboxes send from {clip(arguments.name)}"
        return no_inboxes(title, arguments.name, domains, argument="name")
    names = {name for one in own for name in (one.id, one.email)}

    async def sent() -> StatsRow:
        last = context.today
        rows = await context.stats(last - WEEK + timedelta(days=1), last, by="inbox")
        return totals(row for row in rows if row.group in names)

    # Each part by itself: what can't be read is unknown, and hides no other.
    week, recorded, campaigns = await asyncio.gather(
        read_part(sent()),
        read_part(_recorded(arguments.name, context)),
        read_part(context.sequences()),
    )
    (health,) = roll_up(own, thresholds=context.workspace.thresholds)
    page = Page(
        name=arguments.name,
        health=health,
        sent=week,
        recorded=recorded,
        campaigns=campaigns.value or (),
        report=(recorded.value and recorded.value.report) or await _look_up(in_dns(arguments.name), context),
        context=context,
    )
    return page.result(await _changed(page))


async def _recorded(name: str, context: CommandContext) -> Recorded:
    import asyncio

    from shared.domain.dns_facts import in_dns

    records, now, workspace, asked = (
        context.records,
        context.now(),
        context.workspace.name,
        in_dns(name),
    )
    reports, changes, week, month = await asyncio.gather(
        records.domains.reports([asked]),
        records.domains.changes([asked], now - LOOK_BACK),
        records.domain_past(workspace, name, now - WEEK),
        records.domain_past(workspace, name, now - LOOK_BACK),
    )
    return Recorded(reports.get(asked), changes, week, month)


async def _look_up(name: str, context: CommandContext) -> DomainReport | None:
    """Its DNS at once, for who asks before the bot has checked it; None where it isn't checked, or not in time."""
    import asyncio

    settings = context.settings.dns if context.settings else None
    # Whoever turned the checks off doesn't want the names of domains in queries.
    if settings is None or not settings.enabled:
        return None
    from shared.domain_health.lookup import Lookup, resolvers_of, system_resolvers

    lookup = Lookup(resolvers_of(settings.resolvers) or system_resolvers(), selectors=settings.selectors)
    try:
        async with asyncio.timeout(LOOK_UP_SECONDS):
            return (await lookup.look(name, None, context.now())).report
    except TimeoutError:
        return None


async def _changed(page: Page) -> Mapping[str, AuditEntry]:
    """The last pause or resumption of each of the domain's sequences, by name; for those who may read the audit."""
    from shared.commands.run import read_part

    context = page.context
    names = {name.casefold() for name in page.past.month.sequences}
    labels = {one.id: one.label for one in page.campaigns if one.label.casefold() in names}
    if not labels or not context.allows(COMMANDS["audit"]):
        return {}
    found = await read_part(context.records.last_changes(context.workspace.name, list(labels)))
    return {labels[name]: entry for name, entry in (found.value or {}).items() if name in labels}


class Page(NamedTuple):
    """All that is known of a domain at a moment."""

    name: str
    health: DomainHealth
    sent: Part[StatsRow]
    recorded: Part[Recorded]
    campaigns: Sequence[Campaign]
    report: DomainReport | None
    context: CommandContext

    @property
    def past(self) -> Recorded:
        """The bot's records; empty ones where they can't be read."""
        from shared.records.domains import DomainPast

        return self.recorded.value or Recorded(None, (), DomainPast(), DomainPast())

    @property
    def bounce_rate(self) -> float | None:
        """The share of the last 7 days; None where not all of its bounces or sends are known."""
        since, sends = self.past.week.known_from, self.sent.value.sends if self.sent.value else None
        # More bounces than sends: today's bounces may be of mails that were sent before the week.
        if since is None or since > self.context.now() - WEEK or not sends or self.past.week.bounced > sends:
            return None
        return self.past.week.bounced / sends

    @property
    def bounces_much(self) -> bool:
        return (self.bounce_rate or 0) > HIGH_BOUNCE_RATE

    def result(self, changed: Mapping[str, AuditEntry]) -> Result:
        from shared.domain.health import worst

        show, happened = self.context.show, self._happened(changed)
        facts = (self._inboxes(), self._sends(), self._bounces(), *self._dns(), self._sequences())
        rows = (Row((show(happening.at), happening.what), tone=happening.tone) for happening in happened)
        table = Table(columns("Last changes", "What"), tuple(rows))
        pausing = Pause(target=(f"{DOMAIN}{self.name}",))
        troubled = not self.health.paused and self.health.tone in {Tone.BAD, Tone.WARN}
        why, steps = self._why(), self._next()
        return Result(
            Card(
                self._title(),
                tone=worst(fact.tone for fact in facts if fact.tone is not Tone.INFO),
                text=(*why, *(f"Next: {step}" for step in steps)),
                facts=facts,
                table=table if happened else None,
                buttons=(
                    Button("Show inboxes", Inboxes(filter=self.name)),
                    *((Button("Pause all …", pausing, tone=Tone.BAD),) if troubled else ()),
                ),
                footer=f"As of {show(self.context.now())}",
            ),
            rows=({**self._data(), "changes": _listed(happened), "why": [*why], "advice": [*steps]},),
        )

    def _title(self) -> str:
        from shared.domain.dns_facts import problems_of

        broken = bool(problems_of(self.report, now=self.context.now()))
        states = {
            Tone.GOOD: "is healthy, but its DNS is broken" if broken else "is healthy",
            Tone.WARN: "is at risk",
            Tone.UNKNOWN: "is in an unknown state",
        }
        state = "is paused" if self.health.paused else states.get(self.health.tone, "is in bad health")
        return f"{clip(self.name)} {state}"

    def _why(self) -> tuple[str, ...]:
        """The causes of the state, as far as they are known, the earliest first."""
        from shared.domain.dns_facts import dns_fact, problem_text, problems_of

        now, zone = self.context.now(), self.context.zone
        pause = next(iter(self.past.month.pauses), None) if self.health.paused else None
        causes = []
        for one in problems_of(self.report, now=now):
            # What broke before the pause may have led to it; what broke after it can't have.
            is_first = pause and one.since and one.since <= pause.at
            broke = problem_text(one, now=now, zone=zone)
            causes.append(f"{broke}{', before it was paused' if is_first else ''}.")
        if pause and not pause.recovered_at:
            causes.append(f"The service paused it {self.context.show(pause.at)}{_colon(pause.reason)}.")
        if self.bounces_much:
            share = f"{show_rate(self.bounce_rate)} of its emails of the last 7 days bounced"
            causes.append(f"{share}; above {HIGH_BOUNCE_RATE:.0%}, receivers distrust a domain.")
        dns = dns_fact(self.report, now=now).tone
        # Nothing is called the cause unless it is known; else the reader learns what is missing.
        if causes or (self.health.tone is Tone.GOOD and dns is Tone.GOOD):
            return tuple(causes)
        unknown = {
            "DNS": dns is Tone.UNKNOWN,
            "bounces": self.past.week.known_from is None,
            "sends": self.sent.value is None or self.sent.value.sends is None,
        }
        named = ", ".join(name for name, is_so in unknown.items() if is_so)
        return (f"No cause is known. Unknown: {named}." if named else "No cause is known.",)

    def _next(self) -> tuple[str, ...]:
        """The advice: about DNS first, as the rest comes back without it."""
        from shared.domain.dns_facts import advice
        from shared.domain.paused_domains import advice as advice_when_paused

        steps = advice(self.report, now=self.context.now())
        if self.health.paused:
            week = self.past.week
            said = advice_when_paused(self.past.month.reason, bounced=week.bounced, left=week.opted_out)
            return (*steps, said[:1].upper() + said[1:])
        verify = "Verify the addresses in its sequences, and remove those that bounce."
        return (*steps, verify) if self.bounces_much else steps

    def _inboxes(self) -> Fact:
        from shared.domain.health import show_counts

        health = self.health
        counts = "paused" if health.paused else show_counts([health])
        lowest = f"lowest health {health.lowest:g}" if health.lowest is not None else "health unknown"
        value = f"{show_number(health.inboxes, 'inbox')}, {counts}; {lowest}"
        return Fact("Inboxes", value, tone=health.tone)

    def _sends(self) -> Fact:
        label, row = "Sends, 7 days", self.sent.value
        if row is None:
            return self.sent.unknown(label)
        if row.sends is None:
            return Fact(label, "unknown", tone=Tone.UNKNOWN)
        replies = "" if row.replies is None else f", {show_number(row.replies, 'reply')}"
        return Fact(label, f"{row.sends:,}{replies}")

    def _bounces(self) -> Fact:
        label, week, since = "Bounces, 7 days", self.past.week, self.past.week.known_from
        if self.recorded.value is None:
            return self.recorded.unknown(label)
        if since is None:
            return Fact(label, "unknown: no delivery has come yet", tone=Tone.UNKNOWN)
        hard = f" ({week.hard} hard)" if week.hard else ""
        text = f"{show_number(week.bounced, 'bounce')}{hard}, {show_number(week.opted_out, 'opt-out')}"
        if self.bounce_rate is not None:
            text += f"; {show_rate(self.bounce_rate)} of its sends bounced"
        if since > self.context.now() - WEEK:
            text += f"; known for {show_span(self.context.now() - since)} only"
        return Fact(label, text, tone=Tone.BAD if self.bounces_much else Tone.INFO)

    def _dns(self) -> tuple[Fact, ...]:
        from shared.domain.dns_facts import dns_facts

        if self.recorded.value is None:
            return (self.recorded.unknown("DNS"),)
        if self.context.settings and not self.context.settings.dns.enabled:
            off = "off: [dns] enabled = false in the settings"
            return (Fact("DNS", off, tone=Tone.UNKNOWN),)
        return dns_facts(self.report, now=self.context.now(), zone=self.context.zone)

    def _sequences(self) -> Fact:
        label, names = "Sequences", self.past.month.sequences
        if self.recorded.value is None:
            return self.recorded.unknown(label)
        if not names:
            none = "unknown: no delivery named one in the last 30 days"
            return Fact(label, none, tone=Tone.UNKNOWN)
        paused = {one.label.casefold() for one in self.campaigns if one.status == "paused"}
        labels = [
            f"{clip(name, length=40)}{' (paused)' if name.casefold() in paused else ''}" for name in names
        ]
        return Fact(label, show_some(labels, MOST_SEQUENCES, separator=" · "))

    def _happened(self, changed: Mapping[str, AuditEntry]) -> Sequence[Happened]:
        """The last changes of DNS, of the domain and of its sequences, the newest first."""
        from shared.domain.dns_facts import change_of
        from shared.domain_health.report import Value

        found = []
        for one in self.past.changes:
            tone = Tone.BAD if one.after.value is Value.PROBLEM else Tone.GOOD if one.recovered else Tone.INFO
            found.append(Happened(one.at, change_of(one), "dns", tone))
        for pause in self.past.month.pauses:
            found.append(
                Happened(pause.at, f"Paused by the service{_colon(pause.reason)}", "paused", Tone.BAD)
            )
            if pause.recovered_at:
                found.append(Happened(pause.recovered_at, "Recovered", "recovered", Tone.GOOD))
        for name, entry in changed.items():
            verb = "paused" if entry.effect == "paused" else "resumed"
            what = f"{entry.actor.shown} {verb} {clip(name, length=40)}"
            found.append(Happened(entry.at, what, "sequence"))
        return sorted(found, key=lambda one: one.at, reverse=True)[:MOST_CHANGES]

    def _data(self) -> dict[str, object]:
        from shared.domain.dns_facts import as_data

        sent, week = self.sent.value, self.past.week
        known = week.known_from is not None
        return {
            "domain": self.name,
            "paused": self.health.paused,
            "inboxes": self.health.inboxes,
            "lowest_health": self.health.lowest,
            "sends": sent and sent.sends,
            "replies": sent and sent.replies,
            "positive_replies": sent and sent.positive_replies,
            "bounces": week.bounced if known else None,
            "hard_bounces": week.hard if known else None,
            "opt_outs": week.opted_out if known else None,
            "bounce_rate": self.bounce_rate,
            "dns": as_data(self.report, now=self.context.now()),
            "sequences": list(self.past.month.sequences) if self.recorded.value else None,
        }


def _colon(reason: str) -> str:
    return f": {reason}" if reason else ""


def _listed(happened: Sequence[Happened]) -> list[dict[str, str]]:
    return [
        {"at": happening.at.isoformat(), "kind": happening.kind, "what": happening.what}
        for happening in happened
    ]


COMMAND = Command(
    arguments=Domain,
    run=_run,
    rank=70,
    usage="DOMAIN",
    summary="Show the state of a domain and its causes: health, sends, bounces, DNS, last changes, advice",
    own_fields=("at", "kind"),
    examples=("domain mail.acme.com",),
)
