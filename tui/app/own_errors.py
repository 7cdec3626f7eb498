"""The dashboard's internal errors: each logged once with a reference, then counted, and shown in one line. Pure."""

from __future__ import annotations

import hashlib
import logging
import traceback
from collections import Counter
from datetime import datetime

from shared.frozen import frozen
from tui.theme.words import clock

logger = logging.getLogger(__name__)


@frozen
class OwnError:
    """One mistake: what the log calls it, when it was last made, and how often."""

    reference: str
    at: datetime
    times: int

    def words(self, now: datetime) -> str:
        often = f", {self.times:,} times" if self.times > 1 else ""
        when = clock(self.at, now=now)
        return f"Internal error in the dashboard (reference {self.reference}, {when}{often}). It keeps running. Details are in the log."


class ErrorLog:
    """Counts the mistakes by reference; the same mistake at the same place counts as one."""

    def __init__(self) -> None:
        self._times: Counter[str] = Counter()

    def note(self, error: BaseException, *, now: datetime) -> OwnError:
        """Count a mistake; its trace goes to the log the first time: one in a timer comes every second."""
        reference = _reference(error)
        self._times[reference] += 1
        if self._times[reference] == 1:
            logger.error("internal error in the dashboard, reference %s", reference, exc_info=error)
        return OwnError(reference=reference, at=now, times=self._times[reference])


def _reference(error: BaseException) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    place = "|".join(f"{frame.filename}:{frame.lineno}" for frame in frames)
    return hashlib.sha256(f"{type(error).__qualname__}|{place}".encode()).hexdigest()[:6]
