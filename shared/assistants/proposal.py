"""What a person is asked when their assistant proposes a change that needs no question of its own."""

from __future__ import annotations

from dataclasses import replace

from shared.commands import Invocation, invocation
from shared.commands.arguments import OnSequence, clip
from shared.commands.resolve import Resolved
from shared.commands.result import Result
from shared.domain.card import Card, Fact, Tone
from shared.operations.context import CommandContext
from shared.operations.outcome import find_sequence, refused, which_sequence

LONGEST_SHOWN = 600
"""Characters of a line that a person reads before they confirm it: nothing that they confirm is cut off."""


async def proposal(asked: Invocation, context: CommandContext) -> tuple[Invocation, Card] | Result:
    """The line, in which a sequence stands by its id, and the card that asks; or why it can't be asked.

    What is confirmed is what is done: a name could mean another sequence by then.
    """
    arguments, facts = asked.arguments, []
    if isinstance(arguments, OnSequence) and arguments.target:
        found = await find_sequence(arguments.target, context=context)
        if not isinstance(found, Resolved):
            return which_sequence(found, arguments)
        arguments = replace(arguments, target=(found.sequence.id,))
        facts = [Fact(label="Sequence", value=clip(found.sequence.label))]
    line = invocation(arguments, workspace=context.workspace.name if asked.workspace else None)
    if len(line.line) > LONGEST_SHOWN:
        return refused("This is too long to confirm", "Shorten it, or run it yourself.", why="too long")
    card = Card(
        title=f"Your assistant proposes: {asked.command.name}",
        tone=Tone.WARN,
        text=("Nothing has changed yet.",),
        facts=(*facts, Fact(label="Command", value=line.line)),
    )
    return line, card
