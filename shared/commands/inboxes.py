"""`inboxes` by domain, and `domains`: a line each. Both have the worst first."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from typing import TYPE_CHECKING, Self

from shared.commands.base import Arguments, Command, Problem, Result, Words, did_you_mean, none_left
from shared.domain.card import Button, Card, Row, Table, Tone, columns, number
from shared.text.formats import clip, show_number
from shared.text.tokenize import quote

if TYPE_CHECKING:
    from shared.api.models import Inbox
    from shared.commands.run import CommandContext

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
    from shared.domain.health import WORST_FIRST, roll_up, show_counts, verdict, worst

    known, wanted, thresholds = await context.inboxes(), arguments.filter, context.workspace.thresholds
    tones = [(inbox, verdict(inbox, thresholds=thresholds).tone) for inbox in known]
    noun, where = "inbox", ""
    if wanted == UNHEALTHY:
        noun, tones = "unhealthy inbox", [one for one in tones if one[1] is not Tone.GOOD]
    elif wanted:
        tones = [one for one in tones if wanted in {one[0].domain, one[0].email.lower()}]
        where = f" on {wanted}"
        if known and not tones:
            names = (*sorted({inbox.domain for inbox in known}), UNHEALTHY)
            return no_inboxes(f"No inboxes match “{clip(wanted)}”", wanted, names, argument="filter")

    def badness(one: tuple[Inbox, Tone]) -> tuple[object, ...]:
        inbox, tone = one
        return (WORST_FIRST.index(tone), inbox.health_score or 0, inbox.email)

    rows, data = [], []
    for inbox, tone in sorted(tones, key=badness):
        cells = (inbox.email, inbox.health_score, inbox.daily_limit, inbox.status)
        rows.append(Row(cells, tone=tone))
        data.append(dict(zip(("email", "health_score", "daily_limit", "status"), cells, strict=True)))
    title = (show_number(len(rows), noun) if rows else f"No {noun}es") + where
    domains = roll_up((inbox for inbox, _ in tones), thresholds=thresholds)
    tone = worst(row.tone for row in rows) if rows else Tone.GOOD if known else Tone.UNKNOWN
    buttons = [Button("All inboxes", Inboxes())] if wanted else []
    if not wanted and tone is not Tone.GOOD:
        buttons = [Button("Unhealthy only", Inboxes(filter=UNHEALTHY)), Button("Domains", Domains())]
    return Result(
        Card(
            title,
            tone=tone,
            text=(f"{show_counts(domains)} · {show_number(len(domains), 'domain')}",) if rows else (),
            table=Table(INBOX_COLUMNS, tuple(rows)) if rows else None,
            buttons=tuple(buttons) if known else (),
        ),
        rows=tuple(data),
    )


def no_inboxes(title: str, query: str, names: Iterable[str], *, argument: str) -> Result:
    """The answer where no inbox fits what was typed, with the nearest name that some fit."""
    hint = did_you_mean(query, [*names]) if names else ""
    buttons = (Button("All inboxes", Inboxes()),)
    card = Card(title, tone=Tone.WARN, text=(hint,), buttons=buttons)
    return Result(card, problem=Problem("no such domain", argument))


async def _domains(_: Domains, context: CommandContext) -> Result:
    from shared.commands.domain import Domain
    from shared.domain.health import roll_up, worst

    domains = roll_up(await context.inboxes(), thresholds=context.workspace.thresholds)
    bounces = await _bounces([domain.domain for domain in domains], context)
    rows, data, buttons = [], [], []
    for one in domains:
        state = "paused"
        if not one.paused:
            bad = "bad" if one.bad else "partly resting"
            words = {Tone.BAD: bad, Tone.WARN: "at risk", Tone.GOOD: "healthy"}
            state = words.get(one.tone, "unknown")
        cells = (one.domain, state, one.lowest, bounces.get(one.domain))
        rows.append(Row(cells, tone=one.tone))
        data.append(dict(zip(("domain", "state", "lowest_health", "bounces_24h"), cells, strict=True)))
        if one.tone in {Tone.BAD, Tone.WARN}:
            buttons.append(Button(clip(one.domain, length=40), Domain(name=one.domain)))
    missing = "Bounces are unknown where the bot has recorded less than 24 hours."
    return Result(
        Card(
            show_number(len(domains), "domain") if domains else "No domains",
            tone=worst(row.tone for row in rows),
            table=Table(DOMAIN_COLUMNS, tuple(rows)) if domains else None,
            buttons=tuple(buttons[:MOST_LINKS]),
            footer=missing if len(bounces) < len(domains) else "",
        ),
        rows=tuple(data),
    )


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
        summary="List inboxes with health score, daily limit and status, the worst first",
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
