"""The rules of deliverability: how health follows bounces and complaints, when a domain is paused, how it warms up."""

from __future__ import annotations

from dataclasses import dataclass

from sandbox.service.base.clock import HOUR
from sandbox.service.base.seeded_random import roll

REST = 14 * HOUR
_ENOUGH_SENDS = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """What an inbox or a domain did over some days."""

    sends: int = 0
    replies: int = 0
    bounces: int = 0
    complaints: int = 0

    def rate(self, count: int) -> float:
        return count / self.sends if self.sends else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class InboxState:
    """What the daily review leaves an inbox with."""

    health: float
    daily_limit: int
    status: str


def health_tomorrow(health: float, record: Record, *, key: tuple[object, ...]) -> float:
    """The score after a daily review: a third of the way to what the last days' record deserves, and some noise."""
    noise = (roll("health", *key) - 0.5) * 2.4
    if record.sends < 5:
        deserved = min(92.0, health + 4.0)  # rest heals slowly
    else:
        bounces, complaints = record.rate(record.bounces), record.rate(record.complaints)
        deserved = 97.0 - 520.0 * bounces - 5200.0 * complaints + min(5.0, 60.0 * record.rate(record.replies))
    return round(min(100.0, max(5.0, health + (deserved - health) * 0.33 + noise)), 1)


def reason_to_pause(record: Record) -> str | None:
    """Why a domain is paused automatically, judged by its last two days; None while it may go on."""
    if record.sends < _ENOUGH_SENDS:
        return None
    if record.rate(record.bounces) > 0.065:
        return "bounce_rate"
    if record.complaints >= 3 and record.rate(record.complaints) > 0.004:
        return "complaint_rate"
    return None


def rested(full_limit: int, *, health: float) -> InboxState:
    return InboxState(health=health, daily_limit=max(5, full_limit // 5), status="warming")


def warmed(daily_limit: int, full_limit: int, *, health: float) -> InboxState:
    raised = daily_limit if health < 55.0 else min(full_limit, daily_limit + max(3, full_limit // 5))
    return InboxState(
        health=health, daily_limit=raised, status="active" if raised >= full_limit else "warming"
    )
