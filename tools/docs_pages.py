"""The generated pages of docs/, made from the tables: `python -m tools.docs_pages FOLDER`."""

from __future__ import annotations

import sys
from pathlib import Path

from cli.line import parser_of
from cli.programs import PROGRAMS, Program
from shared.commands import COMMANDS, Command
from shared.domain.event_kinds import EVENTS

_COMMANDS = """\
# Commands

The two tables are made by `make docs`. `help COMMAND` in Slack, and `outreach COMMAND --help` in a shell, have examples and every option.

The same words work in Slack (`/outreach pause sq_1`), a shell (`outreach pause sq_1`) and the dashboard's palette (`pause sq_1`). SEQUENCE is a
whole id, a whole name, a whole word of a name, or its beginning from four letters on, if only one fits. `@NAME` selects one of several
workspaces. A command marked with ● changes something.

In a shell, `--json` prints the answer's data; `--csv` and `--limit N` work with commands that read, `--all` with `leads` and `audit`;
`--quiet` silences a change that succeeds and leaves of a list the rows alone, and `--yes` answers the question of a command that asks. The
contract has the [exit codes](contract.md#1-one-program); `make run` turns every failure into 2.

## In Slack, a shell and the dashboard

| command | |
|---|---|
"""
_PROGRAMS = """
## In a shell only

| command | |
|---|---|
"""


def commands_page(rest: str = "") -> str:
    """The page of commands: both tables, then what is written by hand."""
    own = "".join(map(_command, COMMANDS.values()))
    programs = "".join(map(_program, PROGRAMS.values()))
    return f"{_COMMANDS}{own}{_PROGRAMS}{programs}{rest}"


def _command(command: Command) -> str:
    where = " Only in Slack." if command.slack_only else ""
    also = f" Also {', '.join(f'`{alias}`' for alias in command.aliases)}." if command.aliases else ""
    mark = " ●" if command.changes else ""
    return _row(f"{command.verb} {command.usage}", mark, f"{command.summary}.{also}{where}")


def _program(program: Program) -> str:
    """The usage as argparse writes it, without the options that every word has."""
    usage = " ".join(parser_of(program).format_usage().split())
    own = usage.replace(" [-h] [--config FILE] [--workspace NAME]", "").removeprefix("usage: outreach ")
    return _row(own, "", f"{program.summary}.")


def _row(usage: str, mark: str, text: str) -> str:
    # A bar within a cell is escaped, even in code.
    return f"| `{usage.strip()}`{mark} | {text} |\n".replace(
        usage.strip(), usage.strip().replace("|", "\\|"), 1
    )


def events_table() -> str:
    """The table of docs/slack.md: events that are posted at once, then the others."""
    rows = ["| event | means | without a subscription |", "|---|---|---|"]
    for kind in sorted(EVENTS.values(), key=lambda one: not one.at_once):
        many = "; many at once fire a guardrail" if kind.trouble else ""
        counted = (
            f"counted in the digest{many}" if not kind.own else "a card in the alert channel when it broke"
        )
        posted = "a card in the alert channel, at once" if kind.at_once else counted
        rows.append(f"| `{kind.name}` | {kind.meaning} | {posted} |")
    return "\n".join(rows)


def with_table(page: str, table: str) -> str:
    """The page with this table in place of the one with the same first row."""
    before, first, after = page.partition(table.splitlines()[0])
    return f"{before}{table}\n\n{after.partition(chr(10) * 2)[2]}" if first else page


def write(folder: Path) -> None:
    """Write the tables into the pages of this folder; their other sections stay."""
    commands = folder / "commands.md"
    # What is written by hand begins with this heading, and stays.
    _, heading, rest = commands.read_text(encoding="utf-8").partition("\n## Leads in bulk")
    commands.write_text(commands_page(heading + rest), encoding="utf-8")
    slack = folder / "slack.md"
    slack.write_text(with_table(slack.read_text(encoding="utf-8"), events_table()), encoding="utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
