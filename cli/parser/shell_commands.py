"""The table of shell-only commands.

One entry per command, in the order of the help; `entry` is imported only when its command is typed. Commands that
also work in Slack and the dashboard are in `shared.commands`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from cli.parser import program_options

if TYPE_CHECKING:  # imported when the options of a word are read, not to name the words
    from argparse import ArgumentParser


class Group(StrEnum):
    """The groups of commands, in the order of the help."""

    RUN = "Run"
    SET_UP = "Set up"
    DATA = "Data"


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """A word, what it does, and where its `run(args) -> int` is."""

    name: str
    group: Group
    summary: str
    entry: str
    """`module:function`"""
    options: Callable[[ArgumentParser], None]
    examples: tuple[str, ...] = ()
    usage: str = ""
    """The words after the name, as in a command of the table."""
    aliases: tuple[str, ...] = ()
    """Other names, which mean exactly the same."""


_ALL = (
    Program(
        name="demo",
        group=Group.RUN,
        summary="Run a demo: embedded service, Slack stand-in, bot and dashboard",
        entry="cli.commands.launch:demo",
        options=program_options.demo,
        examples=(
            "demo",
            "demo --headless --for 20",
            "demo --scenario deliverability-crisis --speed 1200",
        ),
        usage="[--headless] [--for SECONDS] [--speed X] [--scenario NAME|FILE]",
    ),
    Program(
        name="bot",
        group=Group.RUN,
        summary="Run the Slack bot and webhook receiver",
        entry="cli.commands.launch:bot",
        options=program_options.bot,
        examples=("bot",),
    ),
    Program(
        name="dashboard",
        group=Group.RUN,
        summary="Open the terminal dashboard",
        entry="cli.commands.launch:dashboard",
        options=program_options.dashboard,
        examples=(
            "dashboard",
            "dashboard --wall",
            "dashboard --once --json",
            "dashboard --web",
        ),
        usage="[--wall] [--once] [--json] [--svg FILE] [--incident] [--web] [--port N]",
    ),
    Program(
        name="sandbox",
        group=Group.RUN,
        summary="Run only the embedded outreach service and Slack stand-in",
        entry="cli.commands.launch:sandbox",
        options=program_options.sandbox,
        examples=(
            "sandbox",
            "sandbox --port 8080 --scenario reply-storm --speed 60",
            "sandbox --scenario launch.toml",
        ),
        usage="[--port N] [--slack-port N] [--dns-port N] [--seed N] [--speed X] [--start WHEN] [--scenario NAME|FILE] [--inboxes N]",
    ),
    Program(
        name="slack-standin",
        group=Group.RUN,
        summary="Run only the Slack stand-in, for any bot",
        entry="cli.commands.launch:slack_standin",
        options=program_options.slack_standin,
        examples=(
            "slack-standin",
            "slack-standin --manifest manifest.yml --request-url http://127.0.0.1:3000/slack/events",
            "slack-standin --manifest one.yml --manifest two.yml",
        ),
        usage="[--port N] [--manifest FILE [--request-url URL]]... [--world FILE]",
    ),
    Program(
        name="mcp",
        group=Group.RUN,
        summary="Let an assistant on this machine read the account (Model Context Protocol on stdio)",
        entry="cli.commands.mcp:run",
        options=program_options.mcp,
        examples=("mcp",),
    ),
    Program(
        name="init",
        group=Group.SET_UP,
        summary="Create a commented outreach.toml",
        entry="cli.commands.init:init",
        options=program_options.init,
        examples=("init", "init --interactive", "init ~/.config/outreach/outreach.toml"),
        usage="[FILE] [--interactive]",
    ),
    Program(
        name="manifest",
        group=Group.SET_UP,
        summary="Print the Slack app manifest, ready to paste",
        entry="cli.commands.manifest:run",
        options=program_options.manifest,
        examples=(
            "manifest --url https://bot.example.com",
            "manifest --socket-mode",
            "manifest --socket-mode --json",
        ),
        usage="(--url URL | --socket-mode) [--json]",
    ),
    Program(
        name="webhooks",
        group=Group.SET_UP,
        summary="Subscribe to the service's events, store the secrets for the bot, and remove old ones",
        entry="cli.commands.webhooks:run",
        options=program_options.webhooks,
        examples=(
            "webhooks create --url https://ops.example.com/webhooks/outreach",
            "webhooks create --url https://ops.example.com/webhooks/outreach interested paused-domains",
            "webhooks list",
            "webhooks rotate",
            "webhooks forget wh_8f2 --after 24h",
        ),
        usage="create --url URL [EVENT…] | list | rotate [ID…] [--after 24h] | forget ID… [--after 24h]",
    ),
    Program(
        name="doctor",
        group=Group.SET_UP,
        summary="Check settings, keys, channel, webhook address, database and clock",
        entry="cli.doctor.run:run",
        options=program_options.doctor,
        examples=("doctor", "doctor --json", "doctor --shapes"),
        usage="[--json] [--shapes]",
    ),
    Program(
        name="completion",
        group=Group.SET_UP,
        summary="Print the completion script for a shell",
        entry="cli.commands.completion:run",
        options=program_options.completion,
        examples=(
            'eval "$(outreach completion bash)"',
            "completion fish > ~/.config/fish/completions/outreach.fish",
        ),
        usage="bash|zsh|fish",
    ),
    Program(
        name="version",
        group=Group.SET_UP,
        summary="Print the version, the commit and the database schema",
        entry="cli.commands.version:run",
        options=program_options.version,
        examples=("version", "version --json"),
        usage="[--json]",
    ),
    Program(
        name="import",
        group=Group.DATA,
        summary="Add leads from a CSV file to a sequence, and continue after an interruption",
        entry="cli.bulk.import_command:run",
        options=program_options.import_,
        examples=(
            'import leads.csv --to "Q3 CTO" --dry-run',
            'import leads.csv --to sq_8f2 --map "Work mail=email" --map Notes=-',
        ),
        usage="FILE.csv --to SEQUENCE [--map COLUMN=FIELD …] [--encoding NAME] [--dry-run] [--report FILE]",
    ),
    Program(
        name="export",
        group=Group.DATA,
        summary="Export leads to a CSV or JSON lines file",
        entry="cli.bulk.export_command:run",
        options=program_options.export,
        examples=("export leads.csv", 'export interested.jsonl --sequence "Q3 CTO" --status interested'),
        usage="FILE [--sequence SEQUENCE] [--status STATUS] [--format csv|jsonl] [--force]",
    ),
    Program(
        name="report",
        group=Group.DATA,
        summary="Summarize a period for a client: counts, replies, domains, incidents",
        entry="cli.commands.report:run",
        options=program_options.report,
        examples=(
            "report last-month",
            "report @acme 2026-03-01..2026-03-31 --json --with-leads",
        ),
        usage="[@WORKSPACE] [last-week|last-month|FROM..TO] [--json] [--with-leads]",
    ),
    Program(
        name="forget",
        group=Group.DATA,
        summary="Erase a person from everything that the bot stored",
        entry="cli.commands.forget:run",
        options=program_options.forget,
        examples=("forget ada@acme.example", "forget ada@acme.example --slack --yes"),
        usage="EMAIL [--slack] [--yes] [--json]",
    ),
    Program(
        name="database",
        group=Group.DATA,
        summary="Show, back up, restore and upgrade the bot's database",
        entry="cli.commands.database:run",
        options=program_options.database,
        examples=(
            "database status",
            "database backup outreach-backup.db",
            "database restore outreach-backup.db",
        ),
        usage="status | backup FILE | restore FILE | upgrade",
    ),
)

PROGRAMS: Mapping[str, Program] = {program.name: program for program in _ALL}
_BY_WORD = {word: program for program in _ALL for word in (program.name, *program.aliases)}


def find_program(word: str) -> Program | None:
    """The program of a name or an alias."""
    return _BY_WORD.get(word)
