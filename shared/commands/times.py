"""Moments and ranges of days as people type them: `until monday`, `last week`. Pure.

A line is parsed without a clock: the words are kept in one canonical form, and the operation, which knows the time and
time zone, turns them into a moment or days.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo

from shared.domain.wall_clock import MORNING, WEEKDAYS, occurrences, parse_time, parse_weekday

TODAY, TOMORROW, YESTERDAY = "today", "tomorrow", "yesterday"
NEAR_DAYS = {YESTERDAY: -1, TODAY: 0, TOMORROW: 1}
DAYS = tuple(day.removesuffix("s") for day in WEEKDAYS)
MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
LEAP_CYCLE = 8
"""Years between two leap days, at most: 1896 and 1904."""
LONGEST_MOMENT = 6
"""Words."""
NEXT = "next"
_FILLERS = frozenset({"at", "on", "in", "the", NEXT})
_MORNING = "morning"
LEAP_DAY = (2, 29)
YEARS = range(1970, 9999)
"""Of dates that have an instant in every zone."""
RANGES = ("today", "yesterday", "this week", "last week", "this month", "last month")
"""Ranges of days that have a name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """A day, a time of day, or both."""

    day: str = ""
    """`monday`, `tomorrow` or `2026-12-01`; empty: any day."""
    month_day: tuple[int, int] | None = None
    """Of a date without its year."""
    at: time | None = None
    not_today: bool = False
    """`next monday`, said on a Monday."""

    @property
    def names_day(self) -> bool:
        return bool(self.day or self.month_day)

    def __str__(self) -> str:
        day = f"{self.month_day[1]} {MONTHS[self.month_day[0] - 1]}" if self.month_day else self.day
        return " ".join(
            filter(None, (NEXT if self.not_today else "", day, f"{self.at:%H:%M}" if self.at else ""))
        )

    def after(self, now: datetime, *, zone: tzinfo = UTC) -> datetime | None:
        """The first such moment after now, at nine where no time is given; in UTC.

        None: it has passed, or this year and the next don't have the day.
        """
        today, at = now.astimezone(zone).date(), self.at or MORNING
        found = (moment for day in self._days_from(today) for moment in occurrences(day, at, zone))
        return next((moment for moment in found if moment > now), None)

    def before(self, now: datetime, *, zone: tzinfo = UTC) -> datetime | None:
        """The latest such moment that isn't after now, at midnight where no time is given; in UTC. None: none was."""
        today, at = now.astimezone(zone).date(), self.at or time.min
        found = (moment for day in self._days_until(today) for moment in reversed(occurrences(day, at, zone)))
        return next((moment for moment in found if moment <= now), None)

    def nearest_dates(self, now: datetime, *, zone: tzinfo = UTC) -> tuple[date, date] | None:
        """The days around a leap day that neither this year nor the next has ahead; None for any other moment."""
        today = now.astimezone(zone).date()
        if self.month_day != LEAP_DAY or any(day >= today for day in self._days_from(today)):
            return None
        year = today.year + (today >= date(today.year, 2, 28))
        return date(year, 2, 28), date(year, 3, 1)

    def _days_from(self, today: date) -> Sequence[date]:
        """The days that may be meant, the nearest first."""
        if self.month_day:
            return [day for year in range(2) if (day := _date(today.year + year, *self.month_day))]
        if self.day in DAYS:
            ahead = (DAYS.index(self.day) - today.weekday()) % 7
            days = [today + timedelta(days=ahead), today + timedelta(days=ahead + 7)]
            return [day for day in days if day > today or not self.not_today]
        # Where clocks go back over midnight, the last minutes of yesterday come again.
        return self._named_days(today, around=(-1, 0, 1, 2))

    def _days_until(self, today: date) -> Sequence[date]:
        """The days that may be meant, the latest first."""
        if self.month_day:
            years = range(today.year, max(today.year - LEAP_CYCLE, 1) - 1, -1)
            return [day for year in years if (day := _date(year, *self.month_day))]
        if self.day in DAYS:
            ago = (today.weekday() - DAYS.index(self.day)) % 7
            return [today - timedelta(days=ago), today - timedelta(days=ago + 7)]
        # Where clocks go back over midnight, the first minutes of tomorrow have been already.
        return self._named_days(today, around=(1, 0, -1))

    def _named_days(self, today: date, *, around: Sequence[int]) -> Sequence[date]:
        if self.day in NEAR_DAYS:
            return [today + timedelta(days=NEAR_DAYS[self.day])]
        return [date.fromisoformat(self.day)] if self.day else [today + timedelta(days=n) for n in around]


