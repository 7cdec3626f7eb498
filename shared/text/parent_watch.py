"""Ends a child process when its parent has ended for any reason.

The parent holds the writing end of the child's stdin and sets `OUTREACH_PARENT_PIPE=1`; the kernel closes the
pipe when the parent dies, by kill -9 too, and the child reads the end of the file. Works wherever pipes do.
"""

from __future__ import annotations

import asyncio
import os
import sys

VARIABLE = "OUTREACH_PARENT_PIPE"


async def wait_for_parent_exit() -> None:
    """Return when stdin reaches its end; waits forever without a parent."""
    if os.environ.get(VARIABLE) != "1":
        await asyncio.Event().wait()
    reader = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    transport, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    try:
        while await reader.read(1024):
            pass
    finally:
        transport.close()
