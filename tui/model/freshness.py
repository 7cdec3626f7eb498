"""How old a panel's data is, against how often it should be read. Pure.

A screen that shows old figures as if they were new is worse than a dark one.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import IntEnum
from typing import Any

from shared.domain.snapshot import Reading
from tui.theme import formatting

LATE, VERY_LATE = 2.0, 5.0
"""So many intervals without a successful read."""
GRACE = 5.0
"""Seconds that any read may take."""


class Freshness(IntEnum):
    """What the age means; the larger, the worse."""

    FRESH = 0
    NEVER = 1
    LATE = 2
    VERY_LATE = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Stamp:
    """When a panel's data was read, how often it is, and what went wrong since; `interval` in seconds."""

    interval: float
    read_at: datetime | None = None
    error: str = ""
    failed_since: datetime | None = None

    @classmethod
    def of(cls, reading: Reading[Any], *, interval: float) -> Stamp:
        return cls(
            interval=interval,
            read_at=reading.read_at,
            error=reading.error or "",
            failed_since=reading.failed_since,
        )

    def age(self, now: datetime) -> float | None:
        """Seconds since the last good read; never negative, though clocks step back."""
        return None if self.read_at is None else max(0.0, (now - self.read_at).total_seconds())

    def freshness(self, now: datetime) -> Freshness:
        age = self.age(now)
        if age is None:
            return Freshness.NEVER
        if age > VERY_LATE * self.interval + GRACE:
            return Freshness.VERY_LATE
        return Freshness.LATE if age > LATE * self.interval + GRACE else Freshness.FRESH

    def words(self, now: datetime) -> str:
        """What the panel's head says: `12 s ago`, `late: 4 min ago`."""
        freshness = self.freshness(now)
        if freshness is Freshness.NEVER:
            return "no answer yet" if self.error else "reading…"
        late = {Freshness.LATE: "late: ", Freshness.VERY_LATE: "out of date: "}.get(freshness, "")
        return late + formatting.ago(self.read_at, now=now)
