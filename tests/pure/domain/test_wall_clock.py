"""Everything that happens at a time of day happens once, never early, never twice, whatever the clocks do."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

import pytest

from shared.commands.times import Moment
from shared.domain.wall_clock import (
    QuietHours,
    Recurrence,
    instant,
    last_instant,
    occurrences,
    parse_recurrence,
)
from tests.pure.domain.clock_changes import DAY, HOUR, ClockChange, offset, sampled_changes

STEP = timedelta(minutes=20)
SECOND = timedelta(seconds=1)
AROUND = 60
"""Days before a change and after it."""


def shown(at: datetime, zone: ZoneInfo) -> datetime:
    return at.astimezone(zone).replace(tzinfo=None, fold=0)


def showings(day: date, at: time, change: ClockChange) -> list[datetime]:
    """When the clock shows a time near a change: worked out from its two offsets."""
    wall = datetime.combine(day, at, UTC)
    candidates = sorted({wall - shift for shift in change.offsets})
    return [moment for moment in candidates if shown(moment, change.zone) == wall.replace(tzinfo=None)]


def is_meant(moment: datetime, at: time, zone: ZoneInfo) -> bool:
    """The clock shows this time, or has just skipped it."""
    here, before = shown(moment, zone), shown(moment - SECOND, zone)
    skipped = offset(moment, zone) != offset(moment - SECOND, zone) and here - before > SECOND
    days = (before.date() + n * DAY for n in range(3))
    return here.time() == at or (skipped and any(before < datetime.combine(day, at) < here for day in days))


def steps(change: ClockChange, *, hours: int = 27) -> Iterator[datetime]:
    """Moments around a change, close together near it; one of them is the change itself."""
    for hour in range(-hours, hours + 1):
        if -3 <= hour < 3:
            yield from (change.at + hour * HOUR + n * STEP for n in range(3))
        elif hour % 2:
            yield change.at + hour * HOUR


def check_instants(change: ClockChange) -> None:
    for at in change.times:
        for back in range(-3, 4):
            day = shown(change.at, change.zone).date() + back * DAY
            expected, found = showings(day, at, change), occurrences(day, at, change.zone)
            if expected:
                assert list(found) == expected
            else:
                assert found == (change.at,)
            assert (instant(day, at, change.zone), last_instant(day, at, change.zone)) == (
                found[0],
                found[-1],
            )


def check_digests(change: ClockChange) -> None:
    zone = change.zone.key
    for at in change.times:
        for on in ((), (shown(change.at - SECOND, change.zone).weekday(),)):
            recurrence = Recurrence(at=at, zone=zone, days=on)
            days = AROUND if (at, on) == (change.times[2], ()) else 9
            due = recurrence.next_after(change.at - days * DAY)
            dates = set[date]()
            while due < change.at + days * DAY:
                following = recurrence.next_after(due)
                assert is_meant(due, at, change.zone)
                assert recurrence.last_before(due) == recurrence.last_before(following - SECOND) == due
                assert recurrence.next_after(following - SECOND) == following
                dates.add(due.astimezone(change.zone).date())
                gap = following - due
                length = 7 if on else 1
                assert timedelta(days=length - 1) <= gap < timedelta(days=length + 1, hours=3)
                due = following
            # 24 hours were skipped twice, and with them one date
            assert len(dates) >= (days * 2 // length) - 2


def check_quiet_hours(change: ClockChange) -> None:
    first, skipped, middle, after, _ = change.times
    for start, end in (
        (time(22), middle),
        (middle, time(9)),
        (first, after),
        (after, skipped),
        (middle, first),
    ):
        quiet = QuietHours(start=start, end=end, zone=change.zone.key)
        before: datetime | None = None
        for now in steps(change):
            ends = quiet.ends_after(now)
            clock = shown(now, change.zone).time()
            by_clock = start <= clock < end if start <= end else clock >= start or clock < end
            assert ends or not by_clock, "never early"
            if ends:
                assert ends > now
                assert is_meant(ends, end, change.zone)
                assert quiet.ends_after(ends) is None, "over once"
                assert quiet.ends_after(ends - SECOND) == ends
            if before and now < before:
                assert ends == before, "neither released and quiet again, nor put off"
            before = ends


def check_until(change: ClockChange) -> None:
    for at in change.times:
        moment = Moment(at=at)
        for now in steps(change):
            due, back = moment.after(now, zone=change.zone), moment.before(now, zone=change.zone)
            assert due
            assert back
            assert back <= now < due
            assert is_meant(due, at, change.zone)
            assert is_meant(back, at, change.zone)
            assert moment.after(due - SECOND, zone=change.zone) == due
            assert moment.before(due - SECOND, zone=change.zone) == back
            days = [shown(now, change.zone).date() + n * DAY for n in range(-2, 3)]
            near = [one for day in days for one in showings(day, at, change)]
            assert not any(back < one < due for one in near), "the nearest"


CHECKS: tuple[Callable[[ClockChange], None], ...] = (
    check_instants,
    check_digests,
    check_quiet_hours,
    check_until,
)


def failing(check: Callable[[ClockChange], None], changes: Iterable[ClockChange]) -> list[str]:
    found = []
    for change in changes:
        try:
            check(change)
        except AssertionError as error:
            found.append(f"{change}: {error}")
    return found


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_it_happens_once_and_never_early_around_each_kind_of_change(
    check: Callable[[ClockChange], None],
) -> None:
    sampled = sampled_changes()
    assert len(sampled) > 30
    assert failing(check, sampled) == []


@pytest.mark.parametrize(
    ("typed", "text"),
    [
        ("weekdays at 8:30", "weekdays 08:30"),
        ("mon,thu at 9 Europe/Berlin", "mon,thu 09:00 Europe/Berlin"),
        ("every monday and thursday", "mon,thu 09:00"),
        ("thu mon 9am", "mon,thu 09:00"),
        ("mon-fri 09:00", "weekdays 09:00"),
        ("fri-mon", "mon,fri,sat,sun 09:00"),
        ("weekends 10:00", "sat,sun 10:00"),
        ("weekends weekdays 10:00", "10:00"),
        ("fridays", "fridays 09:00"),
        ("weekly", "mondays 09:00"),
        ("daily", "09:00"),
    ],
)
def test_a_rhythm_of_chosen_days_is_read_and_written(typed: str, text: str) -> None:
    found = parse_recurrence(typed.split())
    assert str(found) == text
    assert parse_recurrence(text.split()) == found


@pytest.mark.parametrize("typed", ["mon,noday", "mon-", "-fri", "weekdays,x"])
def test_days_that_are_none_are_named(typed: str) -> None:
    assert parse_recurrence([typed]) == typed


def test_each_digest_is_about_the_days_since_the_one_before() -> None:
    recurrence = parse_recurrence(["weekdays", "09:00", "Europe/Berlin"])
    assert isinstance(recurrence, Recurrence)
    friday = datetime(2026, 11, 20, 8, tzinfo=UTC)
    monday = recurrence.next_after(friday)
    assert monday == datetime(2026, 11, 23, 8, tzinfo=UTC)
    assert [recurrence.days_since_last(at) for at in (friday, monday)] == [1, 3]
    weekly = Recurrence(at=time(9), zone="Europe/Berlin", days=(0,))
    assert weekly.days_since_last(datetime(2026, 10, 26, 8, tzinfo=UTC)) == 7  # over the change of clocks
