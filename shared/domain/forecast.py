"""Forecasts as ranges that should contain the true value in 90 of 100 cases. Pure.

The method is in docs/evidence.md; a test replays 60 simulated days and measures how often the range holds.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise
from statistics import mean, stdev

T90 = (6.31, 2.92, 2.35, 2.13, 2.02, 1.94, 1.89, 1.86, 1.83, 1.81, 1.80, 1.78, 1.77, 1.76)
"""Student's t by degrees of freedom from 1: 5 % lie above. Beyond, 1.75 is near enough."""
WEEKS = 4
"""The number of past weekdays for a forecast of a day's sends."""
LEAST_DAYS = 5
"""The number of days of health for a trend."""
FARTHEST = 30
"""Days ahead that are looked at."""
GROWTH = 1.5
"""Of the variance with the days ahead. Independent steps have 1; a score follows several days, so its steps resemble."""
ROUGH = 1.0
"""Points by which a score may move in a day although it never has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """From the lowest to the highest likely value."""

    low: float
    high: float

    def __contains__(self, value: float) -> bool:
        return self.low <= value <= self.high


@dataclass(frozen=True, slots=True, kw_only=True)
class Crossing:
    """When a falling value passes a threshold: not before `earliest`; `latest` is None where it may never."""

    earliest: timedelta
    latest: timedelta | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Drift:
    """A value that is set once a day: where it is, how it moves in a day, and how much that varies."""

    last: float
    step: float
    spread: float
    steps: int

    def ahead(self, days: float) -> Span:
        """Each day adds its own step, and the mean step is itself an estimate."""
        middle = self.last + self.step * days
        half = _t(self.steps - 1) * self.spread * math.sqrt(days**GROWTH + days * days / self.steps)
        return Span(low=middle - half, high=middle + half)


def _t(freedom: int) -> float:
    return T90[freedom - 1] if freedom <= len(T90) else 1.75


def drift(samples: Sequence[tuple[datetime, float]]) -> Drift | None:
    """From the last value of each day (UTC); None from fewer than `LEAST_DAYS` days."""
    by_day = {at.date(): value for at, value in samples}
    days = sorted(by_day)
    if len(days) < LEAST_DAYS or days[-1] - days[0] < timedelta(days=LEAST_DAYS - 1):
        return None
    steps = [(by_day[after] - by_day[day]) / (after - day).days for day, after in pairwise(days)]
    return Drift(last=by_day[days[-1]], step=mean(steps), spread=max(stdev(steps), ROUGH), steps=len(steps))


def below(samples: Sequence[tuple[datetime, float]], *, threshold: float) -> Crossing | None:
    """When the trend passes the threshold; None where it does not fall, is below already, or needs over 30 days."""
    found = drift(samples)
    if found is None or found.step >= 0 or found.last < threshold:
        return None
    middle = (found.last - threshold) / -found.step
    if middle > FARTHEST:
        return None
    days = range(1, FARTHEST + 1)
    earliest = next((day for day in days if found.ahead(day).low < threshold), FARTHEST)
    latest = next((day for day in days if found.ahead(day).high < threshold), None)
    return Crossing(
        earliest=timedelta(days=earliest), latest=None if latest is None else timedelta(days=latest)
    )


def day_total(past: Sequence[int], *, sent: int, limit: int | None) -> Span | None:
    """Today's sends at the end of the day, from those of earlier days of the same weekday; None from fewer than three."""
    if len(past) < 3:
        return None
    middle = mean(past)
    spread = max(stdev(past), math.sqrt(middle), 1.0)
    half = _t(len(past) - 1) * spread * math.sqrt(1 + 1 / len(past))
    most = math.inf if limit is None else max(limit, sent)
    low = min(max(sent, math.floor(middle - half)), most)
    return Span(low=low, high=max(low, min(most, math.ceil(middle + half))))
