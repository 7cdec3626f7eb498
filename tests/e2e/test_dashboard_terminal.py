"""The real dashboard in a real terminal (tmux), against the real sandbox, under faults."""

from __future__ import annotations

import json
import os
import re
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

from tests.kit.processes import running

pytestmark = pytest.mark.e2e
ROOT = Path(__file__).parents[2]


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
def open_sandbox(scenario: str = "calm-week", *, inboxes: int = 0) -> Iterator[Sandbox]:
    """A sandbox that ends with the block, as by Ctrl-C."""
    words = ["sandbox", "--port", "0", "--slack-port", "0", "--speed", "0", "--scenario", scenario]
    words += ["--inboxes", str(inboxes)] if inboxes else []
    command = [sys.executable, "-P", "-m", "outreach_ops", *words]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with running(command, number=signal.SIGINT, cwd=ROOT, **pipes) as process:
        yield Sandbox(process)


class Screen:
    """The dashboard in its own tmux."""

    def __init__(
        self,
        sandbox: Sandbox,
        *,
        folder: Path,
        size: tuple[int, int] = (160, 50),
        environ: Mapping[str, str] | None = None,
    ) -> None:
        self._socket = str(folder / "tmux")
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
        self._tmux("-f", "/dev/null", "new-session", "-d", *command)
        try:
            self.resize(*size)
            self.pid = int(self._tmux("display-message", "-p", "#{pane_pid}"))
        except BaseException:
            self.close()
            raise

    def _tmux(self, *words: str) -> str:
        # The snapshot plugin fixes the size of every terminal by these two.
        env = {name: value for name, value in os.environ.items() if name not in {"COLUMNS", "LINES"}}
        command = ["tmux", "-S", self._socket, *words]
        return subprocess.run(command, env=env, cwd=ROOT, capture_output=True, text=True, check=True).stdout

    def text(self) -> str:
        """Return the text of the terminal."""
        return self._tmux("capture-pane", "-p")

    def press(self, *keys: str) -> None:
        """Type keys."""
        self._tmux("send-keys", *keys)

    def resize(self, width: int, height: int) -> None:
        """Another size."""
        self._tmux("resize-window", "-x", str(width), "-y", str(height))

    def until(self, pattern: str, *, seconds: float = 60, absent: bool = False) -> str:
        """Wait until the pattern is on the screen, or no longer; the screen."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            shown = self.text()
            if bool(re.search(pattern, shown)) is not absent:
                return shown
            time.sleep(0.2)
        raise AssertionError(f"{pattern!r} {'stays' if absent else 'never came'}:\n{self.text()}")

    def close(self) -> None:
        """Take the terminal away, whatever runs in it."""
        subprocess.run(["tmux", "-S", self._socket, "kill-server"], capture_output=True, check=False)


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
