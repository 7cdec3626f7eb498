"""Prompts, progress, and the signals that end a command: cleanly the first time, at once the second."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from cli.console.exit_codes import Failed

if TYPE_CHECKING:
    from pathlib import Path

ENDING = (signal.SIGINT, signal.SIGTERM)
REPEAT_SECONDS = 0.5
"""A signal within so many seconds is the same one again: `timeout` and terminals signal a process and its group."""


def attended() -> bool:
    """Return True if a person can be asked or shown a screen."""
    # Not stdout, which may be a file. Where a service manager closed a stream, Python has None.
    return bool(sys.stdin and sys.stdin.isatty() and sys.stderr and sys.stderr.isatty())


def confirm(question: str, *, yes: bool) -> None:
    """Go on only after a yes; raises `Failed` otherwise, and without a terminal."""
    if yes:
        return
    if not attended():
        raise Failed(f"{question} This needs confirmation, and this isn't a terminal: add --yes")
    # On stderr, because stdout may be a file of data. The end of the input is a no.
    print(f"{question} [y/N] ", end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().lower() not in {"y", "yes"}:
        raise Failed("nothing was changed")


def must_be_free(target: Path, *, overwrite: bool, option: str) -> None:
    """Go on only where a file may be written; raises `Failed` where one is there, or something that isn't a file."""
    if target.exists() and not target.is_file():
        raise Failed(f"{target} isn't a file. Name the file that is to be written.")
    if target.exists() and not overwrite:
        raise Failed(f"{target} already exists. Add {option} to overwrite it.")


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


@contextlib.contextmanager
def progress_bar(what: str = "leads") -> Iterator[Callable[..., None]]:
    """Show the progress of a long job on stderr, where that is a terminal.

    It gives a function that shows that so many are done, `part` of the whole (as a fraction; None: unknown).
    """
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    # Transient: what remains on the screen is the result.
    bar = Progress(
        BarColumn(bar_width=20),
        TextColumn("{task.description}", markup=False),
        TimeRemainingColumn(),
        console=Console(file=sys.stderr, highlight=False),
        transient=True,
        disable=not sys.stderr.isatty(),
    )
    task = bar.add_task("", total=None)

    def show(count: int, *, part: float | None = None, detail: str = "") -> None:
        # `12,000 rows; 11,900 added`
        text = "; ".join(filter(None, (f"{count:,} {what}", detail)))
        bar.update(task, total=count / part if part else None, completed=count, description=text)

    with bar:
        yield show
