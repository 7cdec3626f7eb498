"""Moments and ranges of days as people type them: `until monday`, `last week`. Pure.

A line is parsed without a clock: the words are kept in one canonical form, and the operation, which knows the time and
time zone, turns them into a moment or days.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo

from shared.domain.recurrence import MORNING, WEEKDAYS, parse_time, parse_weekday

TOMORROW = "tomorrow"
DAYS = tuple(day.removesuffix("s") for day in WEEKDAYS)
MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
LONGEST_MOMENT = 5
"""Words."""
_FILLERS = frozenset({"at", "on", "next"})
RANGES = ("today", "yesterday", "this week", "last week", "this month", "last month")
"""Ranges of days that have a name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """A day, a time of day, or both."""

    day: str = ""
    """`monday`, `tomorrow` or `2026-12-01`; empty: the next such time."""
    month_day: tuple[int, int] | None = None
    """Of a date without its year."""
    at: time | None = None

    def __str__(self) -> str:
        day = f"{self.month_day[1]} {MONTHS[self.month_day[0] - 1]}" if self.month_day else self.day
        return " ".join(filter(None, (day, f"{self.at:%H:%M}" if self.at else "")))

    def after(self, now: datetime, *, zone: tzinfo = UTC) -> datetime | None:
        """The first such moment after now, at nine where no time is given; in UTC. None: it has passed."""
        local = now.astimezone(zone)
        for day in self._days(local.date()):
            found = datetime.combine(day, self.at or MORNING, zone).astimezone(UTC)
            if found > now.astimezone(UTC):
                return found
        return None

    def _days(self, today: date) -> Sequence[date]:
        if self.month_day:
            years = (today.year, today.year + 1)
            return [found for year in years if (found := _date(year, *self.month_day))]
        if not self.day:
            return [today, today + timedelta(days=1)]
        if self.day == TOMORROW:
            return [today + timedelta(days=1)]
        if self.day in DAYS:
            ahead = (DAYS.index(self.day) - today.weekday()) % 7 or 7
            return [today + timedelta(days=ahead)]
        return [date.fromisoformat(self.day)]


def read_moment(words: Sequence[str]) -> tuple[Moment, int] | None:
    """The moment that the words begin with, and how many of them tell it; None: they begin with none."""
    for count in range(min(len(words), LONGEST_MOMENT), 0, -1):
        if found := _moment([word.lower().rstrip(",.") for word in words[:count]]):
            return found, count
    return None


def _moment(words: list[str]) -> Moment | None:
    if words[-1] in {"am", "pm"} and words[1:]:
        words = [*words[:-2], "".join(words[-2:])]
    words = [word for word in words if word not in _FILLERS]
    at = parse_time(words[-1]) if words and re.search(r"[:.]|[ap]m$", words[-1]) else None
    if at is not None:
        words = words[:-1]
    if not words:
        return Moment(at=at) if at is not None else None
    if len(words) == 2 and (month_day := _month_day(*words)):
        return Moment(month_day=month_day, at=at)
    return Moment(day=day, at=at) if len(words) == 1 and (day := _day(words[0])) else None


def _day(word: str) -> str:
    if word == TOMORROW:
        return word
    if (weekday := parse_weekday(word)) is not None:
        return DAYS[weekday]
    try:
        return date.fromisoformat(word).isoformat() if re.fullmatch(r"\d{4}-\d\d-\d\d", word) else ""
    except ValueError:
        return ""


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
    near = difflib.get_close_matches(word.lower()[:40], (*DAYS, TOMORROW), n=1, cutoff=0.6)
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
