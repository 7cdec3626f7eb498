"""How fast Slack lets an app speak and ask: a bucket per key, one drop a call (docs.slack.dev/apis/web-api/rate-limits)."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from sandbox.slack.state.errors import Refusal

TIERS = {
    "apps.connections.open": 1,
    "chat.delete": 3,
    "chat.postEphemeral": 4,
    "chat.update": 3,
    "conversations.history": 3,
    "conversations.info": 3,
    "conversations.join": 3,
    "conversations.list": 2,
    "conversations.members": 4,
    "conversations.open": 3,
    "conversations.replies": 3,
    "files.completeUploadExternal": 4,
    "files.getUploadURLExternal": 4,
    "reactions.add": 3,
    "reactions.remove": 2,
    "usergroups.list": 2,
    "usergroups.users.list": 2,
    "users.conversations": 3,
    "users.info": 4,
    "users.list": 2,
    "views.open": 4,
    "views.publish": 4,
    "views.push": 4,
    "views.update": 4,
}
"""The tier of each method; those that are missing have rules of their own, or none that would ever be met."""
CALLS_A_MINUTE = {1: 1, 2: 20, 3: 50, 4: 100}
_LEAST_BURST = 20


@dataclass(slots=True, kw_only=True)
class Buckets:
    """Token buckets by key."""

    _levels: dict[str, tuple[float, float]] = field(default_factory=dict)

    def take(self, key: str, *, rate: float, burst: int, now: float) -> None:
        """Take a drop; `rate` flow in a second, `burst` are there at first, and a rate of 0 refuses nothing.

        Raises:
            Refusal: ratelimited, with the whole seconds after which to come back.
        """
        if rate <= 0:
            return
        level, at = self._levels.get(key, (float(burst), now))
        level = min(float(burst), level + max(0.0, now - at) * rate)
        if level < 1:
            self._levels[key] = (level, now)
            raise Refusal("ratelimited", retry_after=max(1, math.ceil((1 - level) / rate)))
        self._levels[key] = (level - 1, now)

    def take_call(self, method: str, *, factor: float, now: float) -> None:
        """Take one call of a Web API method from its tier, `factor` times as wide as Slack promises at least.

        Raises:
            Refusal: ratelimited.
        """
        if method in TIERS:
            calls = CALLS_A_MINUTE[TIERS[method]] * factor
            burst = max(math.ceil(calls), _LEAST_BURST if factor > 1 else 1)
            self.take(f"calls of {method}", rate=calls / 60, burst=burst, now=now)
