"""While the dashboard is in front, what is logged goes into a file, never onto the screen."""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Iterator
from logging.handlers import RotatingFileHandler
from pathlib import Path

LARGEST = 2**20
"""Bytes; one older file is kept."""
FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"


@contextlib.contextmanager
def logging_to(path: Path, *, level: str) -> Iterator[None]:
    """Exchange the root logger's handlers for one that writes to `path`, for the owner alone to read."""
    root = logging.getLogger()
    before, before_level = root.handlers[:], root.level
    handler = _open(path)
    handler.setFormatter(logging.Formatter(FORMAT))
    root.handlers[:] = [handler]
    root.setLevel(level)
    logging.getLogger("apscheduler").setLevel(logging.WARNING)  # at INFO it writes two lines a read
    try:
        yield
    finally:
        root.handlers[:] = before
        root.setLevel(before_level)
        handler.close()


def _open(path: Path) -> logging.Handler:
    """A disk that cannot be written to costs the log, not the dashboard."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600))
        return RotatingFileHandler(path, maxBytes=LARGEST, backupCount=1, encoding="utf-8")
    except OSError:
        return logging.NullHandler()
