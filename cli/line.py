"""Reads a command line: its word, and the options around it, by argparse; and prints help.

Words of commands are read by `shared.commands`, as in Slack and the dashboard. Only the parser of the word that was
typed is built, and argparse is imported only when there is one.
"""

from __future__ import annotations

import os
import re
import textwrap
from typing import TYPE_CHECKING, NamedTuple

from cli.programs import GROUPS, LONGEST_COUNT, PROGRAMS, Program, count, flag, path
from shared.commands import COMMANDS, Command, find_command
from shared.commands.help import FIRST_LINES, REPLY_ACTS
from shared.text.tokenize import names_workspace

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Iterable, Sequence

_TAKE_A_VALUE = ("--config", "--workspace")
_OPTIONS = {
    "--config FILE": "settings file to use",
    "--workspace NAME": "choose one of several workspaces, like @NAME",
    "--json": "print the data as JSON",
    "--yes": "for commands that ask: skip the confirmation",
    "--help, --version": "also `outreach COMMAND --help`, with examples",
}
WIDEST = 100
"""Columns that help fills at most."""


class Line(NamedTuple):
    """The options before the word, the word, and what follows it."""

    before: tuple[str, ...] = ()
    word: str | None = None
    after: tuple[str, ...] = ()


def split(arguments: Sequence[str]) -> Line:
    """Find the first argument that is neither an option, nor an option's value, nor `@NAME`."""
    is_value = False
    for index, argument in enumerate(arguments):
        if not is_value and not argument.startswith("-") and not names_workspace(argument):
            return Line(tuple(arguments[:index]), argument, tuple(arguments[index + 1 :]))
        # `--config FILE status`: the file isn't the word. `--config=FILE` brings its value along.
        is_value = argument in _TAKE_A_VALUE
    return Line(tuple(arguments))


def words() -> tuple[str, ...]:
    return (*(name for name, command in COMMANDS.items() if not command.slack_only), *PROGRAMS)


def find_word(word: str | None) -> Program | Command | None:
    """The program or command of a shell with this name. A program wins: `doctor` is in Slack a command, too."""
    if program := PROGRAMS.get(word or ""):
        return program
    command = find_command(word) if word else None
    return command if command and not command.slack_only else None


def read_options(word: Program | Command, line: Line) -> Namespace:
    """The options of a word; argparse ends the process with 2 and its usage when they are wrong."""
    # In a command of the table `@NAME` is one of its words; a program has only options.
    is_program = isinstance(word, Program)
    around = (*line.before, *line.after)
    named = [argument for argument in around if is_program and names_workspace(argument)]
    rest = [argument for argument in around if argument not in named]
    # Options may stand between words, which `parse_args` refuses.
    options = parser_of(word).parse_intermixed_args(rest)
    options.workspace = options.workspace or (named[-1][1:] if named else None)
    return options


def parser_of(word: Program | Command | None) -> ArgumentParser:
    """The parser of a program or a command; of what stands before its word if there is none yet."""
    from argparse import SUPPRESS, ArgumentParser, RawDescriptionHelpFormatter

    # A script that abbreviates an option would break as soon as another begins the same way.
    parser = ArgumentParser(allow_abbrev=False, formatter_class=RawDescriptionHelpFormatter)
    # Of options that not every word has.
    parser.set_defaults(json=False, csv=False, quiet=False, yes=False, limit=None)
    parser.add_argument("--config", type=path, metavar="FILE", help="settings file to use")
    parser.add_argument("--workspace", metavar="NAME", help="workspace to use, like @NAME")
    if word is None:
        parser.prog = "outreach"
        parser.add_argument("--version", action="store_true")
        parser.add_argument("words", nargs="*", help=SUPPRESS)
        return parser
    parser.prog = f"outreach {word.verb}"
    parser.description, parser.epilog = word.summary, _examples(word.examples)
    if isinstance(word, Program):
        for name, about in word.options:
            action = parser.add_argument(name, **about)
            # Argparse hides what has this very object as its help; the table of programs imports no argparse.
            if action.help == SUPPRESS:
                action.help = SUPPRESS
    else:
        parser.usage = f"{parser.prog} {word.usage}".rstrip()
        parser.add_argument("words", nargs="*", help=SUPPRESS)
        _add_options(parser, word)
    return parser


