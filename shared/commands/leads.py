"""`leads`, `lead`, `add` and `remove`. The service has no search, so a lead is looked for where it likely is, then in all."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from shared.api.words import LEAD_STATUSES, LeadStatus
from shared.commands.base import (
    NOTHING_CHANGED,
    Act,
    ArgumentError,
    Arguments,
    Changing,
    CommandContext,
    OnSequence,
    Question,
    Result,
    Words,
    ask,
    is_email,
    need_target,
    none_left,
    read_part,
    refusal,
    refused,
    texts,
    which,
)
from shared.commands.sequences import resolve_sequence
from shared.domain.card import Button, Card, Fact, Row, Table, Tone, columns, warning, when
from shared.text.formats import clip, clip_name, plural, show_number
from shared.text.tokenize import quote

if TYPE_CHECKING:
    from shared.api import models
    from shared.domain.alert import Alert

STANDARD = ("id", "email", "status", "first_name", "last_name", "company")
MOST_OTHER_FIELDS, MOST_BUTTONS = 12, 10
PAGE = 100
MOST_PAGES_FIRST = 20
"""Pages of a search that goes before polls; a longer one must not delay other requests."""
PAGES_LIKELY = 5
"""Pages of each list that likely has the lead, before or after all leads are gone through."""
FINAL: tuple[LeadStatus, ...] = ("interested", "replied", "bounced", "unsubscribed", "completed")
"""Statuses with which a lead may be old; of the active ones, the newest have been gone through."""
TONES = {
    "interested": Tone.GOOD,
    "replied": Tone.GOOD,
    "bounced": Tone.BAD,
    "unsubscribed": Tone.WARN,
    "active": Tone.INFO,
    "completed": Tone.INFO,
}


class Leads(OnSequence):
    """List the newest leads, filtered by sequence or status."""

    verb = "leads"
    usage = "[SEQUENCE] [STATUS]"
    own_fields = ("id", "status")
    newest_only = True
    examples = ("leads interested", "leads sq_1 replied")

    status: LeadStatus | None = None

    @classmethod
    def read(cls, words: Words) -> Self:
        status = next((one for one in LEAD_STATUSES if words and words[-1].is_one_of(one)), None)
        return cls(target=texts(words[:-1] if status else words), status=status)

    def write(self) -> Iterable[str]:
        return (*super().write(), *filter(None, (self.status,)))

    async def run(self, context: CommandContext) -> Result:
        """The newest hundred, or as many as the context says."""
        from shared.api.pace import Priority

        status, sequence, place = self.status, None, ""
        if self.target:
            match = resolve_sequence(await context.sequences(), self.target)
            if not match.only:
                card = match.card(lambda one: replace(self, target=(one,)), changes=False)
                return Result(card, problem="no single sequence")
            sequence, place = match.only.id, f" in {match.only.label}"
        # A person waits for one page; a longer list must not delay other people's answers.
        limit, more = context.limit or PAGE, False
        leads: list[models.Lead] = []
        urgency = Priority.INTERACTIVE if limit <= PAGE else Priority.NORMAL
        async for page in context.client.iter_pages(
            sequence_id=sequence, status=status, page_size=min(limit, PAGE), priority=urgency
        ):
            leads += page.items
            if len(leads) >= limit:
                more = bool(page.next_cursor) or len(leads) > limit
                break
        leads = leads[:limit]
        noun = f"{status} lead" if status else "lead"
        count = show_number(len(leads), noun) if leads else f"No {plural(noun)}"
        footer = "There are more. Export them all with `outreach export`." if more else ""
        title = f"{f'Newest {count}' if more else count}{place}"
        return Result(Card(title, table=lead_table(leads), footer=footer), rows=[*map(record_of, leads)])


class OnLead(Arguments):
    """The arguments of a command about one lead."""

    who: str
    """An address, an id, or the words of a name."""

    @classmethod
    def read(cls, words: Words) -> Self:
        if not words or not words[0].text.strip():
            raise ArgumentError("Which lead?", hint="Enter an email address or an id (ld_…).")
        none_left(words[1:])
        return cls(who=words[0].text)


class Lead(OnLead):
    """Show a lead and its last reply, by email, name or id."""

    verb = "lead"
    usage = "EMAIL|NAME|ld_…"
    own_fields = ("id", "status")
    examples = ("lead ann@acme.com", "lead Ada Lovelace", "lead ld_1")

    @classmethod
    def read(cls, words: Words) -> Self:
        is_name = words[1:] and "@" not in words[0].text
        return cls(who=" ".join(texts(words))) if is_name else super().read(words)

    async def run(self, context: CommandContext) -> Result:
        """The lead as the service has it, and the last reply as it was delivered."""
        from shared.text.links import answer_link, lead_link
        from shared.text.quotations import without_quotation

        who = self.who
        result = await search(who, context)
        if len(result.leads) > 1:
            return Result(_several(who, result.leads, Lead), rows=[*map(record_of, result.leads)])
        lead = result.leads[0] if result.leads else None
        email = (lead.email if lead else who if "@" in who else "") or ""
        reply: Alert | None = None
        if email:
            reply = (await read_part(context.records.last_reply(context.workspace.name, email))).value
        # A lead that isn't listed any more may still have written: its reply is shown all the same.
        if lead is None and reply is None:
            return _not_found(who, result)
        words = (reply.event.reply if reply else None) or ""
        facts = [Fact("Email", email, url=answer_link(email, words))] if email else []
        facts += _own_facts(lead) if lead else ()
        links = {}
        if reply:
            links["Open card"] = await context.permalink(reply.id)
            event = reply.event
            told = {
                "Sequence": event.sequence,
                "Step": str(event.step or ""),
                "Reply": reply.status or "unclaimed",
            }
            facts += [Fact(label, value) for label, value in told.items() if value]
            facts.append(when("Replied", reply.received))
        if context.actor.face == "slack":  # faces that can lead to a page
            links["Open in CRM"] = lead_link(context.settings.links.lead, email)
        buttons = [Button(label, url=url) for label, url in links.items() if url]
        title, tone = who, Tone.UNKNOWN
        if lead:
            title, tone = lead_name(lead) or lead.email or lead.id, TONES.get(lead.status or "", Tone.UNKNOWN)
            facts += _other_facts(lead)
            buttons.append(Button("Remove", Remove(who=lead.id), tone=Tone.BAD))
        elif reply:
            title = " at ".join(filter(None, (reply.event.lead.name or who, reply.event.lead.company)))
        text = () if lead else (result.searched,)
        card = Card(title, tone=tone, text=text, facts=facts, quote=without_quotation(words), buttons=buttons)
        return Result(card, rows=(record_of(lead),) if lead else ())


class Remove(OnLead, Changing):
    """Remove a lead from all sequences, after confirmation."""

    verb = "remove"
    usage = "EMAIL|ld_…"
    own_fields = ("id",)
    asks = True
    examples = ("remove ann@acme.com", "remove ld_1")

    async def run(self, context: CommandContext) -> Result | Question:
        """Ask first, with what is known of the lead."""
        who, is_address = self.who, "@" in self.who
        if context.unseen and not is_address:
            return _question(who, who)
        result = await search(who, context)
        if len(result.leads) > 1:
            return refusal(_several(who, result.leads, Remove), why="several leads")
        if result.leads:
            (one,) = result.leads
            email = [Fact("Email", one.email)] if one.email else []
            question = _question(one.id, one.email or one.id, name=lead_name(one))
            facts = (*email, *_own_facts(one), *_other_facts(one))
            return replace(question, card=replace(question.card, facts=facts))
        if is_address:
            return _not_found(who, result)
        return _question(who, who, "Only the id is known: the lead isn't among the newest ones.")


class Add(OnSequence, Changing):
    """Add a lead to a sequence."""

    verb = "add"
    usage = "EMAIL to SEQUENCE [field=value …]"
    examples = ("add ann@acme.com to sq_1 first_name=Ann company=Acme",)

    email: str
    fields: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def read(cls, words: Words) -> Self:
        if not words or not is_email(words[0].text):
            given = f"“{clip(words[0].text)}” isn't an email address." if words else ""
            raise ArgumentError(given or "Which address, and which sequence?")
        rest = words[2:] if words[1:] and words[1].is_one_of("to") else words[1:]
        fields = {word.key: word.value for word in rest if word.key}
        if "email" in fields:
            raise ArgumentError("The address is already given.", hint="Remove email=…")
        target = need_target(tuple(word for word in rest if not word.key))
        return cls(email=words[0].text, target=target, fields=fields)

    def write(self) -> Iterable[str]:
        fields = (f"{key}={_quoted(value)}" for key, value in self.fields.items())
        return (quote(self.email), "to", *map(_quoted, self.target), *fields)

    async def run(self, context: CommandContext) -> Result:
        from shared.api.pace import Priority

        match = resolve_sequence(await context.sequences(), self.target)
        if not match.only:
            return match.refusal(self)
        email, label = self.email, match.only.label
        lead = {"email": email, **self.fields}
        result = await context.client.add_leads(match.only.id, [lead], priority=Priority.INTERACTIVE)
        if result.added:
            button = Button("Remove", Remove(who=email))
            card = Card(f"Added {email} to {label}", tone=Tone.GOOD, buttons=(button,))
            return Result(card, rows=({"email": email},), audit=f"added to {label}")
        # After a repetition, a duplicate may be the one that the first attempt added.
        if result.skipped and not result.repeated:
            reasons = ", ".join(skip.reason or "no reason given" for skip in result.skipped)
            note, why = f"The service skipped it: {reasons}.", f"skipped: {reasons}"
            return refused(f"{email} wasn't added to {label}", note, why=why)
        note = "The service didn't confirm whether it was added."
        if result.repeated:
            note = (
                "The connection was lost and the request was sent again. The first attempt may have added it."
            )
        return Result(warning(f"{email} may already be in {label}", note), audit=f"uncertain: {note}")


def _quoted(text: str) -> str:
    """Always quoted, so that a word with `=` isn't read as a field."""
    plain = quote(text)
    return plain if plain.startswith('"') else f'"{plain}"'


