"""Processes that end with the test that started them, also when it fails, and leave no open pipe."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import subprocess
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import psutil

END_SECONDS = 60


@contextmanager
def running(
    command: Sequence[str | Path], *, number: int = signal.SIGTERM, **options: Any
) -> Iterator[subprocess.Popen[str]]:
    """Start a program, and end it with this signal if it still runs at the end of the block."""
    process = subprocess.Popen(command, text=True, **options)
    try:
        yield process
    finally:
        end_process(process, number=number)


@asynccontextmanager
async def running_async(*command: str | Path, **options: Any) -> AsyncIterator[asyncio.subprocess.Process]:
    """Start a program, and kill it if it still runs at the end of the block, with what it has started."""
    process = await asyncio.create_subprocess_exec(*command, **options)
    try:
        yield process
    finally:
        if process.returncode is None:
            # Asked for before it ends: children of a process that is gone belong to init, and nobody finds them.
            family = _children(process.pid)
            process.kill()
            kill(family)
        await process.communicate()  # reads the pipes to their end: one that is left open fails another test


def end_process(process: subprocess.Popen[str], *, number: int = signal.SIGTERM) -> None:
    """End it, with what it has started and does not end itself, and close its pipes. One that has ended may come too."""
    family: list[psutil.Process] = []
    if process.poll() is None:
        family = _children(process.pid)
        process.send_signal(number)
        try:
            process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
    kill(family)
    with process:  # closes the pipes, and waits
        pass


def left_of(family: Sequence[psutil.Process], *, seconds: float = END_SECONDS) -> list[psutil.Process]:
    """Those that haven't ended after so many seconds; they are killed."""
    deadline = time.monotonic() + seconds
    # Polled, because `psutil.wait_procs` waits for the zombies of a container whose first process reaps nobody.
    while any(map(_is_alive, family)) and time.monotonic() < deadline:
        time.sleep(0.05)
    left = [process for process in family if _is_alive(process)]
    kill(left)
    return left


def _is_alive(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def _children(pid: int) -> list[psutil.Process]:
    try:
        return psutil.Process(pid).children(recursive=True)
    except psutil.NoSuchProcess:
        return []


def kill(processes: Sequence[psutil.Process]) -> None:
    for process in processes:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()
