"""`inboxes` by domain and `domains`, a line each, the worst first; and `domain`, one page about a sending domain."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Self

from shared.commands.base import (
    ArgumentError,
    Arguments,
    CommandContext,
    Result,
    Stop,
    Words,
    did_you_mean,
    none_left,
    read_part,
    which,
)
from shared.domain.card import Button, Card, Row, Table, Tone, columns, number
from shared.text.formats import clip_name, show_number

if TYPE_CHECKING:
    from shared.api.models import Inbox
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
    """List inboxes with health score, daily limit and status, the worst first."""

    verb = "inboxes"
    usage = "[DOMAIN|unhealthy]"
    own_fields = ("status",)
    examples = ("inboxes", "inboxes unhealthy", "inboxes acme.com")

    filter: str | None = None
    """A domain, an address, or `unhealthy`."""

    @classmethod
    def read(cls, words: Words) -> Self:
        none_left(words[1:])
        return cls(filter=words[0].text.lower() if words else None)

    async def run(self, context: CommandContext) -> Result:
        from shared.domain.health import WORST_FIRST, roll_up, show_counts, verdict, worst

        wanted, thresholds, noun, where = self.filter, context.workspace.thresholds, "inbox", ""
        if wanted in {None, UNHEALTHY}:
            known: Sequence[Inbox] = await context.inboxes()
        else:
            known, where = await need_inboxes(wanted, context), f" on {wanted}"
        tones = [(inbox, verdict(inbox, thresholds=thresholds).tone) for inbox in known]
        if wanted == UNHEALTHY:
            noun, tones = "unhealthy inbox", [one for one in tones if one[1] is not Tone.GOOD]

        def badness(one: tuple[Inbox, Tone]) -> tuple[object, ...]:
            inbox, tone = one
            return (WORST_FIRST.index(tone), inbox.health_score or 0, inbox.email)

        rows, data = [], []
        for inbox, tone in sorted(tones, key=badness):
            cells = (inbox.email, inbox.health_score, inbox.daily_limit, inbox.status)
            rows.append(Row(cells, tone=tone))
            data.append(dict(zip(("email", "health_score", "daily_limit", "status"), cells, strict=True)))
        domains = roll_up((inbox for inbox, _ in tones), thresholds=thresholds)
        tone = worst(row.tone for row in rows) if rows else Tone.GOOD if known else Tone.UNKNOWN
        buttons = [Button("All inboxes", Inboxes())] if wanted else []
        if not wanted and tone is not Tone.GOOD:
            buttons = [Button("Unhealthy only", Inboxes(filter=UNHEALTHY)), Button("Domains", Domains())]
        card = Card(
            (show_number(len(rows), noun) if rows else f"No {noun}es") + where,
            tone=tone,
            text=(f"{show_counts(domains)} · {show_number(len(domains), 'domain')}",) if rows else (),
            table=Table(INBOX_COLUMNS, rows),
            buttons=buttons if known else (),
        )
        return Result(card, rows=data)


class Domains(Arguments):
    """List the sending domains, worst first, with state, lowest health and bounces of 24 hours."""

    verb = "domains"
    aliases = ("bounces",)
    own_fields = ("state",)
    examples = ("domains", "bounces")

    async def run(self, context: CommandContext) -> Result:
        from shared.domain.health import roll_up, worst

        domains = roll_up(await context.inboxes(), thresholds=context.workspace.thresholds)
        bounces = await _bounces([domain.domain for domain in domains], context)
        rows, data, buttons = [], [], []
        for one in domains:
            cells = (one.domain, state_of(one), one.lowest, bounces.get(one.domain))
            rows.append(Row(cells, tone=one.tone))
            data.append(dict(zip(("domain", "state", "lowest_health", "bounces_24h"), cells, strict=True)))
            if one.tone in {Tone.BAD, Tone.WARN}:
                buttons.append(Button(clip_name(one.domain), Domain(name=one.domain)))
        missing = "Bounces are unknown where the bot has recorded less than 24 hours."
        card = Card(
            show_number(len(domains), "domain") if domains else "No domains",
            tone=worst(row.tone for row in rows),
            table=Table(DOMAIN_COLUMNS, rows),
            buttons=buttons[:MOST_LINKS],
            footer=missing if len(bounces) < len(domains) else "",
        )
        return Result(card, rows=data)


class Domain(Arguments):
    """Show the state of a domain and its causes: health, sends, bounces, DNS, last changes, advice."""

    verb = "domain"
    usage = "DOMAIN"
    own_fields = ("at", "kind")
    examples = ("domain mail.acme.com",)

    name: str

    @classmethod
    def read(cls, words: Words) -> Self:
        if not words:
            hint = "Name one of your sending domains: domain mail.acme.com"
            raise ArgumentError("Which domain?", hint=hint)
        none_left(words[1:])
        return cls(name=words[0].text.lower().rpartition("@")[2].rstrip("."))

    async def run(self, context: CommandContext) -> Result:
        from shared.commands import domain_page  # late: every start of the program would wait for it

        return await domain_page.run(self.name, context)


async def need_inboxes(query: str, context: CommandContext) -> Sequence[Inbox]:
    """The inboxes of a domain, or with an address; none where the account has none at all.

    Raises `Stop`, with the nearest name, where none fits.
    """
    known = await context.inboxes()
    fitting = [one for one in known if query.casefold() in {one.email.casefold(), one.domain.casefold()}]
    if known and not fitting:
        names = sorted({one.email if "@" in query else one.domain for one in known})
        everything = Button("All inboxes", Inboxes())
        card = which("inbox", query, 0, did_you_mean(query, names), buttons=(everything,))
        raise Stop(Result(card, problem="no such inbox"))
    return fitting


def state_of(domain: DomainHealth) -> str:
    """The state of a domain in a word or two."""
    bad = "bad" if domain.bad else "partly resting"
    states = {Tone.BAD: bad, Tone.WARN: "at risk", Tone.GOOD: "healthy"}
    return "paused" if domain.paused else states.get(domain.tone, "unknown")


async def _bounces(domains: Iterable[str], context: CommandContext) -> dict[str, int]:
    """The bounces of the last 24 hours by domain; without those of which not all 24 hours are recorded."""
    since, counts = context.now() - BOUNCES_OF, {}
    for domain in domains:
        past = (await read_part(context.records.domain_past(context.workspace.name, domain, since))).value
        # Of a shorter time the count would be too low, and read as good news.
        if past and past.known_from and past.known_from <= since:
            counts[domain] = past.bounced
    return counts
