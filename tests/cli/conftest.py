"""A sandbox, and a shell that runs the real program against it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from anyio.from_thread import start_blocking_portal

from sandbox.embedded import embedded
from sandbox.service import Service
from tests import kit
from tests.kit import Run
from tests.kit.clock import CLOCK
from tests.kit.databases import copy_instead_of_migrating
from tests.kit.pace import lift_rate_limit
from tests.kit.processes import running

ROOT = Path(__file__).parents[2]
PROGRAM = (sys.executable, "-P", "-m", "outreach_ops")


class Shell(kit.Shell):
    """Types command lines, in this process or in one of their own, with settings of its own."""

    def __init__(self, home: Path, capture: pytest.CaptureFixture[str], patch: pytest.MonkeyPatch) -> None:
        super().__init__(home, capture, patch)
        self._started = ExitStack()

    def run(self, *words: str, columns: int | None = None) -> Run:
        """In this process: fast, and just as real behind the file descriptors."""
        self.set("COLUMNS", str(columns or ""))
        return super().run(*words)

    def spawn(self, *words: str, **options: Any) -> subprocess.Popen[str]:
        """In its own process, to be stopped, killed or piped; it ends with the test at the latest."""
        pipe = subprocess.PIPE
        options = {"stdin": subprocess.DEVNULL, "stdout": pipe, "stderr": pipe, **options}
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
    opened = Shell(tmp_path, capsys, monkeypatch)
    monkeypatch.delenv("NO_COLOR", raising=False)
    settings = {
        "OUTREACH_BASE_URL": "http://127.0.0.1:9/v1",
        "OUTREACH_API_KEY": "live_nobody",
        "OUTREACH_DATABASE_URL": f"sqlite:///{tmp_path / 'state' / 'outreach.db'}",
    }
    opened.use(settings)
    lift_rate_limit(monkeypatch)
    copy_instead_of_migrating(monkeypatch)
    yield opened
    opened.close()


@pytest.fixture
def shell(offline: Shell, sandbox: dict[str, Any]) -> Shell:
    """A shell with a key for the sandbox's acme."""
    offline.set("OUTREACH_BASE_URL", sandbox["base_url"])
    offline.set("OUTREACH_API_KEY", sandbox["api_keys"]["acme"])
    return offline
