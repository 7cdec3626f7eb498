"""Moments, ends and ranges of days as people type them: `until monday`, `for 2h`, `last week`. Pure.

A line is parsed without a clock: the words are kept in one canonical form, and the command, which knows the time and
time zone, turns them into a moment or days.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import UTC, date, datetime, time, timedelta, tzinfo

from shared.commands.base import ArgumentError, Data, Words, nearest_of, none_left, texts, unknown_word
from shared.domain.wall_clock import MORNING, WEEKDAYS, instant, occurrences, parse_time, parse_weekday
from shared.text.formats import clip, short_duration, show_days
from shared.text.tokenize import parse_duration

TODAY, TOMORROW, YESTERDAY = "today", "tomorrow", "yesterday"
NEAR_DAYS = {YESTERDAY: -1, TODAY: 0, TOMORROW: 1}
DAYS = tuple(day.removesuffix("s") for day in WEEKDAYS)
MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
LEAP_CYCLE_YEARS = 8
"""Two leap days are this far apart at most: 1896 and 1904."""
LONGEST_MOMENT_WORDS = 6
NEXT = "next"
_FILLERS = frozenset({"at", "on", "in", "the", NEXT})
YEARS = range(1970, 9999)
"""Dates of these years have an instant in every zone."""


class Moment(Data):
    """A day, a time of day, or both."""

    day: str = ""
    """`monday`, `tomorrow`, `1 dec` or `2026-12-01`; empty: any day."""
    at: time | None = None
    not_today: bool = False
    """`next monday`, said on a Monday."""

    def __str__(self) -> str:
        parts = (NEXT if self.not_today else "", self.day, f"{self.at:%H:%M}" if self.at else "")
        return " ".join(filter(None, parts))

    def after(self, now: datetime, *, zone: tzinfo = UTC) -> datetime | None:
        """The first such moment after now, at nine where no time is given; in UTC.

        None: it has passed, or this year and the next don't have the day.
        """
        today, at = now.astimezone(zone).date(), self.at or MORNING
        moments = (moment for day in self._days(today) for moment in occurrences(day, at, zone))
        return next((moment for moment in moments if moment > now), None)

    def before(self, now: datetime, *, zone: tzinfo = UTC) -> datetime | None:
        """The latest such moment that isn't after now, at midnight where no time is given; in UTC. None: none was."""
        today, at = now.astimezone(zone).date(), self.at or time.min
        # Where a clock shows a time twice, the later one is the latest.
        days = reversed(self._days(today))
        moments = (moment for day in days for moment in reversed(occurrences(day, at, zone)))
        return next((moment for moment in moments if moment <= now), None)

    def _days(self, today: date) -> Sequence[date]:
        """The days around today that may be meant, in order."""
        number, _, month = self.day.partition(" ")
        if month:
            years = range(max(today.year - LEAP_CYCLE_YEARS, 1), today.year + 2)
            return [day for year in years if (day := _date(year, MONTHS.index(month) + 1, int(number)))]
        if self.day in DAYS:
            first = today + timedelta(days=DAYS.index(self.day) - today.weekday())
            days = [first + timedelta(weeks=week) for week in (-1, 0, 1)]
            return [day for day in days if day != today or not self.not_today]
        if self.day in NEAR_DAYS:
            return [today + timedelta(days=NEAR_DAYS[self.day])]
        # Where clocks go back over midnight, minutes of yesterday come again, and of tomorrow have been already.
        any_day = [today + timedelta(days=number) for number in (-1, 0, 1, 2)]
        return [date.fromisoformat(self.day)] if self.day else any_day


def read_moment(typed: Sequence[str]) -> Moment | None:
    """The moment that all the words tell: `next monday`, `26 nov at 9am`; None: they tell none."""
    if not 0 < len(typed) <= LONGEST_MOMENT_WORDS:
        return None
    words = [word.lower().rstrip(",.") for word in typed]
    if words[-1] in {"am", "pm"}:
        words = [*words[:-2], "".join(words[-2:])]
    not_today = NEXT in words
    words = [word for word in words if word not in _FILLERS]
    at = None
    if words[1:] and words[-1] == "morning":
        at = MORNING
    elif words and re.search(r"[:.]|[ap]m$", words[-1]):
        at = parse_time(words[-1])
    words = words[:-1] if at is not None else words
    if not words:
        return Moment(at=at) if at is not None else None
    day = _day(" ".join(words))
    return Moment(day=day, at=at, not_today=not_today and day in DAYS) if day else None