def _add_options(parser: ArgumentParser, command: Command) -> None:
    """The options that all commands of a kind have."""
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print the data as JSON")
    prints_list = command.reads or not command.changes
    silences = "a list without heading and notes" if prints_list else "print nothing unless it fails"
    parser.add_argument("--quiet", action="store_true", help=silences)
    if prints_list:
        form.add_argument("--csv", action="store_true", help="print the data as CSV")
    if command.newest_only:
        length = parser.add_mutually_exclusive_group()
        length.add_argument("--limit", type=count, metavar="N", help="number of newest entries to show")
        name, about = flag("--all", "show all entries", action="store_const", const=LONGEST_COUNT)
        length.add_argument(name, dest="limit", **about)
    elif prints_list:
        parser.add_argument("--limit", type=count, metavar="N", help="number of entries to show")
    if command.asks:
        parser.add_argument("--yes", action="store_true", help="skip the confirmation")


def _examples(examples: Sequence[str]) -> str:
    """Write examples as a shell takes them: a channel has a name, and an unquoted `#` would start a comment."""
    named = (re.sub(r" here$", " #sales", example) for example in examples)
    quoted = (re.sub(r"(?<!\S)(#\S+)", r"'\1'", example) for example in named)
    shown = (e if e.startswith("eval ") else f"outreach {e}" for e in quoted)
    return "\n  ".join(("examples:", *shown))


def overview() -> str:
    """All words on one page, filled to the terminal's width."""
    columns = min(WIDEST, _terminal_width())
    commands = {name: c.summary for name, c in COMMANDS.items() if not c.slack_only}
    sections = {"Start here": dict(FIRST_LINES), "Commands (most also work in Slack)": commands}
    sections |= {
        group: {p.verb: p.summary for p in PROGRAMS.values() if p.group == group} for group in GROUPS
    }
    lines = ["usage: outreach [--config FILE] [--workspace NAME] COMMAND …"]
    for title, entries in (sections | {"Options": _OPTIONS}).items():
        lines += ["", title, *_section(entries.items(), columns)]
    return "\n".join(lines)


def _section(entries: Iterable[tuple[str, str]], columns: int) -> Iterable[str]:
    entries = list(entries)
    margin = max(len(name) for name, _ in entries) + 4
    for name, meaning in entries:
        text = f"  {name:<{margin - 2}}{meaning}"
        yield textwrap.fill(text, columns, subsequent_indent=" " * margin, break_on_hyphens=False)


def _terminal_width() -> int:
    """Read $COLUMNS or the terminal's width, without `shutil`, which imports its compressors."""
    if os.environ.get("COLUMNS", "").isdecimal():
        return int(os.environ["COLUMNS"])
    try:
        return os.get_terminal_size().columns
    except OSError:
        return 80


def help_of(word: str) -> str | None:
    """The help of a program or command; None where a shell has no such word."""
    if how := REPLY_ACTS.get(word.lower()):
        return f"In Slack: /outreach {how.named}: {how.does}"
    program_or_command = find_word(word)
    return parser_of(program_or_command).format_help() if program_or_command else None


def unknown(word: str, line: Line) -> str:
    """The refusal of a word, with the command line that was probably meant."""
    from shlex import join

    from shared.commands.base import ALIASES, nearest_of
    from shared.text.sanitize import visible

    if word in COMMANDS or word in REPLY_ACTS:
        return f"“{word}” is a command for Slack: type “/outreach {word}” there."
    near = nearest_of(word, (*words(), *ALIASES))
    meant = join(("outreach", *line.before, near[0], *line.after)) if near else ""
    hint = f" Did you mean “{visible(meant)}”?" if near else ""
    # It may have been pasted, with control characters, or as a whole letter.
    return f"unknown command “{visible(word)[:60]}”.{hint} `outreach --help` lists them all."
