"""Times of a clock on a wall as instants, also where clocks change, and recurrences by it. Pure.

A time that the clocks skip is the first instant after the gap. A time that they show twice is its first occurrence;
only the end of a span (quiet hours) is the last one, so that the span covers all that the clock shows within it.
Instants are in UTC: datetimes of one zone are compared by their wall times, whatever their offsets
(https://docs.python.org/3/library/datetime.html, "Supported operations").
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from typing import TYPE_CHECKING, overload

from shared.frozen import frozen

if TYPE_CHECKING:
    from zoneinfo import ZoneInfo

HOUR, DAY = 3600.0, 86_400.0
"""Both are in seconds."""
_SECOND = timedelta(seconds=1)


@overload
def moment(at: float) -> datetime: ...
@overload
def moment(at: float | None) -> datetime | None: ...
def moment(at: float | None) -> datetime | None:
    """Unix seconds as an aware time; None stays unknown."""
    return None if at is None else datetime.fromtimestamp(at, UTC)


def instant(day: date, at: time, zone: tzinfo) -> datetime:
    """The first instant at which a clock in the zone shows this time of this day."""
    return _occurrence(datetime.combine(day, at), zone, fold=0)


def last_instant(day: date, at: time, zone: tzinfo) -> datetime:
    """The last instant at which a clock in the zone shows this time of this day."""
    return _occurrence(datetime.combine(day, at), zone, fold=1)


def occurrences(day: date, at: time, zone: tzinfo) -> tuple[datetime, ...]:
    """Each instant at which a clock in the zone shows this time of this day, the first one first."""
    first, last = instant(day, at, zone), last_instant(day, at, zone)
    return (first,) if first == last else (first, last)


def _occurrence(wall: datetime, zone: tzinfo, *, fold: int) -> datetime:
    # A skipped time comes back as another one: that is how a gap is told.
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
_FILLERS = {"at", "on", "and", "every", "day", "daily", "week", "weekly"}
_SETS = {"weekday": range(5), "workday": range(5), "weekend": range(5, 7)}
"""Several days of the week by one word, in the singular."""


@frozen
class Recurrence:
    """A time of day in a zone, every day or on some days of the week (0: Monday)."""

    at: time
    zone: str = ""
    """Empty: none was named, which counts as UTC."""
    days: tuple[int, ...] = ()
    """The days, in order; empty: every day."""

    def __str__(self) -> str:
        return " ".join(filter(None, (self._named_days, f"{self.at:%H:%M}", self.zone)))

    @property
    def _named_days(self) -> str:
        """`mondays`, `weekdays`, `mon,thu`."""
        if len(self.days) == 1:
            return WEEKDAYS[self.days[0]]
        if self.days == tuple(_SETS["weekday"]):
            return "weekdays"
        return ",".join(WEEKDAYS[day][:3] for day in self.days)

    @property
    def every(self) -> str:
        """Which of a channel's two digests it is: a weekly one stands beside one of several days."""
        return "week" if len(self.days) == 1 else "day"

    def days_since_last(self, at: datetime) -> int:
        """The days, by the zone's calendar, between a moment when it is due and the one before it; at most 7."""
        zone = find_zone(self.zone) or UTC
        before = self.last_before(at - _SECOND)
        return min(7, (at.astimezone(zone).date() - before.astimezone(zone).date()).days)

    def last_before(self, now: datetime) -> datetime:
        """The newest moment, not after `now`, at which it was due; in UTC."""
        return next(moment for moment in self._moments(now, range(1, -10, -1)) if moment <= now)

    def next_after(self, now: datetime) -> datetime:
        """The first moment after `now` at which it is due; in UTC."""
        return next(moment for moment in self._moments(now, range(-1, 10)) if moment > now)

    def _moments(self, now: datetime, offsets: range) -> Iterator[datetime]:
        """The moments of days so far from today. Where clocks go back over midnight, tomorrow has begun before."""
        zone = find_zone(self.zone) or UTC
        today = now.astimezone(zone).date()
        days = (today + timedelta(days=offset) for offset in offsets)
        on = (day for day in days if not self.days or day.weekday() in self.days)
        return (instant(day, self.at, zone) for day in on)


def find_zone(name: str) -> ZoneInfo | None:
    """The IANA zone of this name; None: there is none."""
    from zoneinfo import ZoneInfo  # late: `outreach --help` does without

    try:
        return ZoneInfo(name)
    except (ValueError, OSError, KeyError):  # not found is a KeyError, a folder's name an OSError
        return None


@frozen
class QuietHours:
    """Hours in which only urgent alerts are posted, without mentions."""

    start: time
    end: time
    zone: str = "UTC"

    def ends_after(self, now: datetime) -> datetime | None:
        """The end of the quiet that `now` falls into; None: it is not quiet.

        A start or end that the clocks show twice: quiet from its first occurrence, until its last one.
        """
        if self.start == self.end:
            return None
        zone, until = find_zone(self.zone) or UTC, now
        today, over_midnight = now.astimezone(zone).date(), self.start > self.end
        # From before yesterday on: where clocks change, a night may begin a day earlier than it seems.
        for offset in range(-2, 2):
            day = today + timedelta(days=offset)
            begins = instant(day, self.start, zone)
            ends = last_instant(day + timedelta(days=over_midnight), self.end, zone)
            if begins <= until < ends:
                until = ends
        return None if until == now else until


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


def parse_days(text: str) -> Collection[int]:
    """`monday`, `mon,thu`, `mon-fri`, `weekdays`; empty: it names no days, or one of them is none."""
    found: set[int] = set()
    for part in filter(None, text.lower().split(",")):
        first, dash, last = part.partition("-")
        ends = (parse_weekday(first), parse_weekday(last if dash else first))
        if part.rstrip("s") in _SETS:
            found.update(_SETS[part.rstrip("s")])
        elif ends[0] is None or ends[1] is None:
            return ()
        else:  # over the end of the week, too: `fri-mon`
            found.update((ends[0] + n) % 7 for n in range((ends[1] - ends[0]) % 7 + 1))
    return found


def parse_recurrence(words: Sequence[str]) -> Recurrence | str:
    """The rhythm that the words tell, or the word that is none."""
    at, zone, days, is_weekly = MORNING, "", set[int](), False
    for word in words:
        if word.lower() in _FILLERS:
            is_weekly = is_weekly or word.lower() in {"week", "weekly"}
        elif (time_of_day := parse_time(word)) is not None:
            at = time_of_day
        elif named := parse_days(word):
            days.update(named)
        elif find_zone(word) is not None:
            zone = word
        else:
            return word
    # A week begins on Monday, also for who didn't say so.
    if is_weekly and not days:
        days = {0}
    return Recurrence(at=at, zone=zone, days=tuple(sorted(days)) if len(days) < 7 else ())
