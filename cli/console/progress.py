"""The progress of a long job, on stderr: a bar on a terminal, a line every few seconds elsewhere."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta

from shared.text.formats import show_clock

EVERY_SECONDS = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgressUpdate:
    """The progress of a job: `part` of the whole as a fraction (None: unknown), and the count of `what`."""

    count: int
    what: str = "leads"
    part: float | None = None
    detail: str = ""


ProgressCallback = Callable[[ProgressUpdate], None]


@contextlib.contextmanager
def progress_bar() -> Iterator[ProgressCallback]:
    began = time.monotonic()
    with _bar(began) if sys.stderr.isatty() else _lines(began) as show:
        yield show


def line(update: ProgressUpdate, *, seconds: float) -> str:
    """`12,000 leads, 950/s, 0:40 left; 11,900 added`."""
    parts = [f"{update.count:,} {update.what}", f"{update.count / max(seconds, 0.001):,.0f}/s"]
    if update.part:
        parts.append(f"{show_clock(timedelta(seconds=seconds * (1 - update.part) / update.part))} left")
    return ", ".join(parts) + (f"; {update.detail}" if update.detail else "")


@contextlib.contextmanager
def _lines(began: float) -> Iterator[ProgressCallback]:
    shown_at = began

    def show(update: ProgressUpdate) -> None:
        nonlocal shown_at
        now = time.monotonic()
        if now - shown_at >= EVERY_SECONDS:
            shown_at = now
            print(line(update, seconds=now - began), file=sys.stderr, flush=True)

    yield show


@contextlib.contextmanager
def _bar(began: float) -> Iterator[ProgressCallback]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    console = Console(file=sys.stderr, highlight=False)
    story = TextColumn("{task.description}", markup=False)
    with Progress(BarColumn(bar_width=20), story, console=console, transient=True) as progress:
        task = progress.add_task("", total=None)

        def show(update: ProgressUpdate) -> None:
            total = None if update.part is None else 1.0
            text = line(update, seconds=time.monotonic() - began)
            progress.update(task, total=total, completed=update.part or 0.0, description=text)

        yield show
