"""`inboxes` by domain, and `domains`: a line each. Both have the worst first."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Self

from shared.commands.base import Arguments, Command, Problem, Result, Words, did_you_mean, none_left
from shared.domain.card import Button, Card, Row, Table, Tone, columns, number
from shared.text.formats import clip, show_number
from shared.text.tokenize import quote

if TYPE_CHECKING:
    from shared.api.models import Inbox
    from shared.commands.run import CommandContext
    from shared.domain.health import DomainHealth

UNHEALTHY = "unhealthy"
BOUNCES_OF = timedelta(hours=24)
MOST_LINKS = 3
INBOX_COLUMNS = columns("Inbox", number("Health"), number("Daily limit", narrow="Limit"), "Status")
DOMAIN_COLUMNS = columns(
    "Domain",
    "State",
    number("Lowest health", narrow="Lowest"),
    number("Bounces, 24 h", narrow="Bounces"),
)


class Inboxes(Arguments):
    """`inboxes [DOMAIN|unhealthy]`."""

    verb = "inboxes"
    filter: str | None = None
    """A domain, an address, or `unhealthy`."""

    @classmethod
    def read(cls, words: Words) -> Self:
        none_left(words[1:])
        return cls(filter=words[0].text.lower() if words else None)

    def write(self) -> Iterable[str]:
        return (quote(self.filter),) if self.filter else ()


class Domains(Arguments):
    """`domains`."""

    verb = "domains"


async def _inboxes(arguments: Inboxes, context: CommandContext) -> Result:
    from shared.domain.health import roll_up, show_counts, verdict
    from shared.domain.workspace_verdict import judge_domains

    known, wanted, thresholds = await context.inboxes(), arguments.filter, context.workspace.thresholds
    if wanted == UNHEALTHY:
        shown = [one for one in known if verdict(one, thresholds=thresholds).tone is not Tone.GOOD]
    else:
        shown = [one for one in known if wanted is None or wanted in {one.domain, one.email.lower()}]
        if known and not shown:
            names = (*sorted({inbox.domain for inbox in known}), UNHEALTHY)
            return no_inboxes(
                f"No inboxes match “{clip(str(wanted))}”", str(wanted), names, argument="filter"
            )
    # A domain is judged by all its inboxes: one of which only the resting inbox is listed is not paused.
    listed = {one.domain for one in shown}
    domains = tuple(one for one in roll_up(known, thresholds=thresholds) if one.domain in listed)
    counts = show_counts(roll_up(shown, thresholds=thresholds))
    noun = "unhealthy inbox" if wanted == UNHEALTHY else "inbox"
    where = f" on {wanted}" if wanted not in {None, UNHEALTHY} else ""
    title = (show_number(len(shown), noun) if shown else f"No {noun}es") + where
    # The inboxes of the worst domain come first, and of a domain the worst, as the scores are shown.
    order = {one.domain: number for number, one in enumerate(domains)}

    def place(inbox: Inbox) -> tuple[object, ...]:
        return (order[inbox.domain], inbox.health_score is None, inbox.health_score or 0, inbox.email)

    rows, data = [], []
    for inbox in sorted(shown, key=place):
        found = {"email": inbox.email, "health_score": inbox.health_score}
        found |= {"daily_limit": inbox.daily_limit, "status": inbox.status}
        rows.append(Row(tuple(found.values()), tone=verdict(inbox, thresholds=thresholds).tone))
        data.append(found)
    return Result(
        Card(
            title,
            tone=judge_domains(domains).tone if shown else Tone.GOOD if known else Tone.UNKNOWN,
            text=(f"{counts} · {show_number(len(domains), 'domain')}",) if shown else (),
            table=Table(INBOX_COLUMNS, tuple(rows)) if shown else None,
            buttons=_links(domains, wanted) if known else (),
        ),
        rows=tuple(data),
    )


def no_inboxes(title: str, query: str, names: Iterable[str], *, argument: str) -> Result:
    """The answer where no inbox fits what was typed, with the nearest name that some fit."""
    hint = did_you_mean(query, [*names]) if names else ""
    buttons = (Button("All inboxes", Inboxes()),)
    card = Card(title, tone=Tone.WARN, text=(hint,), buttons=buttons)
    return Result(card, problem=Problem("no such domain", argument))


def _links(domains: Sequence[DomainHealth], wanted: str | None) -> tuple[Button, ...]:
    if wanted is not None:
        return (Button("All inboxes", Inboxes()),)
    if all(domain.tone is Tone.GOOD for domain in domains):
        return ()
    unhealthy = Button("Unhealthy only", Inboxes(filter=UNHEALTHY))
    links = (Button(clip(one.domain, length=40), Inboxes(filter=one.domain)) for one in _troubled(domains))
    return (unhealthy, *links)


def _troubled(domains: Sequence[DomainHealth]) -> Sequence[DomainHealth]:
    return [domain for domain in domains if domain.tone in {Tone.BAD, Tone.WARN}][:MOST_LINKS]


async def _domains(_: Domains, context: CommandContext) -> Result:
    from shared.commands.domain import Domain
    from shared.domain.health import roll_up
    from shared.domain.workspace_verdict import judge_domains

    domains = roll_up(await context.inboxes(), thresholds=context.workspace.thresholds)
    bounces = await _bounces([domain.domain for domain in domains], context)
    lines = [(domain, _state(domain), bounces.get(domain.domain)) for domain in domains]
    rows = (Row((one.domain, state, one.lowest, count), tone=one.tone) for one, state, count in lines)
    missing = len(bounces) < len(domains)
    return Result(
        Card(
            show_number(len(domains), "domain") if domains else "No domains",
            tone=judge_domains(domains).tone if domains else Tone.UNKNOWN,
            table=Table(DOMAIN_COLUMNS, tuple(rows)) if domains else None,
            buttons=tuple(
                Button(clip(one.domain, length=40), Domain(name=one.domain)) for one in _troubled(domains)
            ),
            footer="Bounces are unknown where the bot has recorded less than 24 hours." if missing else "",
        ),
        rows=tuple(
            {"domain": one.domain, "state": state, "lowest_health": one.lowest, "bounces_24h": count}
            for one, state, count in lines
        ),
    )


def _state(domain: DomainHealth) -> str:
    if domain.paused:
        return "paused"
    if domain.tone is Tone.BAD:
        return "bad" if domain.bad else "partly resting"
    return {Tone.WARN: "at risk", Tone.GOOD: "healthy"}.get(domain.tone, "unknown")


async def _bounces(domains: Iterable[str], context: CommandContext) -> dict[str, int]:
    """The bounces of the last 24 hours by domain; without those of which not all 24 hours are recorded."""
    from shared.commands.run import read_part

    since, counts = context.now() - BOUNCES_OF, {}
    for domain in domains:
        past = (await read_part(context.records.domain_past(context.workspace.name, domain, since))).value
        # Of a shorter time the count would be too low, and read as good news.
        if past and past.known_from and past.known_from <= since:
            counts[domain] = past.bounced
    return counts


FAMILY = (
    Command(
        arguments=Inboxes,
        run=_inboxes,
        rank=50,
        usage="[DOMAIN|unhealthy]",
        summary="List inboxes with health score, daily limit and status, those of the worst domains first",
        own_fields=("status",),
        examples=("inboxes", "inboxes unhealthy", "inboxes acme.com"),
    ),
    Command(
        arguments=Domains,
        run=_domains,
        rank=60,
        aliases=("bounces",),
        summary="List the sending domains, worst first, with state, lowest health and bounces of 24 hours",
        own_fields=("state",),
        examples=("domains", "bounces"),
    ),
)
