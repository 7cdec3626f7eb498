"""Pauses or resumes all sequences, or those of a domain, after confirmation."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence as Sequences
from dataclasses import dataclass, field, replace
from datetime import timedelta

from shared.api.errors import OutreachError
from shared.api.http.rate_limit import Priority
from shared.api.models import Sequence
from shared.commands import Invocation, render
from shared.commands.arguments import clip
from shared.domain.card import Button, Card, Tone
from shared.domain.records import Effect, RecordsUnavailable
from shared.operations import sequences
from shared.operations.context import CommandContext
from shared.operations.outcome import Outcome, need_records
from shared.operations.sequences import due_at_of, pause_one, resume_one, sequence_table
from shared.text.formats import show_number, show_time

ALL, DOMAIN = "all", "domain:"
LOOK_BACK = timedelta(days=30)
AT_ONCE = 5
SHOWN = 15
STATUS = {"pause": "active", "resume": "paused"}
DONE = {"pause": "paused", "resume": "active again"}


@dataclass(slots=True, kw_only=True)
class Tally:
    """The sequences by result."""

    changed: list[Sequence] = field(default_factory=list)
    already: int = 0
    gone: int = 0
    failed: list[str] = field(default_factory=list)

    @property
    def ids(self) -> tuple[str, ...]:
        """Of those that were changed."""
        return tuple(one.id for one in self.changed)


@dataclass(frozen=True, slots=True, kw_only=True)
class Touched:
    """What a line means: the sequences that can be changed, and those of them that were seen on the domain."""

    able: tuple[Sequence, ...]
    """None where all those on the domain are as the command would make them."""
    seen: tuple[Sequence, ...] = ()
    domain: str = ""

    @property
    def offers(self) -> tuple[tuple[str, tuple[Sequence, ...]], ...]:
        """The choices offered; the first is what the line says."""
        if not self.domain:
            return (("all", self.able),)
        these = (("these", self.seen),) if self.seen else ()
        return these if len(self.seen) == len(self.able) else (*these, ("all", self.able))


def scope(invocation: Invocation) -> str:
    """`all`, `domain:acme.com`, or nothing: the line means one sequence."""
    target: Sequences[str] = invocation.values.get("target") or ()
    text = target[0].lower() if len(target) == 1 and invocation.command.name in STATUS else ""
    return text if text == ALL or (text.startswith(DOMAIN) and len(text) > len(DOMAIN)) else ""


async def find_touched(invocation: Invocation, context: CommandContext) -> Touched | None:
    """What the line would touch; None: a sequence bears that very name. Raises `OutreachError`, `RecordsUnavailable`."""
    wanted = scope(invocation)
    known = await context.client.list_sequences(priority=Priority.INTERACTIVE)
    if any(wanted == (one.name or "").lower() for one in known):
        return None
    able = tuple(one for one in known if one.status == STATUS[invocation.command.name])
    if wanted == ALL or not able:
        return Touched(able=able)
    domain = wanted.removeprefix(DOMAIN)
    names = await need_records(context).domain_sequences(
        context.workspace.name, domain, context.now() - LOOK_BACK
    )
    folded = {name.casefold() for name in names}
    on_domain = [one for one in known if one.label.casefold() in folded]
    seen = tuple(one for one in on_domain if one in able)
    return Touched(able=able if seen or not on_domain else (), seen=seen, domain=domain)


async def pause(invocation: Invocation, context: CommandContext) -> Outcome:
    """`pause SEQUENCE`, `pause all`, `pause domain:acme.com`."""
    return await _many(invocation, context) or await sequences.pause(invocation, context)


async def resume(invocation: Invocation, context: CommandContext) -> Outcome:
    """`resume SEQUENCE`, `resume all`, `resume domain:acme.com`."""
    return await _many(invocation, context) or await sequences.resume(invocation, context)


async def _many(invocation: Invocation, context: CommandContext) -> Outcome | None:
    """Ask about several, or change them once that is confirmed; None: the line means one."""
    touched = await find_touched(invocation, context) if scope(invocation) else None
    if touched is None:
        return None
    if not touched.able:
        return Outcome(card=nothing_able(invocation.command.name, domain=touched.domain))
    word, chosen = touched.offers[0]
    if touched.domain and word == "all":
        verb = invocation.command.name
        text = (*explanation(verb, touched), f"To {verb} every sequence: `{verb} all`.")
        return Outcome(card=replace(question(invocation, touched), text=text, refused=True))
    if not (invocation.confirmed or context.confirmed):
        line = render(replace(invocation, values={**invocation.values, "yes": True}))
        yes = Button(label=f"{invocation.command.name.capitalize()} {word}", command=line, tone=Tone.BAD)
        return Outcome(card=replace(question(invocation, touched), buttons=(yes,)))
    tally = await change_each(invocation, [one.id for one in chosen], context=context)
    card = result_card(invocation, tally, context=context)
    if not (tally.changed or tally.failed):
        return Outcome(card=card)
    return Outcome(
        card=card, result=result(invocation, tally), effect=effect(invocation, tally), sequences=tally.ids
    )


def nothing_able(verb: str, *, domain: str = "") -> Card:
    """There is none to change, or none of those that were seen on the domain."""
    if domain:
        title = f"No {STATUS[verb]} sequence is known to send from {domain}"
        return Card(title=title, text=("Nothing was changed.",), unchanged=True)
    return Card(title=f"No {STATUS[verb]} sequences", text=("Nothing was changed.",), refused=True)


def question(invocation: Invocation, touched: Touched) -> Card:
    """What would be touched, without its buttons."""
    verb, (word, shown) = invocation.command.name, touched.offers[0]
    return Card(
        title=_title(verb, shown, domain=touched.domain, named=word == "these"),
        tone=Tone.WARN,
        text=explanation(verb, touched),
        table=replace(sequence_table(list(shown[:SHOWN])), total=len(shown)),
    )


async def change_each(invocation: Invocation, ids: Sequences[str], *, context: CommandContext) -> Tally:
    """Pause or resume exactly these."""
    listed = await context.client.list_sequences(priority=Priority.INTERACTIVE)
    known = {one.id: one for one in listed}
    verb, due_at = invocation.command.name, due_at_of(invocation, context)
    tally, turns = Tally(), asyncio.Semaphore(AT_ONCE)
    reason = str(invocation.values.get("reason") or "")

    async def change(sequence: Sequence) -> None:
        if sequence.status != STATUS[verb]:
            tally.already += 1
            return
        async with turns:
            try:
                if verb == "resume":
                    await resume_one(sequence, context=context)
                else:
                    await pause_one(sequence, due_at=due_at, reason=reason, context=context)
            except (OutreachError, RecordsUnavailable) as error:
                why = error.message if isinstance(error, OutreachError) else str(error)
                failed[sequence.id] = f"{clip(sequence.label, length=40)}: {why}"
            else:
                changed.add(sequence.id)

    changed: set[str] = set()
    failed: dict[str, str] = {}
    tally.gone = sum(name not in known for name in ids)
    await asyncio.gather(*(change(known[name]) for name in ids if name in known))
    tally.changed = [known[name] for name in ids if name in changed]
    tally.failed = [failed[name] for name in ids if name in failed]
    return tally


def result(invocation: Invocation, tally: Tally) -> str:
    """For the audit: which were changed."""
    changed = ", ".join(tally.ids)
    return f"{show_number(len(tally.changed), 'sequence')} {DONE[invocation.command.name]}: {changed}"


def effect(invocation: Invocation, tally: Tally) -> Effect:
    if not tally.changed:
        return "failed"
    return "paused" if invocation.command.name == "pause" else "resumed"


def result_card(invocation: Invocation, tally: Tally, *, context: CommandContext) -> Card:
    """The result."""
    verb, due_at = invocation.command.name, due_at_of(invocation, context)
    if not (tally.changed or tally.failed):
        return Card(title=f"Nothing left to {verb}", text=_leftovers(tally, verb), unchanged=True)
    shown = due_at and tally.changed
    until = f" until {show_time(due_at, now=context.now(), zone=context.zone)}" if due_at and shown else ""
    reason = str(invocation.values.get("reason") or "")
    text = (_names(tally.changed), reason and f"Reason: {reason}", *_leftovers(tally, verb))
    return Card(
        title=_result_title(verb, tally) + until,
        tone=Tone.WARN if tally.failed else Tone.GOOD,
        text=tuple(filter(None, text)),
        data=tuple(
            {"id": one.id, "name": one.name, "status": DONE[verb].split()[0]} for one in tally.changed
        ),
    )


def _title(verb: str, touched: Sequences[Sequence], *, domain: str, named: bool) -> str:
    count = show_number(len(touched), f"{STATUS[verb]} sequence")
    if not domain:
        return f"{verb.capitalize()} {count}?"
    return (
        f"{verb.capitalize()} {count} that used {clip(domain)}?"
        if named
        else f"Which sequences send from {clip(domain)}?"
    )


def explanation(verb: str, touched: Touched) -> tuple[str, ...]:
    """What the change does, and how the sequences were found."""
    touches = "They stop sending until you resume them. Replies still arrive."
    does = touches if verb == "pause" else "They continue sending where they stopped."
    if not touched.domain:
        return (does,)
    unknown = "The service doesn't list the sequences of a domain."
    if touched.seen:
        return (f"{unknown} These used it in the last 30 days. Others may use it too.", does)
    return (f"{unknown} None used it in the last 30 days.",)


def _result_title(verb: str, tally: Tally) -> str:
    if not tally.changed:
        return f"Couldn't {verb} {show_number(len(tally.failed), 'sequence')}"
    return f"{show_number(len(tally.changed), 'sequence')} {'is' if len(tally.changed) == 1 else 'are'} {DONE[verb]}"


def _names(changed: list[Sequence]) -> str:
    names = ", ".join(clip(change.label, length=40) for change in changed[:SHOWN])
    return f"{names} and {len(changed) - SHOWN} more" if len(changed) > SHOWN else names


def _leftovers(tally: Tally, verb: str) -> tuple[str, ...]:
    already = f"{tally.already} unchanged." if tally.already else ""
    failed = [f"Not {DONE[verb].split()[0]}: {one}" for one in tally.failed[:5]]
    more = f"and {len(tally.failed) - 5} more" if len(tally.failed) > 5 else ""
    gone = (
        f"{show_number(tally.gone, 'sequence')} no longer {'exists' if tally.gone == 1 else 'exist'}."
        if tally.gone
        else ""
    )
    return tuple(filter(None, (already, gone, *failed, more)))
