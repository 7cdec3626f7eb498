"""The clock of a simulated machine, in place of the real one for the whole process."""

from __future__ import annotations

import time
from datetime import UTC, datetime

import time_machine

WALL_START = datetime(2026, 11, 18, 14, 5, tzinfo=UTC).timestamp()
UP = 100_000.0
"""Seconds that the simulated machine has been up when a run begins."""


class VirtualClock:
    """Seconds since the run began; it moves only when it is told to."""

    def __init__(self) -> None:
        self.elapsed = 0.0
        self.wall_start = WALL_START
        self._travel = time_machine.travel(WALL_START, tick=False)
        self._wall: time_machine.Traveller | None = None

    @property
    def steady(self) -> float:
        return UP + self.elapsed

    @property
    def wall(self) -> float:
        return self.wall_start + self.elapsed

    def install(self) -> None:
        """Show this time to everything in the process. Called once, before the program under test is imported."""
        self._wall = self._travel.start()
        time.monotonic = lambda: self.steady
        time.clock_gettime = lambda clock: self.wall if clock == time.CLOCK_REALTIME else self.steady

    def restart(self, wall_start: float = WALL_START) -> None:
        self.wall_start = wall_start
        self.move_to(0.0)

    def move_to(self, elapsed: float) -> None:
        self.elapsed = elapsed
        assert self._wall is not None, "not installed"
        self._wall.move_to(self.wall)


CLOCK = VirtualClock()
