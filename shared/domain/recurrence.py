"""Recurring times: `09:00`, `09:00 Europe/Berlin`, `mondays 09:00 Europe/Berlin`. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from shared.domain.wall_clock import instant

WEEKDAYS = ("mondays", "tuesdays", "wednesdays", "thursdays", "fridays", "saturdays", "sundays")
MORNING = time(9)
_FILLERS = {"at", "on", "every", "day", "daily", "week", "weekly"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Recurrence:
    """A time of day in a zone, every day or on one day of the week (0: Monday)."""

    at: time
    zone: str = "UTC"
    weekday: int | None = None

    def __str__(self) -> str:
        day = "" if self.weekday is None else WEEKDAYS[self.weekday]
        zone = "" if self.zone == "UTC" else self.zone
        return " ".join(filter(None, (day, f"{self.at:%H:%M}", zone)))

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
        return (instant(day, self.at, zone) for day in days if self._is_on(day))

    def _is_on(self, day: date) -> bool:
        return self.weekday is None or day.weekday() == self.weekday


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
