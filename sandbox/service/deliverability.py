"""The rules of deliverability: how health follows bounces and complaints, when a domain is paused, how it warms up."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from sandbox.service.dice import roll
from sandbox.service.moments import HOUR

REST = 14 * HOUR
_JUDGED_DAYS = 2
ENOUGH_SENDS = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """What an inbox or a domain did over some days."""

    sends: int = 0
    replies: int = 0
    bounces: int = 0
    complaints: int = 0

    @classmethod
    def of(cls, counts: list[int]) -> Record:
        """The record of a tally's counts, which are in the order of `COUNTS`."""
        sends, replies, _, _, bounces, complaints = counts
        return cls(sends=sends, replies=replies, bounces=bounces, complaints=complaints)

    def rate(self, count: int) -> float:
        return count / self.sends if self.sends else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class InboxState:
    """How much an inbox may send."""

    daily_limit: int
    status: str


def health_tomorrow(health: float, record: Record, *, key: tuple[object, ...]) -> float:
    """The score after a daily review: down a third of the way to what the last days deserve, up a seventh; some noise.

    What is lost in days is regained in weeks.
    """
    noise = (roll("health", *key) - 0.5) * 2.4
    if record.sends < 5:
        deserved = min(92.0, health + 12.0)  # rest heals slowly
    else:
        bounces, complaints = record.rate(record.bounces), record.rate(record.complaints)
        deserved = (
            97.0
            - 520.0 * bounces
            - min(40.0, 5200.0 * complaints)
            + min(5.0, 60.0 * record.rate(record.replies))
        )
    return round(
        min(100.0, max(5.0, health + (deserved - health) * (0.33 if deserved < health else 0.15) + noise)), 1
    )


def reason_to_pause(record: Record) -> str | None:
    """Why a domain is paused automatically, judged by its last days; None while it may go on."""
    if record.sends < ENOUGH_SENDS:
        return None
    if record.rate(record.bounces) > 0.065:
        return "bounce_rate"
    if record.complaints >= 3 and record.rate(record.complaints) > 0.004:
        return "complaint_rate"
    return None


def rested(full_limit: int) -> InboxState:
    return InboxState(daily_limit=max(5, full_limit // 5), status="warming")


def judged(days: Iterable[Record]) -> Record:
    """The record that a domain is judged by: its last days, from the newest on, until two of them and enough sends.

    On a Sunday that goes back to Friday.
    """
    found = Record()
    for number, day in enumerate(days, start=1):
        found = Record(
            sends=found.sends + day.sends,
            replies=found.replies + day.replies,
            bounces=found.bounces + day.bounces,
            complaints=found.complaints + day.complaints,
        )
        if number >= _JUDGED_DAYS and found.sends >= ENOUGH_SENDS:
            break
    return found


def warmed(daily_limit: int, full_limit: int, *, health: float) -> InboxState:
    """The limit grows by a twenty-fifth of what it was a day: two to four weeks, where health allows it."""
    raised = daily_limit if health < 55.0 else min(full_limit, daily_limit + max(1, round(full_limit / 25)))
    return InboxState(daily_limit=raised, status="active" if raised >= full_limit else "warming")
