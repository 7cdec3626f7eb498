"""Runs a permitted command in Slack: draws its question, and carries out an answer to it or an Undo, each once."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Callable
from dataclasses import replace

from bot.blockkit.actions import Cancel, Confirm, Perform
from bot.commands.access import Access
from bot.commands.answer import Answer
from bot.commands.command_help import with_form
from bot.slack.permissions import Person
from shared.commands import COMMANDS, Invocation
from shared.commands.base import Act, Question, Result
from shared.commands.errors import error_card
from shared.commands.help import Help
from shared.commands.run import CommandContext, carry_out, read_question, run, write_question
from shared.domain.card import Button, Card, Tone
from shared.records.records import RecordsUnavailable
from shared.store import Store
from shared.store.audit import Verdict

CONFIRM_SECONDS = 600.0
RESULT_WITHIN = 10.0
"""Seconds that a second tap waits for what the first one comes to."""
LOOK_EVERY = 0.2


class CommandRunner:
    """`run` a command, or what a `click` carries out."""

    def __init__(self, store: Store, access: Access, *, account_changed: Callable[[], None]) -> None:
        self._store, self._access, self._account_changed = store, access, account_changed

    async def run(self, invocation: Invocation, person: Person, *, context: CommandContext) -> Answer:
        done = await run(invocation, context)
        if isinstance(done, Question):
            return await self._ask(done, person, context=context)
        match invocation.arguments:
            case Help(command=str(about)) if about in COMMANDS and context.allows(COMMANDS[about]):
                done = replace(done, card=with_form(done.card, about))
        return await self._answer(done, person, context=context)

    async def _answer(self, result: Result, person: Person, *, context: CommandContext) -> Answer:
        if not result.changed:
            return Answer(card=result.card, problem=result.problem)
        self._account_changed()  # cards show what was changed
        if result.undoes and await self._store.repaints.shows(result.undoes):
            told = not result.card.text  # what was left as it is, the message doesn't say
            return Answer(card=result.card, edited=told, settles=True, workspace=context.workspace.name)
        by, workspace = f"by @{person.name}", context.workspace.name
        return Answer(
            card=result.card, by=by, public=True, settles=True, workspace=workspace, setting=result.setting
        )

    async def _ask(self, question: Question, person: Person, *, context: CommandContext) -> Answer:
        """A question that is bound to the person and expires."""
        nonce = await self._store.confirmations.ask(
            write_question(question),
            person=person.id,
            workspace=context.workspace.name,
            seconds=CONFIRM_SECONDS,
        )
        buttons = tuple(
            Button(label=choice.label, action=Confirm(nonce=nonce, choice=number), tone=Tone.BAD)
            for number, choice in enumerate(question.choices)
        )
        whose = f"Only @{person.name} can confirm this, within {CONFIRM_SECONDS / 60:.0f} minutes."
        card = question.card
        footer = " ".join(filter(None, (card.footer, whose)))
        no = Button(label=question.no, action=Cancel())
        return Answer(card=replace(card, buttons=(*buttons, no), footer=footer))

    async def click(self, asked: Confirm | Perform, person: Person, *, channel: str) -> Answer:
        """Carry out what a button has as data: the answer to a question, or an Undo."""
        if isinstance(asked, Confirm):
            return await self._confirm(asked, person, channel=channel)
        act, line = asked.act, asked.act.line
        if refusal := await self._refusal(act, line, asked.workspace, person, channel=channel):
            return refusal
        context = self._access.context(asked.workspace, person, channel=channel)
        return await self._answer(await carry_out(act, context), person, context=context)

    async def _confirm(self, asked: Confirm, person: Person, *, channel: str) -> Answer:
        """Carry out the answer to a question: the person's role is checked again, and it counts once."""
        kept = self._store.confirmations
        found = await kept.look(asked.nonce, person.id)
        if found.verdict is Verdict.GIVEN:
            return await self._given(asked.nonce, person)
        if found.verdict is not Verdict.OPEN:
            return Answer(card=_NOT_CONFIRMED[found.verdict], settles=found.verdict is Verdict.LATE)
        try:
            line, acts = read_question(found.data)
        except ValueError:  # it was asked by another version
            return Answer(card=_NOT_CONFIRMED[Verdict.UNKNOWN], settles=True)
        act = acts[asked.choice]
        if refusal := await self._refusal(act, line, found.workspace, person, channel=channel):
            return refusal
        if not await kept.take(asked.nonce):
            return await self._given(asked.nonce, person)
        context = self._access.context(found.workspace, person, channel=channel)
        try:
            result = await carry_out(act, context, line=line)
        except Exception as error:
            await self._settle(asked.nonce, error_card(error))
            raise
        await self._settle(asked.nonce, result.card)
        return replace(await self._answer(result, person, context=context), settles=True)

    async def _refusal(
        self, act: Act, line: str, workspace: str | None, person: Person, *, channel: str
    ) -> Answer | None:
        command = COMMANDS[act.verb]
        if self._access.may(person, command, channel=channel):
            return None
        return await self._access.refuse(command, line, workspace, person, channel=channel)

    async def _settle(self, nonce: str, card: Card) -> None:
        with contextlib.suppress(RecordsUnavailable):
            result = json.dumps({"title": card.title, "text": card.text}, ensure_ascii=False)
            await self._store.confirmations.settle(nonce, result)

    async def _given(self, nonce: str, person: Person) -> Answer:
        """The result of an answer that was given already, once there is one."""
        for _ in range(round(RESULT_WITHIN / LOOK_EVERY)):
            found = await self._store.confirmations.look(nonce, person.id)
            if found.result:
                kept = json.loads(found.result)
                return Answer(card=Card(title=kept["title"], text=tuple(kept["text"])), settles=True)
            await asyncio.sleep(LOOK_EVERY)
        return Answer(card=_UNDER_WAY)


_NOT_CONFIRMED = {
    Verdict.LATE: Card(
        title="This confirmation has expired",
        tone=Tone.WARN,
        text=("Nothing was changed. Run the command again.",),
    ),
    Verdict.NOT_YOURS: Card(
        title="Only the person who ran this command can confirm it",
        tone=Tone.WARN,
        text=("Run the command yourself.",),
    ),
    Verdict.UNKNOWN: Card(
        title="This confirmation no longer exists", tone=Tone.WARN, text=("Run the command again.",)
    ),
}
_UNDER_WAY = Card(title="This is still being carried out", text=("`audit` will show what was done.",))
