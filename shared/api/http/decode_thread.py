"""One thread beside the event loop for large answers: ten thousand inboxes would hold the loop up for 50 ms and more.

Several threads would only wait for each other, each with a large answer in its hands; and the loop's own are left to
names that are slow to be looked up.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")
LARGE = 500
"""Rows."""
_LANE = ThreadPoolExecutor(1, thread_name_prefix="answers")


async def in_turn(act: Callable[[], T], *, rows: int) -> T:
    """Do it here where it is quick, else in the lane."""
    if rows <= LARGE:
        return act()
    return await asyncio.get_running_loop().run_in_executor(_LANE, act)