# -- `leads`


def lead_table(leads: Sequence[models.Lead]) -> Table:
    rows = [
        Row(
            (lead.email, lead_name(lead) or None, lead.company, lead.status, lead.id),
            tone=TONES.get(lead.status or "", Tone.UNKNOWN),
        )
        for lead in leads
    ]
    return Table(columns("Email", "Name", "Company", "Status", "Id"), rows)


def lead_name(lead: models.Lead) -> str:
    return " ".join(filter(None, (lead.first_name, lead.last_name)))


# -- looking for a lead


class Search(NamedTuple):
    """The leads that were found, and what was searched."""

    leads: Sequence[models.Lead]
    searched: str
    complete: bool = False
    """All leads were searched."""


async def search(who: str, context: CommandContext) -> Search:
    """Look for an address, an id or a name; ends with the page that has it.

    The interested leads come first, then the newest of all, and where these aren't all, the newest of each status.
    """
    from shared.api.pace import Priority

    seen: set[str] = set()
    for status in (FINAL[0], None, *FINAL[1:]):
        left = PAGES_LIKELY if status else context.pages_searched
        urgency = Priority.NORMAL if left > MOST_PAGES_FIRST else Priority.INTERACTIVE
        async for page in context.client.iter_pages(status=status, page_size=PAGE, priority=urgency):
            left -= 1
            seen.update(lead.id for lead in page.items)
            context.progress(len(seen))
            complete = not status and page.next_cursor is None
            leads = tuple(lead for lead in page.items if _is(lead, who))
            if leads or complete:
                return Search(leads, f"Searched all {len(seen):,} leads.", complete)
            if not left:
                break
    newest = "the newest of all and of each status"
    return Search((), f"Searched {len(seen):,} leads: {newest}. The service doesn't offer a search.")


