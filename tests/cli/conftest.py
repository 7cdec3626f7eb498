"""A sandbox, and a shell that runs the real program against it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from anyio.from_thread import start_blocking_portal

from cli.main import main
from sandbox.embedded import embedded
from sandbox.service import Service
from tests.kit.clock import CLOCK
from tests.kit.databases import copy_instead_of_migrating
from tests.kit.pace import lift_rate_limit
from tests.kit.processes import running

ROOT = Path(__file__).parents[2]
PROGRAM = (sys.executable, "-P", "-m", "outreach_ops")


@dataclass(frozen=True)
class Run:
    """What a run of the program came to."""

    code: int
    out: str
    err: str

    @property
    def data(self) -> Any:
        """The JSON on stdout."""
        return json.loads(self.out)


class Shell:
    """Types command lines, in this process or in one of their own, with settings of its own."""

    def __init__(self, home: Path, capsys: pytest.CaptureFixture[str], patch: pytest.MonkeyPatch) -> None:
        self.home = home
        self._capsys = capsys
        self._started = ExitStack()
        self.set = patch.setenv
        self.unset = patch.delenv

    def run(self, *words: str, columns: int | None = None) -> Run:
        """In this process: fast, and just as real behind the file descriptors."""
        self.set("COLUMNS", str(columns or ""))
        self._capsys.readouterr()
        code = main(words)
        output = self._capsys.readouterr()
        return Run(code, output.out, output.err)

    def start(self, *words: str, **options: Any) -> subprocess.Popen[str]:
        """In its own process, to be stopped, killed or piped; it ends with the test at the latest."""
        pipes: dict[str, Any] = {
            "stdin": subprocess.DEVNULL,
            "stdout": subprocess.PIPE,
            "stderr": subprocess.PIPE,
        }
        options = {**pipes, **options}
        command = [*PROGRAM, *words]
        return self._started.enter_context(running(command, cwd=ROOT, env=dict(os.environ), **options))

    def close(self) -> None:
        self._started.close()


@pytest.fixture(scope="session")
def sandboxes() -> Iterator[Callable[[], dict[str, Any]]]:
    """Start a sandbox for each of the two clocks of the tests, when it is first asked for.

    One that stands still at the real time would be days away from a test whose clock is fixed. They run in a thread: a
    process would have the machine's clock.
    """
    announcements: dict[bool, dict[str, Any]] = {}
    with start_blocking_portal() as portal, ExitStack() as running_services:

        def of_the_present_clock() -> dict[str, Any]:
            if CLOCK.is_fixed not in announcements:
                service = Service(speed=0)
                running_service = portal.wrap_async_context_manager(embedded(service))
                announcements[CLOCK.is_fixed] = running_services.enter_context(running_service)
                service.guard.limited = False
            return announcements[CLOCK.is_fixed]

        yield of_the_present_clock


@pytest.fixture
def sandbox(sandboxes: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """The announcement of a sandbox that lives as long as the tests; its account changes by what they do alone."""
    return sandboxes()


@pytest.fixture
def offline(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Iterator[Shell]:
    """A shell whose settings lead nowhere: for what needs no service."""
    for name in [n for n in os.environ if n.startswith(("OUTREACH_", "SLACK_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("NO_COLOR", raising=False)
    settings = {
        "OUTREACH_BASE_URL": "http://127.0.0.1:9/v1",
        "OUTREACH_API_KEY": "live_nobody",
        "OUTREACH_DATABASE_URL": f"sqlite:///{tmp_path / 'state' / 'outreach.db'}",
    }
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    lift_rate_limit(monkeypatch)
    copy_instead_of_migrating(monkeypatch)
    opened = Shell(tmp_path, capsys, monkeypatch)
    yield opened
    opened.close()


@pytest.fixture
def shell(offline: Shell, sandbox: dict[str, Any]) -> Shell:
    """A shell with a key for the sandbox's acme."""
    offline.set("OUTREACH_BASE_URL", sandbox["base_url"])
    offline.set("OUTREACH_API_KEY", sandbox["api_keys"]["acme"])
    return offline
