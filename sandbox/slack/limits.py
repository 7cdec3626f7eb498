"""How fast Slack lets an app post and call (https://docs.slack.dev/apis/web-api/rate-limits)."""

from __future__ import annotations

import math

from sandbox.slack.errors import SlackError

CALLS_PER_MINUTE = {1: 1, 2: 20, 3: 50, 4: 100}
"""The calls that Slack promises at least for each tier of methods."""
_TIER_1_BURST = 5
"""Slack tolerates "a small amount of burst behavior" where it promises one call a minute."""


class RateLimiter:
    """A token bucket for each key."""

    def __init__(self) -> None:
        self._levels: dict[str, tuple[float, float]] = {}

    def take(self, key: str, *, rate: float, burst: int, now: float) -> None:
        """Take a token; `rate` tokens come back in a second, up to `burst`. A rate of 0 limits nothing.

        Raises `SlackError` (ratelimited) with the whole seconds after which to come back.
        """
        if rate <= 0:
            return
        level, at = self._levels.get(key, (float(burst), now))
        level = min(float(burst), level + max(0.0, now - at) * rate)
        if level < 1:
            self._levels[key] = (level, now)
            raise SlackError("ratelimited", retry_after=max(1, math.ceil((1 - level) / rate)))
        self._levels[key] = (level - 1, now)

    def take_call(self, method: str, *, tier: int | None, factor: float, now: float) -> None:
        """Take a call of a method, which allows `factor` times what its tier promises.

        Without a tier, and with a factor of 0, nothing is limited. Raises `SlackError`.
        """
        if tier is not None:
            calls = CALLS_PER_MINUTE[tier] * factor
            burst = max(math.ceil(calls), _TIER_1_BURST)
            self.take(f"calls of {method}", rate=calls / 60, burst=burst, now=now)
