"""The signals that ask a running command to end: once to end in order, twice to end at once."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Iterator

ENDING = (signal.SIGINT, signal.SIGTERM)


@contextlib.contextmanager
def stopping() -> Iterator[asyncio.Event]:
    """An event that SIGINT or SIGTERM sets while the block runs; a second one cancels the block's task."""
    loop, task, stop = asyncio.get_running_loop(), asyncio.current_task(), asyncio.Event()

    def ask() -> None:
        if stop.is_set() and task:
            task.cancel()
        stop.set()

    for number in ENDING:
        loop.add_signal_handler(number, ask)
    try:
        yield stop
    except asyncio.CancelledError:
        if stop.is_set():
            raise KeyboardInterrupt from None
        raise
    finally:
        for number in ENDING:
            loop.remove_signal_handler(number)
