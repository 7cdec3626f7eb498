"""A misspelled command, offered again with the sequence that it names."""

from __future__ import annotations

from dataclasses import replace

from shared.commands import Invocation, invocation, near_miss
from shared.commands.arguments import OnSequence, OnSequences
from shared.commands.resolve import Resolved
from shared.commands.running.context import CommandContext
from shared.commands.running.outcome import find_sequence
from shared.domain.card import Card


async def resolve_near_miss(card: Card, meant: Invocation, context: CommandContext) -> Card:
    """The card of a near miss whose button names the one sequence that its words fit, by its id.

    Where none or several fit, the button runs the words as they were typed, and the command asks which is meant.
    Raises `OutreachError`.
    """
    arguments = meant.arguments
    if not isinstance(arguments, OnSequence) or not arguments.target:
        return card
    if isinstance(arguments, OnSequences) and arguments.scope:
        return card
    found = await find_sequence(arguments.target, context=context)
    if not isinstance(found, Resolved):
        return card
    named = replace(arguments, target=(found.sequence.id,))
    # The id is the first word of the line that could be one: what follows it is as it was typed.
    shown = named.line.replace(found.sequence.id, found.sequence.label, 1)
    return near_miss(card.title, invocation(named, workspace=meant.workspace), shown=shown)
