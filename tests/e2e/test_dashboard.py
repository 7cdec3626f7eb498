"""The real dashboard in a real terminal (tmux), against the real sandbox, under the faults of an unkind world."""

from __future__ import annotations

import re
import shlex
import time
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path

import psutil
import pytest

from tests.e2e.conftest import PROGRAM, Announced, Terminal, announced

STILL = ("sandbox", "--port", "0", "--slack-port", "0", "--speed", "0", "--scenario")


class Screen(Terminal):
    """The dashboard in its own tmux."""

    def __init__(
        self,
        sandbox: Announced,
        *,
        folder: Path,
        size: tuple[int, int] = (160, 50),
        environ: Mapping[str, str] | None = None,
    ) -> None:
        (folder / "outreach.toml").touch()
        settings = {
            "OUTREACH_CONFIG": str(folder / "outreach.toml"),
            "OUTREACH_BASE_URL": sandbox.announced["base_url"],
            "OUTREACH_API_KEY": sandbox.announced["api_keys"]["acme"],
            "OUTREACH_DATABASE_URL": f"sqlite:///{folder}/outreach.db",
            "OUTREACH_POLL_SECONDS": "1",
            "XDG_STATE_HOME": str(folder),
            **(environ or {}),
        }
        given = [f"{name}={value}" for name, value in settings.items()]
        command = ["env", *given, *PROGRAM, "dashboard"]
        super().__init__(shlex.join(command), folder=folder, size=size)


@pytest.fixture(scope="module")
def service() -> Iterator[Announced]:
    """Run one service for a module's tests: each undoes what it changes."""
    with announced(*STILL, "calm-week") as opened:
        yield opened


@pytest.fixture
def sandbox(service: Announced) -> Iterator[Announced]:
    yield service
    service.control("/faults", method="DELETE")


@pytest.fixture
def screen(sandbox: Announced, tmp_path: Path) -> Iterator[Screen]:
    opened = Screen(sandbox, folder=tmp_path)
    yield opened
    opened.close()


def test_a_service_that_drops_every_connection_is_shown_until_it_recovers(
    sandbox: Announced, screen: Screen
) -> None:
    screen.until("at risk|healthy")
    sandbox.control("/faults", {"cut": True, "times": None})
    shown = screen.until("can't be reached since|slow to respond|No response for")
    assert re.search(r"useacme|acme", shown), "the last data stays"
    screen.until("late|stale")
    sandbox.control("/faults", method="DELETE")
    screen.until("can't be reached since|slow to respond|No response for", absent=True)


def test_an_empty_account_is_shown_as_empty(tmp_path: Path) -> None:
    with (
        announced(*STILL, "empty") as sandbox,
        closing(Screen(sandbox, folder=tmp_path, size=(100, 30))) as screen,
    ):
        shown = screen.until("No inboxes are connected")
        assert "healthy" not in shown, "nothing is well where nothing is"


def test_a_slow_service_is_shown_and_the_keys_still_work(sandbox: Announced, screen: Screen) -> None:
    screen.until("at risk|healthy")
    sandbox.control("/faults", {"delay": 40.0, "times": None})
    screen.until("late:")
    screen.until("slow to respond")
    screen.until("data from")
    screen.press("2")
    screen.until("▌SEQUENCES", seconds=25)  # and not when the service answers
    sandbox.control("/faults", method="DELETE")
    assert "late:" not in screen.until("stale|late:", absent=True)


def test_a_damaged_history_is_set_aside_said_and_begun_anew(sandbox: Announced, tmp_path: Path) -> None:
    (tmp_path / "outreach-history.db").write_bytes(b"this isn't a database\n" * 1000)
    with closing(Screen(sandbox, folder=tmp_path)) as screen:
        screen.until("It was moved to outreach-history.db.damaged-")
        screen.until("at risk|healthy|not sending")
        for _ in range(3):  # the account's own alarms come first
            screen.press("a")
            time.sleep(1)
        assert "DOMAINS" in screen.text()
    assert (tmp_path / "outreach-history.db").read_bytes().startswith(b"SQLite format 3")
    assert list(tmp_path.glob("*.damaged-*"))


@pytest.mark.parametrize("kind", ["TERM=linux", "TERM=xterm-16color", "NO_COLOR=1", "LC_ALL=C PYTHONUTF8=0"])
def test_poorer_terminals_show_the_same_words(sandbox: Announced, tmp_path: Path, kind: str) -> None:
    environ = dict(pair.split("=") for pair in kind.split())
    with closing(Screen(sandbox, folder=tmp_path, environ=environ)) as screen:
        message = screen.until("at risk|healthy")
        assert "DOMAINS" in message
        if "LC_ALL" in kind:
            assert message.isascii()
        assert psutil.Process(screen.pid).is_running()


def test_a_window_that_is_drawn_about_wildly_ends_up_right(screen: Screen, tmp_path: Path) -> None:
    screen.until("DOMAINS")
    for number in range(60):
        screen.resize(1 + number * 53 % 250, 1 + number * 31 % 70)
    screen.resize(160, 50)
    message = screen.until("INBOXES OF")
    assert "Internal error" not in message
    assert "Traceback" not in (tmp_path / "dashboard.log").read_text()
