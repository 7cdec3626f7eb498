"""Times typed into replay: the latest such moment in the past, by the clock of the reader's zone."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from tui.app.replay import Replay, parse_moment


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        # In this night New York's clocks went back at two: by the clock, only eleven hours lie between.
        ("12h ago", "2026-11-01 02:00"),
        ("-90 min", "2026-11-01 12:30"),
        ("2d", "2026-10-30 14:00"),
        ("Yesterday 14:40", "2026-10-31 18:40"),
        ("31 oct 2026", "2026-10-31 04:00"),
        ("", None),
        ("soon", None),
        ("tomorrow 9:00", None),
        ("21 Nov because", None),
    ],
)
def test_a_time_is_the_latest_such_moment_in_the_past(typed: str, meant: str | None) -> None:
    now = datetime(2026, 11, 1, 14, 0, tzinfo=UTC)
    at = parse_moment(typed, now=now, zone=ZoneInfo("America/New_York"))
    assert at == (meant and datetime.fromisoformat(f"{meant}Z"))


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
        (20, 0, ""),
        (21, 0, "No data at 09:21. This is 09:00, the nearest moment with data."),
        (31, 1, "No data at 09:31. This is 10:00, the nearest moment with data."),
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
