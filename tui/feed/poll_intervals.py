"""How often each source is read: sooner while something is wrong, later where nothing moves. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tui.feed.tick import intervals

JITTER = 0.1
LEAST = 5.0
"""Seconds below which an alarm hastens nothing."""
STRETCHES = ((30, 2.0), (10, 1.5))
"""After so many reads without a change, so much longer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PollIntervals:
    """Seconds between reads by source, and by what share of them each is moved at random."""

    seconds: Mapping[str, float] = field(default_factory=dict)
    jitter: float = JITTER

    @classmethod
    def of(cls, poll_seconds: float, section: Mapping[str, Any] | None = None) -> PollIntervals:
        """From the base interval and the `[dashboard]` section, whose own `intervals` win."""
        section = section or {}
        given = section.get("intervals")
        own = {name: float(value) for name, value in given.items()} if isinstance(given, Mapping) else {}
        base = intervals(poll_seconds)
        known = {name: value for name, value in own.items() if name in base}
        return cls(seconds=base | known, jitter=float(section.get("jitter", JITTER)))

    def interval(self, name: str, *, unchanged_reads: int = 0, alarmed: bool = False) -> float:
        """Seconds until the next read, after so many reads that found nothing new."""
        base = self.seconds[name]
        if alarmed:
            return min(base, max(LEAST, base / 2))
        return base * next((stretch for reads, stretch in STRETCHES if unchanged_reads >= reads), 1.0)
