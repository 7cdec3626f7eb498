"""The zone of the machine: the same that the C library takes, from every form of $TZ."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from shared.domain.local_zone import local, local_zone

NAMED = ("Europe/Berlin", ":Asia/Kathmandu", "EST5EDT", "")


@pytest.fixture(autouse=True)
def restored(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize("text", NAMED)
def test_every_hour_of_a_year_is_as_the_c_library_shows_it(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", text)
    time.tzset()
    begin = datetime(2026, 1, 1, tzinfo=UTC)
    for hour in range(0, 24 * 366, 3):
        at = begin + timedelta(hours=hour)
        here, there = local(at), time.localtime(at.timestamp())
        assert (here.timetuple()[:6], here.tzname()) == (there[:6], there.tm_zone)


@pytest.mark.parametrize("text", ["Nonsense", "12", "XXX3", "EST5\nEDT"])
def test_what_is_no_zone_is_utc(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", text)
    assert local_zone() is UTC


def test_a_file_is_a_zone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "/etc/localtime")
    given = local_zone()
    monkeypatch.delenv("TZ")
    at = datetime(2026, 7, 1, tzinfo=UTC)
    assert at.astimezone(given).utcoffset() == at.astimezone(local_zone()).utcoffset()
