"""The generated pages of docs/, made from the tables: `python -m tools.docs_pages FOLDER`."""

from __future__ import annotations

import sys
from argparse import SUPPRESS, ArgumentParser
from collections.abc import Iterator, Sequence
from pathlib import Path

from prometheus_client.metrics import MetricWrapperBase

from bot.telemetry import metrics
from cli.parser.arguments import program_parser
from cli.parser.shell_commands import PROGRAMS, Program
from shared.api.event_kinds import EVENTS
from shared.commands import COMMANDS, Command, Face
from shared.settings.template import commented_template

EVERYWHERE = {"--help", "--config", "--workspace"}

_COMMANDS = """\
# Commands

Made by `make docs` from the tables in `shared/commands` and `cli/parser/shell_commands.py`.

Commands take the same words in a shell (`outreach pause sq_1`), in Slack (`/outreach pause sq_1`) and in the dashboard's
palette (`pause sq_1`). A command that isn't available everywhere says where it is. SEQUENCE is a whole id, a whole name, a whole word of a name, or its beginning from four letters on, if only one fits. `@NAME`
selects one of several workspaces, in any command. In a shell, `--json` prints
the answer's data, `--csv` and `-o FILE` work with commands that read, `--limit N` and `--all` with `leads` and `audit`,
`--quiet` silences a change that succeeds, and `--yes` skips confirmations.

Exit codes: 0 success; 1 rejected or failed, with the reason on stderr; 2 invalid usage or configuration; 130 interrupted.
`make run` turns every failure into 2: scripts call `.venv/bin/outreach`.
"""
_SETTINGS = """\
# Settings

From the environment, or from `outreach.toml`: the file that `--config` names, else `$OUTREACH_CONFIG`, else
`./outreach.toml`, else the one in your configuration folder. The environment wins. Everything missing or wrong is
reported at once, by name, with how to fix it, and the command ends with exit code 2.

The last two are found without being named, so they count only if nobody else could have written them: the file, and each
link to it, belongs to you or to root, other users can't write the file, and they can't write its folder unless it is
sticky, like `/tmp`. Otherwise the command is refused. To use such a file anyway, name it with `--config` or
`OUTREACH_CONFIG`. A file that you named may belong to anybody. Settings decide where your keys are sent and which command
an alarm runs, so start the program in a folder of your own, or name the file.

A secret can be in a file of its own: the variable with `_FILE` (`OUTREACH_API_KEY_FILE`) or the key with `_file` (`api_key_file`)
has its path, or systemd passes it as a credential with the variable's name. See
[operations](operations.md#secrets-in-files).

`outreach init` writes this file, for you to uncomment what you need:
"""
_METRICS = """\
# Metrics

Made by `make docs` from `bot/telemetry/metrics.py`. The bot answers `GET /metrics` with these, in Prometheus' text format,
on its port or on `OUTREACH_METRICS_LISTEN`.
`deploy/monitoring` has rules and a Grafana dashboard for them.

| metric | type | labels | |
|---|---|---|---|
"""


_PLACES = {Face.SLACK: "Slack", Face.SHELL: "a shell", Face.DASHBOARD: "the dashboard"}


def commands_page() -> str:
    parts = [_COMMANDS, "## In Slack, a shell and the dashboard\n", *map(_command, COMMANDS.values())]
    parts += ["## In a shell only\n", *map(_program, PROGRAMS.values())]
    return "\n".join(parts)


def _command(command: Command) -> str:
    needs = f" Changes something; needs the role {command.role}." if command.changes else ""
    faces = " and ".join(_PLACES[face] for face in Face if face in command.faces)
    where = f" Only in {faces}." if command.faces != frozenset(Face) else ""
    also = f" Also: {', '.join(f'`{alias}`' for alias in command.aliases)}." if command.aliases else ""
    usage = f"{command.name} {command.usage}".rstrip()
    return "\n".join(
        [
            f"### {command.name}\n",
            f"{command.summary}.{needs}{where}{also}\n",
            _block(usage, command.examples),
        ]
    )


def _program(program: Program) -> str:
    usage = f"outreach {program.name} {program.usage}".rstrip()
    examples = [e if e.startswith("eval ") else f"outreach {e}" for e in program.examples]
    return "\n".join(
        [
            f"### {program.name}\n",
            f"{program.summary}.\n",
            _block(usage, examples),
            *_options(program_parser(program)),
        ]
    )


def _block(usage: str, examples: Sequence[str]) -> str:
    more = [example for example in examples if example != usage]
    return "\n".join(["```", usage, *([""] if more else []), *more, "```\n"])


def _options(parser: ArgumentParser) -> Iterator[str]:
    """Those that only this word has."""
    rows = []
    for action in parser._actions:  # argparse has no public way to list them
        option = action.option_strings[-1] if action.option_strings else ""
        if option and option not in EVERYWHERE and action.help != SUPPRESS:
            # A bar within a cell is escaped, even in code: `--format csv\\|jsonl`.
            value = action.metavar or "\\|".join(map(str, action.choices or ()))
            written = option if action.nargs == 0 else f"{option} {value}"
            rows.append(f"| `{written}` | {action.help} |")
    if rows:
        yield "\n".join(["| option | |", "|---|---|", *rows]) + "\n"


def events_table() -> str:
    """The table of docs/events.md: those that are posted at once, then the others."""
    rows = ["| event | means | without a subscription |", "|---|---|---|"]
    for kind in sorted(EVENTS.values(), key=lambda one: not one.at_once):
        many = "; many at once fire a guardrail" if kind.trouble else ""
        counted = f"counted in the digest{many}" if not kind.own else "shown with the domain"
        posted = "a card in the alert channel, at once" if kind.at_once else counted
        rows.append(f"| `{kind.name}` | {kind.meaning} | {posted} |")
    return "\n".join(rows)


def with_table(page: str, table: str) -> str:
    """The page with this table in place of the one with the same first row."""
    before, first, after = page.partition(table.splitlines()[0])
    return f"{before}{table}\n\n{after.partition(chr(10) * 2)[2]}" if first else page


def settings_page() -> str:
    return f"{_SETTINGS}\n```toml\n{commented_template().rstrip()}\n```\n"


def metrics_page() -> str:
    rows = []
    for metric in vars(metrics).values():
        if isinstance(metric, MetricWrapperBase):
            (family,) = metric.describe()
            name = f"{family.name}_total" if family.type == "counter" else family.name
            labels = ", ".join(
                f"`{label}`" for label in metric._labelnames
            )  # there is no public way to list them
            rows.append(f"| `{name}` | {family.type} | {labels} | {family.documentation} |\n")
    for family in metrics.PROCESS.collect():
        name = f"{family.name}_total" if family.type == "counter" else family.name
        rows.append(f"| `{name}` | {family.type} |  | {family.documentation.removesuffix('.')} |\n")
    return _METRICS + "".join(rows)


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    (folder / "commands.md").write_text(commands_page(), encoding="utf-8")
    events = folder / "events.md"
    events.write_text(with_table(events.read_text(encoding="utf-8"), events_table()), encoding="utf-8")
    (folder / "metrics.md").write_text(metrics_page(), encoding="utf-8")
    (folder / "settings.md").write_text(settings_page(), encoding="utf-8")
