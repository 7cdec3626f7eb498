"""`outreach man`: the manual page, made from the tables of commands. `outreach man | man -l -` shows it."""

from __future__ import annotations

import re
from argparse import SUPPRESS, ArgumentParser, Namespace
from collections.abc import Iterator, Sequence

from cli.console import exit_codes
from cli.parser.arguments import program_parser, word_parser
from cli.parser.command_line import offered
from cli.parser.shell_commands import PROGRAMS, Program
from shared.api.version import VERSION
from shared.commands import COMMANDS, Command


def run(options: Namespace) -> int:
    print(manual(), end="")
    return exit_codes.DONE


def manual() -> str:
    """The page in the language of man(7)."""
    lines = [
        f'.TH OUTREACH 1 "" "outreach {VERSION}"',
        ".SH NAME",
        r"outreach \- chat-ops bot, dashboard and commands for a cold-email outreach service",
        ".SH SYNOPSIS",
        r".B outreach",
        r"[\fIOPTION\fR...] \fICOMMAND\fR [\fIARGUMENT\fR...]",
        ".SH OPTIONS",
        *_options(word_parser()),
        ".SH COMMANDS",
    ]
    for command in COMMANDS.values():
        if offered(command):
            lines += _command(command)
    for program in PROGRAMS.values():
        lines += [*_command(program), *_options(program_parser(program))]
    return "\n".join(lines) + "\n"


def _command(command: Command | Program) -> Iterator[str]:
    usage = f"outreach {command.name} {command.usage}".rstrip()
    yield f".SS {_escaped(usage)}"
    yield _escaped(f"{command.summary}.")
    yield from _examples([example for example in command.examples if f"outreach {example}" != usage])


def _examples(examples: Sequence[str]) -> Iterator[str]:
    if examples:
        typed = (one if "outreach " in one else f"outreach {one}" for one in examples)
        yield from (".PP", ".RS", ".nf", *map(_escaped, typed), ".fi", ".RE")


def _options(parser: ArgumentParser) -> Iterator[str]:
    for action in parser._actions:  # noqa: SLF001 # argparse has no public way to list them
        if action.option_strings and action.help != SUPPRESS:
            value = action.metavar or "|".join(map(str, action.choices or ())) or action.dest.upper()
            yield ".TP"
            names = ", ".join(rf"\fB{_escaped(name)}\fR" for name in action.option_strings)
            yield names if action.nargs == 0 else rf"{names} \fI{_escaped(str(value))}\fR"
            if action.help:
                yield _escaped(action.help)


def _escaped(text: str) -> str:
    """Text that troff prints as it stands: hyphens that can be copied, no line that begins a request."""
    text = re.sub(r"\s+", " ", text).replace("\\", r"\e").replace("-", r"\-")
    text = re.sub(r"[^\x20-\x7e]", lambda found: rf"\[u{ord(found[0]):04X}]", text)
    return rf"\&{text}" if text.startswith((".", "'")) else text
