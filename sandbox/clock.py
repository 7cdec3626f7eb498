"""The sandbox's clock: service and Slack stand-in have one each."""

from __future__ import annotations

import time
from collections.abc import Callable


class Clock:
    """Seconds of the Unix epoch that run at a chosen speed, can be advanced, and can stand still.

    Args:
        start: where the clock begins and `reset` puts it; None: at what `source` says then.
        speed: seconds of this clock per real second; 0 stands still.
        source: the real time, in seconds of the Unix epoch.
    """

    def __init__(
        self,
        start: float | None = None,
        *,
        speed: float = 1.0,
        source: Callable[[], float] = time.time,
    ) -> None:
        self._source = source
        self._start = start
        self._first_speed = speed
        self.reset()

    def now(self) -> float:
        # The real clock may step back; this one never does because of it.
        elapsed = max(0.0, self._source() - self._real)
        return self._stood + elapsed * self._speed

    @property
    def speed(self) -> float:
        return self._speed

    @speed.setter
    def speed(self, speed: float) -> None:
        self._set(self.now(), speed=speed)

    def advance(self, seconds: float) -> None:
        """Let `seconds` pass at once. Raises `ValueError` for less than none: time never runs backwards."""
        if seconds < 0:
            raise ValueError("The clock can only be advanced.")
        self._set(self.now() + seconds, speed=self._speed)

    def reset(self) -> None:
        """Go back to the start, at the first speed."""
        start = self._source() if self._start is None else self._start
        self._set(start, speed=self._first_speed)

    def _set(self, now: float, *, speed: float) -> None:
        self._real = self._source()
        self._stood = now
        self._speed = speed
