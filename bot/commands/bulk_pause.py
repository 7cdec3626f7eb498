"""All sequences at once, or those of a domain: asked first with what it touches, done once, undone once."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence as Sequences_
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from bot.slack.permissions import Person
from bot.store import Store
from bot.store.alerts.confirmations import Question
from shared.api.errors import OutreachError
from shared.api.http.rate_limit import Priority
from shared.api.models import Sequence
from shared.commands import COMMANDS, Invocation, render
from shared.commands.arguments import clip
from shared.domain.card import Button, Card, Tone
from shared.domain.records import AuditEntry, RecordsUnavailable
from shared.operations.context import CommandContext
from shared.operations.outcome import need_records
from shared.operations.sequences import pause_one, resume_one, sequence_table
from shared.text.formats import show_number, show_time

ALL, DOMAIN = "all", "domain:"
CONFIRM_SECONDS, UNDO_SECONDS = 600.0, 7 * 86_400.0
LOOK_BACK = timedelta(days=30)
AT_ONCE = 5
SHOWN = 15
_STATUS = {"pause": "active", "resume": "paused"}
_BACK = {"pause": "resume", "resume": "pause"}
_DONE = {"pause": "paused", "resume": "active again"}


@dataclass(slots=True, kw_only=True)
class Tally:
    """What became of each sequence."""

    changed: list[Sequence] = field(default_factory=list)
    already: int = 0
    gone: int = 0
    failed: list[str] = field(default_factory=list)


def scope(invocation: Invocation) -> str:
    """`all`, `domain:acme.com`, or nothing: the line means one sequence."""
    target: Sequences_[str] = invocation.values.get("target") or ()
    target_text = target[0].lower() if len(target) == 1 and invocation.command.name in _STATUS else ""
    return (
        target_text
        if target_text == ALL or (target_text.startswith(DOMAIN) and len(target_text) > len(DOMAIN))
        else ""
    )


class BulkPause:
    """`ask` before, `carry_out` after; the answer in between is somebody else's business."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def ask(self, invocation: Invocation, person: Person, *, context: CommandContext) -> Card | None:
        """What would be touched, and the buttons that do it; None: a sequence bears that very name."""
        verb, wanted = invocation.command.name, scope(invocation)
        known = await context.client.list_sequences(priority=Priority.INTERACTIVE)
        if any(wanted == (change.name or "").lower() for change in known):
            return None
        able = [change for change in known if change.status == _STATUS[verb]]
        if not able:
            return Card(
                title=f"No sequence is {_STATUS[verb]}", text=(f"There is nothing to {verb}.",), refused=True
            )
        if wanted == ALL:
            return await self._question(invocation, person, context=context, offers=[("all", able)])
        return await self._of_domain(invocation, person, context=context, able=able)

    async def _of_domain(
        self, invocation: Invocation, person: Person, *, context: CommandContext, able: list[Sequence]
    ) -> Card:
        domain = scope(invocation).removeprefix(DOMAIN)
        since = (context.now() - LOOK_BACK).timestamp()
        _, names = await self._store.subjects.domain_events(context.workspace.name, domain, since=since)
        seen = {name.casefold() for name in names}
        named = [change for change in able if change.label.casefold() in seen]
        offers = [("these", named)] if named else []
        if len(named) < len(able):
            offers.append(("all", able))
        return await self._question(invocation, person, context=context, offers=offers, domain=domain)

    async def _question(
        self,
        invocation: Invocation,
        person: Person,
        *,
        context: CommandContext,
        offers: Sequences_[tuple[str, list[Sequence]]],
        domain: str = "",
    ) -> Card:
        verb = invocation.command.name
        buttons = []
        for word, touched in offers:
            nonce = await self._store.confirmations.ask(
                Question(
                    line=render(invocation),
                    person=person.id,
                    workspace=context.workspace.name,
                    names=tuple(change.id for change in touched),
                ),
                seconds=CONFIRM_SECONDS,
            )
            label = (
                f"{verb.capitalize()} {word} {len(touched)}"
                if len(touched) > 1
                else f"{verb.capitalize()} it"
            )
            buttons.append(Button(label=label, command=f"yes {nonce}", tone=Tone.BAD))
        shown = offers[0][1]
        return Card(
            title=_title(verb, shown, domain=domain, named=offers[0][0] == "these"),
            tone=Tone.WARN,
            text=_explanation(verb, domain=domain, named=offers[0][0] == "these"),
            table=replace(sequence_table(shown[:SHOWN]), total=len(shown)),
            buttons=(*buttons, Button(label="Cancel", command="no")),
            footer=f"Only @{person.name} can confirm, once, within {CONFIRM_SECONDS / 60:.0f} minutes.",
            refused=True,
        )

    async def carry_out(self, question: Question, invocation: Invocation, *, context: CommandContext) -> Card:
        """Do it to exactly these sequences; what changed can be undone once."""
        verb = invocation.command.name
        duration: timedelta | None = invocation.values.get("duration")
        due_at = context.now() + duration if duration and verb == "pause" else None
        tally = await self._each(verb, question.names, due_at=due_at, invocation=invocation, context=context)
        if not (tally.changed or tally.failed):
            return Card(title=f"Nothing was left to {verb}", text=_leftovers(tally, verb), unchanged=True)
        result = f"{show_number(len(tally.changed), 'sequence')} {_DONE[verb]}"
        await self._write(
            question, invocation, f"{result}: {', '.join(s.id for s in tally.changed)}", context=context
        )
        until = f" until {show_time(due_at, now=context.now())}" if due_at and tally.changed else ""
        reason = str(invocation.values.get("reason") or "")
        target_text = (_names(tally.changed), reason and f"Reason: {reason}", *_leftovers(tally, verb))
        return Card(
            title=_result_title(verb, tally) + until,
            tone=Tone.WARN if tally.failed else Tone.GOOD,
            text=tuple(filter(None, target_text)),
            buttons=await self._undo(verb, tally, context=context),
        )

    async def _each(
        self,
        verb: str,
        ids: Sequences_[str],
        *,
        due_at: datetime | None,
        invocation: Invocation,
        context: CommandContext,
    ) -> Tally:
        known = {
            change.id: change for change in await context.client.list_sequences(priority=Priority.INTERACTIVE)
        }
        tally, turns = Tally(), asyncio.Semaphore(AT_ONCE)
        reason = str(invocation.values.get("reason") or "")

        async def change(sequence: Sequence) -> None:
            if sequence.status != _STATUS[verb]:
                tally.already += 1
                return
            async with turns:
                try:
                    if verb == "resume":
                        await resume_one(sequence, context=context)
                    else:
                        await pause_one(sequence, due_at=due_at, reason=reason, context=context)
                except (OutreachError, RecordsUnavailable) as error:
                    tally.failed.append(f"{clip(sequence.label, length=40)}: {error}")
                else:
                    tally.changed.append(sequence)

        tally.gone = sum(name not in known for name in ids)
        await asyncio.gather(*(change(known[name]) for name in ids if name in known))
        return tally

    async def _write(
        self, question: Question, invocation: Invocation, result: str, *, context: CommandContext
    ) -> None:
        entry = AuditEntry(
            at=context.now(),
            actor=context.actor,
            workspace=context.workspace.name,
            command=question.line or render(invocation),
            result=result,
        )
        await need_records(context).record(entry)

    async def _undo(self, verb: str, tally: Tally, *, context: CommandContext) -> tuple[Button, ...]:
        if not tally.changed:
            return ()
        back = Invocation(command=COMMANDS[_BACK[verb]], values=_everything(_BACK[verb]))
        names = tuple(change.id for change in tally.changed)
        nonce = await self._store.confirmations.ask_undo(
            render(back),
            names,
            workspace=context.workspace.name,
            person=context.actor.id,
            seconds=UNDO_SECONDS,
        )
        return (Button(label="Undo", command=f"undo {nonce}"),)


