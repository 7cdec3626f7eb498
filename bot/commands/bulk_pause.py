"""Pauses or resumes all sequences, or those of a domain, in Slack: after confirmation, with one Undo."""

from __future__ import annotations

from dataclasses import replace

from bot.commands.confirmation_cards import CONFIRM_SECONDS, who_can_confirm
from bot.slack.permissions import Person
from bot.store import Store
from bot.store.alerts.undo import Question
from shared.commands import COMMANDS, Invocation, render
from shared.domain.card import Button, Card, Tone
from shared.domain.records import AuditEntry
from shared.operations import bulk
from shared.operations.bulk import ALL, Tally, scope
from shared.operations.context import CommandContext
from shared.operations.outcome import need_records
from shared.operations.sequences import end_problem

__all__ = ["UNDO_SECONDS", "BulkPause", "scope"]

UNDO_SECONDS = 7 * 86_400.0
_BACK = {"pause": "resume", "resume": "pause"}


class BulkPause:
    """`ask` for confirmation, then `carry_out`; the dispatcher checks the confirmation."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def ask(self, invocation: Invocation, person: Person, *, context: CommandContext) -> Card | None:
        """What would change, with confirm buttons; None if a sequence has exactly that name."""
        touched = await bulk.find_touched(invocation, context)
        if touched is None:
            return None
        if problem := end_problem(invocation, context):
            return problem.card
        verb = invocation.command.name
        if touched.nothing:
            return bulk.nothing_able(verb, domain=touched.domain)
        buttons = []
        for word, chosen in touched.offers:
            nonce = await self._store.confirmations.ask(
                Question(
                    line=render(invocation),
                    person=person.id,
                    workspace=context.workspace.name,
                    names=touched.names(word),
                ),
                seconds=CONFIRM_SECONDS,
            )
            label = bulk.confirm_label(verb, touched, word)
            if chosen:
                label = f"{label} {len(chosen)}" if chosen[1:] else f"{verb.capitalize()} it"
            buttons.append(Button(label=label, command=f"yes {nonce}", tone=Tone.BAD))
        return replace(
            bulk.question(invocation, touched, context=context),
            buttons=(*buttons, Button(label="Cancel", command="no")),
            footer=who_can_confirm(person),
            refused=True,
        )

    async def carry_out(self, question: Question, invocation: Invocation, *, context: CommandContext) -> Card:
        """Change exactly these sequences; the change can be undone once."""
        if problem := end_problem(invocation, context):  # it passed while the question stood
            return problem.card
        everything = scope(invocation) == ALL and not question.since  # an Undo means only what it undoes
        tally = await bulk.change_each(invocation, question.names, context=context, everything=everything)
        card = bulk.result_card(invocation, tally, context=context)
        if card.unchanged:
            return card
        entry = AuditEntry(
            at=context.now(),
            actor=context.actor,
            workspace=context.workspace.name,
            command=question.line or render(invocation),
            result=bulk.result(invocation, tally),
            effect=bulk.effect(invocation, tally),
            sequences=tally.touched,
        )
        await need_records(context).record(entry)
        buttons = await self._undo(invocation.command.name, tally, context=context)
        return replace(card, buttons=buttons)

    async def _undo(self, verb: str, tally: Tally, *, context: CommandContext) -> tuple[Button, ...]:
        if not tally.changed:
            return ()
        back = Invocation(command=COMMANDS[_BACK[verb]], values=_everything(_BACK[verb]))
        nonce = await self._store.confirmations.ask_undo(
            render(back),
            tally.ids,
            workspace=context.workspace.name,
            person=context.actor.id,
            seconds=UNDO_SECONDS,
        )
        return (Button(label="Undo", command=f"undo {nonce}"),)


def _everything(verb: str) -> dict[str, object]:
    target: dict[str, object] = {"target": (ALL,)}
    return {**target, "duration": None, "reason": ""} if verb == "pause" else target
