"""The changes of clocks that the tz database knows, each with the zone and the times of day that it touches."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo

HOUR, DAY = timedelta(hours=1), timedelta(days=1)
YEARS = (
    ("Europe/Berlin", 2026),
    ("America/New_York", 2026),
    ("America/Havana", 2026),  # from midnight on
    ("Australia/Lord_Howe", 2026),  # half an hour
    ("Pacific/Auckland", 2026),
    ("Pacific/Chatham", 2026),  # at 2:45
    ("America/Nuuk", 2026),  # on the eve of a Sunday
    ("Asia/Beirut", 2026),  # back to the day before
    ("Africa/Casablanca", 2026),  # for a month
    ("Pacific/Apia", 2011),  # skipped a day
    ("Pacific/Kwajalein", 1993),  # the same, without any other change
    ("America/St_Johns", 2006),  # from 00:01 back to 23:01 of the day before
    ("America/Sao_Paulo", 2018),  # skips midnight
    ("America/Caracas", 2007),  # half an hour, at 3:00
    ("Asia/Pyongyang", 2018),
    ("Asia/Kathmandu", 1986),  # a quarter of an hour
    ("Antarctica/Troll", 2015),  # two hours
    ("America/Scoresbysund", 2024),  # another zone and summer time at once
    ("Europe/Dublin", 1972),  # a negative summer time
    ("Africa/Monrovia", 1972),  # 44 minutes and 30 seconds
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockChange:
    """One change; `at` is its first instant."""

    zone: ZoneInfo
    at: datetime

    def __str__(self) -> str:
        return f"{self.zone.key} {self.at:%Y-%m-%d %H:%M:%S}"

    @property
    def offsets(self) -> tuple[timedelta, timedelta]:
        """Before and after."""
        return offset(self.at - timedelta(seconds=1), self.zone), offset(self.at, self.zone)

    @property
    def times(self) -> tuple[time, ...]:
        """Times of day around it: the edges and the middle of what is skipped or repeated, and an ordinary morning."""
        before, after = (self.at + shift for shift in self.offsets)
        between = before + (after - before) / 2
        shown = (min(before, after) - 10 * timedelta(minutes=1), before, between, after)
        return (*(moment.time().replace(second=0, microsecond=0) for moment in shown), time(9))


def offset(at: datetime, zone: ZoneInfo) -> timedelta:
    found = at.astimezone(zone).utcoffset()
    assert found is not None
    return found


def changes_of(zone: ZoneInfo, first: datetime, last: datetime) -> Iterator[ClockChange]:
    """The changes between two instants. Two within half a day that undo each other would be missed; there are none."""
    at, before = first, offset(first, zone)
    while at < last:
        after = offset(at + 12 * HOUR, zone)
        if after != before:
            low, high = at, at + 12 * HOUR
            while high - low > timedelta(seconds=1):
                middle = low + (high - low) // 2 // timedelta(seconds=1) * timedelta(seconds=1)
                low, high = (middle, high) if offset(middle, zone) == before else (low, middle)
            yield ClockChange(zone=zone, at=high)
            at, before = high, offset(high, zone)
        else:
            at += 12 * HOUR


def sampled_changes() -> list[ClockChange]:
    """Each kind of change, by its local time and its size."""
    found: dict[object, ClockChange] = {}
    for name, year in YEARS:
        begin = datetime(year, 1, 1, tzinfo=UTC)
        for change in changes_of(ZoneInfo(name), begin, begin + 366 * DAY):
            before, after = change.offsets
            found.setdefault((name, after - before), change)
    return list(found.values())
