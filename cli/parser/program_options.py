"""The options of shell-only commands, and the parsers of their values."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sandbox import SCENARIOS

if TYPE_CHECKING:  # both are imported when the options of a word are read, not to name the words
    from argparse import ArgumentParser
    from pathlib import Path


DEMO_SPEED = 60.0
"""A day of the demo's account in 24 minutes."""


def demo(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--headless", action="store_true", help="without the dashboard: print a log, and a summary at the end"
    )
    parser.add_argument(
        "--for", dest="seconds", type=_seconds, metavar="SECONDS", help="stop after this many seconds"
    )
    _scenario(parser, speed=DEMO_SPEED)


def _scenario(parser: ArgumentParser, *, speed: float) -> None:
    parser.add_argument(
        "--speed",
        type=float,
        default=speed,
        metavar="X",
        help=f"speed of time; 1 is real time (default: {speed:g})",
    )
    parser.add_argument(
        "--scenario",
        default=SCENARIOS[0],
        metavar="NAME|FILE",
        help=f"kind of account: {', '.join(SCENARIOS)}, or a .toml file",
    )


def bot(_parser: ArgumentParser) -> None:
    """It takes all it needs from the settings."""


def mcp(parser: ArgumentParser) -> None:
    """No options of its own."""


def dashboard(parser: ArgumentParser) -> None:
    from argparse import SUPPRESS

    parser.add_argument("--wall", action="store_true", help="wall screen with rotating views")
    parser.add_argument("--once", action="store_true", help="print one snapshot as text and exit")
    parser.add_argument("--json", action="store_true", help="with --once: print JSON")
    parser.add_argument(
        "--svg", type=_path, metavar="FILE", help="with --once: write a picture of the dashboard"
    )
    parser.add_argument(
        "--incident",
        nargs="?",
        const="24h",
        choices=("6h", "24h", "7d"),
        help="with --svg: the picture shows every domain over this time (24h), for a post-mortem",
    )
    parser.add_argument(
        "--web", action="store_true", help="serve browsers on 127.0.0.1, read-only, up to four at a time"
    )
    parser.add_argument(
        "--port", type=_port, default=8014, metavar="N", help="port for --web (0: a free one)"
    )
    # What --web starts for each browser tab: a dashboard that only reads, without a terminal.
    parser.add_argument("--viewer", action="store_true", help=SUPPRESS)


def sandbox(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--port", type=_port, default=0, metavar="N", help="port of the service (0: a free one)"
    )
    parser.add_argument(
        "--slack-port", type=_port, default=0, metavar="N", help="port of the Slack stand-in (0: a free one)"
    )
    parser.add_argument(
        "--dns-port",
        type=_port,
        default=0,
        metavar="N",
        help="port of the first DNS resolver; the second is the next (0: free ones)",
    )
    parser.add_argument(
        "--inboxes",
        type=int,
        metavar="N",
        help="inboxes of the first workspace, up to 20000 (default: as the scenario says)",
    )
    parser.add_argument("--seed", type=int, default=7, metavar="N", help="seed of the generated account")
    parser.add_argument(
        "--start",
        type=_moment,
        metavar="WHEN",
        help="start time of the account, like 2026-03-02T09:00 (default: now)",
    )
    _scenario(parser, speed=1.0)


