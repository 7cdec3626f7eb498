"""What is seen before the settings are read is what the settings say."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from shared.history import History
from shared.settings import load
from tests.clock import moment
from tests.tui.accounts import account
from tui.system.fast_start import read_start_settings

PLAIN = {"OUTREACH_BASE_URL": "http://127.0.0.1:9/v1", "OUTREACH_API_KEY": "live_test"}
FILE = """
poll_seconds = 7
[dashboard]
theme = "day"
"""


def environ_of(folder: Path, text: str = FILE, **more: str) -> dict[str, str]:
    (folder / "outreach.toml").write_text(text)
    given = {
        "OUTREACH_CONFIG": str(folder / "outreach.toml"),
        "OUTREACH_DATABASE_URL": f"sqlite:///{folder}/outreach.db",
    }
    return PLAIN | given | more


FULL = (
    FILE
    + """
[thresholds]
healthy = 85
[routes]
fallback = "C0123456789"
[alerts]
spike_count = 5
[roles]
admin = ["U0123456789"]
[slack]
bot_token = "xoxb-sesame"
[fields.inbox]
health_score = "metrics.health"
"""
)


@pytest.mark.parametrize(
    "text", [FILE, FULL, FILE.replace("poll", "OUTREACH_POLL"), 'state_dir = "chosen"\n' + FILE]
)
async def test_a_glimpse_and_the_settings_agree(tmp_path: Path, text: str) -> None:
    environ = environ_of(tmp_path, text)
    settings, now = load(environ=environ), moment()
    async with History(settings.history_database) as store:
        await store.add(account(now=now, workspace=settings.default_workspace), now=now)
    start_settings = read_start_settings(config=None, environ=environ, workspace=None)
    assert start_settings
    assert start_settings.workspace == settings.default_workspace
    assert str(start_settings.history) == settings.history_database.database
    assert start_settings.state == settings.state_dir
    assert start_settings.poll_seconds == settings.poll_seconds
    assert start_settings.section == settings.dashboard
    assert start_settings.thresholds == settings.workspace().thresholds
    last = start_settings.last()
    assert last
    assert len(last.inboxes.value or ()) == 24


@pytest.mark.parametrize(
    ("text", "more"),
    [
        pytest.param("[workspaces.b]\napi_key = 'x'", {}, id="several workspaces"),
        pytest.param("[thresholds]\nbad = 'low'", {}, id="thresholds that are none"),
        pytest.param("no toml", {}, id="a broken file"),
        pytest.param("", {"OUTREACH_API_KEY": " "}, id="no key"),
        pytest.param("", {"OUTREACH_POLL_SECONDS": "often"}, id="no number"),
        pytest.param("", {"OUTREACH_DATABASE_URL": "postgresql://h/n"}, id="PostgreSQL"),
    ],
)
def test_unusual_settings_use_the_slow_start(tmp_path: Path, text: str, more: dict[str, str]) -> None:
    (tmp_path / "outreach-history.db").touch()
    assert read_start_settings(config=None, environ=environ_of(tmp_path), workspace=None)
    assert (
        read_start_settings(config=None, environ=environ_of(tmp_path, text, **more), workspace=None) is None
    )


@pytest.mark.parametrize("content", [b"", b"no database" * 500])
def test_a_history_that_cannot_be_read_shows_nothing_and_stays_as_it_is(
    tmp_path: Path, content: bytes
) -> None:
    file = tmp_path / "outreach-history.db"
    file.write_bytes(content)
    start_settings = read_start_settings(config=None, environ=environ_of(tmp_path), workspace=None)
    assert start_settings
    assert start_settings.last() is None
    assert file.read_bytes() == content


def loaded_before_the_first_paint() -> set[str]:
    code = "import sys, cli.main, cli.commands.launch, tui.app.run; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_the_first_paint_waits_for_no_database_library() -> None:
    libraries = {"sqlalchemy", "httpx", "apscheduler", "shared.settings"}
    assert not libraries & loaded_before_the_first_paint()


def test_the_first_paint_waits_for_no_page_that_a_key_opens() -> None:
    names = ("alarms", "incident", "palette", "replies", "text_report")
    pages = {f"tui.screens.{name}" for name in names}
    assert all(find_spec(page) for page in pages)
    behind = {
        "shared.domain.dns_facts",
        "shared.domain.reply_queue",
        "shared.records.records",
        "tui.model.input.palette_offers",
        "shared.domain_health",
        "shared.guardrails",
        "tui.model.plots.incident",
    }
    assert not (pages | behind) & loaded_before_the_first_paint()
