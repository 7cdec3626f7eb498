"""Waits for what has no moment of its own: it is asked for again and again, up to a bound."""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Awaitable, Callable
from typing import Any

BOUND_SECONDS = 30.0
"""A busy machine doesn't reach it."""


async def until(
    condition: Callable[[], Awaitable[Any] | Any], what: str = "", *, seconds: float = BOUND_SECONDS
) -> Any:
    """Ask until there is a true value, and return it."""
    deadline, pause = time.monotonic() + seconds, 0.005
    while True:
        value = condition()
        if value := await value if inspect.isawaitable(value) else value:
            return value
        assert time.monotonic() < deadline, f"not within {seconds:g} s: {what}"
        await asyncio.sleep(pause)
        pause = min(pause * 1.5, 0.05)  # asking is work for what is waited for, too


def is_awaited(event: asyncio.Event) -> bool:
    """Whether whoever acts on an event waits for it; from when it is set until they wait anew, they are about to act."""
    return bool(event._waiters) and not event.is_set()


def wait_until(
    condition: Callable[[], Any],
    *,
    seconds: float = BOUND_SECONDS,
    what: str = "",
    show: Callable[[], str] = str,
) -> Any:
    """Do the same where no event loop runs; a failure says what was waited for and what there was instead."""
    deadline = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < deadline, f"not within {seconds:g} s: {what}\n{show()}"
        time.sleep(0.05)
    return value
