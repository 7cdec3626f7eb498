"""Who of a cohort responds: drawn one by one, since they are few; the silent many need no roll of their own."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from sandbox.service.campaign import rules

PLAYED = ("bounce_hard", "interested", "reply", "unsubscribe", "complaint")
"""Every final response; what only delays a lead (an absence, a soft bounce) counts nowhere and is left out."""


class Responder(NamedTuple):
    """A lead, by its place in the cohort, that responds to a step so many seconds after it was sent."""

    place: int
    kind: str
    delay: float


def responders(
    chance: random.Random, *, size: int, step: int, serial: int, healths: Sequence[int], appeal: float
) -> Iterator[Responder]:
    """Who responds to a step of a cohort; health is that of the inbox whose turn the place is.

    Places are passed over in one draw as far as even the likeliest lead would stay silent; who is left is drawn by the
    rules of the campaign.
    """
    appeal = round(appeal, 2)
    likeliest = _likeliest(step, appeal)
    passing = math.log1p(-likeliest)
    place = -1
    while True:
        place += 1 + int(math.log(1.0 - chance.random()) / passing)
        if place >= size:
            return
        health = healths[place % len(healths)]
        drawn = chance.random() * likeliest
        for kind, share in _shares(step, variant_of(serial + place, step), health, appeal):
            if drawn < share:
                yield Responder(place, kind, rules.delay_of(kind, chance.random()))
                break
            drawn -= share


def variant_of(serial: int, step: int) -> int:
    """Variants take turns, so that those of a whole cohort are known without a roll."""
    return (serial + step) % len(rules.VARIANTS)


@lru_cache(maxsize=65_536)
def _shares(step: int, variant: int, health: int, appeal: float) -> tuple[tuple[str, float], ...]:
    found = rules.shares(step=step, variant=variant, health=health, appeal=appeal, conditions=rules.NORMAL)
    return tuple((kind, share) for kind, share in found if kind in PLAYED)


@lru_cache(maxsize=4_096)
def _likeliest(step: int, appeal: float) -> float:
    """No lead of whatever inbox is likelier to respond: each kind at the health that is best for it."""
    best = [dict(_shares(step, 1, health, appeal)) for health in (0, 100)]
    return sum(max(one[kind] for one in best) for kind in PLAYED)
