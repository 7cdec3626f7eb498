"""`outreach completion SHELL`: the script for Tab completion of commands, options, files and workspaces.

At each Tab the script runs `outreach` with the line in the environment, and `complete` answers, without the service.
"""

from __future__ import annotations

import os
import re
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterable

import argcomplete
from argcomplete.completers import FilesCompleter
from argcomplete.lexers import split_line
from argcomplete.shell_integration import shellcode

from cli import line as lines
from cli.console import exit_codes
from cli.line import Line, split
from cli.programs import Program
from shared.api.event_kinds import EVENTS, word_of
from shared.api.words import LEAD_STATUSES

Completer = Callable[..., Iterable[str]]
_EVENTS = (*map(word_of, EVENTS), *EVENTS)


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
    if word := lines.find_word(line.word):
        parser, usage = lines.parser_of(word), "" if isinstance(word, Program) else word.usage
    parser.set_defaults(config=earlier.config, workspace=earlier.workspace)
    for action in parser._actions:  # noqa: SLF001 # argparse has no public way to list them
        if not action.choices:
            # Where argcomplete looks for it; without one it would offer files.
            vars(action)["completer"] = _words(usage) if action.dest == "words" else _option(action.dest)
    return parser


def _option(name: str) -> Completer:
    if name in {"config", "file", "report", "svg"}:
        return FilesCompleter()
    return {"events": lambda **_: _EVENTS, "workspace": _workspaces}.get(name, lambda **_: ())


def _words(usage: str) -> Completer:
    """Complete what the usage line of a command names: `SEQUENCE [for 2h]` has the fixed word `for`."""
    values = {"COMMAND": lines.words(), "EVENT": _EVENTS, "STATUS": LEAD_STATUSES}
    named = [value for name, some in values.items() if name in usage for value in some]
    without_options = re.sub(r"--\S+( [A-Z]\S*)?", " ", usage)
    fixed = re.findall(r"(?<![\w.…-])[a-z]{2,}(?![\w.…=-])", without_options)

    def words(*, prefix: str, parsed_args: Namespace, **_: object) -> Iterable[str]:
        if prefix.startswith("@"):
            return [f"@{name}" for name in _workspaces(parsed_args=parsed_args)]
        return [*fixed, *named]

    return words


def _workspaces(*, parsed_args: Namespace, **_: object) -> Iterable[str]:
    from shared.settings import SettingsError, load

    try:
        return load(config=parsed_args.config).workspaces
    # An error would be printed into the line that is being typed.
    except (SettingsError, OSError):
        return ()
