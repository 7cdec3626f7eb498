"""`outreach completion SHELL`: what may be typed next, for bash, zsh and fish, from the two tables.

Everything is written into the script, so that pressing Tab starts no process and asks no service.
"""

from __future__ import annotations

import re
import shlex
from argparse import Namespace
from collections.abc import Iterator
from dataclasses import dataclass

from cli.console import exit_codes
from cli.parser import arguments
from cli.parser.command_line import offered
from cli.parser.shell_commands import PROGRAMS
from shared.commands import COMMANDS


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A word that may follow `outreach`, and what may follow that word."""

    name: str
    summary: str
    follows: tuple[str, ...]


def run(options: Namespace) -> int:
    print(_SCRIPTS[options.shell](tuple(entries())))
    return exit_codes.DONE


def entries() -> Iterator[Entry]:
    """Every command and program, with its options and the fixed words of its usage."""
    for command in filter(offered, COMMANDS.values()):
        options = arguments.option_words(arguments.command_parser(command))
        yield Entry(
            name=command.name, summary=command.summary, follows=(*options, *fixed_words(command.usage))
        )
    for program in PROGRAMS.values():
        options = arguments.option_words(arguments.program_parser(program))
        yield Entry(
            name=program.name, summary=program.summary, follows=(*options, *fixed_words(program.usage))
        )


def fixed_words(usage: str) -> tuple[str, ...]:
    """The words of a usage line that are typed as they stand: `SEQUENCE [for 2h]` has `for`."""
    without_options = re.sub(r"--\S+( [A-Z]\S*)?", " ", usage)
    return tuple(dict.fromkeys(re.findall(r"(?<![\w.…-])[a-z]{2,}(?![\w.…=-])", without_options)))


def _bash(known: tuple[Entry, ...]) -> str:
    cases = "\n".join(f"    {e.name}) offer={shlex.quote(' '.join(e.follows))} ;;" for e in known)
    return f"""\
_outreach() {{
  local cur=${{COMP_WORDS[COMP_CWORD]}} word= offer= i
  for ((i = 1; i < COMP_CWORD; i++)); do
    case ${{COMP_WORDS[i]}} in
      --config | --workspace) ((i++)) ;;
      -* | @*) ;;
      *) word=${{COMP_WORDS[i]}}; break ;;
    esac
  done
  case $word in
    '') offer='{" ".join(e.name for e in known)} --config --workspace --help --version' ;;
{cases}
  esac
  COMPREPLY=($(compgen -W "$offer" -- "$cur"))
}}
complete -o default -F _outreach outreach"""


def _zsh(known: tuple[Entry, ...]) -> str:
    described = "\n".join(f"    {shlex.quote(f'{e.name}:{e.summary}')}" for e in known)
    cases = "\n".join(f"    {e.name}) compadd -- {shlex.join(e.follows)} ;;" for e in known)
    return f"""\
#compdef outreach
_outreach() {{
  local -a known=(
{described}
  )
  if (( CURRENT == 2 )); then
    _describe command known
    return
  fi
  case $words[2] in
{cases}
  esac
  _files
}}
compdef _outreach outreach"""


def _fish(known: tuple[Entry, ...]) -> str:
    lines = []
    for entry in known:
        summary = _fish_quoted(entry.summary)
        lines.append(f"complete -c outreach -n __fish_use_subcommand -f -a {entry.name} -d {summary}")
        if entry.follows:
            seen = _fish_quoted(f"__fish_seen_subcommand_from {entry.name}")
            lines.append(f"complete -c outreach -n {seen} -a {_fish_quoted(' '.join(entry.follows))}")
    return "\n".join(lines)


def _fish_quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


_SCRIPTS = {"bash": _bash, "zsh": _zsh, "fish": _fish}
