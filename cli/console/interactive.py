"""Prompts, and the signals that end a command: cleanly the first time, at once the second."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import sys
from collections.abc import Iterator

from cli.console.exit_codes import Failed

ENDING = (signal.SIGINT, signal.SIGTERM)
REPEAT_SECONDS = 0.5
"""A signal within so many seconds is the same one again: `timeout` and terminals signal a process and its group."""


def attended() -> bool:
    """Return True if a person can be asked or shown a screen."""
    return bool(sys.stdin and sys.stdin.isatty() and sys.stderr and sys.stderr.isatty())


def confirm(question: str, *, yes: bool) -> None:
    """Go on only after a yes; raises `Failed` otherwise, and without a terminal."""
    if yes:
        return
    if not attended():
        raise Failed("this needs confirmation, and this isn't a terminal: add --yes")
    # On stderr, because stdout may be a file of data. The end of the input is a no.
    print(f"{question} [y/N] ", end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().lower() not in {"y", "yes"}:
        raise Failed("nothing was changed")


@contextlib.contextmanager
def stopping(*more: int) -> Iterator[asyncio.Event]:
    """An event that SIGINT, SIGTERM or one `more` sets while the block runs; a later one cancels the block's task.

    Once asked, the process is on its way out: signals that come after the block find nothing left to end.
    """
    loop, task, stop = asyncio.get_running_loop(), asyncio.current_task(), asyncio.Event()
    asked_at: list[float] = []

    def ask() -> None:
        if stop.is_set() and task and loop.time() - asked_at[0] > REPEAT_SECONDS:
            task.cancel()
        asked_at.append(loop.time())
        stop.set()

    for number in (*ENDING, *more):
        loop.add_signal_handler(number, ask)
    try:
        yield stop
    except asyncio.CancelledError:
        if stop.is_set():
            raise KeyboardInterrupt from None
        raise
    finally:
        for number in (*ENDING, *more):
            loop.remove_signal_handler(number)
            if stop.is_set():
                signal.signal(number, signal.SIG_IGN)
