"""`outreach completion SHELL`: the script for Tab completion of commands, options, files and the account's names.

At each Tab the script runs `outreach` with the line in the environment, and `complete` answers.
"""

from __future__ import annotations

import asyncio
import os
import re
from argparse import Action, ArgumentParser, Namespace
from collections.abc import Callable, Iterable, Mapping

import argcomplete
from argcomplete.completers import FilesCompleter
from argcomplete.lexers import split_line
from argcomplete.shell_integration import shellcode

from cli import line as lines
from cli.console import exit_codes
from cli.line import Line, offered, split
from cli.programs import PROGRAMS
from shared.api.event_kinds import EVENTS, word_of
from shared.api.words import LEAD_STATUSES
from shared.commands import COMMANDS, find_command

Completer = Callable[..., Iterable[str]]
PATIENCE = 2.0
"""Seconds that a Tab waits for the service."""


def run(options: Namespace) -> int:
    print(shellcode(["outreach"], shell=options.shell))
    return exit_codes.DONE


def complete() -> None:
    """Print what may follow to the shell, and end the process."""
    *_, typed, _ = split_line(os.environ["COMP_LINE"], int(os.environ["COMP_POINT"]))
    line = split(typed[1:])
    # The word at which argcomplete begins to parse: after the program and the command.
    os.environ["_ARGCOMPLETE"] = str(len(line.before) + 1 + (line.word is not None))
    argcomplete.autocomplete(parser_of(line))


def parser_of(line: Line) -> ArgumentParser:
    """The parser of what follows the line's word, or of the word itself."""
    parser, usage = lines.parser_of(None), "COMMAND"
    earlier, _ = parser.parse_known_args(line.before)
    if program := PROGRAMS.get(line.word or ""):
        parser, usage = lines.parser_of(program), ""
    elif line.word and (command := find_command(line.word)) and offered(command):
        parser, usage = lines.parser_of(command), command.usage
    parser.set_defaults(config=earlier.config, workspace=earlier.workspace)
    for action in parser._actions:  # noqa: SLF001 # argparse has no public way to list them
        if not action.choices:
            _attach(action, _words(usage) if action.dest == "words" else _BY_OPTION.get(action.dest))
    return parser


def _attach(action: Action, completer: Completer | None) -> None:
    """Put the completer where argcomplete looks for it; without one it would offer files."""
    vars(action)["completer"] = completer or (lambda **_: ())


def _words(usage: str) -> Completer:
    """Complete what the usage line of a command names: its fixed words, and values for its placeholders."""

    def words(*, prefix: str, parsed_args: Namespace, **_: object) -> Mapping[str, str]:
        if prefix.startswith("@"):
            return {f"@{name}": "" for name in _workspaces(parsed_args=parsed_args)}
        if "COMMAND" in usage:
            return _commands()
        values = (
            source(parsed_args=parsed_args) for name, source in _BY_PLACEHOLDER.items() if name in usage
        )
        return dict.fromkeys([*fixed_words(usage), *(word for found in values for word in found)], "")

    return words


def fixed_words(usage: str) -> tuple[str, ...]:
    """The words of a usage line that are typed as they stand: `SEQUENCE [for 2h]` has `for`."""
    without_options = re.sub(r"--\S+( [A-Z]\S*)?", " ", usage)
    return tuple(dict.fromkeys(re.findall(r"(?<![\w.…-])[a-z]{2,}(?![\w.…=-])", without_options)))


def _commands() -> Mapping[str, str]:
    known = {name: command.summary for name, command in COMMANDS.items() if offered(command)}
    return {**known, **{name: program.summary for name, program in PROGRAMS.items()}}


def _workspaces(*, parsed_args: Namespace, **_: object) -> Iterable[str]:
    from shared.settings import SettingsError, load

    try:
        return load(config=parsed_args.config).workspaces
    except (SettingsError, OSError):
        return ()


def _sequences(*, parsed_args: Namespace, **_: object) -> Iterable[str]:
    """The names of the account's sequences; none where the service does not answer in time."""
    from shared.api.errors import OutreachError
    from shared.settings import SettingsError, UnknownWorkspace

    try:
        return asyncio.run(_sequence_names(parsed_args))
    except (OutreachError, SettingsError, UnknownWorkspace, TimeoutError, OSError):
        return ()


async def _sequence_names(options: Namespace) -> list[str]:
    from shared.api.pace import Priority
    from shared.commands.run import open_client
    from shared.settings import Need, load

    settings = load(config=options.config, needs=(Need.API,))
    workspace = settings.workspace(options.workspace)
    async with asyncio.timeout(PATIENCE), open_client(settings, workspace) as client:
        return [sequence.label for sequence in await client.list_sequences(priority=Priority.INTERACTIVE)]


_EVENTS = (*map(word_of, EVENTS), *EVENTS)
_BY_PLACEHOLDER: Mapping[str, Completer] = {
    "SEQUENCE": _sequences,
    "EVENT": lambda **_: _EVENTS,
    "STATUS": lambda **_: LEAD_STATUSES,
}
_BY_OPTION: Mapping[str, Completer] = {
    "to": _sequences,
    "sequence": _sequences,
    "events": lambda **_: _EVENTS,
    "workspace": _workspaces,
    **dict.fromkeys(("config", "file", "report", "svg"), FilesCompleter()),
}
