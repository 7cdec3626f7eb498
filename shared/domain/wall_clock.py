"""What a clock on a wall shows, as instants, also where clocks change. Pure.

A time that the clocks skip is the first instant after the gap. A time that they show twice is its first occurrence;
only the end of a span (quiet hours) is the last one, so that the span covers all that the clock shows within it.
Instants are in UTC: datetimes of one zone are compared by their wall times, whatever their offsets
(https://docs.python.org/3/library/datetime.html, "Supported operations").
"""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta, tzinfo
from typing import overload

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
