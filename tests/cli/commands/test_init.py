"""`outreach init`: the file, the questions, and what is checked while they are answered."""

from __future__ import annotations

import io
import json
import shlex
import stat
from pathlib import Path
from typing import Any

import pytest

from bot.slack.manifest import manifest
from sandbox.slack import seed
from shared.settings import Need, load
from tests.cli.conftest import ROOT, Shell


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> Any:
    def give(*lines: str) -> None:
        monkeypatch.setattr("sys.stdin", io.StringIO("\n".join(lines) + "\n"))

    return give


@pytest.fixture
def empty(offline: Shell) -> Shell:
    """A shell without a setting."""
    for name in ("OUTREACH_BASE_URL", "OUTREACH_API_KEY", "OUTREACH_DATABASE_URL"):
        offline.unset(name)
    return offline


def test_the_answers_are_checked_and_make_a_private_file_that_works(
    empty: Shell, sandbox: dict[str, Any], answers: Any, tmp_path: Path
) -> None:
    empty.set("SLACK_API_URL", sandbox["slack_api_url"])
    file = tmp_path / "outreach.toml"
    answers(
        sandbox["base_url"],
        sandbox["api_keys"]["acme"],
        f"sqlite:///{tmp_path}/bot.db",
        "https://bot.example.com",
        "y",
        sandbox["slack_bot_token"],
        sandbox["slack_signing_secret"],
        seed.ALERTS,
    )
    done = empty.run("init", "--interactive", str(file))
    assert done.code == 0, done.err
    assert "API key of default: passed: accepted" in done.err
    assert "Slack token: passed" in done.err
    assert "outreach manifest --url https://bot.example.com" in done.err
    assert "webhooks create --url https://bot.example.com/webhooks/outreach" in done.err
    assert sandbox["api_keys"]["acme"] not in done.err + done.out
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    settings = load(config=file, needs=tuple(Need), environ={})
    assert settings.workspaces["default"].alert_channel == seed.ALERTS
    assert settings.secret_keys
    assert settings.public_url == "https://bot.example.com"
    empty.unset("SLACK_API_URL")
    assert empty.run("--config", str(file), "sequences", "--json").code == 0


def test_without_slack_an_address_and_a_key_are_enough(
    empty: Shell, sandbox: dict[str, Any], answers: Any, tmp_path: Path
) -> None:
    file = tmp_path / "outreach.toml"
    answers(sandbox["base_url"], sandbox["api_keys"]["acme"], "", "")
    done = empty.run("init", "--interactive", str(file))
    assert done.code == 0, done.err
    assert "outreach status" in done.err
    assert load(config=file, needs=(Need.API,), environ={}).slack.bot_token is None
    assert empty.run("--config", str(file), "sequences", "--json").code == 0


def test_a_wrong_key_is_named_and_asked_again(
    empty: Shell, sandbox: dict[str, Any], answers: Any, tmp_path: Path
) -> None:
    # A bad address is refused before the key is asked for.
    address = sandbox["base_url"]
    answers(address.removesuffix("/v1"), address, "wrong", "y", "", sandbox["api_keys"]["acme"])
    done = empty.run("init", "--interactive", str(tmp_path / "outreach.toml"))
    assert "does not end in /v1" in done.err.partition("API key")[0]
    assert "API key of default: failed: GET /sequences: The API key is missing or revoked" in done.err
    assert "API key of default: passed: accepted" in done.err
    assert done.code == 1, "the answers end there"
    assert "nothing was written" in done.err
    assert not (tmp_path / "outreach.toml").exists()


def test_a_file_that_is_there_is_kept(offline: Shell, tmp_path: Path) -> None:
    file = tmp_path / "outreach.toml"
    assert offline.run("init", str(file)).code == 0
    written = file.read_text()
    assert offline.run("init", str(file)).code == 1
    assert file.read_text() == written
    assert offline.run("init", str(file), "--yes").code == 0


@pytest.mark.parametrize(
    "words", [("--url", "https://bot.example.com/"), ("--url", "https://bot.example.com/slack/events")]
)
def test_the_manifest_has_the_bots_address(offline: Shell, words: tuple[str, ...]) -> None:
    printed = offline.run("manifest", *words)
    assert printed.code == 0
    assert printed.out.count("https://bot.example.com/slack/events\n") == 4
    assert "YOUR-BOT" not in printed.out


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("--url", "http://bot.example.com"),
        ("--url", "bot"),
    ],
)
def test_a_manifest_without_a_way_in_is_wrong_usage(offline: Shell, words: tuple[str, ...]) -> None:
    assert offline.run("manifest", *words).code == 2


def test_a_manifest_has_one_way_in(offline: Shell) -> None:
    refused = offline.run("manifest", "--socket-mode", "--url", "https://bot.example.com")
    assert refused.code == 2
    assert "leave out --url" in refused.err


def test_the_manifest_takes_the_public_address_of_the_settings(offline: Shell) -> None:
    offline.set("OUTREACH_PUBLIC_URL", "https://bot.example.com/")
    assert "https://bot.example.com/slack/events" in offline.run("manifest").out
    offline.set("OUTREACH_PUBLIC_URL", "bot.example.com")
    refused = offline.run("manifest")
    assert refused.code == 2
    assert "OUTREACH_PUBLIC_URL" in refused.err


def test_slacks_own_command_line_gets_the_manifest_as_json(offline: Shell) -> None:
    hooks = json.loads((ROOT / ".slack" / "hooks.json").read_text())["hooks"]
    program, *words = shlex.split(hooks["get-manifest"])
    assert program == "outreach"
    assert offline.run(*words).data == manifest(socket_mode=True)
    with_address = offline.run("manifest", "--url", "https://bot.example.com", "--json").data
    assert with_address["features"]["slash_commands"][0]["url"] == "https://bot.example.com/slack/events"