def _is(lead: models.Lead, who: str) -> bool:
    if lead.id == who or (lead.email or "").casefold() == who.casefold():
        return True
    words, names = who.casefold().split(), lead_name(lead).casefold().split()
    begun = (any(name.startswith(word) for name in names) for word in words)
    return "@" not in who and bool(words) and all(begun)


def _not_found(who: str, result: Search) -> Result:
    card = which("lead", who, 0, result.searched)
    card = replace(card, tone=card.tone if result.complete else Tone.UNKNOWN)
    return Result(card, problem="not found")


def _several(who: str, leads: Sequence[models.Lead], action: type[OnLead]) -> Card:
    """The question which of them is meant."""
    verb = action.verb.capitalize()
    ids = [lead.id for lead in leads[:MOST_BUTTONS]]
    buttons = [Button(f"{verb} {clip_name(name)}", action(who=name)) for name in ids]
    return which("lead", who, len(leads), table=lead_table(leads), buttons=buttons)


# -- `lead`


def _own_facts(lead: models.Lead) -> list[Fact]:
    company = [Fact("Company", lead.company)] if lead.company else []
    return [*company, Fact("Status", lead.status or "unknown")]


def _other_facts(lead: models.Lead) -> list[Fact]:
    """The other fields that the service sends, wherever: custom fields have no documented place."""
    others = {name: value for name, value in record_of(lead).items() if name not in STANDARD}
    told = [
        Fact(name, str(value))
        for name, value in others.items()
        if isinstance(value, str | int | float) and value != ""
    ]
    return told[:MOST_OTHER_FIELDS]


