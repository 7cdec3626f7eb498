"""Cohorts of leads: those added to a sequence on one day get the same steps on the same days, until they respond."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, islice
from typing import NamedTuple

from sandbox.service.base.clock import DAY, day_of
from sandbox.service.base.seeded_random import pick, roll
from sandbox.service.campaign import rules
from sandbox.service.campaign.account_plans import SequencePlan
from sandbox.service.campaign.rules import STEP_GAP_DAYS, Window
from sandbox.service.seed.prehistory import HISTORY_DAYS

_ADDED = (1, 1, 2, 2)
"""How many leads each inbox of a sequence starts on a sending day."""
_PAUSED_DAYS = 9
_LATE_DAYS = 10
"""So many days after its last send, nothing more comes of a lead."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cohort:
    """The leads that one sequence started on one day: the same number for each of its inboxes, in turn."""

    place: int
    """Of the sequence among those of the account."""
    day: int
    serial: int
    """Of its first lead; the others follow."""
    size: int
    sent_on: tuple[int, ...]
    """The days of its steps so far."""
    next_on: int | None
    """The day of the next step; None when all are sent."""

    @property
    def step(self) -> int:
        return len(self.sent_on)

    def kept(self, since: int) -> bool:
        return self.next_on is not None or self.sent_on[-1] + _LATE_DAYS >= since

    def due_at(self, window: Window) -> float | None:
        return None if self.next_on is None else self.next_on * DAY + window.opens * 3600.0


def cohorts(
    plans: tuple[SequencePlan, ...], *, inboxes: tuple[int, ...], seed: int, now: float
) -> list[Cohort]:
    """Those of nine weeks, the oldest first; `inboxes` is how many each sequence has."""
    today = day_of(now)
    found = []
    for place, plan in enumerate(plans):
        end = today if plan.status == "active" else today - _PAUSED_DAYS
        days = list(_sending_days(Window.of(plan), first=today - HISTORY_DAYS, end=end))
        steps = [0, *accumulate(STEP_GAP_DAYS)][: plan.steps]
        sent_until = sum(day < end for day in days)
        for start in range(sent_until):
            on = [days[start + step] for step in steps]
            size = pick(_ADDED, roll(seed, "cohort", place, days[start])) * inboxes[place]
            sent = tuple(day for day in on if day < end)
            ahead = on[len(sent)] if len(sent) < len(on) else None
            found.append((days[start], place, size, sent, ahead))
    serial, made = 1, []
    for day, place, size, sent, ahead in sorted(found):
        made.append(Cohort(place=place, day=day, serial=serial, size=size, sent_on=sent, next_on=ahead))
        serial += size
    return made


def _sending_days(window: Window, *, first: int, end: int) -> Iterator[int]:
    """The days from the first to the end on which a sequence sends, and as many after it as its steps can reach."""
    yield from (day for day in range(first, end) if window.on(day))
    yield from islice((day for day in range(end, end + 60) if window.on(day)), sum(STEP_GAP_DAYS))


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
