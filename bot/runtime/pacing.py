"""Spreads requests to many workspaces over time: few at once, and a limited number a second."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Collection

WORKSPACES_AT_ONCE = 8
"""Workspaces visited beside each other; so many begin without a pause."""
PER_SECOND = 5.0
"""Visits that begin in a second, beyond those."""


async def visit(workspaces: Collection[str], act: Callable[[str], Awaitable[object]]) -> None:
    """Call `act` for each workspace, in an order that no other process has. Raises the first error of any."""
    turns = asyncio.Semaphore(WORKSPACES_AT_ONCE)

    async def at_its_turn(number: int, name: str) -> None:
        await asyncio.sleep(max(0, number - WORKSPACES_AT_ONCE) / PER_SECOND)
        async with turns:
            await act(name)

    order = random.sample(list(workspaces), len(workspaces))
    try:
        async with asyncio.TaskGroup() as group:
            for number, name in enumerate(order, 1):
                group.create_task(at_its_turn(number, name))
    except ExceptionGroup as errors:
        raise errors.exceptions[0] from None
