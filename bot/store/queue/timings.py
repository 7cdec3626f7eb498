"""How fast channels are posted to, and how long leases last."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseTimings:
    """How fast a channel may be posted to, and how long its lease lasts; seconds."""

    period: float = 1.0
    """Between messages of a channel (Slack, rate limits)."""
    burst: int = 1
    """Messages that a rested channel takes at once beyond the first; Slack itself allows a little more."""
    lease: float = 10.0
    """Longer than any call that is made under it."""
    storm_at: int = 60
    """More waiting than a channel takes in a minute."""
    read_pause: float = 2.0
    """Between look-ups of an uncertain message: what was accepted is in the history by then."""
    doubt: float = 10.0
    """How long after its lease an attempt that was never answered may still turn up."""

    @property
    def patience(self) -> float:
        return 0.8 * self.lease

    @property
    def longest(self) -> float:
        return self.lease + self.doubt

    def opens_at(self, tat: float) -> float:
        """When a channel whose next message is due at `tat` may have it, its burst considered."""
        return tat - self.burst * self.period
