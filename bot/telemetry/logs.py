"""JSON lines on stderr, for the bot and for the libraries it stands on."""

from __future__ import annotations

import contextlib
import logging
import sys
from typing import TextIO, cast

import structlog

# Handed to Bolt, which otherwise gives each of its own loggers the root's level.
BOLT = logging.getLogger("bot.bolt")
_QUIET = ("slack_sdk", "apscheduler", "alembic", "uvicorn", "aiohttp", "httpx")


class Stderr:
    """Drops what cannot be written: a disk that is full must not stop the bot over its log."""

    def write(self, text: str) -> None:
        """Write, or do not."""
        with contextlib.suppress(OSError):
            sys.stderr.write(text)

    def flush(self) -> None:
        """Likewise."""
        with contextlib.suppress(OSError):
            sys.stderr.flush()


def set_up(level: str) -> None:
    """Once per process, before anything is logged."""
    number = logging.getLevelNamesMapping().get(level.upper(), logging.INFO)
    shared: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    structlog.configure(
        processors=[*shared, structlog.processors.format_exc_info, structlog.processors.JSONRenderer()],
        wrapper_class=structlog.make_filtering_bound_logger(number),
        logger_factory=structlog.PrintLoggerFactory(cast("TextIO", Stderr())),
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(Stderr())
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                structlog.processors.format_exc_info,
                structlog.processors.JSONRenderer(),
            ],
        )
    )
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)
    for name in _QUIET:
        logging.getLogger(name).setLevel(logging.WARNING)
    # Bolt warns of a token that is given in two places, and of every stray request.
    BOLT.setLevel(logging.ERROR)
