"""The real dashboard in a real terminal (tmux), against the real sandbox, under the faults of an unkind world."""

from __future__ import annotations

import json
import re
import shlex
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.e2e.conftest import ROOT, Terminal
from tests.kit.processes import running

pytestmark = pytest.mark.e2e


class Sandbox:
    """The embedded service as its own process, standing still in time."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout
        self.announcement: dict[str, Any] = json.loads(process.stdout.readline())
        self.key = self.announcement["api_keys"]["acme"]

    def sequences(self) -> list[dict[str, Any]]:
        """Ask the service itself, once the dashboards of this key leave a request."""
        request = urllib.request.Request(
            f"{self.announcement['base_url']}/sequences", headers={"Authorization": f"Bearer {self.key}"}
        )
        end = time.monotonic() + 60
        while True:
            try:
                with urllib.request.urlopen(request, timeout=10) as answer:
                    found = json.loads(answer.read())
                return list(found["data"] if isinstance(found, dict) else found)
            except urllib.error.HTTPError as error:
                error.close()
                if error.code != 429 or time.monotonic() > end:
                    raise
            time.sleep(0.5)

    def control(self, path: str, body: object = None, *, method: str | None = None) -> None:
        """Turn a dial."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(
            f"{self.announcement['control_url']}/{path}",
            data=data,
            headers={"Content-Type": "application/json"},
            method=method,
        )
        urllib.request.urlopen(request, timeout=10).close()


@contextmanager
def open_sandbox(scenario: str = "calm-week") -> Iterator[Sandbox]:
    """A sandbox that ends with the block, as by Ctrl-C."""
    words = ["sandbox", "--port", "0", "--slack-port", "0", "--speed", "0", "--scenario", scenario]
    command = [sys.executable, "-P", "-m", "outreach_ops", *words]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with running(command, number=signal.SIGINT, cwd=ROOT, **pipes) as process:
        yield Sandbox(process)


class Screen(Terminal):
    """The dashboard in its own tmux."""

    def __init__(
        self,
        sandbox: Sandbox,
        *,
        folder: Path,
        size: tuple[int, int] = (160, 50),
        environ: Mapping[str, str] | None = None,
    ) -> None:
        (folder / "outreach.toml").touch()
        settings = {
            "OUTREACH_CONFIG": str(folder / "outreach.toml"),
            "OUTREACH_BASE_URL": sandbox.announcement["base_url"],
            "OUTREACH_API_KEY": sandbox.key,
            "OUTREACH_DATABASE_URL": f"sqlite:///{folder}/outreach.db",
            "OUTREACH_POLL_SECONDS": "1",
            "XDG_STATE_HOME": str(folder),
            **(environ or {}),
        }
        given = [f"{name}={value}" for name, value in settings.items()]
        command = ["env", *given, sys.executable, "-P", "-m", "outreach_ops", "dashboard"]
        super().__init__(shlex.join(command), folder=folder, size=size)


@pytest.fixture(scope="module")
def service() -> Iterator[Sandbox]:
    """Run one service for a module's tests: each undoes what it changes."""
    with open_sandbox() as opened:
        yield opened


@pytest.fixture
def sandbox(service: Sandbox) -> Iterator[Sandbox]:
    yield service
    service.control("faults", method="DELETE")


@pytest.fixture
def screen(sandbox: Sandbox, tmp_path: Path) -> Iterator[Screen]:
    opened = Screen(sandbox, folder=tmp_path)
    yield opened
    opened.close()


def test_a_pause_by_keys_is_asked_carried_out_and_shown(sandbox: Sandbox, screen: Screen) -> None:
    name = next(s["name"] for s in sandbox.sequences() if s["status"] == "active")
    screen.until("DOMAINS")
    screen.press("2")
    screen.until(re.escape(name))
    screen.until("STATUS|Status")
    screen.press("p")
    screen.until(f"Pause {re.escape(name)}")
    assert next(s["status"] for s in sandbox.sequences() if s["name"] == name) == "active"
    screen.press("y")
    screen.until(f"‖ paused +{re.escape(name)}")
    assert next(s["status"] for s in sandbox.sequences() if s["name"] == name) == "paused"
    screen.press("u")
    screen.until(f"► active +{re.escape(name)}")


def test_a_service_that_drops_every_connection_is_shown_until_it_recovers(
    sandbox: Sandbox, screen: Screen
) -> None:
    screen.until("at risk|healthy")
    sandbox.control("faults", {"cut": True, "times": None})
    shown = screen.until("can't be reached since|slow to respond|No response for")
    assert re.search(r"useacme|acme", shown), "the last data stays"
    screen.until("late|stale")
    sandbox.control("faults", method="DELETE")
    screen.until("can't be reached since|slow to respond|No response for", absent=True)


def test_the_wall_shows_and_esc_leaves_it(screen: Screen) -> None:
    screen.until("DOMAINS")
    screen.press("w")
    screen.until("INBOXES OF", absent=True)
    assert "› Wall" in screen.until("› Wall")
    screen.press("Escape")
    screen.until("› Wall", absent=True)
    assert "INBOXES OF" in screen.until("INBOXES OF")


def test_a_terminal_that_is_taken_away_leaves_no_process(screen: Screen) -> None:
    screen.until("DOMAINS")
    process = psutil.Process(screen.pid)
    screen.close()
    process.wait(timeout=60)
    assert not process.is_running()


def test_an_empty_account_is_shown_as_empty(tmp_path: Path) -> None:
    with (
        open_sandbox("empty") as sandbox,
        closing(Screen(sandbox, folder=tmp_path, size=(100, 30))) as screen,
    ):
        shown = screen.until("No inboxes are connected")
        assert "healthy" not in shown, "nothing is well where nothing is"


def test_a_slow_service_is_shown_and_the_keys_still_work(sandbox: Sandbox, screen: Screen) -> None:
    screen.until("at risk|healthy")
    sandbox.control("faults", {"delay": 40.0, "times": None})
    screen.until("late:")
    screen.until("slow to respond")
    screen.until("data from")
    screen.press("2")
    screen.until("▌SEQUENCES", seconds=25)  # and not when the service answers
    sandbox.control("faults", method="DELETE")
    assert "late:" not in screen.until("stale|late:", absent=True)


def test_a_damaged_history_is_set_aside_said_and_begun_anew(sandbox: Sandbox, tmp_path: Path) -> None:
    (tmp_path / "outreach-history.db").write_bytes(b"this is no database\n" * 1000)
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
def test_poorer_terminals_show_the_same_words(sandbox: Sandbox, tmp_path: Path, kind: str) -> None:
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