def record_of(lead: models.Lead) -> dict[str, Any]:
    """A lead as one flat record: the standard fields, then the others by their own names."""
    from shared.api.models import Lead as Model
    from shared.api.models import names_of

    known = names_of(Model)
    record: dict[str, Any] = {name: getattr(lead, name) for name in STANDARD}
    values = {value for value in record.values() if value is not None}
    for path, value in _leaves(lead.raw, ()):
        if path[-1] in known and value in values:
            continue  # it is one of the standard fields, under the service's name for it
        name = path[-1] if path[-1] not in record else ".".join(path)
        record.setdefault(name, value)
    return record


def _leaves(value: Mapping[str, Any], path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    """The values at any depth, each with the names that lead to it."""
    import json

    for name, inner in value.items():
        if isinstance(inner, Mapping):
            yield from _leaves(inner, (*path, name))
        else:
            listed = isinstance(inner, list)
            yield (*path, name), json.dumps(inner, ensure_ascii=False) if listed else inner


# -- `add` and `remove`


class RemoveLead(Act):
    """Removes a lead from all sequences."""

    verb = "remove"
    id: str
    label: str

    async def run(self, context: CommandContext) -> Result:
        from shared.api.errors import NotFound

        label = clip(self.label)
        try:
            await context.client.remove_lead(self.id)
        except NotFound:
            title = f"{label} isn't in this workspace"
            return refused(title, NOTHING_CHANGED, why="not found")
        text = ("It is no longer in any sequence. The reply history is kept.",)
        card = Card(f"Removed {label}", tone=Tone.GOOD, text=text)
        return Result(card, rows=({"id": self.id},), audit=f"removed {self.id}")


def _question(lead_id: str, label: str, *notes: str, name: str = "") -> Question:
    does = "This removes the lead from all sequences and keeps the reply history. It can't be undone."
    act = RemoveLead(id=lead_id, label=label)
    return ask(f"Remove {name or clip(label)}?", does, *notes, label="Remove", act=act)
