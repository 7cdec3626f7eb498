"""`undo`: takes back the person's own last pause or resumption."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from datetime import timedelta

from shared.api.pace import Priority
from shared.commands import COMMANDS
from shared.commands.arguments import ALL, OnSequences, Resume, Undo, clip
from shared.commands.pauses import Pause
from shared.commands.result import Problem, Result
from shared.domain.card import Button, Card, Tone
from shared.operations import bulk
from shared.operations.context import CommandContext
from shared.operations.outcome import need_records, refused
from shared.operations.replies import who_did
from shared.records.audit import AuditEntry, Undoable
from shared.text.formats import show_number, show_time

WITHIN = timedelta(minutes=10)
NAMED = 5


async def undo(arguments: Undo, context: CommandContext) -> Result:
    """`undo`: asks first, naming what it does; what somebody changed since is left as it is."""
    since = context.now() - WITHIN
    records, workspace = need_records(context), context.workspace.name
    found = await records.last_undoable(workspace, context.actor, since, number=arguments.change)
    if found is None:
        return _nothing(arguments)
    back: OnSequences = Resume(target=(ALL,)) if found.entry.effect == "paused" else Pause(target=(ALL,))
    if not context.allows(COMMANDS[back.verb]):
        return refused(
            f"You don't have permission to {back.verb} sequences here",
            "Nothing was changed.",
            why="role",
        )
    names = [name for name in found.entry.undoable if name not in found.moved]
    if not names:
        return _moved_on(found, context)
    if not (arguments.confirmed or context.confirmed):
        return await _question(found, back, names, context)
    tally = await bulk.change_each(back, names, context=replace(context, undoes=found.revisions))
    result = bulk.result_of(back, tally, context=context)
    kept = (_changed_since(found, context),) if found.moved else ()
    return replace(result, card=replace(result.card, text=(*result.card.text, *kept)), undo=None)


def _nothing(arguments: Undo) -> Result:
    text = (
        "You paused and resumed nothing here in the last 10 minutes.",
        "`audit` shows all changes. Buttons on the bot's messages undo older ones.",
    )
    title = "It's too late to undo this" if arguments.change else "Nothing to undo"
    return Result(card=Card(title=title, tone=Tone.WARN, text=text), problem=Problem(text="nothing to undo"))


def _moved_on(found: Undoable, context: CommandContext) -> Result:
    return refused(
        "Not undone: it was changed later",
        _changed_since(found, context),
        "Nothing was changed.",
        why="it was changed later",
    )


def _changed_since(found: Undoable, context: CommandContext) -> str:
    last = max(found.moved.values(), key=lambda one: one.at)
    count = show_number(len(found.moved), "sequence")
    return (
        f"{count} changed later and left as is. Last change: {who_did(last.actor)} at {_at(last, context)}: "
        f"{clip(last.result, length=200)}"
    )


async def _question(
    found: Undoable, back: OnSequences, names: Collection[str], context: CommandContext
) -> Result:
    """Which change of when, and what undoing it does."""
    listed = await context.client.list_sequences(priority=Priority.INTERACTIVE)
    labels = [clip(one.label, length=40) for one in listed if one.id in names] or list(names)
    more = f" and {len(labels) - NAMED} more" if len(labels) > NAMED else ""
    does = f"This {back.verb}s {', '.join(labels[:NAMED])}{more}."
    yes = Undo(change=found.number, confirmed=True)
    kept = (_changed_since(found, context),) if found.moved else ()
    card = Card(
        title=f"Undo “{clip(found.entry.command)}” of {_at(found.entry, context)}?",
        tone=Tone.WARN,
        text=(does, *kept),
        buttons=(
            Button(
                label=f"{back.verb.capitalize()} {show_number(len(labels), 'sequence')}",
                action=yes,
                tone=Tone.BAD,
            ),
        ),
    )
    return Result(card=card, question=yes)


def _at(entry: AuditEntry, context: CommandContext) -> str:
    return show_time(entry.at, now=context.now(), zone=context.zone)
