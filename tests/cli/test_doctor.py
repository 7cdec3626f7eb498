"""The doctor names what is wrong and what fixes it, and changes nothing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any, ClassVar

import pytest

from bot.slack.manifest import SCOPES
from cli.doctor import clock, scopes
from sandbox.slack.web_api.methods import METHODS
from shared.domain.card import Tone
from tests.cli.conftest import ROOT, Shell
from tests.cli.running_bot import running_bot
from tests.kit import Run


@pytest.fixture
def slack(shell: Shell, sandbox: dict[str, Any]) -> Shell:
    """A shell whose settings are complete."""
    shell.set("SLACK_BOT_TOKEN", sandbox["slack_bot_token"])
    shell.set("SLACK_SIGNING_SECRET", sandbox["slack_signing_secret"])
    shell.set("SLACK_API_URL", sandbox["slack_api_url"])
    shell.set("OUTREACH_ALERT_CHANNEL", sandbox["slack_alert_channel"])
    shell.set("OUTREACH_PORT", "9")
    return shell


def findings(result: Run) -> dict[str, dict[str, str]]:
    return {finding["check"]: finding for finding in result.data}


class _Bot(BaseHTTPRequestHandler):
    """What the doctor may ask of a bot, and what it asked."""

    answer: ClassVar[int] = 401
    asked: ClassVar[list[tuple[str, str | None]]] = []

    def do_GET(self) -> None:
        self._say(200)

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.asked.append((self.path, self.headers["X-Service-Signature"]))
        self._say(self.answer)

    def _say(self, status: int) -> None:
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Quiet."""


@contextmanager
def bot(shell: Shell, *, answer: int) -> Iterator[str]:
    _Bot.answer = answer
    _Bot.asked.clear()
    with ThreadingHTTPServer(("127.0.0.1", 0), _Bot) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        shell.set("OUTREACH_PORT", str(server.server_port))
        yield f"http://127.0.0.1:{server.server_port}/webhooks/outreach"
        server.shutdown()
        thread.join()


@pytest.mark.parametrize("database", ["sqlite", "postgresql"])
def test_every_check_passes_with_a_complete_setup(
    slack: Shell, request: pytest.FixtureRequest, database: str
) -> None:
    if database == "postgresql":
        slack.set("OUTREACH_DATABASE_URL", request.getfixturevalue("fresh_postgresql"))
    with bot(slack, answer=401) as url:
        assert slack.run("webhooks", "create", "--url", url).code == 0
        result = slack.run("doctor", "--json")
        # The trial has a wrong signature of the right form: who takes that takes anyone's deliveries.
        assert [(path, len(signature or "")) for path, signature in _Bot.asked] == [
            ("/webhooks/outreach", 64)
        ]
    assert [f for f in result.data if f["status"] == "failed"] == []
    assert result.code == 0
    assert {
        "Configuration",
        "API key of default",
        "Clock",
        "Slack token",
        "Slack scopes",
        "Database",
        "Bot",
    } <= set(findings(result))


def test_an_address_that_takes_forged_deliveries_fails(slack: Shell) -> None:
    with bot(slack, answer=200) as url:
        assert slack.run("webhooks", "create", "--url", url).code == 0
        result = slack.run("doctor", "--json")
    assert result.code == 1
    assert findings(result)["Webhook address"]["status"] == "failed"


def test_each_fault_has_its_cure_and_no_secret_is_shown(slack: Shell) -> None:
    slack.set("OUTREACH_API_KEY", "live_wrong_key")
    slack.set("SLACK_BOT_TOKEN", "xoxb-wrong-token")
    result = slack.run("doctor", "--json")
    assert result.code == 1
    failed = {name: f for name, f in findings(result).items() if f["status"] == "failed"}
    assert {"API key of default", "Slack token", "Webhook secrets of default"} <= set(failed)
    assert all(f["fix"] for f in failed.values())
    assert "wrong_key" not in result.out
    assert "wrong-token" not in result.out


def test_a_secrets_file_that_others_can_read_is_a_warning(slack: Shell, sandbox: dict[str, Any]) -> None:
    file = slack.home / "token"
    file.write_text(sandbox["slack_bot_token"])
    slack.set("SLACK_BOT_TOKEN", "")
    slack.set("SLACK_BOT_TOKEN_FILE", str(file))
    for mode, warned in ((0o644, True), (0o600, False)):
        file.chmod(mode)
        result = slack.run("doctor", "--json")
        assert findings(result)["Slack token"]["status"] == "passed"
        assert (f"other users of this machine can read {file}" in result.out) == warned


