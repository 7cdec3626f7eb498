"""The options of each command, parsed by argparse; only the parser of the typed command is built."""

from __future__ import annotations

import argparse
import re
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from pathlib import Path

from cli.parser.command_line import Line
from cli.parser.shell_commands import Program
from shared.commands import Command
from shared.text.tokenize import names_workspace

EVERYTHING = 10**9
"""More than any list has."""


def read_program(program: Program, line: Line) -> Namespace:
    """The options of a program; argparse ends the process with 2 and its usage when they are wrong."""
    named = [argument[1:] for argument in line.around if names_workspace(argument)]
    rest = [argument for argument in line.around if not names_workspace(argument)]
    options = program_parser(program).parse_intermixed_args(rest)
    options.workspace = options.workspace or (named[-1] if named else None)
    return options


def read_command(command: Command, line: Line) -> Namespace:
    return command_parser(command).parse_intermixed_args(list(line.around))


def program_parser(program: Program) -> ArgumentParser:
    parser = _parser(program.name, usage=program.usage, summary=program.summary, examples=program.examples)
    program.options(parser)
    return parser


def command_parser(command: Command) -> ArgumentParser:
    """The options of a command; its words are read by `shared.commands`, as everywhere."""
    parser = _parser(command.name, usage=command.usage, summary=command.summary, examples=command.examples)
    parser.add_argument("words", nargs="*", help=argparse.SUPPRESS)
    if command.changes:
        parser.add_argument("--quiet", action="store_true", help="print nothing unless it fails")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print the data as JSON")
    if command.reads or not command.changes:
        form.add_argument("--csv", action="store_true", help="print the data as CSV")
        parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="write to a file (-: stdout)")
    if command.newest_only:
        length = parser.add_mutually_exclusive_group()
        length.add_argument("--limit", type=_count, metavar="N", help="number of newest entries to show")
        length.add_argument(
            "--all", action="store_const", dest="limit", const=EVERYTHING, help="show all entries"
        )
    if command.asks:
        parser.add_argument("--yes", action="store_true", help="skip the confirmation")
    return parser


def _count(text: str) -> int:
    if not text.isascii() or not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(f"{text} isn't a number above 0")
    return min(int(text), EVERYTHING)


def word_parser() -> ArgumentParser:
    """The parser of what may stand before the word of a command or program, and of that word."""
    parser = ArgumentParser(prog="outreach", allow_abbrev=False)
    parser.add_argument("--version", action="store_true")
    parser.add_argument("words", nargs="*", help=argparse.SUPPRESS)
    _add_common(parser)
    return parser


def _parser(name: str, *, usage: str, summary: str, examples: Sequence[str]) -> ArgumentParser:
    parser = ArgumentParser(
        prog=f"outreach {name}",
        usage=f"outreach {name} {usage}".rstrip(),
        description=summary,
        epilog=_epilog(examples),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    _add_common(parser)
    return parser


def _add_common(parser: ArgumentParser) -> None:
    parser.add_argument("--config", type=Path, metavar="FILE", help="settings file to use")
    parser.add_argument("--workspace", metavar="NAME", help="workspace to use, like @NAME")


def _epilog(examples: Sequence[str]) -> str:
    """The examples as a shell takes them: a channel has a name, and an unquoted `#` would start a comment."""
    named = [re.sub(r" here$", " #sales", example) for example in examples]
    quoted = [re.sub(r"(?<!\S)(#\S+)", r"'\1'", example) for example in named]
    shown = "\n".join(f"  {e}" if e.startswith("eval ") else f"  outreach {e}" for e in quoted)
    return f"examples:\n{shown}" if examples else ""
