"""Measures how long the event loop is blocked: by how much it misses the beats of a timer."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

import structlog

from bot.telemetry import metrics

EVERY = 0.02
"""Seconds between two beats; a block is measured that much too short at most."""
SHORTEST = 0.02
"""Shorter blocks aren't counted."""
LONG = 0.1
"""A block from this length on is logged."""

log = structlog.get_logger("event_loop")


class LoopMonitor:
    """`run` on the loop that is measured, until cancelled."""

    def __init__(
        self, *, clock: Callable[[], float] = time.monotonic, cpu: Callable[[], float] = time.thread_time
    ) -> None:
        self._clock, self._cpu = clock, cpu

    async def run(self) -> None:
        """Beat, and count each block."""
        while True:
            due, cpu = self._clock() + EVERY, self._cpu()
            await asyncio.sleep(EVERY)
            # A loop that was ready, but got no processor, was not blocked: a busy machine or another thread had it.
            block = min(self._clock() - due, self._cpu() - cpu)
            if block >= SHORTEST:
                metrics.LOOP_BLOCK.observe(block)
            if block >= LONG:
                log.warning("event loop blocked", seconds=round(block, 3))
