"""The whole system as real processes: a headless demo, and what a person or a script does with it."""

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
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from http import HTTPStatus
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.e2e.terminals import Terminals
from tests.kit.processes import end_process, kill, running
from tests.kit.waiting import wait_until

ROOT = Path(__file__).parents[2]
START_SECONDS = 120.0
"""An idle machine needs five seconds; other tests run beside it."""
PROGRAM = (sys.executable, "-P", "-m", "outreach_ops")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """All in this folder are end-to-end tests: without the mark, one ran nowhere."""
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent):
            item.add_marker("e2e")


class Announced:
    """A demo or a sandbox, as a script sees it: by its first line, which names its addresses and keys, and over HTTP."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        assert process.stdout
        self.announced: dict[str, Any] = json.loads(process.stdout.readline())
        self.family = psutil.Process(process.pid).children(recursive=True)

    def service(self, path: str) -> Any:
        """Read from the service's own API, with the account's key."""
        key = self.announced["api_keys"]["acme"]
        return self.read(self.announced["base_url"] + path, headers={"Authorization": f"Bearer {key}"})

    def sequences(self) -> dict[str, str]:
        """Ask the service itself for the status of each sequence, by its name."""
        return {one["name"]: one["status"] for one in self.service("/sequences")["data"]}

    def control(self, path: str, body: object = None, *, method: str | None = None) -> Any:
        """Turn the service's dials."""
        return self.read(self.announced["control_url"] + path, body=body, method=method)

    def slack(self, path: str, body: object = None) -> Any:
        """Act as a person in Slack, or look."""
        return self.read(f"{self.announced['slack_control_url']}/{path}", body=body)

    def messages(self) -> list[dict[str, Any]]:
        """Return the messages of the alert channel."""
        found = self.slack(f"messages?channel={self.announced['slack_alert_channel']}")["messages"]
        return list(found)

    def type(self, text: str) -> str:
        """Type a slash command and return the text of the answer."""
        # Where no alert and nobody else's answer comes between.
        place = {"user": "ann", "channel": "sales"}
        done = self.slack("command", {"text": text, "wait": 10, **place})
        return json.dumps(done["answers"], ensure_ascii=False)

    @staticmethod
    def read(
        url: str, *, headers: dict[str, str] | None = None, body: object = None, method: str | None = None
    ) -> Any:
        """Make a request; JSON in, JSON out."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(
            url, data=data, headers={"Content-Type": "application/json", **(headers or {})}, method=method
        )
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return json.loads(answer.read())
        except urllib.error.HTTPError as error:
            if error.code != HTTPStatus.TOO_MANY_REQUESTS:
                raise
            time.sleep(float(error.headers["Retry-After"]))  # the demo's programs share the account's budget
            return Announced.read(url, headers=headers, body=body, method=method)

    def wait_for_exit(self) -> tuple[int, str]:
        """Wait until it ends by itself; the exit code and what was printed at the end."""
        out, _ = self.process.communicate(timeout=90)
        return self.process.returncode, out

    def end(self, number: int = signal.SIGINT) -> tuple[int, str]:
        """Press Ctrl-C, and return the exit code and what was printed at the end."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        out, _ = self.process.communicate(timeout=60)
        return self.process.returncode, out


class Terminal:
    """A program in a tmux of its own."""

    def __init__(self, command: str, *, folder: Path, size: tuple[int, int] = (160, 50)) -> None:
        self._folder, self._socket = folder, str(folder / "tmux")
        settings = folder / "tmux.conf"
        settings.write_text("set-option -g remain-on-exit on\n")  # what it said at its end can be read
        size_words = ("-x", str(size[0]), "-y", str(size[1]))
        self.tmux("-f", str(settings), "new-session", "-d", *size_words, command)
        try:
            self.pid = int(self.tmux("display-message", "-p", "#{pane_pid}"))
        except BaseException:
            self.close()
            raise

    def tmux(self, *words: str) -> str:
        # The snapshot plugin fixes the size of every terminal by these two.
        env = {name: value for name, value in os.environ.items() if name not in {"COLUMNS", "LINES"}}
        env["TMPDIR"] = str(self._folder)  # a demo keeps its logs there
        command = ["tmux", "-S", self._socket, *words]
        return subprocess.run(command, env=env, cwd=ROOT, capture_output=True, text=True, check=True).stdout

    def text(self) -> str:
        """Return what is on the screen."""
        return self.tmux("capture-pane", "-p")

    def press(self, *keys: str) -> None:
        self.tmux("send-keys", *keys)

    def resize(self, width: int, height: int) -> None:
        self.tmux("resize-window", "-x", str(width), "-y", str(height))

    def until(self, pattern: str, *, seconds: float = START_SECONDS, absent: bool = False) -> str:
        """Wait until the pattern is on the screen, or no longer; the screen."""

        def shown() -> str:
            text = self.text()
            return text if bool(re.search(pattern, text)) is not absent else ""

        what = f"{pattern!r} {'gone from' if absent else 'on'} the screen"
        return str(wait_until(shown, seconds=seconds, what=what, show=self.text))

    def close(self) -> None:
        """Take the terminal away, whatever runs in it."""
        subprocess.run(["tmux", "-S", self._socket, "kill-server"], capture_output=True, check=False)


@contextmanager
def announced(
    *words: str, program: Sequence[str] = PROGRAM, folder: Path = ROOT, env: Mapping[str, str] | None = None
) -> Iterator[Announced]:
    """A program that ends with the block, as by Ctrl-C: with its children too, whatever became of it."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with running([*program, *words], number=signal.SIGINT, cwd=folder, env=env, **pipes) as process:
        opened = Announced(process)
        try:
            yield opened
        finally:
            end_process(process, number=signal.SIGINT)
            kill(opened.family)


def headless_demo(*words: str, **where: Any) -> AbstractContextManager[Announced]:
    return announced("demo", "--headless", *words, **where)


@pytest.fixture(scope="module")
def demo() -> Iterator[Announced]:
    """Run one headless demo for a module's tests."""
    with headless_demo() as demo:
        yield demo


@pytest.fixture
def terminals() -> Iterator[Terminals]:
    opened = Terminals()
    yield opened
    opened.end()
