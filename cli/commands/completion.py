"""`outreach completion SHELL`: the script for Tab completion of commands, options, files and events.

At each Tab the script runs `outreach` with the line in the environment, and `complete` answers, without the service.
"""

from __future__ import annotations

import os
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterable

import argcomplete
from argcomplete.completers import FilesCompleter
from argcomplete.lexers import split_line
from argcomplete.shell_integration import shellcode

from cli import line as lines
from cli.line import Line, split
from cli.programs import path
from shared.domain.event_kinds import EVENTS, word_of

Completer = Callable[..., Iterable[str]]
_EVENTS = (*map(word_of, EVENTS), *EVENTS)


def run(options: Namespace) -> None:
    print(shellcode(["outreach"], shell=options.shell))


def complete() -> None:
    """Print what may follow to the shell, and end the process."""
    *_, typed, _ = split_line(os.environ["COMP_LINE"], int(os.environ["COMP_POINT"]))
    line = split(typed[1:])
    # The word at which argcomplete begins to parse: after the program and the command.
    os.environ["_ARGCOMPLETE"] = str(len(line.before) + 1 + (line.word is not None))
    argcomplete.autocomplete(parser_of(line))


def parser_of(line: Line) -> ArgumentParser:
    """The parser of what follows the line's word, or of the word itself."""
    word = lines.find_word(line.word)
    parser = lines.parser_of(word)
    completers: dict[str, Completer] = {"events": lambda **_: _EVENTS}
    if word is None or word.verb == "help":
        completers["words"] = lambda **_: lines.words()
    for action in parser._actions:  # noqa: SLF001 # argparse has no public way to list them
        if not action.choices:
            usual = FilesCompleter() if action.type is path else lambda **_: ()
            # Where argcomplete looks for it; without one it would offer files.
            vars(action)["completer"] = completers.get(action.dest, usual)
    return parser