def _everything(verb: str) -> dict[str, object]:
    target: dict[str, object] = {"target": (ALL,)}
    return {**target, "duration": None, "reason": ""} if verb == "pause" else target


def _title(verb: str, touched: list[Sequence], *, domain: str, named: bool) -> str:
    count = show_number(len(touched), f"{_STATUS[verb]} sequence")
    if not domain:
        return f"{verb.capitalize()} {count}?"
    return (
        f"{verb.capitalize()} {count} seen on {clip(domain)}?"
        if named
        else f"Which sequences send from {clip(domain)}?"
    )


def _explanation(verb: str, *, domain: str, named: bool) -> tuple[str, ...]:
    touches = "Nothing more is sent from them until they are resumed; replies still come in."
    does = touches if verb == "pause" else "They go on sending where they stopped."
    if not domain:
        return (does,)
    unknown = "The service does not tell which sequences send from a domain."
    if named:
        return (f"{unknown} These were seen there in the last 30 days; others may send from it, too.", does)
    return (f"{unknown} None was seen there in the last 30 days, so it is all or none.", does)


def _result_title(verb: str, tally: Tally) -> str:
    if not tally.changed:
        return f"No sequence could be {_DONE[verb].removesuffix(' again')}"
    return f"{show_number(len(tally.changed), 'sequence')} {'is' if len(tally.changed) == 1 else 'are'} {_DONE[verb]}"


def _names(changed: list[Sequence]) -> str:
    names = ", ".join(clip(change.label, length=40) for change in changed[:SHOWN])
    return f"{names} and {len(changed) - SHOWN} more" if len(changed) > SHOWN else names


def _leftovers(tally: Tally, verb: str) -> tuple[str, ...]:
    already = f"{tally.already} needed nothing." if tally.already else ""
    failed = f"Not {_DONE[verb]}: {'; '.join(tally.failed[:5])}" if tally.failed else ""
    more = f"and {len(tally.failed) - 5} more" if len(tally.failed) > 5 else ""
    gone = (
        f"{show_number(tally.gone, 'sequence')} of them {'is' if tally.gone == 1 else 'are'} gone."
        if tally.gone
        else ""
    )
    return tuple(filter(None, (already, gone, failed, more)))
