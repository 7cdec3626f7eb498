"""The rules of a cold-email campaign: how people and mail servers respond, and what becomes of inboxes and domains."""

from __future__ import annotations

import math
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


# Compared by identity: `shares` is asked with the same few ones for each send.
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Conditions:
    """The odds of a scenario: factors on the rates of bounces, replies and complaints."""

    bounces: float = 1.0
    replies: float = 1.0
    complaints: float = 1.0


NORMAL = Conditions()


@dataclass(frozen=True, slots=True, kw_only=True)
class Reaction:
    """The response to one send, and its delay in seconds."""

    kind: str
    delay: float


def variant_of(*, lead: int, step: int) -> str:
    """Return the variant of a step's text that a lead gets, in turn."""
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
    """Return how likely each kind is. Poor health lands in spam: fewer replies, more bounces and complaints.

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
    """Return the seconds until a response shows: machines answer in seconds, people within the hour, the day or the weekend."""
    if kind.startswith("bounce") or kind == "ooo":
        return between(5.0, 3 * MINUTE, when)
    return min(3 * DAY, 150 * MINUTE * math.exp(1.3 * _bell(when)))


def _bell(at: float) -> float:
    at = min(0.999, max(0.001, at))
    return math.log(at / (1.0 - at)) / 1.702


def books_meeting(*, seed: int, lead: int, step: int) -> float | None:
    """Return the seconds until an interested lead books a meeting; None for the many who never do."""
    whether, when = two_rolls(seed, "meeting", lead, step)
    return between(2 * HOUR, 3 * DAY, when) if whether < 0.38 else None


def writes_again(kind: str, *, seed: int, lead: int, step: int) -> Reaction | None:
    """Return what a lead writes after a first answer, unasked: more of the same, or that it is interested after all."""
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
    """The changes that a response makes; see `responses.toml`."""

    to: Sequence[str]
    status: str | None = None
    counts: Sequence[str] = ()
    events: Sequence[str] = ()
    blocks: bool = False
    harms: bool = False


EFFECTS = {kind: Effect(**effect) for kind, effect in read_toml(__file__, "responses.toml").items()}
"""The effects by the kind of the response."""


# Deliverability: how health follows bounces and complaints, when a domain is paused, how it warms up

REST = 14 * HOUR
ENOUGH_SENDS = 100
"""A domain that sent less isn't judged."""


class Counts(NamedTuple):
    """The counts of an inbox, a domain or another group over some days."""

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
    """Return why a domain is paused automatically, judged by its last days; None while it may go on."""
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
