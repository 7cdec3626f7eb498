"""Fails the test whose bot blocks its event loop, measured by how much the loop misses the beats of a timer."""

from __future__ import annotations

import asyncio
import re
import sys
import time
from collections.abc import Callable

from bot.server import Server

EVERY_SECONDS = 0.02
"""Between two beats; a block is measured that much too short at most."""
LONG_SECONDS = 0.1
"""A block from this length on is written to stderr."""
WRITTEN = "event loop blocked for {:.3f} s"

WATCH = """
from tests.kit.event_loop import watch_server
watch_server()
"""
"""The first lines of a bot's process that is watched."""


def blocks_written(log: str) -> list[float]:
    """The seconds of each long block."""
    return [float(found) for found in re.findall(WRITTEN.replace("{:.3f}", r"([\d.]+)"), log)]


async def watch(
    *, clock: Callable[[], float] = time.monotonic, cpu: Callable[[], float] = time.thread_time
) -> None:
    """Beat on the loop that is measured, until cancelled, and write each long block."""
    while True:
        due, computed = clock() + EVERY_SECONDS, cpu()
        await asyncio.sleep(EVERY_SECONDS)
        # A loop that was ready, but got no processor, was not blocked: a busy machine had it.
        block = min(clock() - due, cpu() - computed)
        if block >= LONG_SECONDS:
            sys.stderr.write(WRITTEN.format(block) + "\n")


def watch_server() -> None:
    """Watch the loop while the server takes requests; while the bot starts, its loop serves nobody."""
    serve = Server.main_loop

    async def watched(server: Server) -> None:
        beats = asyncio.create_task(watch(), name="event loop")
        try:
            await serve(server)
        finally:
            beats.cancel()

    Server.main_loop = watched  # type: ignore[assignment]
