"""The one clock of the tests: the process's own, put to a fixed moment, so that no result depends on a machine's hour.

The whole process is there before its first test, and time goes on from there: bot, stand-in, service and dashboard read
it where they run in this process, so that all of them agree. `move` lets time pass at once for all of them; waits of the
event loop are not shortened by that. Processes that a test starts have the real time, and so do tests marked `e2e` or
`soak`. `TEST_NOW`, an ISO moment, puts all of it elsewhere (`make test-clock`).
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator
from datetime import UTC, datetime

import time_machine

from sandbox.clock import Clock

NOW = datetime.fromisoformat(os.environ.get("TEST_NOW", "2026-11-18T14:05:00+00:00")).astimezone(UTC)
"""Each test begins at this moment: an ordinary Wednesday, in the afternoon of every zone's working day from London to Delhi."""


def moment() -> datetime:
    """Return the present moment by the clock that the code under test reads, for what it compares with that clock."""
    return datetime.fromtimestamp(Clock().now(), UTC)


class ProcessClock:
    """Moves the process to `NOW`, and back to the real time for tests of several processes."""

    def __init__(self) -> None:
        self._travel: time_machine.travel | None = None
        self._traveller: time_machine.Traveller | None = None
        self._moved = False

    def fix(self, now: datetime = NOW, *, goes_on: bool = True) -> None:
        """Put the process to a moment: to `NOW` before each test, or back to it after a test has moved the clock."""
        if self._moved or now != NOW or not goes_on:
            self.release()
        if self._travel is None:
            self._travel = time_machine.travel(now, tick=goes_on)
            self._traveller = self._travel.start()
            self._moved = now != NOW or not goes_on

    def shift(self, seconds: float) -> None:
        """Move the clock ahead until the test ends. Only while it is fixed."""
        assert self._traveller is not None, "the real clock can't be moved"
        self._traveller.shift(seconds)
        self._moved = True

    def release(self) -> None:
        if self._travel is not None:
            self._travel.stop()
            self._travel = self._traveller = None
            self._moved = False


CLOCK = ProcessClock()
"""The clock of this process."""
TURN_SECONDS = 0.02


@contextlib.asynccontextmanager
async def clock_of_the_loop(now: datetime) -> AsyncIterator[None]:
    """From a moment on, let time go on as the event loop does.

    A loop that is busy has fewer turns in a second, so that on a slow machine a story ends in the minute in which it
    would on a fast one.
    """

    async def go_on() -> None:
        while True:
            await asyncio.sleep(TURN_SECONDS)
            CLOCK.shift(TURN_SECONDS)

    CLOCK.fix(now, goes_on=False)
    turns = asyncio.create_task(go_on())
    try:
        yield
    finally:
        turns.cancel()
        CLOCK.fix(moment())


def move(seconds: float) -> None:
    """Let so many seconds pass at once, for everything that asks for the time."""
    CLOCK.shift(seconds)
