"""Runs commands, and carries out the answers to their questions; every face does it by these two functions."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from dataclasses import dataclass, replace

from shared.api.errors import OutreachError, Unreachable
from shared.api.pipeline import failed_attempts
from shared.commands import Invocation
from shared.commands.arguments import Arguments
from shared.commands.result import Act, Choice, Question, Result
from shared.commands.running.context import CommandContext
from shared.commands.running.outcome import NO_RECORDS, changes_of
from shared.commands.table import COMMANDS
from shared.commands.undo import UNDO, UndoChange
from shared.domain.card import Button, Card, Tone
from shared.records.audit import AuditEntry
from shared.records.records import RecordsUnavailable
from shared.settings import DEFAULT, UnknownWorkspace

SILENCE_SECONDS = 4.5
"""A person has an answer within ten seconds: after two looks at whether the service answers anything."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunCommand(Act):
    """Runs a command whose arguments are its whole meaning, after a face has asked about it."""

    arguments: Arguments

    @property
    def verb(self) -> str:
        return self.arguments.verb

    async def carry_out(self, context: CommandContext) -> Result:
        done = await COMMANDS[self.arguments.verb].run(self.arguments, context)
        return await done.choices[0].act.carry_out(context) if isinstance(done, Question) else done


async def run(invocation: Invocation, context: CommandContext) -> Result | Question:
    """Carry a command out, or ask first; what changes something, or fails at it, is in the audit.

    Raises `OutreachError`, `RecordsUnavailable` and, for a line that names another workspace than the context's,
    `UnknownWorkspace`; `error_card` turns them into cards.
    """
    asked, own = invocation.workspace, context.workspace.name
    if asked is not None and asked.casefold() != own.casefold():
        raise UnknownWorkspace(asked, known=[own])
    command, line = invocation.command, invocation.line or invocation.command.name
    if context.asks_always and invocation.changes and not command.asks:
        return _before(invocation)
    changes = invocation.changes
    doing = command.run(invocation.arguments, context)
    if command.asks or not changes:
        doing = _answered_in_time(doing, context)
    done = await _recorded(doing, line, changes=changes, context=context)
    if isinstance(done, Result):
        return _named(done, context, is_named=asked is not None)
    if done.asks or context.asks_always:
        named = _named(Result(card=done.card), context, is_named=asked is not None)
        return replace(done, line=line, card=named.card)
    return await carry_out(done.choices[0].act, context, line=line, is_named=asked is not None)


async def _answered_in_time(
    doing: Awaitable[Result | Question], context: CommandContext
) -> Result | Question:
    """What only reads, until it is done or the service has answered nothing for some seconds.

    Raises the true cause: the last failure of a request, or that there was no answer at all.
    """
    with failed_attempts() as failures:
        task = asyncio.ensure_future(doing)
        try:
            answered = -1
            while not (await asyncio.wait({task}, timeout=SILENCE_SECONDS))[0]:
                counts = context.client.counts
                now = counts.requests - counts.retried - counts.throttled
                if now == answered or failures:
                    raise failures[-1] if failures else Unreachable(cause="It doesn't answer.")
                answered = now
            return task.result()
        finally:
            task.cancel()


async def carry_out(act: Act, context: CommandContext, *, line: str = "", is_named: bool = False) -> Result:
    """Carry out the answer to a question, or what a button has as data; raises as `run` does."""
    done = await _recorded(act.carry_out(context), line or act.line, changes=True, context=context)
    assert isinstance(done, Result)
    return _named(done, context, is_named=is_named)


def _before(invocation: Invocation) -> Question:
    command = invocation.command
    card = Card(title=f"{command.summary}?", tone=Tone.WARN, text=(invocation.line,))
    act = RunCommand(arguments=invocation.arguments)
    return Question(
        card=card, choices=(Choice(label=command.name.capitalize(), act=act),), line=invocation.line
    )


async def _recorded(
    doing: Awaitable[Result | Question], line: str, *, changes: bool, context: CommandContext
) -> Result | Question:
    """What came of it, once it is in the audit, with the Undo of what was changed."""
    try:
        done = await doing
    except (OutreachError, RecordsUnavailable) as error:
        if changes:
            failed = Result(card=Card(title=""), audit=f"failed: {error}", effect="failed")
            await _write_audit(failed, line, context)
        raise
    if isinstance(done, Question) or not done.audit:
        return done
    number, problem = await _write_audit(done, line, context)
    card = done.card
    if problem:  # it is shown, and undoes nothing
        footer = " ".join(filter(None, (card.footer, f"Not in the audit log: {problem}")))
        return replace(done, card=replace(card, footer=footer))
    if not done.undoable:
        return done
    undo = Button(label=UNDO, action=UndoChange(change=number))
    return replace(done, card=replace(card, buttons=(undo, *card.buttons)))


async def _write_audit(result: Result, line: str, context: CommandContext) -> tuple[int, str]:
    """Write an entry of the audit; its number, or the reason why it isn't written."""
    entry = AuditEntry(
        at=context.now(),
        actor=context.actor,
        workspace=context.workspace.name,
        command=line,
        result=result.audit,
        effect=result.effect,
        sequences=result.sequences,
        reason=result.reason,
        undoable=result.undoable,
        undoes=result.undoes,
    )
    try:
        return await changes_of(context).record(entry), ""
    except RecordsUnavailable as error:
        return 0, str(error) or NO_RECORDS


def _named(result: Result, context: CommandContext, *, is_named: bool) -> Result:
    """The result with its workspace, where there are several."""
    card, own = result.card, context.workspace.name
    if is_named or own != DEFAULT:
        card = with_workspace(card, workspace=own)
        if context.settings is not None and len(context.settings.workspaces) > 1:
            footer = " · ".join(filter(None, (f"Workspace {own}", card.footer)))
            card = replace(card, footer=footer)
    return replace(result, card=card)


def with_workspace(card: Card, *, workspace: str) -> Card:
    """The buttons mean the workspace that the card is about, wherever and whenever they are pressed."""
    buttons = tuple(
        replace(button, workspace=workspace)
        if isinstance(button.action, Arguments | Act) and not button.workspace
        else button
        for button in card.buttons
    )
    return replace(card, buttons=buttons)
