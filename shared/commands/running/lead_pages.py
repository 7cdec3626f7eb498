"""Leads: listed, looked up, added, removed."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from shared.api.errors import NotFound
from shared.api.models import AddResult, Lead, names_of
from shared.api.pace import Priority
from shared.api.values import fold
from shared.api.words import LEAD_STATUSES, LeadStatus
from shared.commands.base import Act, Choice, Problem, Question, Result, clip, did_you_mean, refusal
from shared.commands.leads import Add, Leads, Remove
from shared.commands.leads import Lead as LeadCommand
from shared.commands.resolve import Ambiguous, NoMatch, Resolved
from shared.commands.run import CommandContext, which_sequence
from shared.commands.running.lead_search import PAGE, Search, search
from shared.domain.card import Button, Card, Fact, Row, Table, Tone, columns
from shared.records.audit import Effect
from shared.records.records import RecordsUnavailable
from shared.records.replies import LeadReply
from shared.text.formats import plural, show_number, show_time
from shared.text.links import answer_link, lead_link
from shared.text.quotations import without_quotation

STANDARD = ("id", "email", "status", "first_name", "last_name", "company")
_KNOWN = {fold(name) for name in names_of(Lead)}
PLACED = frozenset({"sequenceid", "step", "createdat"})
"""Shown by name, or as a time."""
MOST_OTHER_FIELDS = 12
TONES = {
    "interested": Tone.GOOD,
    "replied": Tone.GOOD,
    "bounced": Tone.BAD,
    "unsubscribed": Tone.WARN,
    "active": Tone.INFO,
    "completed": Tone.INFO,
}


async def list_leads(arguments: Leads, context: CommandContext) -> Result:
    """`leads [SEQUENCE] [STATUS]`: the newest hundred, or `context.limit`."""
    status, sequence = arguments.status, None
    if arguments.target:
        found = await context.find_sequence(arguments.target)
        if not isinstance(found, Resolved):
            return _which(found, arguments)
        sequence = found.sequence
    shown, more = await _newest(context, sequence_id=sequence.id if sequence else None, status=status)
    of, noun = f" in {sequence.label}" if sequence else "", f"{status} lead" if status else "lead"
    return Result(
        card=Card(
            title=(show_number(len(shown), noun) if shown else f"No {plural(noun)}") + of,
            text=("Newest only.",) if more else (),
            table=lead_table(shown) if shown else None,
            footer="There are more. Export them all with `outreach export`." if more else "",
        ),
        rows=tuple(map(record_of, shown)),
    )


async def _newest(
    context: CommandContext, *, sequence_id: str | None, status: LeadStatus | None
) -> tuple[list[Lead], bool]:
    limit = context.limit or PAGE
    urgency = Priority.INTERACTIVE if limit <= PAGE else Priority.NORMAL
    shown: list[Lead] = []
    async for page in context.client.iter_pages(
        sequence_id=sequence_id, status=status, page_size=min(limit, PAGE), priority=urgency
    ):
        shown += page.items
        if len(shown) >= limit:
            return shown[:limit], bool(page.next_cursor) or len(shown) > limit
    return shown, False


def _which(found: Ambiguous | NoMatch, arguments: Leads) -> Result:
    """Which sequence; where none is near, a status may have been meant."""
    card = found.card(lambda name: replace(arguments, target=(name,)), changes=False)
    if isinstance(found, NoMatch) and not found.nearest:
        text = (*card.text, f"As a status: {did_you_mean(found.query, LEAD_STATUSES)}")
        card = replace(card, text=text)
    return Result(card=card, problem=Problem(text="no single sequence", argument="target"))


def lead_table(leads: Sequence[Lead]) -> Table:
    """Email, name, company, status and id of each."""
    rows = (
        Row(
            cells=(x.email, lead_name(x) or None, x.company, x.status, x.id),
            tone=TONES.get(x.status or "", Tone.UNKNOWN),
        )
        for x in leads
    )
    return Table(columns=columns("Email", "Name", "Company", "Status", "Id"), rows=tuple(rows))


def lead_name(lead: Lead) -> str:
    return " ".join(filter(None, (lead.first_name, lead.last_name)))


async def lead(arguments: LeadCommand, context: CommandContext) -> Result:
    """`lead EMAIL|NAME|ld_…`: the lead as the service has it, and the last reply as it was delivered."""
    who = arguments.who
    reply = await _last_reply(who, context) if "@" in who else None
    result = await search(
        who, context=context, sequence_id=await _sequence_id(reply, context), status=arguments.status
    )
    if len(result.found) > 1:
        return Result(
            card=Card(title=f"{len(result.found)} leads match “{clip(who)}”", table=lead_table(result.found)),
            rows=tuple(map(record_of, result.found)),
        )
    if not result.found:
        return await _only_replied(who, reply, result, context) if reply else _not_found(who, result)
    one = result.found[0]
    reply = reply or await _last_reply(one.email, context)
    return Result(
        card=Card(
            title=lead_name(one) or one.email or one.id,
            tone=TONES.get(one.status or "", Tone.UNKNOWN),
            facts=(
                *_known(one, subject=reply),
                *_reply_facts(reply),
                *await _place(one, reply, context),
                *_other_facts(one),
            ),
            quote=without_quotation(reply.text) if reply else "",
            buttons=(
                *await _links(one.email, reply, context),
                Button(label="Remove", action=Remove(who=one.id, status=one.status or ""), tone=Tone.BAD),
            ),
        ),
        rows=(record_of(one),),
    )


async def _last_reply(email: str | None, context: CommandContext) -> LeadReply | None:
    if context.records is None or not email:
        return None
    try:
        return await context.records.last_reply(context.workspace.name, email)
    except RecordsUnavailable:
        return None


async def _sequence_id(reply: LeadReply | None, context: CommandContext) -> str | None:
    """The id of the sequence that a reply names, where only one has that name."""
    if reply is None or not reply.sequence:
        return None
    found = await context.find_sequence((reply.sequence,))
    return found.sequence.id if isinstance(found, Resolved) else None


async def _only_replied(who: str, reply: LeadReply, result: Search, context: CommandContext) -> Result:
    return Result(
        card=Card(
            title=" at ".join(filter(None, (reply.lead or who, reply.company))),
            tone=Tone.UNKNOWN,
            text=(_looked_through(result),),
            facts=(Fact(label="Email", value=who, url=answer_link(who, reply.text)), *_reply_facts(reply)),
            quote=without_quotation(reply.text),
            buttons=await _links(who, reply, context),
        )
    )


async def _links(email: str | None, reply: LeadReply | None, context: CommandContext) -> tuple[Button, ...]:
    """To the alert's card and to the lead's own page, for faces that can lead there."""
    card = await context.permalink(reply.alert_id) if reply else ""
    template = context.settings.links.lead if context.settings else ""
    page = lead_link(template, email) if context.actor.face == "slack" else ""
    named = (("Open card", card), ("Open in CRM", page))
    return tuple(Button(label=label, url=url) for label, url in named if url)


def _not_found(who: str, result: Search) -> Result:
    return Result(
        card=Card(
            title=f"No lead matches “{clip(who)}”",
            tone=Tone.WARN if result.complete else Tone.UNKNOWN,
            text=(_looked_through(result),),
        ),
        problem=Problem(text="not found", argument="who"),
    )


def _looked_through(result: Search) -> str:
    if result.complete:
        return f"Searched all {result.looked_at:,} leads."
    lists = f"the newest of all, and of the {', '.join(result.lists[:-1])} and {result.lists[-1]} ones"
    return f"Searched {result.looked_at:,} leads: {lists}. The service doesn't offer a search."


def _known(lead: Lead, *, subject: LeadReply | None = None) -> tuple[Fact, ...]:
    known = (("Company", lead.company), ("Status", lead.status or "unknown"))
    link = answer_link(lead.email, subject.text if subject else "") if lead.email else ""
    address = (Fact(label="Email", value=lead.email, url=link),) if lead.email else ()
    return (*address, *(Fact(label=label, value=value) for label, value in known if value))


def _reply_facts(reply: LeadReply | None) -> tuple[Fact, ...]:
    if reply is None:
        return ()
    step = "" if reply.step is None else str(reply.step)
    named = (("Sequence", reply.sequence), ("Step", step), ("Reply", reply.status))
    when = Fact(label="Replied", value=f"{reply.received_at:%-d %b %H:%M} UTC", at=reply.received_at)
    return (*(Fact(label=label, value=value) for label, value in named if value), when)


def _other_facts(lead: Lead) -> tuple[Fact, ...]:
    return tuple(Fact(label=key, value=str(value)) for key, value in _others(lead.raw)[:MOST_OTHER_FIELDS])


async def _place(lead: Lead, reply: LeadReply | None, context: CommandContext) -> tuple[Fact, ...]:
    """The sequence by its name, the step, and since when, where the service tells and the reply doesn't."""
    told = {fold(key): value for key, value in lead.raw.items()}
    facts: list[Fact] = []
    sequence, step = told.get("sequenceid"), told.get("step")
    if isinstance(sequence, str) and not (reply and reply.sequence):
        found = await context.find_sequence((sequence,))
        facts.append(
            Fact(label="Sequence", value=found.sequence.label if isinstance(found, Resolved) else sequence)
        )
    if isinstance(step, int) and not (reply and reply.step is not None):
        facts.append(Fact(label="Step", value=str(step)))
    if added := _moment(told.get("createdat")):
        shown = show_time(added, now=context.now(), zone=context.zone)
        facts.append(Fact(label="Added", value=shown, at=added))
    return tuple(facts)


