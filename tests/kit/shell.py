"""A shell that runs the real program, in this process."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from cli.console import interactive
from cli.main import main


@dataclass(frozen=True)
class Run:
    """The exit code and the output of a run of the program."""

    code: int
    out: str
    err: str

    @property
    def data(self) -> Any:
        """The JSON on stdout."""
        assert self.out, self.err
        return json.loads(self.out)


def spare_process(patch: pytest.MonkeyPatch) -> None:
    """Have a bot leave alone what it sets up once for a whole process, which is here that of the tests."""
    patch.setattr("bot.server.tune_runtime", lambda: None)
    patch.setattr("bot.telemetry.logs.set_up", lambda _level: None)


class Shell:
    """Types command lines, with settings of its own."""

    def __init__(self, home: Path, capture: pytest.CaptureFixture[str], patch: pytest.MonkeyPatch) -> None:
        self.home = home
        self.set = patch.setenv
        self.unset = patch.delenv
        self._capture = capture
        patch.setattr(interactive, "ENDING", ())  # only a process's first thread can ask for its signals
        spare_process(patch)
        for name in [name for name in os.environ if name.startswith(("OUTREACH_", "SLACK_"))]:
            patch.delenv(name)
        self.use({"HOME": str(home), "OUTREACH_DATABASE_URL": f"sqlite:///{home}/outreach.db"})

    def use(self, environ: Mapping[str, str]) -> None:
        """Take these settings, such as those of an account or of a team."""
        for name, value in environ.items():
            self.set(name, value)

    def run(self, *words: str) -> Run:
        """Run `outreach WORDS…`. Not from within an event loop: call it in a thread there."""
        self._capture.readouterr()
        code = main(words)
        output = self._capture.readouterr()
        return Run(code, output.out, output.err)

    async def type(self, *words: str) -> Run:
        """Run `outreach WORDS…` in a thread, beside the event loop that serves the account."""
        return await asyncio.to_thread(self.run, *words)

    @contextlib.asynccontextmanager
    async def start(self, *words: str, **streams: Any) -> AsyncIterator[Process]:
        """Run `outreach WORDS…` as a process, killed at the end if it still lives.

        It has the real time, so a test needs the fixture `real_time`.
        """
        command = (sys.executable, "-P", "-m", "outreach_ops", *words)
        environ = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
        with_pipes: dict[str, Any] = {"stdin": DEVNULL, "stdout": PIPE, "stderr": PIPE, **streams}
        process = await asyncio.create_subprocess_exec(
            *command,
            env=environ,
            cwd=self.home,
            **with_pipes,
        )
        try:
            yield process
        finally:
            if process.returncode is None:
                process.kill()
            await (
                process.communicate()
            )  # reads the pipes to their end: one that is left open fails another test