_ORDINAL = r"([0-9]{1,2})(?:st|nd|rd|th)?"
_DATE = rf"(?:{_ORDINAL} ([a-z]{{3,}})|([a-z]{{3,}}) {_ORDINAL})(?: ([0-9]{{4}}))?"


def _day(text: str) -> str:
    """The day as a `Moment` has it; empty: the text names none."""
    if text in NEAR_DAYS:
        return text
    if (weekday := parse_weekday(text)) is not None:
        return DAYS[weekday]
    if named := re.fullmatch(_DATE, text):
        number, month, year = int(named[1] or named[4]), (named[2] or named[3])[:3], named[5]
        if month not in MONTHS or not _date(2024, MONTHS.index(month) + 1, number):
            return ""
        if not year:
            return f"{number} {month}"
        text = f"{year}-{MONTHS.index(month) + 1:02}-{number:02}"
    numbers = re.fullmatch(r"([0-9]{4})-([0-9]{2})-([0-9]{2})", text)
    day = _date(*map(int, numbers.groups())) if numbers else None
    return text if day and day.year in YEARS else ""


def _date(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return None


# -- ends: of a pause, of an absence

UNTIL = ("until", "till", "til")
END_WORDS = frozenset({"for", *UNTIL})
"""Words with which the end of a pause begins."""
END_HINT = (
    "Use `for 2h`, `for 1h30m`, `for a week`, `until monday 09:00` or `until 2026-12-01`; at most one year."
)
_FORMS = (
    "for the weekend",
    *(f"for {length}" for length in ("an hour", "a day", "a week", "two hours", "two days", "two weeks")),
    *(f"until {day}" for day in (*DAYS, TODAY, TOMORROW)),
    *(f"until {day} morning" for day in (*DAYS, TOMORROW)),
)
"""Ends as people write them, for those that are misspelled."""


class End(Data):
    """The end of something: after a duration, at a moment, or only when a person ends it."""

    duration: timedelta | None = None
    until: Moment | None = None

    def write(self) -> Iterable[str]:
        if self.duration:
            return ("for", short_duration(self.duration))
        return ("until", *str(self.until).split()) if self.until else ()

    def __str__(self) -> str:
        return " ".join(self.write())

    def after(self, now: datetime, *, zone: tzinfo) -> datetime | None:
        """The moment of the end; None where it has none, or one that never comes."""
        if self.until:
            return self.until.after(now, zone=zone)
        return now + self.duration if self.duration else None


# The weekend is over on Monday morning; said on a Monday, the coming one is meant.
_WEEKEND = End(until=Moment(day="monday", not_today=True))


def read_end(words: Sequence[str]) -> End | None:
    """The end that all the words tell: `2h`, `for a week`, `for the weekend`, `til tomorrow morning`."""
    if not words:
        return None
    first, length = words[0].lower(), " ".join(words[1:]).lower()
    if first in UNTIL:
        moment = read_moment(words[1:])
        return End(until=moment) if moment else None
    if first == "for" and length.removeprefix("the ") == "weekend":
        return _WEEKEND
    duration = parse_duration(length if first == "for" else f"{first} {length}")
    return End(duration=duration) if duration and (first == "for" or first[:1].isdigit()) else None


class EndMistake(Data):
    """Words that seem to say when something ends, and don't; with the end that they are near to."""

    problem: str
    near: End | None = None

    @property
    def hint(self) -> str:
        return f"Did you mean `{self.near}`?" if self.near else END_HINT


def end_mistake(words: Sequence[str]) -> EndMistake:
    """Explain what is wrong with the words in the place of an end, and find the nearest end that would be right."""
    given, first = " ".join(words), words[0].lower()
    if near := read_end(("until", *words)):
        return EndMistake(problem=f"“{clip(given)}” needs an “until”.", near=near)
    named = " ".join(words[1:]) if first in END_WORDS else given
    problem = f"“{clip(named)}” isn't a duration, a day or a time." if named else "Until when?"
    return EndMistake(problem=problem, near=_nearest_end(words))


def _nearest_end(words: Sequence[str]) -> End | None:
    """The end that is spelled most alike; else the longest beginning that is an end."""
    first = "until" if words[0].lower() in UNTIL else words[0]
    if alike := nearest_of(" ".join((first, *words[1:])), _FORMS, cutoff=0.8):
        return read_end(alike[0].split())
    begun = (read_end(words[:count]) for count in range(len(words) - 1, 0, -1))
    return next(filter(None, begun), None)


# -- ranges of days

RANGES = ("today", "yesterday", "this week", "last week", "this month", "last month")
"""Ranges of days that have a name."""
LONGEST_RANGE_DAYS = 1000
DEFAULT_DAYS = 30
"""The days that the service counts where none are named."""


def range_of(period: str, today: date) -> DayRange:
    """The days that a period, as `read_period` gives it, means on this day; weeks begin on Monday."""
    day, month, monday = timedelta(days=1), today.replace(day=1), today - timedelta(days=today.weekday())
    named = {
        "today": (today, today),
        "yesterday": (today - day, today - day),
        "this week": (monday, today),
        "last week": (monday - 7 * day, monday - day),
        "this month": (month, today),
        "last month": ((month - day).replace(day=1), month - day),
    }
    if period in named:
        start, end = named[period]
        dates = f" ({show_days(start, end)})" if period.startswith("last ") else ""
        name = f"{period}{' so far' if end >= today else dates}"
    elif ".." in period:
        start, end = map(date.fromisoformat, period.split(".."))
        name = f"{start} to {end}"
    else:
        days = int(period[:-1] or DEFAULT_DAYS)
        start, end, name = today - (days - 1) * day, today, f"last {days} days"
    return DayRange(start=start, end=end, name=name, today=today)


class DayRange(Data):
    """A range of days, both ends included."""

    start: date
    end: date
    name: str = ""
    today: date = date.max
    """The day on which it was asked for."""

    @property
    def running(self) -> bool:
        """Its last day is not over."""
        return self.end >= self.today

    @property
    def full(self) -> DayRange | None:
        """Its days that are over, for comparisons; None where it has none."""
        end = min(self.end, self.today - timedelta(days=1))
        return DayRange(start=self.start, end=end) if self.start <= end else None

    @property
    def before(self) -> DayRange:
        """The same number of days before, on the same weekdays."""
        back = timedelta(weeks=-(-((self.end - self.start).days + 1) // 7))
        return DayRange(start=self.start - back, end=self.end - back)

    def moments(self, zone: tzinfo) -> tuple[datetime, datetime]:
        """The moments at which its first day begins, and its last one has ended."""
        after = self.end + timedelta(days=1)
        return instant(self.start, time.min, zone), instant(after, time.min, zone)

    def __str__(self) -> str:
        return show_days(self.start, self.end)


def read_period(words: Words, *others: str) -> str:
    """The period that the words tell, in its one form: `7d`, `last week`, `FROM..TO`; empty: they tell none.

    `others` are words that could stand in its place, for a hint to a mistake.
    """
    for count in range(min(len(words), 3), 0, -1):
        text = " ".join(texts(words[:count])).lower()
        period = _named_period(text)
        if period:
            none_left(words[count:])
            return period
    if not words:
        return ""
    if others and text[:1].isalpha():
        raise unknown_word(words[0], (*others, *RANGES))
    hint = "Use 7d, today, yesterday, last week, this month, or FROM..TO like 2026-01-01..2026-01-31."
    raise ArgumentError(f"“{clip(words[0].text)}” isn't a period.", hint=hint)


def _named_period(text: str) -> str:
    """The period of a text in its one form; empty: it names none."""
    if (name := text.replace("-", " ")) in RANGES:
        return name
    if length := re.fullmatch(r"(?:(?:last|past) )?([0-9]{1,4}) ?(d|w)(?:ays?|eeks?)?", text):
        days = int(length[1]) * (7 if length[2] == "w" else 1)
        if not 1 <= days <= LONGEST_RANGE_DAYS:
            hint = f"1d to {LONGEST_RANGE_DAYS}d."
            raise ArgumentError(f"“{text}” is outside 1 to 1,000 days.", hint=hint)
        return TODAY if days == 1 else f"{days}d"
    if ".." not in text or " " in text:
        return ""
    start, end = (_written_day(day) for day in text.split("..", 1))
    if end < start:
        raise ArgumentError(f"“{clip(text)}” ends before it starts.", hint=f"Use {end}..{start}.")
    return f"{start}..{end}"


def _written_day(text: str) -> date:
    try:
        return datetime.strptime(text, "%Y-%m-%d").replace(tzinfo=UTC).date()
    except ValueError:
        problem = f"“{clip(text)}” isn't a date." if text else "A range needs a start and an end."
        raise ArgumentError(problem, hint="Use FROM..TO with dates like 2026-01-31.") from None
