"""The operations behind the commands: call the client, apply the rules, return a Card. Every front end calls `run`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace

from shared.api.errors import OutreachError
from shared.commands import Invocation, help_card, names_workspace
from shared.domain.card import Card
from shared.domain.records import RecordsUnavailable
from shared.operations import bulk, guard, inboxes, leads, replies, sequences, subscriptions
from shared.operations.context import CommandContext
from shared.operations.error_cards import error_card
from shared.operations.outcome import Outcome, confirming_command, failure, record_outcome, write_audit
from shared.operations.reports import overview, report, stats
from shared.settings import DEFAULT, UnknownWorkspace

__all__ = ["confirming_command", "error_card", "run", "with_workspace"]


async def _help(invocation: Invocation, context: CommandContext) -> Card:
    return help_card(invocation.values["command"], allowed=context.allows, face=context.actor.face)


async def _doctor(_: Invocation, __: CommandContext) -> Card:
    return Card(title="`outreach doctor` in a shell checks everything", refused=True)


READING: Mapping[str, Callable[[Invocation, CommandContext], Awaitable[Card]]] = {
    "help": _help,
    "status": overview.status,
    "sequences": sequences.list_sequences,
    "inboxes": inboxes.list_inboxes,
    "stats": stats.stats,
    "leads": leads.list_leads,
    "lead": leads.lead,
    "open": replies.open_replies,
    "subscriptions": subscriptions.subscriptions,
    "report": report.report,
    "audit": replies.audit,
    "whoami": replies.whoami,
    "doctor": _doctor,
}
CHANGING: Mapping[str, Callable[[Invocation, CommandContext], Awaitable[Outcome]]] = {
    "pause": bulk.pause,
    "resume": bulk.resume,
    "add": leads.add,
    "remove": leads.remove,
    "subscribe": subscriptions.subscribe,
    "unsubscribe": subscriptions.unsubscribe,
    "digest": subscriptions.digest,
    "guard": guard.guard,
}


async def run(invocation: Invocation, context: CommandContext) -> Card:
    """Carry a command out; what changes something, or fails at it, is in the audit.

    Raises `OutreachError`, `RecordsUnavailable` and, for a line that names another workspace than the context's,
    `UnknownWorkspace`; `error_card` turns them into cards.
    """
    asked, own = invocation.workspace, context.workspace.name
    if asked is not None and asked.casefold() != own.casefold():
        raise UnknownWorkspace(asked, known=[own])
    if invocation.command.name in READING:
        card = await READING[invocation.command.name](invocation, context)
    else:
        card = await _change(invocation, context)
    if asked is None and own == DEFAULT:
        return card
    card = with_workspace(card, workspace=own)
    if context.settings is None or len(context.settings.workspaces) == 1:
        return card
    return replace(card, footer=" · ".join(filter(None, (f"Workspace {own}", card.footer))))


async def _change(invocation: Invocation, context: CommandContext) -> Card:
    try:
        outcome = await CHANGING[invocation.command.name](invocation, context)
    except (OutreachError, RecordsUnavailable) as error:
        await write_audit(failure(error), invocation=invocation, context=context)
        raise
    return await record_outcome(outcome, invocation=invocation, context=context)


def with_workspace(card: Card, *, workspace: str) -> Card:
    """The buttons mean the workspace that the card is about, wherever and whenever they are pressed."""
    buttons = tuple(
        button
        if names_workspace(button.command)
        else replace(button, command=f"{button.command} @{workspace}")
        for button in card.buttons
    )
    return replace(card, buttons=buttons)
