"""What budgets grant, by the clock of their row and under its lock: a busy machine delays requests, but not this."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from shared.api import pace
from shared.api.pace import Pace, Priority
from tests.client.scripted_server import worst_second

PUNCTUAL = 0.04
"""Less than the half interval for which the gate is kept for a person."""
VARIABLE = "TESTS_GRANT_LOG"
"""The file, for the processes that a test starts."""
WRITE_GRANTS = f"""
import os
from tests.faults.rate.grant_log import write_grants
write_grants(os.environ["{VARIABLE}"])
"""
"""What such a process runs first."""


class GrantLog:
    """What the processes of one test were granted, in one file."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def granted(self) -> list[float]:
        """When each request was let go. One that went later has reported it, and counts from then."""
        grants: list[tuple[int, float]] = []
        for process, kind, now, *more in self._lines():
            if kind == "late":
                (seconds,) = more
                own = [grant for grant in grants if grant[0] == process]
                grants.remove(min(own, key=lambda grant: abs(grant[1] - (now - seconds))))
            if kind != "wait":
                grants.append((process, now))
        return [at for _, at in grants]

    def waits(self, *, since: float) -> list[float]:
        """The seconds after which somebody was told to ask again."""
        return [more[0] for _, kind, now, *more in self._lines() if kind == "wait" and now >= since]

    def waits_of(self, process: int) -> list[float]:
        """How long each request of a process that sends one at a time had to wait, if it asked again when it should."""
        total, turn_at, waits = 0.0, math.inf, list[float]()
        for own, kind, now, *more in self._lines():
            if own != process:
                continue
            if now > turn_at + PUNCTUAL:
                total = 0.0  # it lost its turn by its own fault
            if kind == "wait":
                total, turn_at = total + more[0], now + more[0]
            elif kind == "grant":
                waits.append(total)
                total, turn_at = 0.0, math.inf
        return waits

    def worst_second(self) -> int:
        return worst_second(self.granted())

    def _lines(self) -> list[list[Any]]:
        # A process that was killed may have left half a line.
        return [json.loads(line) for line in self._file.read_text().splitlines() if line.endswith("]")]


def write_grants(file: str, *, patch: Callable[[object, str, Any], None] = setattr) -> None:
    """Have all budgets of this process write what they grant."""
    descriptor = os.open(file, os.O_CREAT | os.O_APPEND | os.O_WRONLY | os.O_CLOEXEC, 0o600)
    take, late = pace.take, pace.late

    def write(kind: str, now: float, *more: Any) -> None:
        os.write(descriptor, f"{json.dumps([os.getpid(), kind, now, *more])}\n".encode())

    def written_take(row: Pace, now: float, priority: Priority, **more: Any) -> tuple[Pace, float]:
        after, wait = take(row, now, priority, **more)
        if wait:
            write("wait", now, wait)
        else:
            write("grant", now)
        return after, wait

    def written_late(row: Pace, now: float, seconds: float) -> Pace:
        write("late", now, seconds)
        return late(row, now, seconds)

    patch(pace, "take", written_take)
    patch(pace, "late", written_late)
