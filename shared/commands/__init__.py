"""Reading a command line, writing it back, and help, from the registry of commands.

Three faces read it: `/outreach …` in Slack, `outreach …` in a shell, the palette of the dashboard.
"""

from __future__ import annotations

from shared.commands.base import (
    ALIASES,
    COMMANDS,
    ArgumentError,
    Command,
    Invocation,
    UsageError,
    discover,
    find_command,
    invocation,
    nearest_of,
    render,
)
from shared.commands.help import Help
from shared.domain.card import Button, Fact, warning
from shared.domain.roles import Role
from shared.text.formats import clip
from shared.text.tokenize import Word, names_workspace, split

__all__ = [
    "COMMANDS",
    "Command",
    "Invocation",
    "Role",
    "UsageError",
    "find_command",
    "invocation",
    "misused",
    "parse",
    "render",
]

LONGEST_LINE = 4000
LABEL_LENGTH = 70
"""Characters of a button's label; Slack allows 75."""
PROGRAM = ("outreach", "/outreach")


def parse(line: str) -> Invocation:
    """Read a line; raises `UsageError`, and nothing else, whatever the text."""
    if len(line) > LONGEST_LINE:
        raise _refused(
            "This command is too long.", f"{len(line):,} characters. The limit is {LONGEST_LINE:,}."
        )
    # The workspace is read first: it may stand anywhere, also within what would be a name.
    words = split(line)
    naming = [word for word in words if not word.quoted and names_workspace(word.text)]
    names = {word.text[1:].casefold(): word.text[1:] for word in naming}
    if len(names) > 1:
        named = " and ".join(f"@{name}" for name in names.values())
        raise _refused("Name only one workspace.", f"This command names {named}.")
    workspace = next(iter(names.values()), None)
    words = tuple(word for word in words if word not in naming)
    if words and words[0].is_one_of(*PROGRAM):
        words = words[1:]
    command = find_command(words[0].text) if words else COMMANDS["help"]
    if command is None:
        raise _unknown(words, workspace)
    try:
        arguments = command.read(words[1:])
    except ArgumentError as error:
        raise misused(command, error) from None
    return Invocation(arguments=arguments, workspace=workspace, line=line)


_SYNONYMS = {
    **dict.fromkeys(("continue", "restart", "reactivate", "start"), "resume"),
    **dict.fromkeys(("halt", "hold"), "pause"),
}
"""Words whose nearest spelling means the opposite, or nothing."""


def _unknown(words: tuple[Word, ...], workspace: str | None) -> UsageError:
    """The refusal of an unknown command, with a button that runs what was probably meant."""
    # Only a line that the nearest command would read as a whole is offered: a button must never drop words.
    title, near = f"Unknown command “{clip(words[0].text)}”.", _nearest(words[0].text)
    for command in near:
        try:
            arguments = command.read(words[1:])
        except ArgumentError:
            continue
        line = arguments.line
        label = clip(f"{line[0].upper()}{line[1:]}", length=LABEL_LENGTH)
        button = Button(label, arguments, workspace=workspace or "")
        return _refused(title, f"Did you mean “{line}”?", buttons=(button,))
    return _refused(title, "`help` lists all commands.", buttons=(Button("Help", Help()),))


def _nearest(word: str) -> list[Command]:
    """The commands whose names or aliases are spelled nearly so, the nearest first."""
    if opposite := _SYNONYMS.get(word.lower()):
        return [COMMANDS[opposite]]
    names = nearest_of(word, (*COMMANDS, *ALIASES), cutoff=0.65)
    return [COMMANDS[ALIASES.get(name, name)] for name in names]


def misused(command: Command, error: ArgumentError) -> UsageError:
    """The refusal of a command's words, with how to use it and one example."""
    usage = Fact("Usage", command.synopsis)
    line = error.example or next(iter(command.examples), "")
    example = (Fact("Example", line),) if line else ()
    button = Button(f"Help {command.verb}", Help(command=command.verb))
    return _refused(error.problem, error.hint, facts=(usage, *example), buttons=(button,))


def _refused(
    title: str, *text: str, facts: tuple[Fact, ...] = (), buttons: tuple[Button, ...] = ()
) -> UsageError:
    return UsageError(warning(title.rstrip("."), *text, facts=facts, buttons=buttons))


discover(__name__, __path__)
