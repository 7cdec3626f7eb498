"""Runs a permitted command, after confirmation if needed, and undoes it. Each confirmation and Undo counts once."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import replace

from bot.blockkit.actions import Cancel, Confirm
from bot.commands.access import Access
from bot.commands.answer import Answer
from bot.commands.bulk_pause import UNDO_SECONDS, BulkPause
from bot.commands.command_help import with_form
from bot.commands.confirmation_cards import CONFIRM_SECONDS, changed_since, not_confirmed, who_can_confirm
from bot.slack.permissions import Person
from bot.store import Store
from bot.store.alerts.changes import Question
from bot.store.alerts.confirmations import Answered, Verdict
from shared import commands, operations
from shared.commands import COMMANDS, Invocation
from shared.commands.arguments import Arguments, Confirmable, OnSequences
from shared.commands.table import Help
from shared.domain.card import Button, Card, Tone
from shared.domain.wall_clock import moment
from shared.operations.context import CommandContext
from shared.operations.sequences import UNDO
from shared.records.records import RecordsUnavailable
from shared.text.formats import show_time


class CommandRunner:
    """`run` a command; `confirm` a question or an Undo that was clicked."""

    def __init__(self, store: Store, access: Access, *, account_changed: Callable[[], None]) -> None:
        self._store, self._access, self._account_changed = store, access, account_changed
        self._bulk = BulkPause(store)

    async def run(self, invocation: Invocation, person: Person, *, context: CommandContext) -> Answer:
        arguments = invocation.arguments
        if isinstance(arguments, OnSequences) and arguments.scope:
            return Answer(card=await self._bulk.ask(arguments, person, context=context))
        if isinstance(arguments, Confirmable):  # in Slack only a button confirms, never a typed `--yes`
            invocation = replace(invocation, arguments=replace(arguments, confirmed=False))
        return await self._run(invocation, person, context=context)

    async def _run(self, invocation: Invocation, person: Person, *, context: CommandContext) -> Answer:
        result = await operations.run(invocation, context)
        card = result.card
        if result.question:
            return Answer(card=await self._ask_confirmation(card, result.question, person, context=context))
        match invocation.arguments:
            case Help(command=str(about)) if context.allows(COMMANDS[about]):
                card = with_form(card, about)
        if result.undo:
            card = await self._with_undo(card, result.undo, context)
        if result.changed:
            return self._changed_answer(card, person, context=context)
        return Answer(card=card, problem=result.problem)

    async def _with_undo(self, card: Card, undo: OnSequences, context: CommandContext) -> Card:
        """The card, with its Undo bound to this change: later changes are left as they are."""
        others = tuple(button for button in card.buttons if button.action != undo)
        try:
            nonce = await self._store.confirmations.ask_undo(
                _line(card, undo), undo.target,
                workspace=context.workspace.name, person=context.actor.id, seconds=UNDO_SECONDS,
            )  # fmt: skip
        except RecordsUnavailable:  # the change is made anyway
            return replace(card, buttons=others)
        button = Button(label=UNDO, action=Confirm(nonce=nonce, undo=True))
        return replace(card, buttons=(button, *others))

    def _changed_answer(self, card: Card, person: Person, *, context: CommandContext) -> Answer:
        self._account_changed()  # cards show what was changed
        return Answer(card=_signed(card, person), public=True, settles=True, workspace=context.workspace.name)

    async def _ask_confirmation(
        self, card: Card, yes: Arguments, person: Person, *, context: CommandContext
    ) -> Card:
        """A confirmation that is bound to the person and expires."""
        question = Question(line=_line(card, yes), person=person.id, workspace=context.workspace.name)
        nonce = await self._store.confirmations.ask(question, seconds=CONFIRM_SECONDS)
        buttons = tuple(
            replace(b, action=Confirm(nonce=nonce), workspace="", tone=Tone.BAD) if b.action == yes else b
            for b in card.buttons
        )
        footer = " ".join(filter(None, (card.footer, who_can_confirm(person))))
        return replace(card, buttons=(*buttons, Button(label="Cancel", action=Cancel())), footer=footer)

    async def confirm(self, nonce: str, person: Person, *, channel: str) -> Answer:
        """A confirmation or an Undo: checks the person's role again, and counts once."""
        on_card = await self._store.confirmations.look(nonce, person.id)
        if on_card.question is None or on_card.verdict is not Verdict.OPEN:
            context = self._access.context(None, person, channel=channel)
            return not_confirmed(on_card, now=context.now(), zone=context.zone)
        invocation = commands.parse(on_card.question.line)
        if not self._access.may(person, invocation.command, channel=channel):
            asked = replace(invocation, workspace=on_card.question.workspace, line=on_card.question.line)
            return await self._access.refuse(asked, person, channel=channel)
        context = self._access.context(on_card.question.workspace, person, channel=channel)
        counted = await self._store.confirmations.answer(nonce, person.id)
        if counted.question is None or counted.verdict is not Verdict.TAKEN:
            return not_confirmed(counted, now=context.now(), zone=context.zone)
        try:
            answer = await self._carry_out(counted, invocation, person, context=context)
        except Exception:
            if counted.question.since:
                await self._store.confirmations.give_back(nonce)  # an Undo that failed can be tried again
            raise
        with contextlib.suppress(RecordsUnavailable):
            await self._store.confirmations.carried_out(nonce, person.name)
        if not counted.question.since:
            return answer
        return await self._with_snooze(answer, nonce, person, context=context)

    async def _with_snooze(
        self, answer: Answer, nonce: str, person: Person, *, context: CommandContext
    ) -> Answer:
        """The answer to an Undo; undoing a guardrail's pause also snoozes the rule."""
        switch = await self._store.incidents.undone(nonce, person.name)
        if switch is None or switch.until is None:
            return answer
        end = moment(switch.until)
        until = show_time(end, now=context.now(), zone=context.zone)
        text = (*answer.card.text, f"Guardrail {switch.rule} is snoozed until {until}.")
        return replace(answer, card=replace(answer.card, text=text))

    async def _carry_out(
        self, counted: Answered, invocation: Invocation, person: Person, *, context: CommandContext
    ) -> Answer:
        question = counted.question
        assert question is not None
        context = replace(context, undoes=question.revisions)
        arguments = invocation.arguments
        if not isinstance(arguments, OnSequences) or not arguments.scope:
            return await self._run(invocation, person, context=context)
        left = tuple(name for name in question.names if name not in counted.moved)
        result = await self._bulk.carry_out(replace(question, names=left), arguments, context=context)
        kept = (
            (changed_since(len(counted.moved), counted.moved.values(), now=context.now(), zone=context.zone),)
            if counted.moved
            else ()
        )
        card = replace(result.card, text=(*result.card.text, *kept))
        if not result.changed:
            return Answer(card=card, settles=True)
        return self._changed_answer(card, person, context=context)


def _line(card: Card, arguments: Arguments) -> str:
    """Of the button that does this, which names the workspace where a line has to."""
    return next((one.line for one in card.buttons if one.action == arguments), arguments.line)


def _signed(card: Card, person: Person) -> Card:
    return replace(card, footer=" · ".join(filter(None, (card.footer, f"by @{person.name}"))))
