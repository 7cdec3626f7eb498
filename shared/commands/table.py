"""The registry of commands: each is a module of this package with a `COMMAND`, or a `FAMILY` of several.

To add a command, add a module: nothing else names it.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from shared.commands.arguments import Arguments
from shared.domain.roles import Role

if TYPE_CHECKING:
    from shared.commands.result import Question, Result

Run = Callable[[Any, Any], "Awaitable[Result | Question]"]
"""What a command does, from its arguments and its context."""


class Face(StrEnum):
    """Where a command is given."""

    SLACK = "slack"
    SHELL = "shell"
    DASHBOARD = "dashboard"


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """One verb."""

    arguments: type[Arguments]
    run: Run
    """Gives a result, or the question that it asks first. Raises `OutreachError`, `RecordsUnavailable`."""
    summary: str
    rank: int
    """Its place in lists of commands."""
    usage: str = ""
    changes: bool = False
    asks: bool = False
    """It asks before some of what it does; a shell takes --yes."""
    role: Role = Role.READER
    reads: bool = False
    """Of a command that changes something: with some arguments it only reads."""
    newest_only: bool = False
    """Shows the newest entries of a long list; a shell takes --limit and --all."""
    examples: tuple[str, ...] = ()
    faces: frozenset[Face] = frozenset(Face)
    aliases: tuple[str, ...] = ()
    """Other names, which mean exactly the same."""
    own_fields: frozenset[str] = frozenset()
    """Fields of its rows with ids, statuses and times; an assistant gets every other text as quoted from outside."""
    assistants: bool = True
    """Whether an assistant may give it in a person's name."""

    @property
    def name(self) -> str:
        return self.arguments.verb

    @property
    def bare(self) -> bool:
        return not self.usage or self.usage.startswith("[")

    @property
    def synopsis(self) -> str:
        return f"{self.name} {self.usage}".rstrip()


__all__ = ["ALIASES", "COMMANDS", "Command", "Face", "Role", "discover", "find_command"]

COMMANDS: dict[str, Command] = {}
"""By name, in the order of lists."""
ALIASES: dict[str, str] = {}
"""The name that each alias stands for."""


def find_command(word: str) -> Command | None:
    """The command of a name or an alias, in any case."""
    name = word.lower()
    return COMMANDS.get(ALIASES.get(name, name))


def discover(package: str, folders: Iterable[str]) -> None:
    """Find the commands of all modules of a package, which lie in these folders."""
    names = [one.name for one in pkgutil.iter_modules(folders) if not one.ispkg]
    modules = [importlib.import_module(f"{package}.{name}") for name in names]
    found = [one.COMMAND for one in modules if hasattr(one, "COMMAND")]
    found += [command for one in modules for command in getattr(one, "FAMILY", ())]
    found.sort(key=lambda one: one.rank)
    COMMANDS.clear()
    COMMANDS.update((command.name, command) for command in found)
    ALIASES.clear()
    ALIASES.update((alias, command.name) for command in found for alias in command.aliases)
