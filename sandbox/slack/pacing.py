"""How fast Slack lets an app speak: a bucket per key, one drop a message."""

from __future__ import annotations

import math
from dataclasses import dataclass, field


@dataclass(slots=True, kw_only=True)
class Buckets:
    """Token buckets; `rate` drops a second, `burst` at once. A rate of 0 refuses nothing."""

    rate: float
    burst: int
    _levels: dict[str, tuple[float, float]] = field(default_factory=dict)

    def take(self, key: str, *, now: float) -> int | None:
        """Take a drop; None when there was one, else the whole seconds after which to come back."""
        if self.rate <= 0:
            return None
        level, at = self._levels.get(key, (float(self.burst), now))
        level = min(float(self.burst), level + max(0.0, now - at) * self.rate)
        if level < 1:
            self._levels[key] = (level, now)
            return max(1, math.ceil((1 - level) / self.rate))
        self._levels[key] = (level - 1, now)
        return None