def _moment(value: object) -> datetime | None:
    """An ISO time with its zone."""
    try:
        found = datetime.fromisoformat(str(value))
    except ValueError:
        return None
    return found if found.tzinfo else None


def _others(raw: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """What the service tells besides, at the top or one level deeper: custom fields have no documented place."""
    deeper = [pair for value in raw.values() if isinstance(value, dict) for pair in value.items()]
    return [
        (key, value)
        for key, value in (*raw.items(), *deeper)
        if key not in STANDARD
        and fold(key) not in PLACED
        and isinstance(value, str | int | float)
        and value != ""
    ]


async def add(arguments: Add, context: CommandContext) -> Result:
    """`add EMAIL to SEQUENCE [field=value …]`."""
    found = await context.find_sequence(arguments.target)
    if not isinstance(found, Resolved):
        return which_sequence(found, arguments)
    result = await context.client.add_leads(
        found.sequence.id, [{"email": arguments.email, **arguments.fields}], priority=Priority.INTERACTIVE
    )
    return _added(arguments.email, result, label=found.sequence.label)


def _added(email: str, result: AddResult, *, label: str) -> Result:
    reasons = ", ".join(skip.reason or "no reason given" for skip in result.skipped)
    if result.added:
        button = Button(label="Remove", action=Remove(who=email))
        card = Card(title=f"Added {email} to {label}", tone=Tone.GOOD, buttons=(button,))
        return Result(card=card, rows=({"email": email},), audit=f"added to {label}")
    effect: Effect = ""
    problem = None
    if result.repeated:
        title = f"{email} may already be in {label}"
        note = "The connection was lost and the request was sent again. The first attempt may have added it."
        recorded = "uncertain: repeated"
    elif result.skipped:
        title, note = f"{email} wasn't added to {label}", f"The service skipped it: {reasons}."
        recorded, effect = f"refused: skipped: {reasons}", "refused"
        problem = Problem(text=f"skipped: {reasons}", argument="email")
    else:
        title, note = f"{email} was sent to {label}", "The service didn't confirm whether it was added."
        recorded = f"sent to {label}; the service didn't confirm whether it was added"
    return Result(
        card=Card(title=title, tone=Tone.WARN, text=(note,)), audit=recorded, effect=effect, problem=problem
    )


async def remove(arguments: Remove, context: CommandContext) -> Result | Question:
    """`remove EMAIL|ld_…`: asks first, then removes from all sequences."""
    who = arguments.who
    if context.unseen and "@" not in who:
        return Question(card=Card(title=f"Remove {clip(who)}?"), choices=(_choice(who, who),))
    result = await search(who, context=context, status=arguments.status)
    if len(result.found) > 1:
        return _which_lead(who, result.found)
    if not result.found and "@" in who:
        missing = _not_found(who, result)
        return refusal(missing.card, why="not found", argument="who") if context.unseen else missing
    return _question(result.found[0] if result.found else Lead(id=who), known=bool(result.found))


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveLead(Act):
    """Removes a lead from all sequences."""

    id: str
    label: str

    @property
    def verb(self) -> str:
        return "remove"

    async def carry_out(self, context: CommandContext) -> Result:
        label = clip(self.label)
        try:
            await context.client.remove_lead(self.id)
        except NotFound:
            title = f"{label} isn't in this workspace"
            card = Card(title=title, tone=Tone.WARN, text=("Nothing was changed.",))
            return refusal(card, why="not found", argument="who")
        text = ("It is no longer in any sequence. The reply history is kept.",)
        card = Card(title=f"Removed {label}", tone=Tone.GOOD, text=text)
        return Result(card=card, rows=({"id": self.id},), audit=f"removed {self.id}")


def _choice(lead_id: str, label: str) -> Choice:
    return Choice(label="Remove", act=RemoveLead(id=lead_id, label=label))


def _question(lead: Lead, *, known: bool) -> Question:
    unseen = () if known else ("Only the id is known: the lead isn't among the newest ones.",)
    text = "This removes the lead from all sequences and keeps the reply history. It can't be undone."
    card = Card(
        title=f"Remove {lead_name(lead) or lead.email or clip(lead.id)}?",
        tone=Tone.WARN,
        text=(text, *unseen),
        facts=(*_known(lead), *_other_facts(lead)) if known else (),
    )
    return Question(card=card, choices=(_choice(lead.id, lead.email or lead.id),))


def _which_lead(who: str, found: tuple[Lead, ...]) -> Result:
    buttons = tuple(
        Button(
            label=f"Remove {clip(x.id, length=40)}",
            action=Remove(who=x.id, status=x.status or ""),
            tone=Tone.BAD,
        )
        for x in found[:10]
    )
    card = Card(
        title=f"{len(found)} leads match “{clip(who)}”",
        tone=Tone.WARN,
        text=("Nothing was changed. Which one?",),
        table=lead_table(found),
        buttons=buttons,
    )
    return refusal(card, why="several leads", argument="who")


def record_of(lead: Lead) -> dict[str, Any]:
    """A lead as one flat record: the standard fields, then the others by their own names; nested ones without the names around them."""
    record: dict[str, Any] = {name: getattr(lead, name) for name in STANDARD}
    values = {value for value in record.values() if value is not None}
    for path, value in _leaves(lead.raw, ()):
        if fold(path[-1]) in _KNOWN and value in values:
            continue  # it is one of the standard fields, under the service's name for it
        name = path[-1] if path[-1] not in record else ".".join(path)
        if name not in record:
            record[name] = value
    return record


def _leaves(value: Mapping[str, Any], path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    for name, inner in value.items():
        if isinstance(inner, Mapping):
            yield from _leaves(inner, (*path, name))
        elif isinstance(inner, list):
            yield (*path, name), json.dumps(inner, ensure_ascii=False)
        else:
            yield (*path, name), inner
