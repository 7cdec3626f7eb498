"""Log lines on stderr, for the bot and its libraries: for people on a terminal, as JSON elsewhere."""

from __future__ import annotations

import atexit
import contextlib
import logging
import os
import queue
import sys
import threading
import time
from collections.abc import Sequence
from typing import TextIO, cast

import structlog

from bot.telemetry import metrics
from shared.text.sanitize import visible

# Handed to Bolt, which otherwise gives each of its own loggers the root's level.
BOLT = logging.getLogger("bot.bolt")
_QUIET = ("slack_sdk", "apscheduler", "alembic", "uvicorn", "aiohttp", "httpx", "httpcore")


MAX_QUEUED = 10_000
"""Lines that wait to be written; more are dropped and counted."""
FLUSH_SECONDS = 1.0
"""The time for which the end of the process waits for the last lines."""


class QueuedStderr:
    """Writes lines in a thread, so that a full disk or a stuck reader of the log can't block the bot."""

    def __init__(self) -> None:
        self._lines: queue.Queue[str] = queue.Queue(MAX_QUEUED)
        threading.Thread(target=self._write_all, name="log", daemon=True).start()
        atexit.register(self.close)

    def write(self, text: str) -> None:
        """Queue a line, or drop it."""
        try:
            # Never waits: the event loop writes these lines.
            self._lines.put_nowait(text)
        except queue.Full:
            metrics.LOG_DROPPED.inc()

    def flush(self) -> None:
        """Nothing: the thread writes each line at once."""

    def close(self) -> None:
        ends = time.monotonic() + FLUSH_SECONDS
        while self._lines.unfinished_tasks and time.monotonic() < ends:
            time.sleep(0.01)

    def _write_all(self) -> None:
        while True:
            left = self._lines.get().encode(errors="backslashreplace")
            with contextlib.suppress(OSError):
                while left:  # not through sys.stderr, whose lock a blocked write would hold at exit
                    left = left[os.write(2, left) :]
            self._lines.task_done()


def _harmless(_logger: object, _method: str, line: structlog.typing.EventDict) -> structlog.typing.EventDict:
    """Make words of a lead or a service harmless: they move no cursor and style nothing."""
    return {name: visible(value) if isinstance(value, str) else value for name, value in line.items()}


def set_up(level: str) -> None:
    """Once per process, before anything is logged."""
    stderr = QueuedStderr()
    number = logging.getLevelNamesMapping().get(level.upper(), logging.INFO)
    for_people = sys.stderr.isatty()
    shared: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="%H:%M:%S" if for_people else "iso", utc=not for_people),
    ]
    rendering: Sequence[structlog.typing.Processor] = (
        structlog.processors.format_exc_info,
        structlog.processors.JSONRenderer(),
    )
    if for_people:
        colors, plain = not os.environ.get("NO_COLOR"), structlog.dev.plain_traceback
        rendering = (_harmless, structlog.dev.ConsoleRenderer(colors=colors, exception_formatter=plain))
    structlog.configure(
        processors=[*shared, *rendering],
        wrapper_class=structlog.make_filtering_bound_logger(number),
        logger_factory=structlog.WriteLoggerFactory(cast("TextIO", stderr)),
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                *rendering,
            ],
        )
    )
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)
    for name in _QUIET:
        logging.getLogger(name).setLevel(logging.WARNING)
    # Bolt warns of a token that is given in two places, and of every stray request.
    BOLT.setLevel(logging.ERROR)
