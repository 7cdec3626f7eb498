"""What a clock on a wall shows, as instants, also where clocks change; and what recurs by it. Pure.

A time that the clocks skip is the first instant after the gap. A time that they show twice is its first occurrence;
only the end of a span (quiet hours) is the last one, so that the span covers all that the clock shows within it.
Instants are in UTC: datetimes of one zone are compared by their wall times, whatever their offsets
(https://docs.python.org/3/library/datetime.html, "Supported operations").
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from typing import overload
from zoneinfo import ZoneInfo

HOUR, DAY = 3600.0, 86_400.0
"""In seconds."""
_SECOND = timedelta(seconds=1)


@overload
def moment(at: float) -> datetime: ...
@overload
def moment(at: float | None) -> datetime | None: ...
def moment(at: float | None) -> datetime | None:
    """Unix seconds as an aware time; None stays unknown."""
    return None if at is None else datetime.fromtimestamp(at, UTC)


def instant(day: date, at: time, zone: tzinfo) -> datetime:
    """When a clock in the zone first shows this time of this day."""
    return _occurrence(datetime.combine(day, at), zone, fold=0)


def last_instant(day: date, at: time, zone: tzinfo) -> datetime:
    """When a clock in the zone shows this time of this day for the last time."""
    return _occurrence(datetime.combine(day, at), zone, fold=1)


def occurrences(day: date, at: time, zone: tzinfo) -> tuple[datetime, ...]:
    """Each instant at which a clock in the zone shows this time of this day, the first one first."""
    first, last = instant(day, at, zone), last_instant(day, at, zone)
    return (first,) if first == last else (first, last)


def _occurrence(wall: datetime, zone: tzinfo, *, fold: int) -> datetime:
    found = wall.replace(tzinfo=zone, fold=fold).astimezone(UTC)
    return found if _shown(found, zone) == wall else _end_of_gap(wall, zone)


def _shown(at: datetime, zone: tzinfo) -> datetime:
    return at.astimezone(zone).replace(tzinfo=None, fold=0)


def _end_of_gap(wall: datetime, zone: tzinfo) -> datetime:
    """The clocks' change, to the second: by PEP 495, fold 1 of a skipped time lies before it, and fold 0 after it."""
    whole = wall.replace(microsecond=0)
    before, after = (whole.replace(tzinfo=zone, fold=fold).astimezone(UTC) for fold in (1, 0))
    while after - before > _SECOND:
        middle = before + (after - before) // 2 // _SECOND * _SECOND
        before, after = (before, middle) if _shown(middle, zone) > whole else (middle, after)
    return after


WEEKDAYS = ("mondays", "tuesdays", "wednesdays", "thursdays", "fridays", "saturdays", "sundays")
MORNING = time(9)
_FILLERS = {"at", "on", "every", "day", "daily", "week", "weekly"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Recurrence:
    """A time of day in a zone, every day or on one day of the week (0: Monday)."""

    at: time
    zone: str = ""
    """Empty: none was named, which counts as UTC."""
    weekday: int | None = None

    def __str__(self) -> str:
        day = "" if self.weekday is None else WEEKDAYS[self.weekday]
        return " ".join(filter(None, (day, f"{self.at:%H:%M}", self.zone)))

    @property
    def every(self) -> str:
        return "day" if self.weekday is None else "week"

    def last_before(self, now: datetime) -> datetime:
        """The newest moment, not after `now`, at which it was due; in UTC."""
        return next(moment for moment in self._moments(now, range(1, -10, -1)) if moment <= now)

    def next_after(self, now: datetime) -> datetime:
        """The first moment after `now` at which it is due; in UTC."""
        return next(moment for moment in self._moments(now, range(-1, 10)) if moment > now)

    def _moments(self, now: datetime, offsets: range) -> Iterator[datetime]:
        """Those of the days at these distances from today. Where clocks go back over midnight, tomorrow has begun before."""
        zone = find_zone(self.zone) or UTC
        today = now.astimezone(zone).date()
        days = (today + timedelta(days=offset) for offset in offsets)
        on = (day for day in days if self.weekday is None or day.weekday() == self.weekday)
        return (instant(day, self.at, zone) for day in on)


def find_zone(name: str) -> ZoneInfo | None:
    """The IANA zone of this name; None: there is none."""
    try:
        return ZoneInfo(name)
    except (ValueError, OSError, KeyError):  # not found is a KeyError, a folder's name an OSError
        return None


def parse_time(text: str) -> time | None:
    """`9`, `9:00`, `09.30`, `5pm`."""
    found = re.fullmatch(r"([0-9]{1,2})(?:[:.]([0-9]{2}))?(am|pm)?", text.lower())
    if not found:
        return None
    hour, minute = int(found[1]), int(found[2] or 0)
    if found[3]:
        hour = hour % 12 + (12 if found[3] == "pm" else 0) if 1 <= hour <= 12 else 99
    return time(hour, minute) if hour < 24 and minute < 60 else None


def parse_weekday(text: str) -> int | None:
    """`monday`, `Mondays`, `mon`."""
    stem = text.lower().rstrip("s,")
    fitting = [n for n, day in enumerate(WEEKDAYS) if len(stem) >= 3 and day.startswith(stem)]
    return fitting[0] if len(fitting) == 1 else None


def parse_recurrence(words: Sequence[str]) -> Recurrence | str:
    """The rhythm that the words tell, or the word that is none."""
    found: dict[str, time | str | int] = {}
    for word in words:
        if word.lower() in _FILLERS:
            found |= {"weekday": 0} if word.lower() in {"week", "weekly"} and "weekday" not in found else {}
        elif (at := parse_time(word)) is not None:
            found["at"] = at
        elif (weekday := parse_weekday(word)) is not None:
            found["weekday"] = weekday
        elif find_zone(word) is not None:
            found["zone"] = word
        else:
            return word
    return Recurrence(**{"at": MORNING, **found})  # type: ignore[arg-type] # each under its own name
