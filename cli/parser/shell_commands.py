"""The words of `outreach` that only a shell has: what to run, and the options of each.

One entry a program, in the order of showing; `entry` is imported only when its word is typed. The commands that
Slack and the dashboard have too are in `shared.commands`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # both are imported when the options of a word are read, not to name the words
    from argparse import ArgumentParser
    from pathlib import Path

SCENARIOS = ("calm-week", "deliverability-crisis", "reply-storm", "empty", "huge", "hostile-replies")


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """A word, what it does, and where its `run(args) -> int` is."""

    name: str
    summary: str
    entry: str
    """`module:function`"""
    options: Callable[[ArgumentParser], None]
    examples: tuple[str, ...] = ()
    usage: str = ""
    """The words after the name, as in a command of the table."""


def _demo(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--headless", action="store_true", help="no dashboard: print a log, and a summary at the end"
    )
    parser.add_argument(
        "--for", dest="seconds", type=_seconds, metavar="SECONDS", help="stop after this many seconds"
    )


def _bot(_parser: ArgumentParser) -> None:
    """It takes all it needs from the settings."""


def _dashboard(parser: ArgumentParser) -> None:
    from argparse import SUPPRESS

    parser.add_argument("--wall", action="store_true", help="wall screen: rotates through pages, no keys")
    parser.add_argument("--once", action="store_true", help="print one snapshot as text and exit")
    parser.add_argument("--json", action="store_true", help="with --once: the snapshot as JSON")
    parser.add_argument("--svg", type=_path, metavar="FILE", help="with --once: a picture of the dashboard")
    parser.add_argument(
        "--web", action="store_true", help="serve browsers on this machine; all share one poller"
    )
    parser.add_argument(
        "--port", type=_port, default=8014, metavar="N", help="with --web; 0 picks a free one"
    )
    # What --web starts for each browser tab: a dashboard that reads from the socket of the one poller.
    parser.add_argument("--follow", type=_path, help=SUPPRESS)


def _sandbox(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--port", type=_port, default=0, metavar="N", help="of the service; 0 picks a free one"
    )
    parser.add_argument("--slack-port", type=_port, default=0, metavar="N", help="of the Slack stand-in")
    parser.add_argument("--database", metavar="URL", help="database for the account (default: in memory)")
    parser.add_argument("--seed", type=int, default=7, metavar="N", help="seed of the generated account")
    parser.add_argument("--speed", type=float, default=1.0, metavar="X", help="1 is real time")
    parser.add_argument(
        "--start",
        type=_moment,
        metavar="WHEN",
        help="start time of the account, like 2026-03-02T09:00 (default: now)",
    )
    parser.add_argument(
        "--scenario",
        default=SCENARIOS[0],
        metavar="NAME|FILE",
        help=f"kind of account: {', '.join(SCENARIOS)}, or a .toml file",
    )


def _slack_standin(parser: ArgumentParser) -> None:
    parser.add_argument("--port", type=_port, default=0, metavar="N", help="0 picks a free one")
    parser.add_argument(
        "--manifest", type=_path, metavar="FILE", help="the app's manifest: its commands, events and scopes"
    )
    parser.add_argument(
        "--world", type=_path, metavar="FILE", help="people and channels of your own, in YAML or JSON"
    )
    parser.add_argument(
        "--request-url",
        metavar="URL",
        help="URL where the bot receives Slack's requests (default: Socket Mode only)",
    )


def _path(text: str) -> Path:
    from pathlib import Path

    return Path(text).expanduser()


def _port(text: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text) <= 65535):
        from argparse import ArgumentTypeError

        raise ArgumentTypeError(f"{text!r} isn't a port (0 to 65535)")
    return int(text)


def _moment(text: str) -> float:
    """A date or a time as ISO 8601, UTC unless it names an offset, in seconds of the Unix epoch."""
    from argparse import ArgumentTypeError
    from datetime import UTC, datetime

    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise ArgumentTypeError(f"{text!r} is not a date or time like 2026-03-02T09:00") from None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    if not 2000 <= moment.year <= 2100:
        raise ArgumentTypeError("choose a year from 2000 to 2100")
    return moment.timestamp()


def _seconds(text: str) -> float:
    from argparse import ArgumentTypeError

    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise ArgumentTypeError(f"{text!r} isn't a number of seconds above 0")
    return seconds


def _doctor(parser: ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="the findings as JSON")
    parser.add_argument(
        "--post", metavar="CHANNEL", help="post, update, read back and delete a message in a Slack channel"
    )
    parser.add_argument(
        "--shapes", action="store_true", help="format of the service's responses: paths and types"
    )


def _database(parser: ArgumentParser) -> None:
    parser.add_argument(
        "action",
        choices=("status", "backup", "restore", "upgrade"),
        help="show, back up, restore or upgrade it",
    )
    parser.add_argument("file", nargs="?", type=_path, metavar="FILE", help="of backup and restore")
    parser.add_argument("--yes", action="store_true", help="with backup: overwrite an existing file")
    parser.add_argument("--json", action="store_true", help="with status: the answer as JSON")


def _webhooks(parser: ArgumentParser) -> None:
    parser.add_argument(
        "action", choices=("create", "list", "forget"), help="subscribe, list, or remove a secret"
    )
    parser.add_argument(
        "events", nargs="*", metavar="EVENT|ID", help="event kinds (none: all); ids of forget"
    )
    parser.add_argument("--url", metavar="URL", help="the bot's public https address, …/webhooks/outreach")
    parser.add_argument("--show-secret", action="store_true", help="print the secret too")
    parser.add_argument(
        "--yes",
        action="store_true",
        help="subscribe a second time, or an address the bot doesn't serve; don't ask before forgetting",
    )
    parser.add_argument("--json", action="store_true", help="the answer as JSON")


def _slack_teams(parser: ArgumentParser) -> None:
    parser.add_argument("action", choices=("list", "allow", "remove"), help="list them, or change access")
    parser.add_argument(
        "team", nargs="?", metavar="TEAM", help="the id of a Slack workspace, like T0123456789"
    )
    parser.add_argument("--json", action="store_true", help="with list: the answer as JSON")


def _import(parser: ArgumentParser) -> None:
    parser.add_argument(
        "file", type=_path, metavar="FILE", help="CSV of any delimiter and encoding; - for stdin"
    )
    parser.add_argument(
        "--to", required=True, metavar="SEQUENCE", help="id, name, or the start of a unique name"
    )
    parser.add_argument(
        "--map",
        action="append",
        default=[],
        dest="pairs",
        metavar="COLUMN=FIELD",
        help="a column's header or number and the field it fills; FIELD - leaves it out; may be repeated",
    )
    parser.add_argument(
        "--encoding", metavar="NAME", help="encoding, if detection is wrong: shift_jis, cp1250 …"
    )
    parser.add_argument("--dry-run", action="store_true", help="read and check the file, send nothing")
    parser.add_argument("--report", type=_path, metavar="FILE", help="file for the outcome of each row")
    parser.add_argument(
        "--undo",
        action="store_true",
        help="remove the leads that an import added; FILE is the import's report",
    )
    parser.add_argument("--yes", action="store_true", help="skip the confirmation")
    parser.add_argument("--json", action="store_true", help="the totals as JSON")


def _export(parser: ArgumentParser) -> None:
    from shared.api.models import LEAD_STATUSES

    parser.add_argument("file", type=_path, metavar="FILE", help="ends in .csv or .jsonl; - for stdout")
    parser.add_argument("--force", action="store_true", help="overwrite an existing file")
    parser.add_argument("--sequence", metavar="SEQUENCE", help="id, name, or the start of a unique name")
    parser.add_argument("--status", choices=LEAD_STATUSES, help="only leads of this status")
    parser.add_argument(
        "--format", choices=("csv", "jsonl"), help="format, if the file's ending doesn't show it"
    )


def _report(parser: ArgumentParser) -> None:
    parser.add_argument("words", nargs="*", metavar="RANGE", help="last-week, last-month, 30d, or FROM..TO")
    parser.add_argument("--html", type=_path, metavar="FILE", help="write the page there; - for stdout")
    parser.add_argument("--json", action="store_true", help="the data as JSON")
    parser.add_argument(
        "--with-leads",
        action="store_true",
        help="name the leads, with company and address; without it, nobody",
    )


def _init(parser: ArgumentParser) -> None:
    parser.add_argument("file", nargs="?", type=_path, default="outreach.toml", metavar="FILE")
    parser.add_argument(
        "--interactive",
        action="store_true",
        help="ask for each value, and check it with the service and Slack",
    )
    parser.add_argument("--yes", action="store_true", help="overwrite an existing file")


def _manifest(parser: ArgumentParser) -> None:
    parser.add_argument("--url", metavar="URL", help="the bot's public https address")
    parser.add_argument("--socket-mode", action="store_true", help="for Socket Mode, which needs no address")


def _version(parser: ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="the answer as JSON")


def _completion(parser: ArgumentParser) -> None:
    parser.add_argument("shell", choices=("bash", "zsh", "fish"))


_ALL = (
    Program(
        name="demo",
        summary="Run a demo: embedded service, Slack stand-in, bot and dashboard",
        entry="cli.commands.launch:demo",
        options=_demo,
        examples=("demo", "demo --headless --for 20"),
        usage="[--headless] [--for SECONDS]",
    ),
    Program(
        name="bot",
        summary="Run the Slack bot and webhook receiver",
        entry="cli.commands.launch:bot",
        options=_bot,
        examples=("bot",),
    ),
    Program(
        name="dashboard",
        summary="Open the terminal dashboard",
        entry="cli.commands.launch:dashboard",
        options=_dashboard,
        examples=("dashboard", "dashboard --wall", "dashboard --once --json", "dashboard --web"),
        usage="[--wall] [--once] [--json] [--svg FILE] [--web] [--port N]",
    ),
    Program(
        name="sandbox",
        summary="Run only the embedded outreach service and Slack stand-in",
        entry="cli.commands.launch:sandbox",
        options=_sandbox,
        examples=(
            "sandbox",
            "sandbox --port 8080 --scenario reply-storm --speed 60",
            "sandbox --scenario launch.toml",
        ),
        usage="[--port N] [--slack-port N] [--database URL] [--seed N] [--speed X] [--start WHEN] [--scenario NAME|FILE]",
    ),
    Program(
        name="slack-standin",
        summary="Run only the Slack stand-in, for any bot",
        entry="cli.commands.launch:slack_standin",
        options=_slack_standin,
        examples=(
            "slack-standin",
            "slack-standin --manifest manifest.yml --request-url http://127.0.0.1:3000/slack/events",
        ),
        usage="[--port N] [--manifest FILE] [--world FILE] [--request-url URL]",
    ),
    Program(
        name="doctor",
        summary="Check settings, keys, channel, webhook address, database and clock",
        entry="cli.doctor.run:run",
        options=_doctor,
        examples=("doctor", "doctor --post '#outreach-alerts'", "doctor --json", "doctor --shapes"),
        usage="[--json] [--post CHANNEL] [--shapes]",
    ),
    Program(
        name="database",
        summary="Show, back up, restore and upgrade the bot's database",
        entry="cli.commands.database:run",
        options=_database,
        examples=(
            "database status",
            "database backup outreach-backup.db",
            "database restore outreach-backup.db",
        ),
        usage="status | backup FILE | restore FILE | upgrade",
    ),
    Program(
        name="webhooks",
        summary="Subscribe to the service's events, store the secrets for the bot, and remove old ones",
        entry="cli.commands.webhooks:run",
        options=_webhooks,
        examples=(
            "webhooks create --url https://ops.example.com/webhooks/outreach",
            "webhooks create --url https://ops.example.com/webhooks/outreach reply.interested domain.paused",
            "webhooks list",
            "webhooks forget wh_8f2",
        ),
        usage="create --url URL [EVENT…] | list | forget ID…",
    ),
    Program(
        name="slack-teams",
        summary="List Slack workspaces that installed the bot, and set their access",
        entry="cli.commands.slack_teams:run",
        options=_slack_teams,
        examples=(
            "slack-teams list",
            "slack-teams allow T0123456789 @acme",
            "slack-teams remove T0123456789 @acme",
            "slack-teams remove T0123456789",
        ),
        usage="list | allow TEAM @WORKSPACE | remove TEAM [@WORKSPACE]",
    ),
    Program(
        name="import",
        summary="Add leads from a CSV file to a sequence; continues after an interruption",
        entry="cli.bulk.import_command:run",
        options=_import,
        examples=(
            'import leads.csv --to "Q3 CTO" --dry-run',
            'import leads.report.csv --to "Q3 CTO" --undo',
            'import leads.csv --to sq_8f2 --map "Work mail=email" --map Notes=-',
        ),
        usage="FILE.csv --to SEQUENCE [--map COLUMN=FIELD …] [--encoding NAME] [--dry-run] [--report FILE] [--undo]",
    ),
    Program(
        name="export",
        summary="Export leads to a CSV or JSON lines file",
        entry="cli.bulk.export_command:run",
        options=_export,
        examples=("export leads.csv", 'export interested.jsonl --sequence "Q3 CTO" --status interested'),
        usage="FILE [--sequence SEQUENCE] [--status STATUS] [--format csv|jsonl] [--force]",
    ),
    Program(
        name="report",
        summary="Write a client report for a period, as one self-contained page",
        entry="cli.commands.report:run",
        options=_report,
        examples=(
            "report last-month --html report.html",
            "report @acme 2026-03-01..2026-03-31 --html report.html --with-leads",
            "report last-week --json",
        ),
        usage="[@WORKSPACE] [last-week|last-month|FROM..TO] [--html FILE] [--json] [--with-leads]",
    ),
    Program(
        name="init",
        summary="Create a commented outreach.toml",
        entry="cli.commands.init:init",
        options=_init,
        examples=("init", "init --interactive", "init ~/.config/outreach/outreach.toml"),
        usage="[FILE] [--interactive]",
    ),
    Program(
        name="manifest",
        summary="Print the Slack app manifest, ready to paste",
        entry="cli.commands.manifest:run",
        options=_manifest,
        examples=("manifest --url https://bot.example.com", "manifest --socket-mode"),
        usage="--url URL | --socket-mode",
    ),
    Program(
        name="completion",
        summary="Print the completion script for a shell",
        entry="cli.commands.completion:run",
        options=_completion,
        examples=(
            'eval "$(outreach completion bash)"',
            "completion fish > ~/.config/fish/completions/outreach.fish",
        ),
        usage="bash|zsh|fish",
    ),
    Program(
        name="version",
        summary="Print the version, the commit and the database schema",
        entry="cli.commands.version:run",
        options=_version,
        examples=("version", "version --json"),
        usage="[--json]",
    ),
)

PROGRAMS: Mapping[str, Program] = {program.name: program for program in _ALL}
