"""`help`: what there is to type."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from shared.commands.base import ALIASES, COMMANDS, Arguments, Command, Words, one_of

if TYPE_CHECKING:
    from shared.commands.base import Question, Result
    from shared.commands.run import CommandContext


EVERYTHING = "all"
"""In place of a command: each of them, with what it does."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Help(Arguments):
    """`help [COMMAND|all]`."""

    verb = "help"
    command: str | None = None

    @classmethod
    def read(cls, words: Words) -> Self:
        word = one_of(words, (*COMMANDS, *ALIASES, EVERYTHING))
        return cls(command=ALIASES.get(word, word) if word else None)

    def write(self) -> Iterable[str]:
        return filter(None, (self.command,))


async def _run(arguments: Help, context: CommandContext) -> Result | Question:
    from shared.commands.running import help_cards

    return await help_cards.run_help(arguments, context)


COMMAND = Command(
    arguments=Help,
    run=_run,
    rank=0,
    aliases=("hi", "?"),
    usage="[COMMAND|all]",
    summary="Show all commands, or how to use one",
    examples=("help", "help all", "help pause"),
)
