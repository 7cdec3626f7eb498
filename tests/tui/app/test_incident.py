"""The page of an incident, live, in replay, from an alarm, and as a picture."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from shared.domain.snapshot import Reading, Snapshot
from shared.history import History
from shared.storage.database import parse_url
from tests.tui.accounts import NOW, Clock, FakeFeed, account
from tests.tui.app.app_driver import open_app, press, see
from tui.app.dashboard import DashboardApp
from tui.feed.history_access import HistoryAccess
from tui.feed.workspace_state import WorkspaceState
from tui.model.plots.incident import Incident, LaneState
from tui.screens.detail_page import DetailScreen
from tui.screens.incident import RANGES, IncidentScreen, range_for
from tui.theme.marks import Mark, MarkKind

DOMAIN = "useacme.example"
MINUTE = timedelta(minutes=1)
FIRED = Mark(
    at=NOW - 65 * MINUTE,
    kind=MarkKind.GUARDRAIL,
    subject=DOMAIN,
    text="guardrail bounces: 7.1%",
    about=DOMAIN,
)


def standing(ago: int) -> Snapshot:
    """All inboxes healthy, but for one domain that was paused from 60 to 20 minutes ago."""
    at = NOW - ago * MINUTE
    status = "resting" if 20 < ago <= 60 else "active"
    boxes = tuple(
        replace(box, health_score=91.0, status=status if box.domain == DOMAIN else "active")
        for box in account().inboxes.value or ()
    )
    return replace(account(now=at), inboxes=Reading(value=boxes, read_at=at))


@pytest.fixture
async def state(tmp_path: Path) -> AsyncIterator[WorkspaceState]:
    async with History(parse_url(f"sqlite:///{tmp_path}/history.db")) as store:
        for ago in range(120, -1, -10):
            await store.add(standing(ago), now=NOW - ago * MINUTE)
        feed = FakeFeed(history=HistoryAccess(store, workspace="acme"))
        feed.marks = (FIRED,)
        yield WorkspaceState(workspace="acme", feed=feed)


def page_of(app: DashboardApp) -> IncidentScreen:
    screen = app.screen
    assert isinstance(screen, IncidentScreen)
    return screen


def shown(app: DashboardApp) -> Incident:
    lanes = page_of(app).lanes
    assert lanes.incident, lanes._empty
    return lanes.incident


async def test_the_page_shows_who_was_paused_when_and_what_happened(state: WorkspaceState) -> None:
    async with open_app([state], clock=Clock()) as (app, pilot):
        await see(app, pilot, 0, standing(0))
        await press(pilot, "i")
        await press(pilot)
        incident = shown(app)
        first = incident.lanes[0]
        assert first.domain == DOMAIN
        assert [one.state for one in first.segments] == [
            LaneState.HEALTHY,
            LaneState.PAUSED,
            LaneState.HEALTHY,
        ]
        assert first.segments[1].length == 40 * MINUTE
        assert [mark.kind for mark in first.marks] == [MarkKind.GUARDRAIL, MarkKind.STOPPED, MarkKind.SENDING]
        assert "1 of 4 domains affected · 1 paused for 40 min · 6 inboxes" in page_of(app).title_line.text
        await press(pilot, "down", "left")
        assert page_of(app).lanes.domain == incident.lanes[1].domain
        assert "healthy since" in page_of(app).reading.text
        await press(pilot, "up", "enter")
        assert isinstance(app.screen, DetailScreen)
        assert DOMAIN in str(app.screen.path)
        await press(pilot, "escape", "3")
        await press(pilot)
        assert page_of(app).range is RANGES[2]
        assert shown(app).start == NOW - 120 * MINUTE, "from where anything is known"


async def test_in_replay_the_lanes_end_with_the_moment(state: WorkspaceState) -> None:
    clock = Clock()
    clock.advance(60)
    async with open_app([state], clock=clock) as (app, pilot):
        await see(app, pilot, 0, standing(0))
        await press(pilot, *["left_square_bracket"] * 4)
        assert app.replay.at == NOW - 30 * MINUTE
        await press(pilot, "i")
        await press(pilot)
        incident = shown(app)
        assert incident.end == NOW - 30 * MINUTE
        assert incident.lanes[0].segments[-1].state is LaneState.PAUSED
        assert MarkKind.SENDING not in {mark.kind for mark in incident.lanes[0].marks}


async def test_an_alarm_opens_its_incident_from_where_it_began(state: WorkspaceState) -> None:
    clock = Clock()
    async with open_app([state], clock=clock) as (app, pilot):
        await see(app, pilot, 0, standing(60))
        await press(pilot, "A", "i")
        await press(pilot)
        assert shown(app).lanes[0].domain == page_of(app).lanes.domain == DOMAIN
        assert page_of(app).range is RANGES[0]


async def test_before_the_first_read_and_without_a_history_the_page_says_so() -> None:
    async with open_app([WorkspaceState(workspace="acme", feed=FakeFeed())], clock=Clock()) as (app, pilot):
        await press(pilot, "i")
        await press(pilot)
        assert isinstance(app.screen, IncidentScreen)
        assert page_of(app).lanes.incident is None
        assert "No history" in page_of(app).lanes._empty


def test_the_shortest_range_is_taken_that_shows_how_it_began() -> None:
    for hours, number in ((1, 0), (5, 0), (6, 1), (20, 1), (30, 2), (500, 2)):
        assert range_for(NOW - timedelta(hours=hours), now=NOW) is RANGES[number], hours
    assert range_for(None, now=NOW) is RANGES[1]
