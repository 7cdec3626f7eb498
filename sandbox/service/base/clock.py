"""The service's time: starts now, runs at a chosen speed, and can be stopped or advanced."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from functools import lru_cache

DAY = 86_400.0
HOUR = 3_600.0
MINUTE = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Clock:
    """Where service time stood at a real instant, and how many service seconds pass in a real one."""

    real: float
    virtual: float
    speed: float

    def at(self, real: float) -> float:
        """Service time at a real instant, in seconds of the Unix epoch."""
        return self.virtual + max(0.0, real - self.real) * self.speed

    def moved(self, seconds: float, *, real: float) -> Clock:
        return Clock(real=real, virtual=self.at(real) + seconds, speed=self.speed)

    def paced(self, speed: float, *, real: float) -> Clock:
        """The clock at another speed; 0 freezes it."""
        return Clock(real=real, virtual=self.at(real), speed=speed)


def day_of(moment: float) -> int:
    """The number of the UTC day that a moment falls on, counted from 1970-01-01."""
    return int(moment // DAY)


def date_of(moment: float) -> dt.date:
    return dt.datetime.fromtimestamp(moment, dt.UTC).date()


def day_number(date: dt.date) -> int:
    return date.toordinal() - _EPOCH


def stamp(moment: float) -> str:
    """A moment as RFC 3339 in UTC, to the second."""
    day, second = divmod(int(moment), 86_400)
    return f"{_date_text(day)}T{_MINUTES[second // 60]}:{_SECONDS[second % 60]}Z"


@lru_cache(maxsize=512)
def _date_text(day: int) -> str:
    return dt.date.fromordinal(_EPOCH + day).isoformat()


_EPOCH = dt.date(1970, 1, 1).toordinal()
_SECONDS = [f"{second:02}" for second in range(60)]
_MINUTES = [f"{hour:02}:{minute}" for hour in range(24) for minute in _SECONDS]