def read_moment(words: Sequence[str]) -> tuple[Moment, int] | None:
    """The moment that the words begin with, and how many of them tell it; None: they begin with none."""
    for count in range(min(len(words), LONGEST_MOMENT), 0, -1):
        if found := _moment([word.lower().rstrip(",.") for word in words[:count]]):
            return found, count
    return None


def _moment(words: list[str]) -> Moment | None:
    if words[-1] in {"am", "pm"} and words[1:]:
        words = [*words[:-2], "".join(words[-2:])]
    not_today = NEXT in words
    words = [word for word in words if word not in _FILLERS]
    is_morning = words[1:] and words[-1] == _MORNING
    at = parse_time(words[-1]) if words and re.search(r"[:.]|[ap]m$", words[-1]) else None
    at = MORNING if is_morning else at
    if at is not None:
        words = words[:-1]
    if not words:
        return Moment(at=at) if at is not None else None
    if len(words) == 2 and (month_day := _month_day(*words)):
        return Moment(month_day=month_day, at=at)
    if len(words) == 3 and (month_day := _month_day(*words[:2])):
        year, (month, number) = words[2], month_day
        day = _day(f"{year}-{month:02}-{number:02}")
    else:
        day = _day(words[0]) if len(words) == 1 else ""
    return Moment(day=day, at=at, not_today=not_today and day in DAYS) if day else None


def _day(word: str) -> str:
    if word in NEAR_DAYS:
        return word
    if (weekday := parse_weekday(word)) is not None:
        return DAYS[weekday]
    found = re.fullmatch(r"([0-9]{4})-([0-9]{2})-([0-9]{2})", word)
    day = _date(*map(int, found.groups())) if found else None
    return day.isoformat() if day and day.year in YEARS else ""


def _month_day(one: str, other: str) -> tuple[int, int] | None:
    """`1 dec`, `december 1st`."""
    number, name = (one, other) if one[:1].isdigit() else (other, one)
    found = re.fullmatch(r"([0-9]{1,2})(?:st|nd|rd|th)?", number)
    fitting = [n for n, month in enumerate(MONTHS, 1) if name[:3] == month]
    if not found or not fitting or len(name) < 3 or not name.isalpha():
        return None
    return (fitting[0], int(found[1])) if _date(2024, fitting[0], int(found[1])) else None


def _date(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return None


def nearest_moment(word: str) -> str:
    """The likely meaning of a day that isn't valid."""
    import difflib  # late: only a mistake pays for its import

    near = difflib.get_close_matches(word.lower()[:40], (*DAYS, TOMORROW, TODAY), n=1, cutoff=0.6)
    return near[0] if near else ""


def read_range(words: Sequence[str]) -> tuple[str, int] | None:
    """The named range of days that the words begin with, and how many of them name it."""
    lower = [word.lower() for word in words[:2]]
    return next(
        ((name, name.count(" ") + 1) for name in RANGES if lower[: name.count(" ") + 1] == name.split()),
        None,
    )


def days_of(name: str, *, today: date) -> tuple[date, date]:
    """The first and the last day of a named range, which may not be over; weeks begin on Monday."""
    monday, first = today - timedelta(days=today.weekday()), today.replace(day=1)
    month_before = first - timedelta(days=1)
    return {
        "today": (today, today),
        "yesterday": (today - timedelta(days=1),) * 2,
        "this week": (monday, today),
        "last week": (monday - timedelta(days=7), monday - timedelta(days=1)),
        "this month": (first, today),
        "last month": (month_before.replace(day=1), month_before),
    }[name]
