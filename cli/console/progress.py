"""The progress of a long job, on stderr: a bar on a terminal, a line every few seconds elsewhere."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator
from datetime import timedelta

from shared.frozen import frozen
from shared.text.formats import show_clock

EVERY_SECONDS = 5.0


@frozen
class ProgressUpdate:
    """The progress of a job: `part` of the whole as a fraction (None: unknown), and the count of `what`."""

    count: int
    what: str = "leads"
    part: float | None = None
    detail: str = ""

    def line(self, seconds: float) -> str:
        """`12,000 leads, 950/s, 0:40 left; 11,900 added`."""
        text = f"{self.count:,} {self.what}, {self.count / max(seconds, 0.001):,.0f}/s"
        if self.part:
            text += f", {show_clock(timedelta(seconds=seconds * (1 - self.part) / self.part))} left"
        return f"{text}; {self.detail}" if self.detail else text


@contextlib.contextmanager
def progress_bar() -> Iterator[Callable[[ProgressUpdate], None]]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    began = shown_at = time.monotonic()
    console = Console(file=sys.stderr, highlight=False)
    story = TextColumn("{task.description}", markup=False)
    is_bar = sys.stderr.isatty()
    # Transient: what remains on the screen is the result.
    bar = Progress(BarColumn(bar_width=20), story, console=console, transient=True, disable=not is_bar)
    task = bar.add_task("", total=None)

    def show(update: ProgressUpdate) -> None:
        nonlocal shown_at
        now = time.monotonic()
        text = update.line(now - began)
        if is_bar:
            total = None if update.part is None else 1.0
            bar.update(task, total=total, completed=update.part or 0.0, description=text)
        elif now - shown_at >= EVERY_SECONDS:
            shown_at = now
            print(text, file=sys.stderr, flush=True)

    with bar:
        yield show
