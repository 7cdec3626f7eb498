"""Pauses or resumes all sequences, or those of a domain, in Slack: after confirmation, with one Undo."""

from __future__ import annotations

from dataclasses import replace

from bot.blockkit.actions import Cancel, Confirm
from bot.commands.confirmation_cards import CONFIRM_SECONDS, who_can_confirm
from bot.slack.permissions import Person
from bot.store import Store
from bot.store.alerts.changes import Question
from shared.commands import render
from shared.commands.arguments import ALL, OnSequences
from shared.commands.result import Result
from shared.domain.card import Button, Card, Tone
from shared.operations import bulk
from shared.operations.context import CommandContext
from shared.operations.outcome import need_records
from shared.operations.sequences import UNDO, end_problem
from shared.records.audit import AuditEntry

UNDO_SECONDS = 7 * 86_400.0


class BulkPause:
    """`ask` for confirmation, then `carry_out`; the dispatcher checks the confirmation."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def ask(self, arguments: OnSequences, person: Person, *, context: CommandContext) -> Card:
        """What would change, with confirm buttons."""
        touched = await bulk.find_touched(arguments, context)
        if problem := end_problem(arguments, context):
            return problem.card
        verb = arguments.verb
        if touched.nothing:
            return bulk.nothing_able(verb, touched).card
        buttons = []
        for word, chosen in touched.offers:
            nonce = await self._store.confirmations.ask(
                Question(
                    line=render(arguments),
                    person=person.id,
                    workspace=context.workspace.name,
                    names=touched.names(word),
                ),
                seconds=CONFIRM_SECONDS,
            )
            label = bulk.confirm_label(verb, touched, word)
            if chosen:
                label = f"{label} {len(chosen)}" if chosen[1:] else f"{verb.capitalize()} it"
            buttons.append(Button(label=label, action=Confirm(nonce=nonce), tone=Tone.BAD))
        return replace(
            bulk.question(arguments, touched, context=context),
            buttons=(*buttons, Button(label="Cancel", action=Cancel())),
            footer=who_can_confirm(person),
        )

    async def carry_out(
        self, question: Question, arguments: OnSequences, *, context: CommandContext
    ) -> Result:
        """Change exactly these sequences; the change can be undone once."""
        if problem := end_problem(arguments, context):  # it passed while the question stood
            return problem
        everything = arguments.scope == ALL and not question.since  # an Undo means only what it undoes
        tally = await bulk.change_each(arguments, question.names, context=context, everything=everything)
        result = bulk.result_of(arguments, tally, context=context)
        if not result.changed:
            return result
        entry = AuditEntry(
            at=context.now(),
            actor=context.actor,
            workspace=context.workspace.name,
            command=question.line or render(arguments),
            result=result.audit,
            effect=result.effect,
            sequences=result.sequences,
            reason=result.reason,
            undoable=result.undoable,
        )
        await need_records(context).record(entry)
        if result.undo is None:
            return result
        nonce = await self._store.confirmations.ask_undo(
            render(result.undo),
            tally.ids,
            workspace=context.workspace.name,
            person=context.actor.id,
            seconds=UNDO_SECONDS,
        )
        undo = Button(label=UNDO, action=Confirm(nonce=nonce, undo=True))
        return replace(result, card=replace(result.card, buttons=(undo,)))
