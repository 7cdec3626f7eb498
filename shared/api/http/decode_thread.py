"""One thread beside the event loop for large answers: ten thousand inboxes would hold it up for 50 ms and more.

Several threads would only wait for each other, each holding a large answer; and the loop's own are left to names that
are slow to be looked up.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")
LARGE_BODY = 100_000
"""Bytes, which take about a millisecond to parse."""
LARGE_LIST = 500
"""Rows."""
_THREAD = ThreadPoolExecutor(1, thread_name_prefix="answers")


async def decode_in_thread(decode: Callable[[], T], *, is_large: bool) -> T:
    """Decode here where that is quick, else in the thread, one answer after another."""
    if not is_large:
        return decode()
    return await asyncio.get_running_loop().run_in_executor(_THREAD, decode)
