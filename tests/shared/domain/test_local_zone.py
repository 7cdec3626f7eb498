"""The zone of the machine: the same that the C library takes, from every form of $TZ."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from shared.domain.local_zone import local, local_zone, posix_zone

POSIX = (
    "EST5EDT,M3.2.0,M11.1.0",
    "<+0545>-5:45",
    "NZST-12NZDT,M9.5.0,M4.1.0/3",
    "IST-1GMT0,M10.5.0,M3.5.0/1",
    "<-02>2<-01>,M3.5.0/-1,M10.5.0/0",
    "XXX3",
)
NAMED = ("Europe/Berlin", ":Asia/Kathmandu", "EST5EDT", "", "UTC0")


@pytest.fixture(autouse=True)
def restored(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize("text", [*POSIX, *NAMED])
def test_every_hour_of_a_year_is_as_the_c_library_shows_it(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", text)
    time.tzset()
    begin = datetime(2026, 1, 1, tzinfo=UTC)
    for hour in range(24 * 366):
        at = begin + timedelta(hours=hour)
        here, there = local(at), time.localtime(at.timestamp())
        assert (here.timetuple()[:6], here.tzname()) == (there[:6], there.tm_zone)


def test_a_summer_time_without_rules_has_the_usual_ones() -> None:
    zone = posix_zone("CET-1CEST")
    assert zone
    offsets = [datetime(2026, month, 15, tzinfo=zone).utcoffset() for month in (1, 7)]
    assert offsets == [timedelta(hours=1), timedelta(hours=2)]


@pytest.mark.parametrize("text", ["Nonsense", "12", "EST5EDT,M3", "EST5\nEDT", "Ä5"])
def test_what_is_no_zone_is_utc(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert posix_zone(text) is None
    monkeypatch.setenv("TZ", text)
    assert local_zone() is UTC


def test_a_file_is_a_zone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "/etc/localtime")
    given = local_zone()
    monkeypatch.delenv("TZ")
    at = datetime(2026, 7, 1, tzinfo=UTC)
    assert at.astimezone(given).utcoffset() == at.astimezone(local_zone()).utcoffset()
