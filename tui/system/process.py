"""A tuned garbage collector and a log file, for a process that runs for weeks.

A full collection looks at every object: with ten thousand inboxes that stops keys and clock for up to a tenth
of a second, every few polls. Almost everything here is freed by counting references; full ones may be rare.
"""

from __future__ import annotations

import contextlib
import gc
import logging
import os
import sys
from collections.abc import Iterator
from io import TextIOWrapper
from logging.handlers import RotatingFileHandler
from pathlib import Path

from shared.storage.allocator import give_memory_back
from shared.storage.files import make_private_folder

THRESHOLDS = (2_000, 20, 1_000)
"""Young collections stay cheap and frequent; the last figure makes full ones a matter of hours."""

TURN = 0.001
"""Seconds after which a thread that works out a board lets the event loop have its turn."""


@contextlib.contextmanager
def tuned_gc() -> Iterator[None]:
    """Exempt what is loaded by now from collection, and collect what comes later seldom as a whole."""
    give_memory_back()
    before, turn = gc.get_threshold(), sys.getswitchinterval()
    sys.setswitchinterval(TURN)
    gc.freeze()
    gc.set_threshold(*THRESHOLDS)
    gc.enable()  # while the program loads it may be off
    try:
        yield
    finally:
        sys.setswitchinterval(turn)
        gc.set_threshold(*before)
        gc.unfreeze()


LARGEST = 2**20
"""Bytes; one older file is kept."""
FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"


class _PrivateFile(RotatingFileHandler):
    """Makes each file, also the next one after a rotation, for its owner alone."""

    def _open(self) -> TextIOWrapper:
        os.close(os.open(self.baseFilename, os.O_CREAT | os.O_WRONLY, 0o600))
        return super()._open()


@contextlib.contextmanager
def logging_to(path: Path, *, level: str) -> Iterator[None]:
    """Exchange the root logger's handlers for one that writes to `path`, for the owner alone to read."""
    root = logging.getLogger()
    before, before_level = root.handlers[:], root.level
    try:
        make_private_folder(path.parent)
        handler: logging.Handler = _PrivateFile(path, maxBytes=LARGEST, backupCount=1, encoding="utf-8")
    except OSError:  # a disk that can't be written to costs the log, not the dashboard
        handler = logging.NullHandler()
    handler.setFormatter(logging.Formatter(FORMAT))
    root.handlers[:] = [handler]
    root.setLevel(level)
    for name in ("httpx", "httpcore"):  # at INFO, two lines a read; addresses with ids
        logging.getLogger(name).setLevel(logging.WARNING)
    try:
        yield
    finally:
        root.handlers[:] = before
        root.setLevel(before_level)
        handler.close()
