"""Moments and ranges of days as people type them, read without a clock and resolved in the reader's zone."""

from __future__ import annotations

from datetime import UTC, date, datetime
from zoneinfo import ZoneInfo

import pytest

from shared.commands import parse, render
from shared.commands.times import Moment, end_mistake, range_of, read_end, read_moment
from shared.text.formats import show_time

FRIDAY = datetime(2026, 11, 20, 15, 30, tzinfo=UTC)
BERLIN = ZoneInfo("Europe/Berlin")


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("monday", "2026-11-23 09:00"),
        ("next Mon 14:00", "2026-11-23 14:00"),
        # In Berlin it is Friday 16:30: nine o'clock is over.
        ("friday", "2026-11-27 09:00"),
        ("tomorrow at 5 pm", "2026-11-21 17:00"),
        ("16:00", "2026-11-21 16:00"),
        ("5 pm", "2026-11-20 17:00"),
        ("1 dec", "2026-12-01 09:00"),
        ("March 3rd", "2027-03-03 09:00"),
        ("2026-12-24 08:30", "2026-12-24 08:30"),
        ("24 dec 2027 08:30", "2027-12-24 08:30"),
        ("friday 18:00", "2026-11-20 18:00"),
        ("next friday 18:00", "2026-11-27 18:00"),
        ("today 18:00", "2026-11-20 18:00"),
        ("3 mar 2027", "2027-03-03 09:00"),
    ],
)
def test_a_moment_is_the_next_one_in_the_readers_zone(typed: str, meant: str) -> None:
    found = read_moment(typed.split())
    assert found is not None
    at = found.after(FRIDAY, zone=BERLIN)
    assert at is not None
    assert f"{at.astimezone(BERLIN):%Y-%m-%d %H:%M}" == meant
    assert read_moment(str(found).split()) == found


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("monday 9:00", "2026-11-23 09:00"),
        ("monday", "2026-11-23 09:00"),
        ("monday 6:00", "2026-11-30 06:00"),
        ("next monday 9:00", "2026-11-30 09:00"),
    ],
)
def test_a_weekday_is_today_while_its_time_is_ahead(typed: str, meant: str) -> None:
    found = read_moment(typed.split())
    assert found
    at = found.after(datetime(2026, 11, 23, 6, 30, tzinfo=BERLIN), zone=BERLIN)
    assert at == datetime.fromisoformat(meant).replace(tzinfo=BERLIN)


@pytest.mark.parametrize(
    ("now", "meant"),
    [
        ("2027-11-20", "2028-02-29"),
        ("2027-03-01", "2028-02-29"),
        ("2028-02-29 08:00", "2028-02-29"),
        ("2095-11-20", "2096-02-29"),
    ],
)
def test_a_leap_day_is_the_next_one_within_a_year(now: str, meant: str) -> None:
    moment, at = Moment(day="29 feb"), datetime.fromisoformat(now).replace(tzinfo=UTC)
    assert moment.after(at) == datetime.fromisoformat(f"{meant} 09:00").replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("friday", "2026-11-20 00:00"),
        ("friday 16:00", "2026-11-20 16:00"),
        ("friday 18:00", "2026-11-13 18:00"),
        ("thursday", "2026-11-19 00:00"),
        ("saturday 10:00", "2026-11-14 10:00"),
        ("yesterday 23:00", "2026-11-19 23:00"),
        ("yesterday", "2026-11-19 00:00"),
        ("16:00", "2026-11-20 16:00"),
        ("17:00", "2026-11-19 17:00"),
        ("1 dec", "2025-12-01 00:00"),
        ("20 nov 16:30", "2026-11-20 16:30"),
        ("29 feb", "2024-02-29 00:00"),
        ("2026-11-01 02:30", "2026-11-01 02:30"),
        ("tomorrow", ""),
        ("2026-12-24", ""),
    ],
)
def test_a_moment_of_replay_is_the_latest_one_in_the_readers_zone(typed: str, meant: str) -> None:
    found = read_moment(typed.split())
    assert found
    at = found.before(FRIDAY, zone=BERLIN)
    assert (f"{at.astimezone(BERLIN):%Y-%m-%d %H:%M}" if at else "") == meant


@pytest.mark.parametrize(
    "typed", ["soon", "2026-13-40", "31 feb", "25:00", "", "mo", "9999-12-31", "1 d", "12 13"]
)
def test_other_words_are_no_moment(typed: str) -> None:
    assert read_moment(typed.split()) is None


