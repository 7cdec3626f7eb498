"""A wall clock that never goes back, so that no lease or due time is stretched when the machine's clock is set."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable


class SteadyClock:
    """Unix seconds; a step backwards of the clock beneath is added up and undone, a step forwards is taken."""

    def __init__(self, wall: Callable[[], float] = time.time) -> None:
        self._wall = wall
        self._last = wall()
        self._undone = 0.0
        self._lock = threading.Lock()

    def __call__(self) -> float:
        with self._lock:
            wall = self._wall()
            self._undone += max(0.0, self._last - wall)
            self._last = wall
            return wall + self._undone
