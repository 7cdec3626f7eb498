"""Runs commands, and the acts that answer their questions: every face does it by one function, in a context."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable
from contextlib import aclosing, asynccontextmanager, suppress
from dataclasses import field, replace
from typing import TYPE_CHECKING

from shared.api.client import OutreachClient
from shared.api.errors import NoResponse, OutreachError, Unreachable
from shared.api.pipeline import failed_attempts
from shared.commands import Invocation, misused
from shared.commands.base import (
    Act,
    ArgumentError,
    Arguments,
    CommandContext,
    Done,
    Question,
    Result,
    Stop,
    ask,
)
from shared.commands.undo import UNDO, UndoChange
from shared.domain.card import Button, Card
from shared.records import AuditEntry, RecordsUnavailable
from shared.settings import DEFAULT, Settings, UnknownWorkspace, Workspace
from shared.storage.budget import SharedBudget, budget_key

if TYPE_CHECKING:
    import httpx


PATIENCE_SECONDS = 7.0
"""A person has an answer within ten seconds, also from a shell that starts on a busy machine."""


def setting_hint(argument: str) -> str:
    """Say how to give an argument of the client another value in the settings."""
    if argument == "api_key":
        return "Create a new key in the account settings and set OUTREACH_API_KEY."
    if argument == "base_url":
        return "If it has moved, set OUTREACH_BASE_URL to its new address."
    section, _, name = argument.removeprefix("fields.").partition(".")
    return f'Set its path in outreach.toml under [fields.{section}]: {name} = "path.to.it"'


@asynccontextmanager
async def open_client(
    settings: Settings,
    workspace: Workspace,
    *,
    transport: httpx.AsyncBaseTransport | None = None,
    look: bool = True,
    total_seconds: float = 45.0,
) -> AsyncIterator[OutreachClient]:
    """A client that shares its key's budget with every other process; closes both at the end.

    `total_seconds` bounds a call with its repetitions. `look`: read the state of the budget at once instead of with the first request.
    """
    key = workspace.api_key.get_secret_value()
    budget = SharedBudget(settings.budget_database, key=budget_key(key), rate=workspace.rate)
    async with (
        budget if look else aclosing(budget),
        OutreachClient(
            base_url=workspace.base_url,
            api_key=key,
            pacer=budget,
            fields={str(key): paths for key, paths in workspace.fields.items()},
            transport=transport,
            total_timeout=total_seconds,
            explain=setting_hint,
        ) as client,
    ):
        yield client


class RunCommand(Act):
    """Runs a command that asks nothing itself, after a face has asked about it."""

    arguments: Arguments = field(kw_only=False)

    async def run(self, context: CommandContext) -> Done:
        return await self.arguments.run(context)


async def run(asked: Invocation, context: CommandContext) -> Result | Question:
    """Carry a command or an act out, or ask first; what changes something, or fails at it, is in the audit.

    Raises `OutreachError`, `RecordsUnavailable`, `UsageError` and, for a line that names another workspace than the context's,
    `UnknownWorkspace`; `error_card` turns them into cards.
    """
    own = context.workspace.name
    if asked.workspace and asked.workspace.casefold() != own.casefold():
        raise UnknownWorkspace(asked.workspace, known=[own])
    command, line = asked.arguments, asked.line
    if context.asks_always and asked.changes and not command.asks:
        question = ask(f"{command.summary}?", line, label=command.verb.capitalize(), act=RunCommand(command))
        return replace(question, line=line)
    doing = command.run(context)
    # What changes something without asking is never cut off: it may have been carried out.
    if not isinstance(command, Act) and (command.asks or not asked.changes):
        doing = _answered_in_time(doing)
    try:
        done = await _recorded(doing, line, context, changes=asked.changes)
    except ArgumentError as error:  # of what only the context tells, such as the channel
        raise misused(type(command), error) from None
    if isinstance(done, Act):
        return await run(Invocation(arguments=done, line=line), context)
    return replace(done, line=line) if isinstance(done, Question) else done


async def _answered_in_time(doing: Awaitable[Done]) -> Done:
    """Wait for something that only reads, for each of its requests so long; one without an answer is told as the cause."""
    with failed_attempts(patience=PATIENCE_SECONDS) as made:
        with suppress(NoResponse):
            done = await doing
        if made.silent:
            raise Unreachable(endpoint=made.silent, cause=f"{made.silent} doesn't answer.")
        return done


async def _recorded(doing: Awaitable[Done], line: str, context: CommandContext, *, changes: bool) -> Done:
    """Write the result to the audit, and add the Undo of its changes."""
    records, workspace, failure = context.records, context.workspace.name, None
    try:
        done = await doing
    except Stop as stop:
        done = stop.result
    except (OutreachError, RecordsUnavailable) as error:
        if not changes:
            raise
        done, failure = Result(Card(""), audit=f"failed: {error}", effect="failed"), error
    if not isinstance(done, Result) or not done.audit:
        return done if isinstance(done, Act) else replace(done, card=_in_workspace(done.card, context))
    entry = AuditEntry(
        at=context.now(),
        actor=context.actor,
        workspace=workspace,
        command=line,
        result=done.audit,
        effect=done.effect,
        sequences=done.sequences,
        reason=done.reason,
        undoable=done.undoable,
        undoes=done.undoes,
    )
    number, card = 0, done.card
    try:
        number = await records.record(entry)
        if done.setting:  # earlier messages about it say from now on how it is
            await records.restate(workspace, done.setting, done.card.title, number=number)
    except RecordsUnavailable as error:
        if not number:  # it is shown, and undoes nothing
            footer = " ".join(filter(None, (card.footer, f"Not in the audit log: {error}")))
            card = replace(card, footer=footer)
    if failure:
        raise failure
    if number and done.undoable:
        card = replace(card, buttons=(Button(UNDO, UndoChange(change=number)), *card.buttons))
    return replace(done, number=number, card=_in_workspace(card, context))


def _in_workspace(card: Card, context: CommandContext) -> Card:
    """The card with its workspace, where there are several."""
    own, is_one = context.workspace.name, len(context.settings.workspaces) == 1
    if not is_one:
        card = replace(card, footer=" · ".join(filter(None, (f"Workspace {own}", card.footer))))
    return card if own == DEFAULT and is_one else with_workspace(card, workspace=own)


def with_workspace(card: Card, *, workspace: str) -> Card:
    """The buttons mean the workspace that the card is about, wherever and whenever they are pressed."""
    buttons = tuple(
        replace(button, workspace=workspace)
        if isinstance(button.action, Arguments) and not button.workspace
        else button
        for button in card.buttons
    )
    return replace(card, buttons=buttons)
