"""Wait for a condition, with a bound."""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Awaitable, Callable
from typing import Any

BOUND = 30.0


async def until(condition: Callable[[], Awaitable[Any] | Any], *, seconds: float = BOUND) -> Any:
    """Ask again and again, at most `seconds` long, and return the first true value."""
    deadline, pause = time.monotonic() + seconds, 0.005
    while True:
        value = condition()
        if value := await value if inspect.isawaitable(value) else value:
            return value
        assert time.monotonic() < deadline, f"not within {seconds:g} s"
        await asyncio.sleep(pause)
        pause = min(pause * 1.5, 0.05)  # asking is work for what is waited for, too


def wait_until(
    condition: Callable[[], Any], *, seconds: float = BOUND, what: str = "", show: Callable[[], str] = str
) -> Any:
    """The same where no event loop runs; a failure says what was waited for and what there was instead."""
    deadline = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < deadline, f"not within {seconds:g} s: {what}\n{show()}"
        time.sleep(0.05)
    return value
