"""A dashboard whose terminal is gone ends; left alone, it would spin on a dead file descriptor for ever.

The signal that tells of it does not reach everybody (nohup, a session that lost its leader), so it is asked for.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import select
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Protocol, cast

from textual.drivers.linux_driver import LinuxDriver

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


ENTER, LEAVE, CURSOR = "\x1b[?1049h", "\x1b[?1049l", "\x1b[?25h"
"""To the screen of programs (which clears it), back to that of the shell, and the cursor that belongs there."""


class RestartableApp(Protocol):
    """An app that can go on where another process ended, and end for one that goes on."""

    continues: bool
    restart_state: object | None


class HandoverDriver(LinuxDriver):
    """Neither leaves the screen for the next process, nor enters it anew after the one before."""

    def write(self, data: str) -> None:
        """All but what would show a gap."""
        app = cast("RestartableApp", self._app)
        kept = (data == ENTER and app.continues) or (
            data in {LEAVE, CURSOR} and app.restart_state is not None
        )
        if not kept:
            super().write(data)


@contextlib.contextmanager
def restored_terminal(*, wanted: bool = True) -> Iterator[None]:
    """Whoever fails while nobody holds the screen must not leave the shell on it."""
    try:
        yield
    except BaseException:
        if wanted and sys.__stderr__ is not None:
            sys.__stderr__.write(LEAVE + CURSOR)
            sys.__stderr__.flush()
        raise
