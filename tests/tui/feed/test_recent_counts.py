"""Counts by day that are read when a page asks: each day once, today once a minute."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from typing import Any, cast

import pytest

from shared.api.client import OutreachClient
from shared.api.errors import OutreachError
from shared.api.models import StatsRow
from tests.tui.accounts import NOW, Clock
from tui.feed import recent_counts
from tui.feed.recent_counts import RecentCounts

TODAY = NOW.date()
ANN, BEN = "ann@useacme.example", "ben@useacme.example"


class FakeClient:
    """Counts of two inboxes: Ben is connected since two days ago, and sent nothing yesterday."""

    def __init__(self) -> None:
        self.asked: list[date] = []
        self.fails_on: date | None = None
        self.service_time: datetime | None = None

    async def stats(self, *, start: date, **_: Any) -> tuple[StatsRow, ...]:
        self.asked.append(start)
        if start == self.fails_on:
            raise OutreachError("The outreach service can't be reached.")
        rows = [StatsRow(group=ANN, sends=start.day, replies=None, positive_replies=0, meetings=0)]
        if start in {TODAY - timedelta(days=2), TODAY}:
            rows.append(StatsRow(group=BEN, sends=3, replies=1, positive_replies=0, meetings=0))
        return tuple(rows)


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch) -> FakeClient:
    monkeypatch.setattr(recent_counts, "BETWEEN", 0)
    return FakeClient()


async def test_days_are_read_once_and_today_once_a_minute(client: FakeClient) -> None:
    clock = Clock()
    counts = RecentCounts(cast("OutreachClient", client), now=clock)
    found = await counts.of("inbox", [ANN], days=14)
    assert len(client.asked) == len(found) == 14
    assert found[TODAY] == StatsRow(group=ANN, sends=2, replies=None, positive_replies=0, meetings=0)
    await counts.of("inbox", [BEN], days=14)
    assert len(client.asked) == 14, "the same days, for all inboxes"
    clock.advance(61)
    await counts.of("inbox", [ANN], days=14)
    assert client.asked[14:] == [TODAY]
    clock.advance(86_400)
    await counts.of("inbox", [ANN], days=2)
    assert client.asked[15:] == [TODAY + timedelta(days=1), TODAY], "what was today is read once more"


async def test_a_day_without_the_inbox_is_zero_only_after_its_first(client: FakeClient) -> None:
    counts = RecentCounts(cast("OutreachClient", client), now=Clock())
    found = await counts.of("inbox", ["nobody@useacme.example", BEN], days=14)
    assert {day: row.sends for day, row in found.items()} == {
        TODAY - timedelta(days=2): 3,
        TODAY - timedelta(days=1): 0,
        TODAY: 3,
    }
    assert await counts.of("inbox", ["nobody@useacme.example"], days=14) == {}


async def test_a_day_that_cannot_be_read_is_left_out_and_tried_again(client: FakeClient) -> None:
    client.fails_on = TODAY - timedelta(days=1)
    counts = RecentCounts(cast("OutreachClient", client), now=Clock())
    found = await counts.of("inbox", [ANN], days=4)
    assert client.fails_on not in found
    assert len(found) == 3
    client.fails_on = None
    assert len(await counts.of("inbox", [ANN], days=4)) == 4
    assert len(client.asked) == 5
