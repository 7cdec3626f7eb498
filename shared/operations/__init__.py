"""The operations behind the commands: call the client, apply the rules, return a Card. Every front end calls `run`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any, TypeVar

from shared.api.errors import OutreachError
from shared.commands import Invocation, channels, help_card
from shared.commands import arguments as given
from shared.commands.arguments import Arguments
from shared.commands.guard_arguments import Guard
from shared.commands.pauses import Pause
from shared.commands.periods import Report, Stats
from shared.commands.table import Help
from shared.domain.card import Card
from shared.domain.records import RecordsUnavailable
from shared.operations import bulk, guard, inboxes, leads, replies, sequences, subscriptions
from shared.operations.context import CommandContext
from shared.operations.error_cards import error_card
from shared.operations.outcome import Outcome, confirming_command, failure, record_outcome, write_audit
from shared.operations.reports import overview, report, stats
from shared.settings import DEFAULT, UnknownWorkspace

__all__ = ["confirming_command", "error_card", "run", "with_workspace"]


A = TypeVar("A", bound=Arguments)
R = TypeVar("R", Card, Outcome)
Operation = Callable[[Any, CommandContext], Awaitable[R]]


def _of(
    kind: type[A], act: Callable[[A, CommandContext], Awaitable[R]]
) -> tuple[type[Arguments], Operation[R]]:
    """An entry of the tables; it has mypy compare what the function takes with its key."""
    return kind, act


async def _help(arguments: Help, context: CommandContext) -> Card:
    return help_card(arguments.command, allowed=context.allows, face=context.actor.face)


async def _doctor(_: given.Doctor, __: CommandContext) -> Card:
    return Card(title="`outreach doctor` in a shell checks everything", refused=True)


READING = dict(
    (
        _of(Help, _help),
        _of(given.Status, overview.status),
        _of(given.Sequences, sequences.list_sequences),
        _of(given.Inboxes, inboxes.list_inboxes),
        _of(Stats, stats.stats),
        _of(given.Leads, leads.list_leads),
        _of(given.Lead, leads.lead),
        _of(given.Open, replies.open_replies),
        _of(channels.Subscriptions, subscriptions.subscriptions),
        _of(Report, report.report),
        _of(given.Audit, replies.audit),
        _of(given.Whoami, replies.whoami),
        _of(given.Doctor, _doctor),
    )
)
CHANGING = dict(
    (
        _of(Pause, bulk.pause),
        _of(given.Resume, bulk.resume),
        _of(given.Add, leads.add),
        _of(given.Remove, leads.remove),
        _of(channels.Subscribe, subscriptions.subscribe),
        _of(channels.Unsubscribe, subscriptions.unsubscribe),
        _of(channels.Digest, subscriptions.digest),
        _of(Guard, guard.guard),
    )
)


async def run(invocation: Invocation, context: CommandContext) -> Card:
    """Carry a command out; what changes something, or fails at it, is in the audit.

    Raises `OutreachError`, `RecordsUnavailable` and, for a line that names another workspace than the context's,
    `UnknownWorkspace`; `error_card` turns them into cards.
    """
    asked, own = invocation.workspace, context.workspace.name
    if asked is not None and asked.casefold() != own.casefold():
        raise UnknownWorkspace(asked, known=[own])
    read = READING.get(type(invocation.arguments))
    card = await (read(invocation.arguments, context) if read else _change(invocation, context))
    if asked is None and own == DEFAULT:
        return card
    card = with_workspace(card, workspace=own)
    if context.settings is None or len(context.settings.workspaces) == 1:
        return card
    return replace(card, footer=" · ".join(filter(None, (f"Workspace {own}", card.footer))))


async def _change(invocation: Invocation, context: CommandContext) -> Card:
    try:
        outcome = await CHANGING[type(invocation.arguments)](invocation.arguments, context)
    except (OutreachError, RecordsUnavailable) as error:
        await write_audit(failure(error), invocation=invocation, context=context)
        raise
    return await record_outcome(outcome, invocation=invocation, context=context)


def with_workspace(card: Card, *, workspace: str) -> Card:
    """The buttons mean the workspace that the card is about, wherever and whenever they are pressed."""
    buttons = tuple(
        replace(button, workspace=workspace)
        if isinstance(button.action, Arguments) and not button.workspace
        else button
        for button in card.buttons
    )
    return replace(card, buttons=buttons)
