"""Waits for the rate limit, over any storage of the shared row. `LocalBudget` keeps it in this process."""

from __future__ import annotations

import asyncio
import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from ..errors import RateLimited
from . import rate_limit
from .rate_limit import BudgetState, Pace, Priority, Turn

T = TypeVar("T")

Act = Callable[[Pace, float], tuple[Pace, T]]
"""(row, now) -> (row, result): one atomic change of the row, `now` being the row's own clock."""

DEFAULT_RATE = 9.5
PLACES = {Priority.NORMAL: 8, Priority.BULK: 2}
"""So many places in the line a process takes at once; its other requests wait behind them, in order. It keeps the
line short for everybody, and a process that is killed leaves few places that nobody comes for."""


_BOOT_CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


def boot_time() -> float:
    """Seconds since the machine started, suspended time included: the same in all its processes, never set."""
    return time.clock_gettime(_BOOT_CLOCK)


class Turns(ABC):
    """The waiting, the same for every keeper of the row. Implements `Pacer`."""

    def __init__(self, rate: float = DEFAULT_RATE) -> None:
        if not 0 < rate <= 10:
            raise ValueError("The rate must be above 0 and at most 10 requests a second")
        self._base = rate_limit.interval_of(rate)
        self._seen = Pace(interval=self._base)
        self._places = {priority: asyncio.Semaphore(places) for priority, places in PLACES.items()}
        self._clean = 0

    @abstractmethod
    async def change(self, act: Act[T]) -> T:
        """Carry one change of the row out, atomically."""

    def now(self) -> float:
        """The row's clock, as near as this process knows it."""
        return boot_time()

    async def reserve(self, *, priority: Priority, deadline: float | None) -> None:
        """See `Pacer`."""
        if priority is Priority.INTERACTIVE:
            return await self._wait(priority, deadline)
        async with self._places[priority]:
            return await self._wait(priority, deadline)

    async def late(self, seconds: float) -> None:
        """See `Pacer`."""
        await self.change(lambda pace, now: (rate_limit.late(pace, now, seconds), None))

    async def throttled(self, retry_after: float) -> None:
        """See `Pacer`."""
        self._clean = 0
        await self.change(lambda pace, now: (rate_limit.stop(pace, now, retry_after, base=self._base), None))

    async def answered(self) -> None:
        """Counted here; the row learns of it at the next reservation."""
        self._clean += 1

    def state(self) -> BudgetState:
        """See `Pacer`."""
        now = self.now()
        state = rate_limit.view(self._seen, now)
        if state.resumes_at is None:
            return state
        return replace(state, resumes_at=time.time() + state.resumes_at - now)

    async def _wait(self, priority: Priority, deadline: float | None) -> None:
        turn, wait = await self._join(priority, deadline)
        while wait:
            if deadline is not None and time.monotonic() + wait > deadline:
                raise no_turn(wait)
            await asyncio.sleep(wait)
            wait = await self.change(lambda pace, now: rate_limit.pass_gate(pace, now, turn))

    async def _join(self, priority: Priority, deadline: float | None) -> tuple[Turn, float]:
        """A turn and the wait until it, 0 when the gate is passed already; no turn is taken beyond the deadline."""
        answers, self._clean = self._clean, 0
        left = math.inf if deadline is None else deadline - time.monotonic()

        def act(pace: Pace, now: float) -> tuple[Pace, tuple[Turn, float]]:
            pace = rate_limit.recover(pace, answers, base=self._base)
            joined, turn = rate_limit.join(pace, now, priority=priority)
            after, wait = rate_limit.pass_gate(joined, now, turn)
            return (pace if wait > left else after), (turn, wait)

        return await self.change(act)


def no_turn(wait: float) -> RateLimited:
    """The turn would come too late."""
    return RateLimited(
        f"The request would exceed the rate limit within its time allowed. The next free slot is in {wait:.1f} s.",
        retry_after=wait,
    )


class LocalBudget(Turns):
    """The budget of one process alone, or of tests; without `bursts`, a person waits at the gate like all."""

    def __init__(self, rate: float = DEFAULT_RATE, *, bursts: bool = True) -> None:
        super().__init__(rate)
        if not bursts:
            self._seen = Pace(interval=self._base, bursts_from=math.inf)

    async def change(self, act: Act[T]) -> T:
        """No lock is needed: nothing else runs in between."""
        pace, result = act(self._seen, self.now())
        # The act may come from a budget with a higher rate.
        self._seen = replace(pace, interval=max(pace.interval, self._base))
        return result
