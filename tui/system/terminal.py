"""A dashboard whose terminal is gone ends; left alone, it would spin on a dead file descriptor for ever.

The signal that tells of it does not reach everybody (nohup, a session that lost its leader), so it is asked for.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import select
import threading
from collections.abc import AsyncIterator, Callable

EVERY = 1.0
"""Seconds between looks."""
TIMEOUT = 2.0
"""Seconds for an orderly end; what still runs then is ended the hard way."""
GONE = select.POLLHUP | select.POLLERR | select.POLLNVAL


def is_gone(descriptor: int) -> bool:
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return any(state & GONE for _, state in poll.poll(0)) or not os.isatty(descriptor)


@contextlib.asynccontextmanager
async def exit_when_terminal_gone(leave: Callable[[], object], *, descriptor: int = 0) -> AsyncIterator[None]:
    """Call `leave` when the terminal is gone; where there is none to begin with, nothing is watched."""
    if not os.isatty(descriptor):
        yield
        return
    watch = asyncio.create_task(_watch(leave, descriptor), name="dashboard-terminal-watch")
    try:
        yield
    finally:
        watch.cancel()
        await asyncio.gather(watch, return_exceptions=True)


async def _watch(leave: Callable[[], object], descriptor: int) -> None:
    while not is_gone(descriptor):  # noqa: ASYNC110 # a dead terminal sets no event
        await asyncio.sleep(EVERY)
    last_resort = threading.Timer(TIMEOUT, os._exit, args=(1,))
    last_resort.daemon = True
    last_resort.start()  # writing to a dead terminal may block whatever comes next
    leave()
