"""The rules of deliverability: how health follows bounces and complaints, when a domain is paused, how it warms up."""

from __future__ import annotations

from typing import NamedTuple

from sandbox.service.dice import roll
from sandbox.service.moments import HOUR

REST = 14 * HOUR
ENOUGH_SENDS = 100
"""A domain that sent less isn't judged."""


class Counts(NamedTuple):
    """What an inbox, a domain or another group did over some days."""

    sends: int = 0
    replies: int = 0
    positive_replies: int = 0
    meetings: int = 0
    bounces: int = 0
    complaints: int = 0

    def rate(self, count: int) -> float:
        """The share of the sends that a count is."""
        return count / self.sends if self.sends else 0.0


def health_tomorrow(health: float, counts: Counts, *, key: tuple[object, ...]) -> float:
    """The score after a daily review: down a third of the way to what the last days deserve, up a seventh; some noise.

    What is lost in days is regained in weeks.
    """
    noise = (roll("health", *key) - 0.5) * 2.4
    if counts.sends < 5:
        deserved = min(92.0, health + 12.0)  # rest heals slowly
    else:
        lost = 520.0 * counts.rate(counts.bounces) + min(40.0, 5200.0 * counts.rate(counts.complaints))
        deserved = 97.0 - lost + min(5.0, 60.0 * counts.rate(counts.replies))
    pace = 0.33 if deserved < health else 0.15
    return round(min(100.0, max(5.0, health + (deserved - health) * pace + noise)), 1)


def reason_to_pause(counts: Counts) -> str | None:
    """Why a domain is paused automatically, judged by its last days; None while it may go on."""
    if counts.sends < ENOUGH_SENDS:
        return None
    if counts.rate(counts.bounces) > 0.065:
        return "bounce_rate"
    if counts.complaints >= 3 and counts.rate(counts.complaints) > 0.004:
        return "complaint_rate"
    return None


def limit_after_rest(full_limit: int) -> int:
    return max(5, full_limit // 5)


def limit_tomorrow(daily_limit: int, full_limit: int, *, health: float) -> int:
    """The limit of an inbox that warms up: full after two to four weeks, where health allows it."""
    if health < 55.0:
        return daily_limit
    return min(full_limit, daily_limit + max(1, round(full_limit / 25)))