@pytest.mark.parametrize(
    ("typed", "end", "after"),
    [
        ("2h", "for 2h", "2026-11-20 18:30"),
        ("for a week", "for 7d", "2026-11-27 16:30"),
        ("2 days", "for 2d", "2026-11-22 16:30"),
        ("for the weekend", "until next monday", "2026-11-23 09:00"),
        ("till tomorrow morning", "until tomorrow 09:00", "2026-11-21 09:00"),
        *(
            (typed, "None", "")
            for typed in ("for", "until", "weekend", "a week", "until monday or so", "at 9:00")
        ),
    ],
)
def test_an_end_is_a_length_or_a_moment(typed: str, end: str, after: str) -> None:
    found = read_end(typed.split())
    assert str(found) == end
    at = found and found.after(FRIDAY, zone=BERLIN)
    assert (f"{at.astimezone(BERLIN):%Y-%m-%d %H:%M}" if at else "") == after


@pytest.mark.parametrize(
    ("typed", "problem", "near"),
    [
        ("friday", "“friday” needs an “until”.", "until friday"),
        ("until tuesdya", "“tuesdya” isn't a duration, a day or a time.", "until tuesday"),
        ("til mondai", "“mondai” isn't a duration, a day or a time.", "until monday"),
        ("until monday mornnig", "“monday mornnig” isn't a duration, a day or a time.", "until monday 09:00"),
        ("for 2h x y", "“2h x y” isn't a duration, a day or a time.", "for 2h"),
        ("for two hors", "“two hors” isn't a duration, a day or a time.", "for 2h"),
        ("2 hors", "“2 hors” isn't a duration, a day or a time.", ""),
        ("bounces are high", "“bounces are high” isn't a duration, a day or a time.", ""),
        ("until", "Until when?", ""),
        ("for", "Until when?", ""),
    ],
)
def test_words_that_tell_no_end_are_answered_with_the_nearest(typed: str, problem: str, near: str) -> None:
    mistake = end_mistake(typed.split())
    assert mistake.problem == problem
    assert mistake.hint.startswith(f"Did you mean `{near}`?" if near else "Use `for 2h`")


@pytest.mark.parametrize(
    ("period", "name", "full", "before"),
    [
        ("", "last 30 days", "22 October to 19 November", "17 September to 16 October"),
        ("7d", "last 7 days", "14 to 19 November", "7 to 13 November"),
        ("today", "today so far", "None", "Friday 13 November"),
        (
            "2026-11-12..2026-11-20",
            "2026-11-12 to 2026-11-20",
            "12 to 19 November",
            "29 October to 6 November",
        ),
        ("2026-11-18..2026-11-19", "2026-11-18 to 2026-11-19", "18 to 19 November", "11 to 12 November"),
        ("last week", "last week (9 to 15 November)", "9 to 15 November", "2 to 8 November"),
    ],
)
def test_full_days_are_compared_with_as_many_on_the_same_weekdays(
    period: str, name: str, full: str, before: str
) -> None:
    days = range_of(period, date(2026, 11, 20))
    assert (days.name, str(days.full), str(days.before)) == (name, full, before)
    assert days.running is (days.end == date(2026, 11, 20))
    first, after = days.moments(BERLIN)
    assert (after - first).days == (days.end - days.start).days + 1
    assert f"{first.astimezone(BERLIN):%Y-%m-%d %H:%M}" == f"{days.start} 00:00"


@pytest.mark.parametrize(
    ("name", "first", "last"),
    [
        ("today", "2026-11-20", "2026-11-20"),
        ("yesterday", "2026-11-19", "2026-11-19"),
        ("this week", "2026-11-16", "2026-11-20"),
        ("last week", "2026-11-09", "2026-11-15"),
        ("this month", "2026-11-01", "2026-11-20"),
        ("last month", "2026-10-01", "2026-10-31"),
    ],
)
def test_a_named_range_has_its_days(name: str, first: str, last: str) -> None:
    days = range_of(name, date(2026, 11, 20))
    assert (days.start, days.end) == (date.fromisoformat(first), date.fromisoformat(last))
    line = f"stats by step {name}"
    arguments = parse(line).arguments
    assert parse(render(arguments)).arguments == arguments


@pytest.mark.parametrize(
    ("at", "shown"),
    [
        (datetime(2026, 11, 20, 16, 5, tzinfo=UTC), "17:05 CET"),
        (datetime(2026, 11, 23, 8, tzinfo=UTC), "23 Nov 09:00 CET"),
        (datetime(2027, 7, 1, 7, tzinfo=UTC), "1 Jul 2027 09:00 CEST"),
    ],
)
def test_a_time_has_one_form_in_the_readers_zone(at: datetime, shown: str) -> None:
    assert show_time(at, now=FRIDAY, zone=BERLIN) == shown
