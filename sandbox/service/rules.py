"""The rules of a cold-email campaign: when an inbox may send, and the response to a send. Pure."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from sandbox.data import read_toml
from sandbox.service.dice import between, roll, two_rolls
from sandbox.service.moments import DAY, HOUR, MINUTE

STEP_GAP_DAYS = (2, 3, 4, 5)
FINISH_AFTER = 2 * DAY
VARIANTS = ("A", "B")


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """When a sequence sends: hours in UTC that do not cross midnight, on weekdays (bit 0 is Monday)."""

    opens: int
    closes: int
    weekdays: int

    def on(self, day: int) -> bool:
        """True on a sending day; 1970-01-01 was a Thursday."""
        return bool(self.weekdays >> (day + 3) % 7 & 1)


# Compared by identity: `shares` is asked with the same few ones for each send.
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Conditions:
    """What a scenario does to the odds: factors on the rates of bounces, replies and complaints."""

    bounces: float = 1.0
    replies: float = 1.0
    complaints: float = 1.0


NORMAL = Conditions()


@dataclass(frozen=True, slots=True, kw_only=True)
class Reaction:
    """The response to one send, and its delay in seconds."""

    kind: str
    delay: float


def slots_of_day(window: Window, *, limit: int, day: int, key: tuple[object, ...]) -> list[float]:
    """The moments of a UTC day at which an inbox may send, in order.

    There are at most `limit`, a few less on most days, one in each equal part of the window.
    """
    if limit <= 0 or not window.on(day):
        return []
    # One generator a day: hashing a key for each slot would take most of a day's simulation.
    dice = random.Random(f"slots {key} {day}")
    count = max(1, round(limit * dice.uniform(0.75, 1.0)))
    start = day * DAY + window.opens * HOUR
    part = (window.closes - window.opens) * HOUR / count
    return [start + (number + dice.uniform(0.1, 0.9)) * part for number in range(count)]


def variant_of(*, lead: int, step: int) -> str:
    """Which variant of a step's text a lead gets, in turn."""
    return VARIANTS[(lead + step) % len(VARIANTS)]


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
    day: int,
    health: float,
    appeal: float,
    conditions: Conditions = NORMAL,
) -> Reaction | None:
    """The response of a lead to a step that is sent on a day from an inbox with a health score; mostly none."""
    what, when = two_rolls(seed, "outcome", lead, step, day)
    variant = variant_of(lead=lead, step=step)
    for kind, share in shares(step, variant, round(health), round(appeal, 2), conditions):
        if what < share:
            return Reaction(kind=kind, delay=delay_of(kind, when))
        what -= share
    return None


@lru_cache(maxsize=8_192)
def shares(
    step: int, variant: str, health: float, appeal: float, conditions: Conditions
) -> tuple[tuple[str, float], ...]:
    """How likely each kind is. Poor health lands in spam: fewer replies, more bounces and complaints.

    Over the steps of a sequence, 3 to 5 % of the leads reply, a quarter of them interested; see docs/sandbox.md.
    """
    reach = min(1.1, max(0.15, (health - 15.0) / 72.0)) * conditions.replies
    ill = max(1.0, 1.0 + (82.0 - health) / 28.0)
    freshness = 0.86 ** (step - 1)
    interest = appeal * (1.22 if variant == "B" else 1.0) * freshness * reach
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
    chances = {"interested": (("again", 0.3),), "reply": (("again", 0.14), ("turned", 0.05))}
    if kind not in chances:
        return None
    what, when = two_rolls(seed, "again", lead, step)
    for again, share in chances[kind]:
        if what < share:
            return Reaction(kind=again, delay=between(HOUR, 3 * DAY, when))
        what -= share
    return None


def days_away(*, seed: int, lead: int, step: int) -> int:
    return 2 + int(roll(seed, "away", lead, step) ** 2 * 19)


class Effect(NamedTuple):
    """What a response changes; see `responses.toml`."""

    to: Sequence[str]
    status: str | None = None
    counts: Sequence[str] = ()
    events: Sequence[str] = ()
    blocks: bool = False
    harms: bool = False


EFFECTS = {kind: Effect(**effect) for kind, effect in read_toml(__file__, "responses.toml").items()}
"""By the kind of the response."""
