"""The stand-in's time: real, plus whatever a test has advanced it by."""

from __future__ import annotations

import time
from collections.abc import Callable


class Clock:
    """Seconds since 1970; what expires (triggers, response addresses, tickets) asks it."""

    def __init__(self, source: Callable[[], float] = time.time) -> None:
        self._source = source
        self._ahead = 0.0

    def now(self) -> float:
        """Seconds since 1970."""
        return self._source() + self._ahead

    def advance(self, seconds: float) -> None:
        """Let `seconds` pass at once; the stand-in's time never runs back."""
        if seconds < 0:
            raise ValueError("a clock is only advanced")
        self._ahead += seconds
