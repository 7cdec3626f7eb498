"""The plots of pages: full from the first day, with marks and a cursor."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from shared.api.models import StatsRow
from shared.domain.snapshot import Reading
from shared.history import History
from shared.storage.database import parse_url
from tests.tui.accounts import NOW, Clock, FakeFeed, account
from tests.tui.app.app_driver import open_app, press, see
from tui.feed.history_access import HistoryAccess
from tui.feed.workspace_state import WorkspaceState
from tui.model.lists.lines import PageRef
from tui.screens.detail_page import DetailScreen
from tui.theme.marks import Mark, MarkKind
from tui.theme.plotting import Plot

TODAY = NOW.date()
DAY, MINUTE = timedelta(days=1), timedelta(minutes=1)
SEQUENCE = PageRef(kind="sequence", key="sq_0")
PAUSE = Mark(
    at=NOW - 3 * DAY,
    kind=MarkKind.PAUSED,
    subject="SaaS founders – Europe",
    text="paused by Ann",
    about="sq_0",
)
OTHER = replace(PAUSE, about="sq_3")


def row(sends: int) -> StatsRow:
    return StatsRow(group="sq_0", sends=sends, replies=sends // 10, positive_replies=1, meetings=0)


def so_far(sends: int, at: datetime) -> Reading[StatsRow]:
    return Reading(value=replace(row(sends), group="today"), read_at=at)


@pytest.fixture
async def opened(tmp_path: Path) -> AsyncIterator[WorkspaceState]:
    """A workspace whose days are known, but for one, and whose health is known for an hour."""
    async with History(parse_url(f"sqlite:///{tmp_path}/history.db")) as store:
        for ago in (1, 2, 4, 5, 6, 7):
            await store.keep_days("acme", {TODAY - ago * DAY: (row(100 + ago),)})
        for minutes in (60, 45, 30, 15, 0):
            at = NOW - timedelta(minutes=minutes)
            await store.add(account(now=at, today=so_far(60 - minutes, at)), now=at)
        feed = FakeFeed(history=HistoryAccess(store, workspace="acme"))
        feed.counts = {"sq_0": {TODAY: row(7)}}
        feed.marks = (PAUSE, OTHER)
        yield WorkspaceState(workspace="acme", feed=feed)


async def page_of(app: object, pilot: object, ref: PageRef) -> DetailScreen:
    app.navigation.open_page(ref)  # type: ignore[attr-defined] # the app
    await press(pilot)  # type: ignore[arg-type] # its pilot
    await press(pilot)  # type: ignore[arg-type] # likewise
    screen = app.screen  # type: ignore[attr-defined] # likewise
    assert isinstance(screen, DetailScreen)
    return screen


def plot_of(screen: DetailScreen) -> Plot:
    plot = screen.plot.plot
    assert plot
    return plot


async def test_a_sequence_shows_its_days_at_once_from_the_first_known_one(opened: WorkspaceState) -> None:
    async with open_app([opened], clock=Clock()) as (app, pilot):
        await see(app, pilot, 0, account())
        screen = await page_of(app, pilot, SEQUENCE)
        plot = plot_of(screen)
        assert list(plot.values) == [107, 106, 105, 104, None, 102, 101, 7], (
            "the day that wasn't read is a gap"
        )
        assert plot.start.date() == TODAY - 7 * DAY, "the axis spans what is known"
        assert plot.marks == (PAUSE,)
        await press(pilot, "m")
        assert plot_of(screen).values == (10, 10, 10, 10, None, 10, 10, 0)
        await press(pilot, "1")
        assert screen.plot.plot is None
        assert "press 2" in screen.plot._empty


async def test_the_health_of_an_inbox_begins_at_its_first_sample(opened: WorkspaceState) -> None:
    async with open_app([opened], clock=Clock()) as (app, pilot):
        await see(app, pilot, 0, account())
        screen = await page_of(app, pilot, PageRef(kind="inbox", key="person00@useacme.example"))
        assert abs(plot_of(screen).start - (NOW - timedelta(hours=1))) < MINUTE
        assert None not in plot_of(screen).values
        assert (plot_of(screen).times, plot_of(screen).last) == ("%H:%M", "now")


async def test_the_cursor_reads_values_and_marks(opened: WorkspaceState) -> None:
    async with open_app([opened], clock=Clock()) as (app, pilot):
        await see(app, pilot, 0, account())
        screen = await page_of(app, pilot, SEQUENCE)
        await press(pilot, "left")
        assert "Mon 02 Mar  7" in screen.plot_head.text
        for _ in range(screen.plot.columns):
            await pilot.press("left")
        assert "Mon 23 Feb  107" in screen.plot_head.text
        seen = []
        for _ in range(screen.plot.columns):
            await pilot.press("right")
            await pilot.pause()
            seen.append(screen.plot_head.text)
        assert any("unknown" in text for text in seen)
        assert any("paused by Ann" in text for text in seen)
        await pilot.press("m")
        assert screen.plot.reading, "it stays where it is on the next value"


async def test_in_replay_a_plot_ends_with_the_last_whole_day_before(opened: WorkspaceState) -> None:
    clock = Clock()
    async with open_app([opened], clock=clock) as (app, pilot):
        await see(app, pilot, 0, account())
        clock.advance(86_400)
        await press(pilot, "left_square_bracket")
        assert app.replay.at == NOW
        screen = await page_of(app, pilot, SEQUENCE)
        assert plot_of(screen).values == (107, 106, 105, 104, None, 102, 101, None)
        assert plot_of(screen).last == "02 Mar", "that day isn't over, and its counts are those of later"
