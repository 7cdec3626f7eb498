"""The page of comparisons."""

from __future__ import annotations

from datetime import timedelta

from tests.tui.accounts import Clock, FakeFeed, account
from tests.tui.app.app_driver import open_app, press, see
from tui.app.dashboard import DashboardApp
from tui.feed.workspace_state import WorkspaceState
from tui.screens.comparison import ComparisonScreen
from tui.screens.detail_page import DetailScreen


def page_of(app: DashboardApp) -> ComparisonScreen:
    screen = app.screen
    assert isinstance(screen, ComparisonScreen)
    return screen


async def test_sequences_steps_and_variants_are_compared_by_both_rates() -> None:
    clock = Clock()
    async with open_app([WorkspaceState(workspace="acme", feed=FakeFeed())], clock=clock) as (app, pilot):
        await press(pilot, "C")
        assert page_of(app).area._empty == "Loading…"
        await see(app, pilot, 0, account())
        app.second_passed()
        await press(pilot)
        page = page_of(app)
        assert [row.key for row in page.area.rows] == ["sq_0", "sq_1", "sq_2", "sq_3"]
        assert page.area.rows[-1].is_real
        assert "REPLY RATE BY SEQUENCE" in page.title_line.text
        assert "different people" in page.note.text
        await press(pilot, "m")
        await press(pilot)
        assert "POSITIVE RATE" in page.title_line.text
        await press(pilot, "g")
        await press(pilot)
        assert [row.key for row in page.area.rows] == ["1", "2", "3"]
        assert "can't be compared" in page.note.text
        await press(pilot, "down", "enter")
        assert isinstance(app.screen, DetailScreen)
        assert app.screen.path == ("Step 2",)
        await press(pilot, "escape", "g")
        await press(pilot)
        assert [row.key for row in page.area.rows] == ["A", "B"]
        clock.time += timedelta(hours=2)
        app.second_passed()
        assert page.area._faded, "it dims with its age"
