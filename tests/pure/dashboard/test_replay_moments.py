"""Times typed into replay: the latest such moment in the past, by the clock of the reader's zone."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from tui.app.replay import Replay, parse_moment

NEW_YORK = ZoneInfo("America/New_York")


@pytest.mark.parametrize(
    ("typed", "now", "meant"),
    [
        ("31 Dec 23:50", "2027-01-01 00:20", "2026-12-31 23:50"),
        ("21 Nov", "2026-07-05 12:00", "2025-11-21 00:00"),
        ("21 nov 14:02", "2026-07-05 12:00", "2025-11-21 14:02"),
        ("nov 21 14:02", "2026-11-22 12:00", "2026-11-21 14:02"),
        ("21 Nov 2024 14:02", "2026-11-22 12:00", "2024-11-21 14:02"),
        ("29 feb 9:00", "2027-01-01 00:20", "2024-02-29 09:00"),
        ("yesterday 23:00", "2027-01-01 00:20", "2026-12-31 23:00"),
        ("yesterday", "2027-03-01 00:20", "2027-02-28 00:00"),
        ("today 00:10", "2027-01-01 00:20", "2027-01-01 00:10"),
        ("23:50", "2027-01-01 00:20", "2026-12-31 23:50"),
        ("2 pm", "2027-01-01 00:20", "2026-12-31 14:00"),
        ("monday", "2026-11-23 08:00", "2026-11-23 00:00"),
        ("monday 9:00", "2026-11-23 08:00", "2026-11-16 09:00"),
        ("2026-11-01 00:30", "2026-11-01 12:00", "2026-11-01 00:30"),
    ],
)
def test_a_time_is_the_latest_such_moment(typed: str, now: str, meant: str) -> None:
    at = datetime.fromisoformat(now).replace(tzinfo=NEW_YORK)
    found = parse_moment(typed, now=at.astimezone(UTC), zone=NEW_YORK)
    assert found == datetime.fromisoformat(meant).replace(tzinfo=NEW_YORK)


def test_moments_before_a_change_of_clocks_have_their_own_offset() -> None:
    # In this night New York's clocks went back at two: 1:30 came twice.
    now = datetime(2026, 11, 1, 14, 0, tzinfo=UTC)
    assert parse_moment("00:30", now=now, zone=NEW_YORK) == datetime(2026, 11, 1, 4, 30, tzinfo=UTC)
    assert parse_moment("yesterday 14:40", now=now, zone=NEW_YORK) == datetime(
        2026, 10, 31, 18, 40, tzinfo=UTC
    )
    assert parse_moment("1:30", now=now, zone=NEW_YORK) == datetime(2026, 11, 1, 6, 30, tzinfo=UTC), (
        "the latest"
    )


@pytest.mark.parametrize(
    "typed", ["", "soon", "tomorrow 9:00", "today 23:59", "2027-06-01", "21 Nov because"]
)
def test_other_words_are_no_time_in_the_past(typed: str) -> None:
    now = datetime(2026, 11, 1, 14, 0, tzinfo=UTC)
    assert parse_moment(typed, now=now, zone=NEW_YORK) is None


def test_a_span_is_that_long_also_across_a_change_of_clocks() -> None:
    now = datetime(2026, 11, 1, 14, 0, tzinfo=UTC)
    # By the clock, only eleven hours lie between.
    assert parse_moment("12h ago", now=now, zone=NEW_YORK) == datetime(2026, 11, 1, 2, 0, tzinfo=UTC)


HOURS = tuple(datetime(2026, 11, 1, hour, 0, tzinfo=UTC) for hour in (9, 10, 11))
NOON = datetime(2026, 11, 1, 12, 0, tzinfo=UTC)


def test_steps_end_at_the_first_moment_and_at_now() -> None:
    last = Replay(moments=HOURS, place=2)
    assert (last.at, last.live, last.step(1).live) == (HOURS[2], False, True)
    assert last.step(1).at == HOURS[2]
    assert [last.step(by).place for by in (-1, -9, 9)] == [1, 0, 3]
    assert last.words(NOON) == "REPLAY 11:00:00, 1 h ago"
    assert last.end_words(NOON) == "History starts at 09:00."
    assert Replay(moments=(), place=0).end_words(NOON) == "No history is recorded yet."


@pytest.mark.parametrize(
    ("minutes", "place", "said"),
    [
        (0, 0, ""),
        (29, 0, "No data at 09:29. This is 09:00, the nearest moment with data."),
        (31, 1, "No data at 09:31. This is 10:00, the nearest moment with data."),
        (40, 1, ""),
        (80, 1, ""),
        (120, 2, ""),
        (149, 2, "No data at 11:29. This is 11:00, the nearest moment with data."),
        (151, 3, "No data at 11:31. This is now."),
        (160, 3, ""),
    ],
)
def test_the_nearest_moment_is_shown_and_said_where_it_is_far(minutes: int, place: int, said: str) -> None:
    wanted = HOURS[0] + timedelta(minutes=minutes)
    found = Replay(moments=HOURS, place=0).seek(wanted, now=NOON)
    assert (found.place, found.missed(wanted, now=NOON)) == (place, said)
    assert Replay(moments=(), place=0).seek(wanted, now=NOON).live
