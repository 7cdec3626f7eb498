"""The commands that only a shell has: their words, options and examples, and where they run.

Help, completion, the parsers and docs/commands.md are made from this table. It is read by every `outreach --help`,
so it imports nothing but light modules, and an `entry` is imported only when its command is typed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from sandbox import SCENARIOS
from shared.api.words import LEAD_STATUSES

if TYPE_CHECKING:  # `pathlib` costs a tenth of the help's time
    from pathlib import Path

Option = tuple[str, dict[str, Any]]
"""The first name of an argument, and what argparse is given for it."""
LONGEST_COUNT = 10**9
"""More than any list has."""
DEMO_SPEED = 60.0
"""A day of the demo's account in 24 minutes."""


def flag(name: str, meaning: str, **more: Any) -> Option:
    return name, {"action": "store_true", "help": meaning, **more}


def value(name: str, metavar: str, meaning: str, **more: Any) -> Option:
    return name, {"metavar": metavar, "help": meaning, **more}


def choice(name: str, choices: tuple[str, ...], meaning: str) -> Option:
    return name, {"choices": choices, "help": meaning}


def path(text: str) -> Path:
    from pathlib import Path

    return Path(text).expanduser()


# Argparse names the argument and the value where one of these raises ValueError.
def port(text: str) -> int:
    number = int(text)
    if not 0 <= number <= 65535:
        raise ValueError
    return number


def count(text: str) -> int:
    number = int(text)
    if number < 1:
        raise ValueError
    # A database takes no limit beyond 63 bits.
    return min(number, LONGEST_COUNT)


def seconds(text: str) -> float:
    number = float(text)
    if not 0 < number < float("inf"):  # also not a number
        raise ValueError
    return number


def moment(text: str) -> float:
    """Read a date or a time in ISO 8601, in UTC unless it names an offset, as seconds of the Unix epoch."""
    from datetime import UTC, datetime

    given = datetime.fromisoformat(text)
    return (given if given.tzinfo else given.replace(tzinfo=UTC)).timestamp()


JSON = flag("--json", "print JSON")
CSV = flag("--csv", "print CSV")
YES = flag("--yes", "skip the confirmation")
PORT = value("--port", "N", "port (0: a free one)", type=port, default=0)
SCENARIO = value(
    "--scenario",
    "NAME|FILE",
    f"kind of account: {', '.join(SCENARIOS)}, or a .toml file",
    default=SCENARIOS[0],
)
SEQUENCE = "id, name, or the start of a unique name"


def _speed(usual: float) -> Option:
    meaning = f"speed of time; 1 is real time (default: {usual:g})"
    return value("--speed", "X", meaning, type=float, default=usual)


class Program(NamedTuple):
    """A word, the heading under which help lists it, what it does, and its `module:function`."""

    verb: str
    group: str
    summary: str
    entry: str
    options: tuple[Option, ...]
    examples: tuple[str, ...]


RUN, SET_UP, DATA = GROUPS = ("Run", "Set up", "Data")

