"""The operations behind the commands: call the client, apply the rules, return a Card. Every front end calls `run`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any, TypeVar

from shared.api.errors import OutreachError
from shared.commands import Invocation, channels, help_card
from shared.commands import arguments as given
from shared.commands.arguments import Arguments
from shared.commands.guard_arguments import Guard
from shared.commands.pauses import Pause
from shared.commands.periods import Replies, Report, Stats
from shared.commands.result import Problem, Result
from shared.commands.table import Help
from shared.domain.card import Card
from shared.operations import (
    absences,
    bulk,
    domains,
    guard,
    inboxes,
    leads,
    replies,
    sequences,
    undo,
)
from shared.operations.context import CommandContext
from shared.operations.error_cards import error_card
from shared.operations.outcome import failure, write_audit
from shared.operations.reports import overview, report, stats
from shared.operations.subscriptions import commands as subscriptions
from shared.records.records import RecordsUnavailable
from shared.settings import DEFAULT, UnknownWorkspace

__all__ = ["error_card", "run", "with_workspace"]


A = TypeVar("A", bound=Arguments)
Operation = Callable[[Any, CommandContext], Awaitable[Result]]


def _of(kind: type[A], act: Callable[[A, CommandContext], Awaitable[Result]]) -> tuple[type, Operation]:
    """An entry of the table; it has mypy compare what the function takes with its key."""
    return kind, act


async def _help(arguments: Help, context: CommandContext) -> Result:
    return Result(card=help_card(arguments.command, allowed=context.allows, face=context.actor.face))


async def _doctor(_: given.Doctor, __: CommandContext) -> Result:
    card = Card(title="`outreach doctor` in a shell checks everything")
    return Result(card=card, problem=Problem(text="in a shell only"))


OPERATIONS: Mapping[type, Operation] = dict(
    (
        _of(Help, _help),
        _of(given.Status, overview.status),
        _of(given.Sequences, sequences.list_sequences),
        _of(Pause, bulk.pause),
        _of(given.Resume, bulk.resume),
        _of(given.Inboxes, inboxes.list_inboxes),
        _of(given.Domains, inboxes.list_domains),
        _of(given.Domain, domains.domain),
        _of(Stats, stats.stats),
        _of(given.Leads, leads.list_leads),
        _of(given.Lead, leads.lead),
        _of(given.Add, leads.add),
        _of(given.Remove, leads.remove),
        _of(Replies, replies.replies),
        _of(channels.Subscribe, subscriptions.subscribe),
        _of(channels.Unsubscribe, subscriptions.unsubscribe),
        _of(channels.Subscriptions, subscriptions.subscriptions),
        _of(channels.Digest, subscriptions.digest),
        _of(Guard, guard.guard),
        _of(Report, report.report),
        _of(given.Undo, undo.undo),
        _of(given.Away, absences.away),
        _of(given.Back, absences.back),
        _of(given.Audit, replies.audit),
        _of(given.Whoami, replies.whoami),
        _of(given.Doctor, _doctor),
    )
)


async def run(invocation: Invocation, context: CommandContext) -> Result:
    """Carry a command out; what changes something, or fails at it, is in the audit.

    Raises `OutreachError`, `RecordsUnavailable` and, for a line that names another workspace than the context's,
    `UnknownWorkspace`; `error_card` turns them into cards.
    """
    asked, own = invocation.workspace, context.workspace.name
    if asked is not None and asked.casefold() != own.casefold():
        raise UnknownWorkspace(asked, known=[own])
    try:
        result = await OPERATIONS[type(invocation.arguments)](invocation.arguments, context)
    except (OutreachError, RecordsUnavailable) as error:
        if invocation.command.changes:
            await write_audit(failure(error), invocation=invocation, context=context)
        raise
    card = result.card
    if result.audit and (unwritten := await write_audit(result, invocation=invocation, context=context)):
        # It is shown, and undoes nothing.
        card = replace(
            card, footer=" ".join(filter(None, (card.footer, f"Not in the audit log: {unwritten}")))
        )
    if asked is not None or own != DEFAULT:
        card = with_workspace(card, workspace=own)
        if context.settings is not None and len(context.settings.workspaces) > 1:
            card = replace(card, footer=" · ".join(filter(None, (f"Workspace {own}", card.footer))))
    return replace(result, card=card)


def with_workspace(card: Card, *, workspace: str) -> Card:
    """The buttons mean the workspace that the card is about, wherever and whenever they are pressed."""
    buttons = tuple(
        replace(button, workspace=workspace)
        if isinstance(button.action, Arguments) and not button.workspace
        else button
        for button in card.buttons
    )
    return replace(card, buttons=buttons)