def test_the_channels_of_routes_are_checked_too(slack: Shell) -> None:
    config = slack.home / "outreach.toml"
    config.write_text('[[routes.rules]]\nchannel = "C0NOWHERE2"\nevents = ["lead.bounced"]\n')
    result = slack.run("--config", str(config), "doctor", "--json")
    found = findings(result)
    assert "/invite @outreach" in found["Slack channel C0NOWHERE2"]["fix"]
    assert found["Slack channel C0ALERTS01"]["status"] == "passed"


def test_missing_settings_are_findings_and_the_rest_is_still_checked(shell: Shell) -> None:
    result = shell.run("doctor", columns=60)
    assert result.code == 1
    assert "SLACK_BOT_TOKEN is missing" in " ".join(result.out.split())
    assert "passed: accepted" in result.out
    assert max(map(len, result.out.splitlines())) <= 60


def test_a_database_that_cannot_be_written_fails(slack: Shell) -> None:
    slack.set("OUTREACH_DATABASE_URL", "sqlite:////proc/outreach.db")
    result = slack.run("doctor", "--json")
    assert findings(result)["Database"]["status"] == "failed"


def test_a_single_resolver_is_a_warning(slack: Shell) -> None:
    for resolvers, found in (
        ("127.0.0.1:1", "one resolver: problems are shown, but never alerted"),
        ("127.0.0.1:1,127.0.0.1:2", "2 resolvers"),
    ):
        slack.set("OUTREACH_DNS_RESOLVERS", resolvers)
        assert findings(slack.run("doctor", "--json"))["DNS resolvers"]["found"] == found
    slack.set("OUTREACH_DNS_ENABLED", "false")
    assert "enabled = false" in findings(slack.run("doctor", "--json"))["DNS"]["found"]


@pytest.mark.e2e
def test_a_bot_on_another_database_is_found_out(slack: Shell) -> None:
    with running_bot(slack) as address:
        assert findings(slack.run("doctor", "--json"))["Bot's database"]["status"] == "passed"
        slack.set("OUTREACH_DATABASE_URL", f"sqlite:///{slack.home / 'elsewhere' / 'outreach.db'}")
        result = slack.run("doctor", "--json")
        assert result.code == 1
        assert findings(result)["Bot's database"]["status"] == "failed"
        assert address in findings(result)["Bot's database"]["found"]


@pytest.mark.e2e
def test_a_bot_elsewhere_is_known_by_its_heartbeat(slack: Shell) -> None:
    with running_bot(slack):
        slack.set("OUTREACH_PORT", "9")
        assert "with this database" in findings(slack.run("doctor", "--json"))["Bot"]["found"]
    assert "not running" in findings(slack.run("doctor", "--json"))["Bot"]["found"]


@pytest.mark.parametrize(
    ("seconds", "tone"), [(0, Tone.GOOD), (-4, Tone.GOOD), (30, Tone.WARN), (-300, Tone.BAD)]
)
def test_a_wrong_clock_is_reported(seconds: int, tone: Tone) -> None:
    now = datetime(2026, 3, 1, 12, tzinfo=UTC)
    assert clock(now - timedelta(seconds=seconds), now=now).tone is tone


@pytest.mark.parametrize(
    ("held", "tone", "says", "fix"),
    [
        (["commands", "chat:write"], Tone.BAD, "channels:history", "Update the app"),
        ([], Tone.WARN, "Slack didn't list them", "Compare"),
        ([*SCOPES, "files:write"], Tone.GOOD, "granted", ""),
        (
            [scope for scope in SCOPES if scope != "chat:write.public"],
            Tone.WARN,
            "without chat:write.public it posts only in channels it was invited to",
            "Update the app",
        ),
    ],
)
def test_missing_scopes_are_named_with_their_effect(held: list[str], tone: Tone, says: str, fix: str) -> None:
    found = scopes(held)
    assert found.tone is tone
    assert says in found.found
    assert fix in found.fix


def test_every_method_that_the_bot_calls_is_covered_by_a_scope_of_the_manifest() -> None:
    files = (file for room in ("bot", "shared") for file in (ROOT / room).rglob("*.py"))
    source = "".join(file.read_text() for file in files)
    called = {name for name in METHODS if f'"{name}"' in source}
    assert {"chat.postMessage", "chat.update", "conversations.history", "views.publish"} <= called
    needed = {
        scope for name in called for scope in (METHODS[name].scope, METHODS[name].channel_scope) if scope
    }
    assert needed <= set(SCOPES)
