"""The `outreach` command: imports only what the given command needs.

`outreach --help` costs under six times an empty `python -c pass`.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Sequence

from cli.console import exit_codes
from cli.line import Line, help_of, offered, overview, read_command, read_program, split, unknown
from cli.programs import PROGRAMS, Program
from shared.commands import find_command


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line and return its exit code: 0 done, 1 refused or failed, 2 misused."""
    # The shell's script sets it at each Tab; nothing but what may follow is to be printed then.
    if "_ARGCOMPLETE" in os.environ:
        from cli.commands.completion import complete

        complete()
    line = split(sys.argv[1:] if argv is None else argv)
    return exit_codes.guard(lambda: _run(line))


def _run(line: Line) -> int:
    word = line.word
    if word is None:
        return _without_word(line)
    if program := PROGRAMS.get(word):
        return _run_program(program, line)
    command = find_command(word)
    if command is None or not offered(command):
        raise exit_codes.WrongUsage(unknown(word, line))
    options = read_command(command, line)
    if command.name == "help":
        return _help(options.words)
    from cli.commands import run_command

    return run_command.run(command, options)


def _run_program(program: Program, line: Line) -> int:
    options = read_program(program, line)
    module, _, function = program.entry.partition(":")
    code: int = getattr(importlib.import_module(module), function)(options)
    return code


def _help(words: Sequence[str]) -> int:
    """Print help, which needs neither settings nor service, and knows the programs, too."""
    text = help_of(words[0]) if words else overview()
    if text is None:
        raise exit_codes.WrongUsage(unknown(words[0], Line(("help",))))
    print(text.rstrip("\n"))
    return exit_codes.DONE


def _without_word(line: Line) -> int:
    if "--version" in line.before:
        return _run_program(PROGRAMS["version"], Line(word="version"))
    wanted = bool({"--help", "-h"} & set(line.before))
    print(overview(), file=sys.stdout if wanted else sys.stderr)
    return exit_codes.DONE if wanted else exit_codes.WRONG_USAGE


if __name__ == "__main__":
    sys.exit(main())
