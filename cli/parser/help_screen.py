"""`outreach --help`: all commands on one screen, from the two tables."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Iterable

from cli.parser.command_line import offered
from cli.parser.shell_commands import PROGRAMS, Group
from shared.commands import COMMANDS
from shared.commands.tasks import TASKS

_HEAD = "usage: outreach [--config FILE] [--workspace NAME] COMMAND …"
_OPTIONS = (
    ("--config FILE", "settings file to use"),
    ("--workspace NAME, @NAME", "choose one of several workspaces"),
    ("--json", "for commands that read: print the data as JSON"),
    ("--yes", "skip confirmations"),
    ("--help, --version", "also `outreach COMMAND --help`, with examples"),
)
_NAME_WIDTH = 18
_TASK_WIDTH = 27
_BESIDE = 72
"""Columns from which on the commands of a task stand beside it."""


def text(*, width: int | None = None) -> str:
    """The whole page, filled to `width` columns (the terminal's, at most 100, when not given)."""
    columns = width or min(100, _terminal_width())
    commands = ((c.name, c.summary) for c in COMMANDS.values() if offered(c))
    return "\n".join(
        (
            _HEAD,
            *_tasks(columns),
            *_section("Commands (most also work in Slack)", commands, width=columns),
            *(line for group in Group for line in _section(group, _programs(group), width=columns)),
            *_section("Options", _OPTIONS, width=columns),
        )
    )


def _programs(group: Group) -> Iterable[tuple[str, str]]:
    return ((program.name, program.summary) for program in PROGRAMS.values() if program.group is group)


def _tasks(width: int) -> list[str]:
    lines = ["", "Start here"]
    for task, syntaxes in TASKS.items():
        if width < _BESIDE:
            lines += [f"  {task}", *(f"    {line}" for line in _filled(syntaxes, width - 4))]
            continue
        first, *more = _filled(syntaxes, width - _TASK_WIDTH - 2)
        lines.append(f"  {task:<{_TASK_WIDTH}}{first}")
        lines += [" " * (_TASK_WIDTH + 2) + line for line in more]
    return lines


def _filled(syntaxes: Iterable[str], width: int) -> list[str]:
    """Put as many on a line as fit; none is broken."""
    lines: list[str] = []
    for syntax in syntaxes:
        joined = f"{lines[-1]} · {syntax}" if lines else syntax
        if lines and len(joined) <= width:
            lines[-1] = joined
        else:
            lines.append(syntax)
    return lines


def _section(title: str, entries: Iterable[tuple[str, str]], *, width: int) -> list[str]:
    lines = ["", title]
    for name, summary in entries:
        if len(name) >= _NAME_WIDTH:
            lines.append(f"  {name}")
        first, *more = textwrap.wrap(summary, max(20, width - _NAME_WIDTH - 2), break_on_hyphens=False)
        lines.append(f"  {name if len(name) < _NAME_WIDTH else '':<{_NAME_WIDTH}}{first}")
        lines += [" " * (_NAME_WIDTH + 2) + line for line in more]
    return lines


def _terminal_width() -> int:
    """$COLUMNS, the terminal's width, or 80, without `shutil`, which imports its compressors."""
    if os.environ.get("COLUMNS", "").isdecimal():
        return int(os.environ["COLUMNS"])
    try:
        return os.get_terminal_size().columns
    except OSError:
        return 80
