"""The demo's child processes: restarted when they die, and ended with the demo."""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import socket
import sys
from collections.abc import AsyncIterator, Mapping
from functools import partial
from pathlib import Path
from typing import Self

from shared.storage.secret_file import CREDENTIALS
from shared.text import parent_watch

STOP_SECONDS = 5.0
FIRST_PAUSE = 0.2
LONGEST_PAUSE = 5.0


def free_port() -> int:
    """A port below those that the system gives to connections, which could take it before the program has started."""
    while True:
        port = 12_000 + secrets.randbelow(20_000)
        with contextlib.suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port


def environment(**settings: str) -> dict[str, str]:
    """This process's environment without the settings of a real account, plus `settings`."""
    real = ("OUTREACH_", "SLACK_", CREDENTIALS)
    inherited = {k: v for k, v in os.environ.items() if not k.startswith(real)}
    return {**inherited, **settings}


@contextlib.asynccontextmanager
async def running(
    *words: str, env: Mapping[str, str], log: Path, read_stdout: bool = False
) -> AsyncIterator[asyncio.subprocess.Process]:
    """Run `outreach WORDS` for the length of the block; it ends with this process, too, and writes to `log`."""
    with log.open("ab") as output:
        process = await asyncio.create_subprocess_exec(
            # `-P`: what lies in the working folder shadows no module of ours.
            sys.executable, "-P", "-m", "outreach_ops", *words,
            env={**env, parent_watch.VARIABLE: "1"},
            # Its lifeline: a child ends when nobody holds the other end, also after the demo was killed.
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE if read_stdout else output,
            stderr=output,
            start_new_session=True,  # Ctrl-C is for the demo, which ends its children in order
        )  # fmt: skip
    try:
        yield process
    finally:
        await _stop(process)


async def _stop(process: asyncio.subprocess.Process) -> None:
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            process.terminate()
        try:
            await asyncio.wait_for(process.wait(), STOP_SECONDS)
        except TimeoutError:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()
    if process.stdin:
        process.stdin.close()


class Supervised:
    """A child that is started again whenever it dies, until the block ends."""

    def __init__(self, *words: str, env: Mapping[str, str], log: Path) -> None:
        self._run = partial(running, *words, env=env, log=log)
        self._started = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self.pid = 0
        self.restarts = -1

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(self._keep_alive(), name="demo-supervisor")
        self._task.add_done_callback(lambda _: self._started.set())
        await self._started.wait()
        if self._task.done():
            self._task.result()  # it could not even be started
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._task
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)

    async def _keep_alive(self) -> None:
        clock = asyncio.get_running_loop().time
        pause = FIRST_PAUSE
        while True:
            async with self._run() as process:
                began = clock()
                self.pid = process.pid
                self.restarts += 1
                self._started.set()
                await process.wait()
            if clock() - began > LONGEST_PAUSE:
                pause = FIRST_PAUSE
            await asyncio.sleep(pause)
            # One that dies at its start must not keep a core busy.
            pause = min(pause * 2, LONGEST_PAUSE)
