"""One thread beside the event loop for large answers: ten thousand inboxes would hold the loop up for 50 ms and more.

Several threads would only wait for each other, each holding a large answer; and the loop's own are left to names that
are slow to be looked up.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")
LARGE = 500
"""Rows."""
_THREAD = ThreadPoolExecutor(1, thread_name_prefix="answers")


async def decode_in_thread(decode: Callable[[], T], *, rows: int) -> T:
    """Decode here where that is quick, else in the thread, one answer after another."""
    if rows <= LARGE:
        return decode()
    return await asyncio.get_running_loop().run_in_executor(_THREAD, decode)
