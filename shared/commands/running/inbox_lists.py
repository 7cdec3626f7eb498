"""`inboxes` by domain, and `domains`; both worst first."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from datetime import timedelta

from shared.api.models import Inbox
from shared.api.pace import Priority
from shared.commands.base import Problem, Result, clip, did_you_mean
from shared.commands.domain import Domain
from shared.commands.inboxes import Domains, Inboxes
from shared.commands.run import CommandContext
from shared.domain.card import Button, Card, Column, Row, Table, Tone, columns, number
from shared.domain.health import DomainHealth, Thresholds, roll_up, show_counts, verdict
from shared.domain.totals import rate, total
from shared.domain.workspace_verdict import judge_domains
from shared.records.records import RecordsUnavailable
from shared.text.formats import show_number

SHOWN = ("email", "health_score", "daily_limit", "status")
"""For `--json`."""
BOUNCES_OF = timedelta(hours=24)
MOST_LINKS = 3
COLUMNS = columns(
    "Inbox",
    number("Health"),
    Column(title="", bar=True),
    number("Daily limit", narrow="Limit"),
    "Status",
    Column(title="Verdict", narrow=""),
)


async def list_inboxes(arguments: Inboxes, context: CommandContext) -> Result:
    """`inboxes [DOMAIN|unhealthy]`."""
    known = await context.client.list_inboxes(priority=Priority.INTERACTIVE)
    wanted = arguments.filter
    shown = [inbox for inbox in known if _wanted(inbox, wanted, context.workspace.thresholds)]
    if known and not shown and wanted not in {None, "unhealthy"}:
        return _no_such_domain(str(wanted), {inbox.domain for inbox in known})
    # A domain is judged by all its inboxes: one of which only the resting inbox is listed is not paused.
    listed = {inbox.domain for inbox in shown}
    domains = tuple(
        domain
        for domain in roll_up(known, thresholds=context.workspace.thresholds)
        if domain.domain in listed
    )
    counts = show_counts(roll_up(shown, thresholds=context.workspace.thresholds))
    return Result(
        card=Card(
            title=_title(len(shown), wanted),
            tone=judge_domains(domains).tone if shown else Tone.GOOD if known else Tone.UNKNOWN,
            text=(f"{counts} · {show_number(len(domains), 'domain')}",) if shown else (),
            table=_table(domains, shown, context.workspace.thresholds) if shown else None,
            buttons=_buttons(domains, wanted) if known else (),
        ),
        rows=tuple({name: getattr(inbox, name) for name in SHOWN} for inbox in shown),
    )


async def list_domains(_: Domains, context: CommandContext) -> Result:
    """`domains`: a line each, the worst first."""
    known = await context.client.list_inboxes(priority=Priority.INTERACTIVE)
    domains = roll_up(known, thresholds=context.workspace.thresholds)
    bounces = await _bounces([domain.domain for domain in domains], context)
    rows = tuple(
        Row(cells=(one.domain, _state(one), one.lowest, bounces.get(one.domain)), tone=one.tone)
        for one in domains
    )
    titles = columns(
        "Domain",
        "State",
        number("Lowest health", narrow="Lowest"),
        number("Bounces, 24 h", narrow="Bounces"),
    )
    missing = len(bounces) < len(domains)
    troubled = [one for one in domains if one.tone in {Tone.BAD, Tone.WARN}][:MOST_LINKS]
    return Result(
        card=Card(
            title=show_number(len(domains), "domain") if domains else "No domains",
            tone=judge_domains(domains).tone if domains else Tone.UNKNOWN,
            text=("Bounces are unknown where the bot has recorded less than 24 hours.",) if missing else (),
            table=Table(columns=titles, rows=rows) if rows else None,
            buttons=tuple(
                Button(label=clip(one.domain, length=40), action=Domain(name=one.domain)) for one in troubled
            ),
        ),
        rows=tuple(
            {
                "domain": one.domain,
                "state": _state(one),
                "lowest_health": one.lowest,
                "bounces_24h": bounces.get(one.domain),
            }
            for one in domains
        ),
    )


def _state(domain: DomainHealth) -> str:
    if domain.paused:
        return "paused"
    if domain.tone is Tone.BAD:
        return "bad" if domain.bad else "partly resting"
    return {Tone.WARN: "at risk", Tone.GOOD: "healthy"}.get(domain.tone, "unknown")


async def _bounces(domains: list[str], context: CommandContext) -> dict[str, int]:
    """The bounces of the last 24 hours by domain; without those of which not all 24 hours are recorded."""
    if context.records is None:
        return {}
    since, counts = context.now() - BOUNCES_OF, {}
    try:
        for domain in domains:
            past = await context.records.domain_past(context.workspace.name, domain, since)
            if past.known_from and past.known_from <= since:
                counts[domain] = past.bounced
    except RecordsUnavailable:
        return {}
    return counts


def _wanted(inbox: Inbox, wanted: str | None, thresholds: Thresholds) -> bool:
    if wanted == "unhealthy":
        return verdict(inbox, thresholds=thresholds).tone is not Tone.GOOD
    return wanted is None or wanted in {inbox.domain, inbox.email.lower()}


def _title(count: int, wanted: str | None) -> str:
    if wanted == "unhealthy":
        return show_number(count, "unhealthy inbox") if count else "No unhealthy inboxes"
    return (show_number(count, "inbox") if count else "No inboxes") + (f" on {wanted}" if wanted else "")


def _no_such_domain(query: str, known: set[str]) -> Result:
    return Result(
        card=Card(
            title=f"No inboxes match “{clip(query)}”",
            tone=Tone.WARN,
            text=(did_you_mean(query, (*sorted(known), "unhealthy")),),
            buttons=(Button(label="All inboxes", action=Inboxes()),),
        ),
        problem=Problem(text="no such domain", argument="filter"),
    )


def _table(domains: Iterable[DomainHealth], inboxes: list[Inbox], thresholds: Thresholds) -> Table:
    rows: list[Row] = []
    of_domain: defaultdict[str, list[Inbox]] = defaultdict(list)
    for inbox in inboxes:
        of_domain[inbox.domain].append(inbox)
    for domain in domains:
        members = of_domain[domain.domain]
        rows += [_domain_row(domain, members), *_inbox_rows(members, thresholds)]
    return Table(columns=COLUMNS, rows=tuple(rows))


def _domain_row(domain: DomainHealth, members: list[Inbox]) -> Row:
    limit = total([inbox.daily_limit for inbox in members])
    word = "; ".join(domain.reasons) or "healthy"
    count = show_number(domain.inboxes, "inbox")
    cells = (domain.domain, domain.lowest, rate(domain.lowest, 100), limit, count, word)
    return Row(cells=cells, tone=domain.tone)


def _inbox_rows(members: list[Inbox], thresholds: Thresholds) -> list[Row]:
    judged = [(verdict(inbox, thresholds=thresholds), inbox) for inbox in members]
    judged.sort(
        key=lambda pair: (101 if pair[1].health_score is None else pair[1].health_score, pair[1].email)
    )
    rows = []
    for one, inbox in judged:
        score, limit, status = inbox.health_score, inbox.daily_limit, inbox.status
        cells = (f"  {inbox.email}", score, rate(score, 100), limit, status, one.word)
        rows.append(Row(cells=cells, tone=one.tone))
    return rows


def _buttons(domains: tuple[DomainHealth, ...], wanted: str | None) -> tuple[Button, ...]:
    if wanted is not None:
        return (Button(label="All inboxes", action=Inboxes()),)
    troubled = [domain for domain in domains if domain.tone in {Tone.BAD, Tone.WARN}][:3]
    links = tuple(
        Button(label=clip(domain.domain, length=40), action=Inboxes(filter=domain.domain))
        for domain in troubled
    )
    if all(domain.tone is Tone.GOOD for domain in domains):
        return ()
    return (Button(label="Unhealthy only", action=Inboxes(filter="unhealthy")), *links)
