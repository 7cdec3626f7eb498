"""Wait for a condition, with a bound."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable


async def until(condition: Callable[[], Awaitable[bool]], *, seconds: float = 10.0) -> None:
    """Ask again and again; a condition that stays false is a TimeoutError."""
    async with asyncio.timeout(seconds):
        while not await condition():  # noqa: ASYNC110 -- it lies in another process or behind HTTP
            await asyncio.sleep(0.01)
