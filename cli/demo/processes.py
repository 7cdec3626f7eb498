"""The demo's child processes: real ones, watched, restarted, and gone when the demo is gone."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import sys
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Self

from shared.text import parent_watch

STOP_SECONDS = 5.0
FIRST_PAUSE = 0.2
LONGEST_PAUSE = 5.0


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def environment(**settings: str) -> dict[str, str]:
    """This process's environment without anybody's real account in it, plus `settings`."""
    inherited = {k: v for k, v in os.environ.items() if not k.startswith(("OUTREACH_", "SLACK_"))}
    return {**inherited, **settings}


async def start(
    *words: str, env: Mapping[str, str], log: Path, read_stdout: bool = False
) -> asyncio.subprocess.Process:
    """Start `outreach WORDS` with a lifeline; its narration goes to `log`."""
    with log.open("ab") as narration:
        return await asyncio.create_subprocess_exec(
            sys.executable,
            "-P",
            "-m",
            "outreach_ops",
            *words,
            env={**env, parent_watch.VARIABLE: "1"},
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE if read_stdout else narration,
            stderr=narration,
            start_new_session=True,  # Ctrl-C is for the demo, which ends its children in order
        )


async def stop(process: asyncio.subprocess.Process) -> None:
    """Ask a child to end, insist after a while, and let go of its pipes."""
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


@contextlib.asynccontextmanager
async def running(
    *words: str, env: Mapping[str, str], log: Path, read_stdout: bool = False
) -> AsyncIterator[asyncio.subprocess.Process]:
    """A child for the length of the block."""
    process = await start(*words, env=env, log=log, read_stdout=read_stdout)
    try:
        yield process
    finally:
        await stop(process)


class Supervised:
    """A child that is started again whenever it dies, until the demo ends."""

    def __init__(self, *words: str, env: Mapping[str, str], log: Path) -> None:
        self._words = words
        self._env = env
        self._log = log
        self._process: asyncio.subprocess.Process | None = None
        self._watch: asyncio.Task[None] | None = None
        self.restarts = 0

    @property
    def pid(self) -> int:
        assert self._process
        return self._process.pid

    async def __aenter__(self) -> Self:
        await self._start()
        self._watch = asyncio.create_task(self._keep_alive(), name=f"demo-watch-{self._words[0]}")
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._watch
        self._watch.cancel()
        await asyncio.gather(self._watch, return_exceptions=True)
        if self._process:
            await stop(self._process)

    async def _start(self) -> None:
        self._process = await start(*self._words, env=self._env, log=self._log)

    async def _keep_alive(self) -> None:
        pause = FIRST_PAUSE
        while True:
            assert self._process
            began = asyncio.get_running_loop().time()
            await self._process.wait()
            if asyncio.get_running_loop().time() - began > LONGEST_PAUSE:
                pause = FIRST_PAUSE
            await asyncio.sleep(pause)
            pause = min(pause * 2, LONGEST_PAUSE)
            self.restarts += 1
            await self._start()
