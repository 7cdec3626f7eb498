"""Waits for what has no moment of its own: it is asked for again and again, up to a bound."""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Awaitable, Callable
from typing import Any

BOUND_SECONDS = 30.0
"""A busy machine doesn't reach it."""
FAILING_SECONDS = 2.0
"""Enough for a promise that is expected to fail: nothing comes there, however long it is waited for."""
_bound = BOUND_SECONDS


def set_bound(seconds: float) -> None:
    """Wait at most so long from now on."""
    global _bound  # noqa: PLW0603 -- a test's own bound, set before it and put back after it
    _bound = seconds


async def until(condition: Callable[[], Awaitable[Any] | Any], what: str = "") -> Any:
    """Ask until there is a true value, and return it."""
    deadline, pause = time.monotonic() + _bound, 0.005
    while True:
        value = condition()
        if value := await value if inspect.isawaitable(value) else value:
            return value
        assert time.monotonic() < deadline, f"not within {_bound:g} s: {what}"
        await asyncio.sleep(pause)
        pause = min(pause * 1.5, 0.05)  # asking is work for what is waited for, too
