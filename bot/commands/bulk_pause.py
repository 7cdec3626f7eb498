"""Pauses or resumes all sequences, or those of a domain, in Slack: after confirmation, with one Undo."""

from __future__ import annotations

from dataclasses import replace

from bot.blockkit.actions import Cancel, Confirm
from bot.commands.confirmation_cards import CONFIRM_SECONDS, who_can_confirm
from bot.slack.permissions import Person
from bot.store import Store
from bot.store.alerts.undo import Question
from shared.commands import render
from shared.commands.arguments import ALL, OnSequences, Resume
from shared.commands.pauses import Pause
from shared.domain.card import Button, Card, Tone
from shared.domain.records import AuditEntry
from shared.operations import bulk
from shared.operations.bulk import Tally
from shared.operations.context import CommandContext
from shared.operations.outcome import need_records
from shared.operations.sequences import end_problem

UNDO_SECONDS = 7 * 86_400.0


class BulkPause:
    """`ask` for confirmation, then `carry_out`; the dispatcher checks the confirmation."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def ask(self, arguments: OnSequences, person: Person, *, context: CommandContext) -> Card | None:
        """What would change, with confirm buttons; None if a sequence has exactly that name."""
        touched = await bulk.find_touched(arguments, context)
        if touched is None:
            return None
        if problem := end_problem(arguments, context):
            return problem.card
        verb = arguments.verb
        if touched.nothing:
            return bulk.nothing_able(verb, domain=touched.domain)
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
            refused=True,
        )

    async def carry_out(self, question: Question, arguments: OnSequences, *, context: CommandContext) -> Card:
        """Change exactly these sequences; the change can be undone once."""
        if problem := end_problem(arguments, context):  # it passed while the question stood
            return problem.card
        everything = arguments.scope == ALL and not question.since  # an Undo means only what it undoes
        tally = await bulk.change_each(arguments, question.names, context=context, everything=everything)
        card = bulk.result_card(arguments, tally, context=context)
        if card.unchanged:
            return card
        entry = AuditEntry(
            at=context.now(),
            actor=context.actor,
            workspace=context.workspace.name,
            command=question.line or render(arguments),
            result=bulk.result(arguments, tally),
            effect=bulk.effect(arguments, tally),
            sequences=tally.touched,
        )
        await need_records(context).record(entry)
        buttons = await self._undo(arguments.verb, tally, context=context)
        return replace(card, buttons=buttons)

    async def _undo(self, verb: str, tally: Tally, *, context: CommandContext) -> tuple[Button, ...]:
        if not tally.changed:
            return ()
        back = Resume(target=(ALL,)) if verb == "pause" else Pause(target=(ALL,))
        nonce = await self._store.confirmations.ask_undo(
            render(back),
            tally.ids,
            workspace=context.workspace.name,
            person=context.actor.id,
            seconds=UNDO_SECONDS,
        )
        return (Button(label="Undo", action=Confirm(nonce=nonce, undo=True)),)
