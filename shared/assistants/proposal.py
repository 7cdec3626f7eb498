"""What a person is asked when their assistant proposes a change that needs no question of its own."""

from __future__ import annotations

from dataclasses import replace

from shared.commands import Invocation, invocation
from shared.commands.arguments import OnSequence, clip
from shared.commands.resolve import Resolved
from shared.domain.card import Card, Fact, Tone
from shared.operations.context import CommandContext
from shared.operations.outcome import find_sequence


async def proposal(asked: Invocation, context: CommandContext) -> tuple[Invocation, Card]:
    """The line, in which a sequence stands by its id, so that what is confirmed is what is done; and the card."""
    arguments, facts = asked.arguments, []
    if isinstance(arguments, OnSequence) and arguments.target:
        found = await find_sequence(arguments.target, context=context)
        if isinstance(found, Resolved):
            arguments = replace(arguments, target=(found.sequence.id,))
            facts = [Fact(label="Sequence", value=clip(found.sequence.label))]
    line = invocation(arguments, workspace=context.workspace.name if asked.workspace else None)
    card = Card(
        title=f"Your assistant proposes: {asked.command.name}",
        tone=Tone.WARN,
        text=("Nothing has changed yet.",),
        facts=(*facts, Fact(label="Command", value=clip(line.line, length=500))),
    )
    return line, card
