"""The counts of the last fortnight: read once, kept, compared with the same hour of another day."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path
from typing import Any, cast

import pytest

from shared.api.client import OutreachClient
from shared.api.models import StatsRow
from shared.domain.snapshot import DailyCounts, Reading
from shared.history import History
from shared.storage.database import parse_url
from tests.tui.accounts import NOW, Clock, account, board_of
from tui.feed import daily_counts
from tui.feed.daily_counts import DAYS, PLOTTED_DAYS, DailyCountsReader
from tui.widgets import figures


class FakeClient:
    """Counts by day, and what was asked for."""

    service_time = None

    def __init__(self) -> None:
        self.asked: list[date] = []

    async def stats(self, *, start: date, end: date, **_: Any) -> tuple[StatsRow, ...]:
        assert start == end
        self.asked.append(start)
        return (StatsRow(group="sq_1", sends=start.day, replies=1, positive_replies=1, meetings=0),)


async def test_each_day_is_asked_for_once_and_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for pause in ("BETWEEN", "BETWEEN_OLD"):
        monkeypatch.setattr(daily_counts, pause, 0)
    client, clock, received = FakeClient(), Clock(), list[DailyCounts]()
    async with History(parse_url(f"sqlite:///{tmp_path}/history.db")) as history:
        reader = DailyCountsReader(
            client=cast("OutreachClient", client),
            history=history,
            workspace="acme",
            now=clock,
            tell=received.append,
        )
        await reader.refresh()
        assert client.asked == [NOW.date() - timedelta(days=ago) for ago in range(1, PLOTTED_DAYS)], (
            "the newest first"
        )
        assert len(received[-1].days) == DAYS - 1
        assert received[-1].days[-1] == (NOW.date() - timedelta(days=1), replace(_row(1), group="2026-03-01"))
        await reader.refresh()
        assert len(client.asked) == PLOTTED_DAYS - 1, "nothing is asked for twice"
        clock.advance(86_400)
        await reader.refresh()
        assert client.asked[-1] == NOW.date(), "the day that has ended since"


async def test_today_is_compared_with_the_same_hour_of_the_last_comparable_day(tmp_path: Path) -> None:
    clock, received = Clock(), list[DailyCounts]()
    async with History(parse_url(f"sqlite:///{tmp_path}/history.db")) as history:
        then = NOW - timedelta(days=7)
        for minutes, sends in ((-20, 100), (-5, 380), (10, 500)):
            at = then + timedelta(minutes=minutes)
            today = Reading(value=StatsRow(group="today", sends=sends), read_at=at)
            await history.add(account(now=at, today=today), now=at)
        reader = DailyCountsReader(
            client=cast("OutreachClient", FakeClient()),
            history=history,
            workspace="acme",
            now=clock,
            tell=received.append,
        )
        await reader._recall()  # what `run` tells before the first request
    assert received[-1].compared_at == then
    assert received[-1].compared == StatsRow(group="compared", sends=380)
    figure = board_of(account(daily=received[-1])).figures[0]
    assert (figure.compared, figure.compared_at) == (380, then)


def test_resting_inboxes_are_no_capacity() -> None:
    figure = board_of(account()).figures[0]
    limits = [box.daily_limit or 0 for box in account().inboxes.value or () if box.status != "resting"]
    assert figure.capacity == sum(limits)


def _row(sends: int) -> StatsRow:
    return StatsRow(group="", sends=sends, replies=1, positive_replies=1, meetings=0)


@pytest.mark.parametrize(("sent", "words"), [(412, "412 of 500 today"), (501, "501 today")])
def test_the_limits_are_left_out_once_more_was_sent(sent: int, words: str) -> None:
    """Inboxes that have sent today and rest by now have no limit any more."""
    figure = replace(board_of(account()).figures[0], today=sent, capacity=500)
    assert "".join(text for text, _ in figures.today(figure)) == words