def slack_standin(parser: ArgumentParser) -> None:
    parser.add_argument("--port", type=_port, default=0, metavar="N", help="port (0: a free one)")
    parser.add_argument(
        "--manifest", type=_path, metavar="FILE", help="the app's manifest: its commands, events and scopes"
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


def _duration(text: str) -> float:
    """`30m`, `24h`, `7d` in seconds."""
    from argparse import ArgumentTypeError

    from shared.text.tokenize import parse_duration

    span = parse_duration(text)
    if span is None:
        raise ArgumentTypeError(f"{text!r} isn't a duration like 24h")
    return span.total_seconds()


def _seconds(text: str) -> float:
    from argparse import ArgumentTypeError

    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise ArgumentTypeError(f"{text!r} isn't a number of seconds above 0")
    return seconds


def doctor(parser: ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print the results as JSON")
    parser.add_argument(
        "--shapes", action="store_true", help="print the format of the service's responses: paths and types"
    )


def database(parser: ArgumentParser) -> None:
    parser.add_argument(
        "action",
        choices=("status", "backup", "restore", "upgrade"),
        help="what to do",
    )
    parser.add_argument("file", nargs="?", type=_path, metavar="FILE", help="file of backup or restore")
    parser.add_argument("--yes", action="store_true", help="with backup: overwrite an existing file")
    parser.add_argument("--json", action="store_true", help="with status: print JSON")


def forget(parser: ArgumentParser) -> None:
    parser.add_argument("address", metavar="EMAIL", help="the person's email address")
    parser.add_argument(
        "--slack",
        action="store_true",
        help="also delete the messages about the person that the bot posted in Slack",
    )
    parser.add_argument("--yes", action="store_true", help="don't ask for confirmation")
    parser.add_argument("--json", action="store_true", help="print JSON")


def webhooks(parser: ArgumentParser) -> None:
    parser.add_argument(
        "action",
        choices=("create", "list", "rotate", "forget"),
        help="subscribe, list subscriptions, replace a secret, or remove one",
    )
    parser.add_argument(
        "events", nargs="*", metavar="EVENT|ID", help="events (default: all); with rotate and forget: ids"
    )
    parser.add_argument("--url", metavar="URL", help="the bot's public https address, …/webhooks/outreach")
    parser.add_argument(
        "--after",
        type=_duration,
        metavar="24h",
        help="with rotate and forget: accept deliveries with the old secret for this long",
    )
    parser.add_argument("--show-secret", action="store_true", help="print the secret too")
    parser.add_argument(
        "--yes",
        action="store_true",
        help="skip the confirmation; with create: also subscribe twice, or an address the bot doesn't serve",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")


def import_(parser: ArgumentParser) -> None:
    parser.add_argument(
        "file", type=_path, metavar="FILE", help="CSV with any delimiter and encoding (-: stdin)"
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
        help="a column's header or number and the field it fills; - as FIELD skips it (may be repeated)",
    )
    parser.add_argument(
        "--encoding", metavar="NAME", help="encoding, if detection is wrong: shift_jis, cp1250 …"
    )
    parser.add_argument(
        "--dry-run", action="store_true", help="read and check the file without sending anything"
    )
    parser.add_argument("--report", type=_path, metavar="FILE", help="file for the outcome of each row")
    parser.add_argument("--yes", action="store_true", help="skip the confirmation")
    parser.add_argument("--json", action="store_true", help="print the totals as JSON")


def export(parser: ArgumentParser) -> None:
    from shared.api.words import LEAD_STATUSES

    parser.add_argument("file", type=_path, metavar="FILE", help="file ending in .csv or .jsonl (-: stdout)")
    parser.add_argument("--force", action="store_true", help="overwrite an existing file")
    parser.add_argument("--sequence", metavar="SEQUENCE", help="id, name, or the start of a unique name")
    parser.add_argument("--status", choices=LEAD_STATUSES, help="only leads with this status")
    parser.add_argument("--format", choices=("csv", "jsonl"), help="format, if the file name doesn't show it")


def report(parser: ArgumentParser) -> None:
    parser.add_argument("words", nargs="*", metavar="RANGE", help="last-week, last-month, 30d, or FROM..TO")
    parser.add_argument("--json", action="store_true", help="print the data as JSON")
    parser.add_argument(
        "--with-leads",
        action="store_true",
        help="include names, companies and addresses of leads (default: no personal data)",
    )


def init(parser: ArgumentParser) -> None:
    parser.add_argument("file", nargs="?", type=_path, default="outreach.toml", metavar="FILE")
    parser.add_argument(
        "--interactive",
        action="store_true",
        help="ask for each value and check it with the service and Slack",
    )
    parser.add_argument("--yes", action="store_true", help="overwrite an existing file")


def manifest(parser: ArgumentParser) -> None:
    parser.add_argument("--url", metavar="URL", help="the bot's public https address")
    parser.add_argument(
        "--socket-mode", action="store_true", help="for Socket Mode, without a public address"
    )
    parser.add_argument("--json", action="store_true", help="print JSON, for Slack's own command line")


def version(parser: ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print JSON")


def completion(parser: ArgumentParser) -> None:
    parser.add_argument("shell", choices=("bash", "zsh", "fish"))
