"""The `outreach` command: imports only what the given command needs.

`outreach --help` costs under six times an empty `python -c pass`.
"""

from __future__ import annotations

import gc
import importlib
import os
import sys
from collections.abc import Coroutine, Sequence
from typing import TYPE_CHECKING

from cli.console import exit_codes
from cli.line import Line, find_word, help_of, overview, read_options, split, unknown
from cli.programs import Program

if TYPE_CHECKING:
    from argparse import Namespace

# Httpx loads its own command line where it can, and with it click, Pygments and half of Rich: 3 MB, 20 ms a start.
sys.modules.setdefault("httpx._main", None)  # type: ignore[arg-type] # None refuses an import, as httpx expects


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line and return its exit code: 0 done, 1 refused or failed, 2 misused."""
    # The shell's script sets it at each Tab; nothing but what may follow is to be printed then.
    if "_ARGCOMPLETE" in os.environ:
        from cli.commands.completion import complete

        complete()
    line = split(sys.argv[1:] if argv is None else argv)
    return exit_codes.guard(lambda: _run(line))


def _run(line: Line) -> int:
    if line.word is None:
        return _without_word(line)
    word = find_word(line.word)
    if word is None:
        raise exit_codes.WrongUsage(unknown(line.word, line))
    options = read_options(word, line)
    gc.enable()  # what the program starts with is loaded
    if isinstance(word, Program):
        return _run_program(word, options)
    if word.verb == "help":
        return _help(options.words)
    from cli.commands import run_command

    return run_command.run(word, options)


def _run_program(program: Program, options: Namespace) -> int:
    """Run its function, which may be asynchronous, and gives a result to show, an exit code, or nothing: it is done."""
    module, _, function = program.entry.partition(":")
    outcome = getattr(importlib.import_module(module), function)(options)
    if isinstance(outcome, Coroutine):
        import asyncio

        outcome = asyncio.run(outcome)
    if outcome is None or isinstance(outcome, int):
        return outcome or exit_codes.DONE
    from cli.console import card_output

    return card_output.answer(outcome, options)


def _help(words: Sequence[str]) -> int:
    """Print help, which needs neither settings nor service, and knows the programs, too."""
    text = help_of(words[0]) if words else overview()
    if text is None:
        raise exit_codes.WrongUsage(unknown(words[0], Line(("help",))))
    print(text.rstrip("\n"))
    return exit_codes.DONE


def _without_word(line: Line) -> int:
    if "--version" in line.before:
        from cli.commands.set_up import version

        print(version())
        return exit_codes.DONE
    wanted = bool({"--help", "-h"} & set(line.before))
    # Nobody asked for it: stdout stays empty, for a script that takes it for data.
    print(overview(), file=sys.stdout if wanted else sys.stderr)
    return exit_codes.DONE if wanted else exit_codes.WRONG_USAGE
