"""Splits a command line into the command and the options around it. Imports almost nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cli.parser.shell_commands import PROGRAMS
from shared.commands import COMMANDS, Command, Face
from shared.text.tokenize import names_workspace

_TAKE_A_VALUE = ("--config", "--workspace")


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """The options before the word, the word, and what follows it."""

    before: tuple[str, ...] = ()
    word: str | None = None
    after: tuple[str, ...] = ()

    @property
    def around(self) -> tuple[str, ...]:
        return (*self.before, *self.after)


def split(arguments: Sequence[str]) -> Line:
    """Find the first argument that is neither an option, nor an option's value, nor `@NAME`."""
    skip = False
    for index, argument in enumerate(arguments):
        if not skip and not argument.startswith("-") and not names_workspace(argument):
            return Line(before=tuple(arguments[:index]), word=argument, after=tuple(arguments[index + 1 :]))
        skip = argument in _TAKE_A_VALUE
    return Line(before=tuple(arguments))


def offered(command: Command) -> bool:
    return Face.SHELL in command.faces


def words() -> tuple[str, ...]:
    return (*(name for name, command in COMMANDS.items() if offered(command)), *PROGRAMS)
