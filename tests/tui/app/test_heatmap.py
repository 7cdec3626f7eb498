"""The page of the heatmap."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from shared.api.models import Inbox
from shared.domain.snapshot import Reading, Snapshot
from tests.tui.accounts import NOW, Clock, FakeFeed, account
from tests.tui.app.app_driver import open_app, press, see
from tui.app.dashboard import DashboardApp
from tui.feed.workspace_state import WorkspaceState
from tui.screens.detail_page import DetailScreen
from tui.screens.heatmap import HeatmapScreen


def page_of(app: DashboardApp) -> HeatmapScreen:
    screen = app.screen
    assert isinstance(screen, HeatmapScreen)
    return screen


async def test_the_worst_inbox_is_selected_and_enter_opens_it() -> None:
    async with open_app([WorkspaceState(workspace="acme", feed=FakeFeed())], clock=Clock()) as (app, pilot):
        await see(app, pilot, 0, account())
        await press(pilot, "H")
        page = page_of(app)
        assert "person00@useacme.example  health 57  resting" in page.about.text
        await press(pilot, "right", "down")
        key = page.heat.key
        assert key in page.about.text
        changed = tuple(
            replace(box, health_score=99.0, status="active") for box in account().inboxes.value or ()
        )
        await see(app, pilot, 0, _with(changed))
        app.second_passed()
        assert page.heat.key == key, "the same inbox, wherever it stands now"
        await press(pilot, "enter")
        assert isinstance(app.screen, DetailScreen)
        assert app.screen.path[-1:] == (key,)


def _with(boxes: tuple[Inbox, ...]) -> Snapshot:
    return replace(account(), inboxes=Reading(value=boxes, read_at=NOW))


@pytest.mark.parametrize("size", [(80, 24), (160, 50), (250, 70)])
async def test_what_is_unread_stale_or_empty_looks_so(size: tuple[int, int]) -> None:
    clock = Clock()
    async with open_app([WorkspaceState(workspace="acme", feed=FakeFeed())], clock=clock, size=size) as (
        app,
        pilot,
    ):
        await press(pilot, "H")
        page = page_of(app)
        assert page.heat._empty == "Loading…"
        await see(app, pilot, 0, _with(()))
        app.second_passed()
        assert page.heat._empty.startswith("No inboxes")
        await see(app, pilot, 0, account())
        app.second_passed()
        assert page.heat.line
        clock.time += timedelta(minutes=20)
        app.second_passed()
        assert page.heat._faded
        assert "now" not in page.about.text
