"""The `outreach` command: imports only what the given command needs.

`outreach --help` costs under six times an empty `python -c pass`.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Sequence

from cli.console import exit_codes
from cli.parser.command_line import Line, offered, split, words
from cli.parser.shell_commands import PROGRAMS, Program, find_program
from shared.commands import Command, find_command


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line and return its exit code: 0 done, 1 refused or failed, 2 misused."""
    if "_ARGCOMPLETE" in os.environ:
        from cli.commands.completion import complete

        complete()
    line = split(sys.argv[1:] if argv is None else argv)
    return exit_codes.guard(lambda: _run(line))


def _run(line: Line) -> int:
    if line.word is None:
        return _without_word(line)
    if program := find_program(line.word):
        return _run_program(program, line)
    command = find_command(line.word)
    if command is None or not offered(command):
        raise exit_codes.WrongUsage(_unknown(line.word, line))
    return _run_command(command, line)


def _run_program(program: Program, line: Line) -> int:
    from cli.parser.arguments import read_program

    options = read_program(program, line)
    module, _, function = program.entry.partition(":")
    code: int = getattr(importlib.import_module(module), function)(options)
    return code


def _run_command(command: Command, line: Line) -> int:
    from cli.parser.arguments import read_command

    options = read_command(command, line)
    if command.name == "help":
        return _help(options.words)
    from cli.commands import run_command

    return run_command.run(command, options)


def _help(words: Sequence[str]) -> int:
    """Needs neither settings nor service, and knows the programs, too."""
    from cli.parser import arguments, help_screen

    if not words:
        print(help_screen.text())
    elif program := find_program(words[0]):
        arguments.program_parser(program).print_help()
    elif (command := find_command(words[0])) and offered(command):
        arguments.command_parser(command).print_help()
    else:
        raise exit_codes.WrongUsage(_unknown(words[0], Line(before=("help",))))
    return exit_codes.DONE


def _without_word(line: Line) -> int:
    if "--version" in line.before:
        return _run_program(PROGRAMS["version"], Line(word="version"))
    from cli.parser import help_screen

    if {"--help", "-h"} & set(line.before):
        print(help_screen.text())
        return exit_codes.DONE
    print(help_screen.text(), file=sys.stderr)
    return exit_codes.WRONG_USAGE


def _unknown(word: str, line: Line) -> str:
    """The refusal of a word, with the command line that was probably meant."""
    from difflib import get_close_matches
    from shlex import join

    from shared.commands import COMMANDS
    from shared.commands.base import ALIASES
    from shared.text.sanitize import visible

    if word in COMMANDS:
        return f"“{word}” is a command for Slack: type “/outreach {word}” there."
    near = get_close_matches(word.lower(), (*words(), *ALIASES), n=1, cutoff=0.5)
    meant = join(("outreach", *line.before, near[0], *line.after)) if near else ""
    hint = f" Did you mean “{visible(meant)}”?" if near else ""
    return f"unknown command “{visible(word)[:60]}”.{hint} `outreach --help` lists them all."


if __name__ == "__main__":
    sys.exit(main())
