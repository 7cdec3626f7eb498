"""The rules of a cold-email campaign: when an inbox may send, and the response to a send. Pure."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from sandbox.service.base.clock import DAY, HOUR, MINUTE
from sandbox.service.base.seeded_random import between, roll, two_rolls

STEP_GAP_DAYS = (2, 3, 4, 5)
FINISH_AFTER = 2 * DAY
VARIANTS = ("A", "B")


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """When a sequence sends: hours in UTC that do not cross midnight, on weekdays (bit 0 is Monday)."""

    opens: int
    closes: int
    weekdays: int

    @classmethod
    def of(cls, sequence: Any) -> Window:
        """The window of a sequence's row or plan."""
        return cls(opens=sequence.opens, closes=sequence.closes, weekdays=sequence.weekdays)

    def on(self, day: int) -> bool:
        """Whether a UTC day is a sending day; 1970-01-01 was a Thursday."""
        return bool(self.weekdays >> (day + 3) % 7 & 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Conditions:
    """What a scenario does to the odds just now: factors on the rates of bounces, replies and complaints."""

    bounces: float = 1.0
    replies: float = 1.0
    complaints: float = 1.0


NORMAL = Conditions()


@dataclass(frozen=True, slots=True, kw_only=True)
class Reaction:
    """The response to one send, and its delay in seconds; mostly `silence`."""

    kind: str
    delay: float


def next_slot(window: Window, *, limit: int, after: float, key: tuple[object, ...]) -> float:
    """The first moment later than `after` at which an inbox sends, its day's limit spread over the window.

    A day offers up to `limit` slots, a few less on most days, one in each equal part of the window, so the daily limit
    cannot be passed.
    """
    day = int(after // DAY)
    for ahead in range(9):
        slot = _slot_of_day(window, limit=limit, day=day + ahead, after=after, key=key)
        if slot is not None:
            return slot
    return after + DAY


def _slot_of_day(
    window: Window, *, limit: int, day: int, after: float, key: tuple[object, ...]
) -> float | None:
    if limit <= 0 or not window.on(day):
        return None
    start = day * DAY + window.opens * HOUR
    slots = max(1, round(limit * _share_used(key, day)))
    part = (window.closes - window.opens) * HOUR / slots
    for number in range(max(0, int((after - start) / part)), slots):
        slot = start + (number + _within_part(key, day, number)) * part
        if slot > after:
            return slot
    return None


@lru_cache(maxsize=16_384)
def _share_used(key: tuple[object, ...], day: int) -> float:
    """How much of its daily limit an inbox uses on a day."""
    return between(0.75, 1.0, roll("used", *key, day))


@lru_cache(maxsize=16_384)
def _within_part(key: tuple[object, ...], day: int, number: int) -> float:
    """A request for the slot after this one also covers this one."""
    return between(0.1, 0.9, roll("slot", *key, day, number))


def variant_of(*, seed: int, lead: int, step: int) -> int:
    """Which variant of a step's text a lead gets: 0 is A, 1 is B."""
    return int(roll(seed, "variant", lead, step) * len(VARIANTS))


def step_gap(step: int) -> float:
    return STEP_GAP_DAYS[min(step, len(STEP_GAP_DAYS)) - 1] * DAY


@lru_cache(maxsize=1_024)
def mood(*, seed: int, sequence: int, day: int) -> float:
    """A factor on a sequence's replies on a day: some days are better than others."""
    return round(between(0.6, 1.4, roll(seed, "mood", sequence, day)), 1)


def outcome(
    *,
    seed: int,
    lead: int,
    step: int,
    variant: int,
    day: int,
    health: float,
    appeal: float,
    conditions: Conditions = NORMAL,
) -> Reaction:
    """The response of a lead to a step's variant, on a day, from an inbox with a health score."""
    what, when = two_rolls(seed, "outcome", lead, step, variant, day)
    for kind, share in shares(
        step=step, variant=variant, health=round(health), appeal=round(appeal, 2), conditions=conditions
    ):
        if what < share:
            return Reaction(kind=kind, delay=delay_of(kind, when))
        what -= share
    return Reaction(kind="silence", delay=0.0)


@lru_cache(maxsize=8_192)
def shares(
    *, step: int, variant: int, health: float, appeal: float, conditions: Conditions
) -> tuple[tuple[str, float], ...]:
    """How likely each kind is. Poor health lands in spam: fewer replies, more bounces and complaints.

    Over the steps of a sequence, 3 to 5 % of the leads reply, a quarter of them interested; see docs/sandbox.md.
    """
    reach = min(1.1, max(0.15, (health - 15.0) / 72.0)) * conditions.replies
    ill = max(1.0, 1.0 + (82.0 - health) / 28.0)
    freshness = 0.86 ** (step - 1)
    interest = appeal * (1.0 + 0.22 * variant) * freshness * reach
    return (
        ("bounce_hard", min(0.5, 0.006 * ill * conditions.bounces * (1.0 if step == 1 else 0.35))),
        ("bounce_soft", min(0.2, 0.004 * ill * conditions.bounces)),
        ("interested", min(0.25, 0.0026 * interest)),
        ("reply", min(0.3, 0.0066 * interest)),
        ("ooo", 0.017 * reach),
        ("unsubscribe", 0.0011),
        ("complaint", min(0.05, 0.0003 * ill * conditions.complaints)),
    )


def delay_of(kind: str, when: float) -> float:
    """Seconds until a response shows: machines answer in seconds, people within the hour, the day or the weekend."""
    if kind.startswith("bounce") or kind == "ooo":
        return between(5.0, 3 * MINUTE, when)
    return min(3 * DAY, 150 * MINUTE * math.exp(1.3 * _bell(when)))


def _bell(at: float) -> float:
    at = min(0.999, max(0.001, at))
    return math.log(at / (1.0 - at)) / 1.702


def books_meeting(*, seed: int, lead: int, step: int) -> float | None:
    """Seconds until an interested lead books a meeting; None for the many who never do."""
    whether, when = two_rolls(seed, "meeting", lead, step)
    return between(2 * HOUR, 3 * DAY, when) if whether < 0.38 else None


def writes_again(kind: str, *, seed: int, lead: int, step: int) -> Reaction | None:
    """What a lead writes after a first answer, unasked: more of the same, or that it is interested after all."""
    what, when = two_rolls(seed, "again", lead, step)
    chances = {"interested": (("again", 0.3),), "reply": (("again", 0.14), ("turned", 0.05))}
    for again, share in chances.get(kind, ()):
        if what < share:
            return Reaction(kind=again, delay=between(HOUR, 3 * DAY, when))
        what -= share
    return None


def days_away(*, seed: int, lead: int, step: int) -> int:
    return 2 + int(roll(seed, "away", lead, step) ** 2 * 19)


FINAL = {
    "bounce_hard": "bounced",
    "interested": "interested",
    "turned": "interested",
    "reply": "replied",
    "unsubscribe": "unsubscribed",
    "complaint": "unsubscribed",
    "completed": "completed",
}
"""The lead status that a response settles; the other responses leave a lead active."""

COUNTED: dict[str, tuple[str, ...]] = {
    "bounce_hard": ("bounces",),
    "bounce_soft": ("bounces",),
    "interested": ("replies", "positive_replies"),
    "reply": ("replies",),
    "again": ("replies",),
    "turned": ("replies", "positive_replies"),
    "ooo": (),
    "unsubscribe": ("replies",),
    "complaint": ("complaints",),
    "completed": (),
    "meeting": ("meetings",),
}
"""The stats that each response increases. An opt-out by reply is a reply; an automatic reply isn't."""