_ALL = (
    Program(
        "demo",
        RUN,
        "Run a demo: embedded service, Slack stand-in, bot and dashboard",
        "cli.demo:run",
        (
            flag("--headless", "without the dashboard: print a log, and a summary at the end"),
            value("--for", "SECONDS", "stop after this many seconds", dest="seconds", type=seconds),
            _speed(DEMO_SPEED),
            SCENARIO,
        ),
        ("demo", "demo --headless --for 20", "demo --scenario deliverability-crisis --speed 1200"),
    ),
    Program("bot", RUN, "Run the Slack bot and webhook receiver", "cli.commands.launch:bot", (), ("bot",)),
    Program(
        "dashboard",
        RUN,
        "Open the terminal dashboard",
        "cli.commands.launch:dashboard",
        (
            flag("--wall", "wall screen with rotating views"),
            flag("--once", "print one snapshot as text and exit"),
            flag("--json", "with --once: print JSON"),
            value("--svg", "FILE", "with --once: write a picture of the dashboard", type=path),
            (
                "--incident",
                {
                    "nargs": "?",
                    "const": "24h",
                    "choices": ("6h", "24h", "7d"),
                    "help": "with --svg: the picture shows every domain over this time (24h), for a post-mortem",
                },
            ),
            flag("--web", "serve browsers on 127.0.0.1, read-only, up to four at a time"),
            value("--port", "N", "port for --web (0: a free one)", type=port, default=8014),
            # What --web starts for each browser tab: a dashboard that only reads, without a terminal.
            flag("--viewer", "==SUPPRESS=="),
        ),
        ("dashboard", "dashboard --wall", "dashboard --once --json", "dashboard --web"),
    ),
    Program(
        "sandbox",
        RUN,
        "Run only the embedded outreach service and Slack stand-in",
        "cli.commands.launch:sandbox",
        (
            PORT,
            value("--slack-port", "N", "port of the Slack stand-in (0: a free one)", type=port, default=0),
            value(
                "--inboxes",
                "N",
                "inboxes of the first workspace, up to 20000 (default: as the scenario says)",
                type=int,
            ),
            value("--seed", "N", "seed of the generated account", type=int, default=7),
            value(
                "--start",
                "WHEN",
                "start time of the account, like 2026-03-02T09:00 (default: now)",
                type=moment,
            ),
            _speed(1.0),
            SCENARIO,
        ),
        (
            "sandbox",
            "sandbox --port 8080 --scenario reply-storm --speed 60",
            "sandbox --scenario launch.toml",
        ),
    ),
    Program(
        "slack-standin",
        RUN,
        "Run only the Slack stand-in, for any bot",
        "cli.commands.launch:slack_standin",
        (
            PORT,
            value("--manifest", "FILE", "the app's manifest: its commands, events and scopes", type=path),
            value(
                "--request-url",
                "URL",
                "URL where the bot receives Slack's requests (default: Socket Mode only)",
            ),
        ),
        (
            "slack-standin",
            "slack-standin --manifest manifest.yml --request-url http://127.0.0.1:3000/slack/events",
        ),
    ),
    Program(
        "mcp",
        RUN,
        "Let an assistant on this machine read the account (Model Context Protocol on stdio)",
        "cli.commands.mcp:run",
        (),
        ("mcp",),
    ),
    Program(
        "init",
        SET_UP,
        "Create a commented outreach.toml",
        "cli.commands.set_up:init",
        (
            ("file", {"nargs": "?", "type": path, "default": "outreach.toml", "metavar": "FILE"}),
            flag("--interactive", "ask for each value and check it with the service and Slack"),
            flag("--yes", "overwrite an existing file"),
        ),
        ("init", "init --interactive", "init ~/.config/outreach/outreach.toml"),
    ),
    Program(
        "manifest",
        SET_UP,
        "Print the Slack app manifest, ready to paste",
        "cli.commands.set_up:manifest",
        (
            value("--url", "URL", "the bot's public https address (default: OUTREACH_PUBLIC_URL)"),
            flag("--socket-mode", "for Socket Mode, without a public address"),
            flag("--json", "print JSON, for Slack's own command line"),
        ),
        (
            "manifest --url https://bot.example.com",
            "manifest --socket-mode",
            "manifest --socket-mode --json",
        ),
    ),
    Program(
        "webhooks",
        SET_UP,
        "Subscribe to the service's events, store the secrets for the bot, and remove old ones",
        "cli.commands.webhooks:run",
        (
            choice(
                "action",
                ("create", "list", "rotate", "forget"),
                "subscribe, list subscriptions, replace a secret, or remove one",
            ),
            value("events", "EVENT|ID", "events (default: all); with rotate and forget: ids", nargs="*"),
            value("--url", "URL", "the bot's public https address, …/webhooks/outreach"),
            flag("--show-secret", "print the secret too"),
            flag(
                "--yes",
                "skip the confirmation; with create: also subscribe twice, or an address the bot doesn't serve",
            ),
            JSON,
            CSV,
        ),
        (
            "webhooks create --url https://ops.example.com/webhooks/outreach",
            "webhooks create --url https://ops.example.com/webhooks/outreach interested paused-domains",
            "webhooks list",
            "webhooks rotate",
            "webhooks forget wh_8f2",
        ),
    ),
    Program(
        "doctor",
        SET_UP,
        "Check settings, keys, channel, webhook address, database and clock",
        "cli.doctor:run",
        (flag("--json", "print the results as JSON"),),
        ("doctor", "doctor --json"),
    ),
    Program(
        "completion",
        SET_UP,
        "Print the completion script for a shell",
        "cli.commands.completion:run",
        (choice("shell", ("bash", "zsh", "fish"), "the shell"),),
        (
            'eval "$(outreach completion bash)"',
            "completion fish > ~/.config/fish/completions/outreach.fish",
        ),
    ),
    Program(
        "import",
        DATA,
        "Add leads from a CSV file to a sequence, and continue after an interruption",
        "cli.bulk.commands:import_leads",
        (
            value("file", "FILE", "CSV with any delimiter", type=path),
            value("--to", "SEQUENCE", SEQUENCE, required=True),
            value(
                "--map",
                "COLUMN=FIELD",
                "a column's header and the field it fills; - as FIELD skips it (may be repeated)",
                action="append",
                default=[],
                dest="pairs",
            ),
            value("--encoding", "NAME", "encoding, unless it is UTF-8, UTF-16 or cp1252"),
            flag("--dry-run", "read and check the file without sending anything"),
            value("--report", "FILE", "file for the outcome of each row", type=path),
            YES,
            flag("--json", "print the totals as JSON"),
        ),
        (
            'import leads.csv --to "Q3 CTO" --dry-run',
            'import leads.csv --to sq_8f2 --map "Work mail=email" --map Notes=-',
        ),
    ),
    Program(
        "export",
        DATA,
        "Export leads to a CSV or JSON lines file",
        "cli.bulk.commands:export_leads",
        (
            value("file", "FILE", "file ending in .csv or .jsonl (-: stdout)", type=path),
            flag("--force", "overwrite an existing file"),
            value("--sequence", "SEQUENCE", SEQUENCE),
            choice("--status", LEAD_STATUSES, "only leads with this status"),
            choice("--format", ("csv", "jsonl"), "format, if the file name doesn't show it"),
        ),
        ("export leads.csv", 'export interested.jsonl --sequence "Q3 CTO" --status interested'),
    ),
    Program(
        "forget",
        DATA,
        "Erase a person from everything that the bot stored",
        "cli.commands.forget:run",
        (
            value("address", "EMAIL", "the person's email address"),
            flag("--slack", "also delete the messages about the person that the bot posted in Slack"),
            YES,
            JSON,
        ),
        ("forget ada@acme.example", "forget ada@acme.example --slack --yes"),
    ),
    Program(
        "database",
        DATA,
        "Show, back up, restore and upgrade the bot's database",
        "cli.commands.database:run",
        (
            choice("action", ("status", "backup", "restore", "upgrade"), "what to do"),
            value("file", "FILE", "file of backup or restore", nargs="?", type=path),
            flag("--yes", "with backup: overwrite an existing file"),
            flag("--json", "with status: print JSON"),
        ),
        (
            "database status",
            "database backup outreach-backup.db",
            "database restore outreach-backup.db",
        ),
    ),
)
PROGRAMS = {program.verb: program for program in _ALL}
