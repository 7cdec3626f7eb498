"""How fast Slack lets an app post and call: a token bucket per key (docs.slack.dev/apis/web-api/rate-limits)."""

from __future__ import annotations

import math

from sandbox.slack.state.errors import SlackError
from sandbox.slack.state.settings import Settings

CALLS_PER_MINUTE = {1: 1, 2: 20, 3: 50, 4: 100}
"""What Slack promises at least for each tier of methods."""
_TIER_1_BURST = 5
"""The "small amount of burst behavior" that is tolerated where the promise is a single call a minute."""


class RateLimiter:
    """Token buckets by key."""

    def __init__(self) -> None:
        self._levels: dict[str, tuple[float, float]] = {}

    def take(self, key: str, *, rate: float, burst: int, now: float) -> None:
        """Take a token; `rate` tokens come back in a second, up to `burst`, and a rate of 0 refuses nothing.

        Raises `SlackError`: ratelimited, with the whole seconds after which to come back.
        """
        if rate <= 0:
            return
        level, at = self._levels.get(key, (float(burst), now))
        level = min(float(burst), level + max(0.0, now - at) * rate)
        if level < 1:
            self._levels[key] = (level, now)
            raise SlackError("ratelimited", retry_after=max(1, math.ceil((1 - level) / rate)))
        self._levels[key] = (level - 1, now)

    def take_post(self, channel: str, settings: Settings, *, now: float) -> None:
        """Take one message of a channel, and one of the whole workspace.

        An app may post "several hundred messages per minute" over all channels, beside one a second in each
        (https://docs.slack.dev/reference/methods/chat.postMessage#rate_limiting).

        Raises `SlackError`: ratelimited.
        """
        if settings.messages_per_second <= 0:
            return
        self.take(f"messages in {channel}", rate=settings.messages_per_second, burst=settings.burst, now=now)
        minute = settings.workspace_messages_per_minute
        self.take("messages", rate=minute / 60, burst=max(1, math.ceil(minute)), now=now)

    def take_call(self, method: str, *, tier: int | None, factor: float, now: float) -> None:
        """Take one call of a Web API method, `factor` times as many as its tier promises.

        Without a tier, and with a factor of 0, nothing is refused.

        Raises `SlackError`: ratelimited.
        """
        if tier is not None:
            calls = CALLS_PER_MINUTE[tier] * factor
            burst = max(math.ceil(calls), _TIER_1_BURST)
            self.take(f"calls of {method}", rate=calls / 60, burst=burst, now=now)
