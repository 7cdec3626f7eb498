"""The dashboard's internal errors: each logged once with a reference, then counted, and shown in one line. Pure."""

from __future__ import annotations

import hashlib
import logging
import traceback
from dataclasses import replace
from datetime import datetime

from shared.frozen import frozen
from tui.theme.words import clock

logger = logging.getLogger(__name__)

MOST = 100
"""The number of different errors that are distinguished; further ones count as one."""


@frozen
class OwnError:
    """One mistake: what the log calls it, when it was last made, and how often."""

    reference: str
    at: datetime
    times: int = 1

    def words(self, now: datetime) -> str:
        often = f", {self.times:,} times" if self.times > 1 else ""
        when = clock(self.at, now=now)
        return f"Internal error in the dashboard (reference {self.reference}, {when}{often}). It keeps running. Details are in the log."


class ErrorLog:
    """The mistakes made so far, by reference; the same mistake at the same place counts as one."""

    def __init__(self) -> None:
        self._known: dict[str, OwnError] = {}

    def note(self, error: BaseException, *, now: datetime) -> OwnError:
        """Count a mistake; its trace goes to the log the first time, and a line at every tenfold."""
        reference = _reference(error)
        if reference not in self._known and len(self._known) >= MOST:
            reference = "many"
        before = self._known.get(reference)
        if before is None:
            logger.error("internal error in the dashboard, reference %s", reference, exc_info=error)
            noted = OwnError(reference=reference, at=now)
        else:
            noted = replace(before, at=now, times=before.times + 1)
            if str(noted.times).strip("0") == "1":
                logger.error("reference %s again, %d times so far", reference, noted.times)
        self._known[reference] = noted
        return noted


def _reference(error: BaseException) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    place = "|".join(f"{frame.filename}:{frame.lineno}" for frame in frames)
    return hashlib.sha256(f"{type(error).__qualname__}|{place}".encode()).hexdigest()[:6]
