"""Reading a command line, writing it back, and help, from the table of commands. Pure.

Three faces read it: `/outreach …` in Slack, `outreach …` in a shell, the palette of the dashboard.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from shared.commands.arguments import ArgumentError, clip
from shared.commands.table import COMMANDS, Command, Face, Role
from shared.domain.card import Button, Card, Fact, Row, Table, Tone, columns
from shared.text.tokenize import Word, from_slack, join, split

__all__ = [
    "COMMANDS",
    "CONFIRMED",
    "Command",
    "Face",
    "Invocation",
    "Role",
    "UsageError",
    "from_slack",
    "help_card",
    "join",
    "names_workspace",
    "parse",
    "render",
    "with_sequence",
]

LONGEST_LINE = 4000
PROGRAM = ("outreach", "/outreach")
CONFIRMED = "--yes"
MANY = ("all", "domain:")
"""What the target of a command that `confirms_many` begins with; a sequence may be called `--yes`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Invocation:
    """A command with its arguments, as `parse` read them from `line`."""

    command: Command
    values: Mapping[str, Any]
    workspace: str | None = None
    line: str = ""

    @property
    def confirmed(self) -> bool:
        return bool(self.values.get("yes"))

    @property
    def changes(self) -> bool:
        reads = self.command.reads
        return self.command.changes and not (reads and reads(self.values))


class UsageError(Exception):
    """The line isn't a valid command; the card says what would have been right."""

    def __init__(self, card: Card) -> None:
        self.card = card
        title = card.title if card.title.endswith("?") else f"{card.title}."
        super().__init__(" ".join((title, *card.text)))


def parse(line: str) -> Invocation:
    """Read a line; raises `UsageError`, and nothing else, whatever the text."""
    if len(line) > LONGEST_LINE:
        raise _refused(
            "This command is too long.", f"{len(line):,} characters. The limit is {LONGEST_LINE:,}."
        )
    words, workspace = _without_workspace(split(line))
    if words and words[0].is_one_of(*PROGRAM):
        words = words[1:]
    command = _command(words[0]) if words else COMMANDS["help"]
    rest, flags = _without_flags(words[1:], command=command)
    try:
        values = command.grammar.read(rest)
    except ArgumentError as error:
        raise _misused(command, error) from None
    return Invocation(command=command, values={**values, **flags}, workspace=workspace, line=line)


def render(invocation: Invocation) -> str:
    """The line that `parse` reads back to the same command, values and workspace."""
    flags = [CONFIRMED] if invocation.confirmed else []
    workspace = [f"@{invocation.workspace}"] if invocation.workspace else []
    arguments_ = invocation.command.grammar.write(invocation.values)
    return " ".join([invocation.command.name, *arguments_, *flags, *workspace])


def with_sequence(invocation: Invocation, sequence_id: str) -> str:
    values = {**invocation.values, "target": (sequence_id,)}
    return render(replace(invocation, values=values))


def names_workspace(line: str) -> bool:
    """Whether a line says which workspace it means; raises `UsageError` when it says several."""
    return _without_workspace(split(line))[1] is not None


def _without_workspace(words: tuple[Word, ...]) -> tuple[tuple[Word, ...], str | None]:
    naming = [word for word in words if not word.quoted and re.fullmatch(r"@[A-Za-z0-9][\w.-]*", word.text)]
    names = {word.text[1:].casefold(): word.text[1:] for word in naming}
    if len(names) > 1:
        raise _refused(
            "Name only one workspace.", f"This command names {' and '.join('@' + n for n in names.values())}."
        )
    return tuple(word for word in words if word not in naming), next(iter(names.values()), None)


def _without_flags(words: tuple[Word, ...], *, command: Command) -> tuple[tuple[Word, ...], dict[str, bool]]:
    many = command.confirms_many and words[1:] and words[0].text.lower().startswith(MANY)
    if not (command.confirm or many):
        return words, {}
    rest = tuple(word for word in words if not word.is_one_of(CONFIRMED))
    given = len(rest) < len(words)
    return rest, {"yes": given} if given or command.confirm else {}


def _command(word: Word) -> Command:
    if found := COMMANDS.get(word.text.lower()):
        return found
    import difflib  # late: only a mistake pays for its import

    near = difflib.get_close_matches(word.text.lower()[:40], COMMANDS, n=2, cutoff=0.55)
    hint = f"Did you mean {' or '.join(near)}?" if near else "`help` lists all commands."
    buttons = tuple(_try(COMMANDS[name]) for name in near) or (Button(label="Help", command="help"),)
    raise _refused(f"Unknown command “{clip(word.text)}”.", hint, buttons=buttons)


def _try(command: Command) -> Button:
    line = command.name if command.bare and not command.changes else f"help {command.name}"
    return Button(label=f"{line[0].upper()}{line[1:]}", command=line)


def _misused(command: Command, error: ArgumentError) -> UsageError:
    usage = command.synopsis
    facts = (
        Fact(label="Usage", value=usage),
        *(Fact(label="Example", value=line) for line in command.examples),
    )
    button = Button(label=f"Help {command.name}", command=f"help {command.name}")
    return _refused(error.problem, error.hint, facts=facts, buttons=(button,))


def _refused(
    title: str, *text: str, facts: tuple[Fact, ...] = (), buttons: tuple[Button, ...] = ()
) -> UsageError:
    lines = tuple(line for line in text if line)
    return UsageError(Card(title=title.rstrip("."), tone=Tone.WARN, text=lines, facts=facts, buttons=buttons))


def help_card(
    name: str | None = None, *, allowed: Callable[[Command], bool] = lambda _: True, face: str = Face.SLACK
) -> Card:
    """All commands of a face, or one; those that `allowed` refuses are marked, not hidden."""
    return _help_of(COMMANDS[name], allowed=allowed) if name else _overview(allowed, face=face)


def _overview(allowed: Callable[[Command], bool], *, face: str) -> Card:
    here = [command for command in COMMANDS.values() if face in command.faces or face not in set(Face)]
    rows = tuple(
        Row(
            cells=(command.synopsis, command.summary),
            tone=Tone.INFO if allowed(command) else Tone.UNKNOWN,
        )
        for command in here
    )
    refused = [command.name for command in here if not allowed(command)]
    footer = (
        f"You don't have permission for: {', '.join(refused)}."
        if refused
        else "`help COMMAND` shows details. @NAME selects a workspace."
    )
    return Card(
        title="Commands",
        table=Table(columns=columns("Command", "Does"), rows=rows),
        buttons=tuple(_try(COMMANDS[n]) for n in ("status", "sequences", "inboxes", "stats", "open")),
        footer=footer,
    )


def _help_of(command: Command, *, allowed: Callable[[Command], bool]) -> Card:
    has = "you have it" if allowed(command) else "you don't have it"
    kind = "changes data" if command.changes else "read-only"
    examples = tuple(Fact(label="Example", value=line) for line in command.examples)
    return Card(
        title=command.synopsis,
        text=(f"{command.summary}.",),
        facts=(
            *examples,
            Fact(label="Role", value=f"{command.role} ({has})"),
            Fact(label="Effect", value=kind),
        ),
        buttons=(_try(command),) if command.bare and not command.changes else (),
    )
