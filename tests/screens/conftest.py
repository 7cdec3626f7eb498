"""A clock that the test moves, a history that several tests look back at, and no drawing that nobody sees."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest
from textual.app import App
from textual.screen import Screen

from shared.history.history import History
from shared.storage.database import parse_url
from tests.kit.screen import hasten
from tests.kit.snapshots import NOW, Clock, account
from tests.pure.dashboard.conftest import _in_utc  # noqa: F401 -- a fixture of every test here
from tests.screens.desk import crisis
from tui.feed.history_access import HistoryAccess


@pytest.fixture
async def recorded(tmp_path: Path) -> AsyncIterator[HistoryAccess]:
    """Two calm hours, and the crisis since 14:02; polls every ten minutes."""
    async with History(parse_url(f"sqlite:///{tmp_path}/history.db")) as store:
        for minutes in range(150, -1, -10):
            at = NOW - timedelta(minutes=minutes)
            await store.add(account(now=at) if minutes > 30 else crisis(), now=at)
        yield HistoryAccess(store, workspace="acme")


@pytest.fixture(autouse=True)
def _draw_once(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Draw each screen where it is left instead of at each change.

    Without a terminal Textual draws all the same and drops it, which is half of what these tests cost. A test of the
    drawing itself asks for `drawn`.
    """
    hasten(monkeypatch)
    if "drawn" in request.fixturenames:
        return

    def refresh(screen: Screen[object]) -> None:
        screen._dirty_widgets.clear()
        screen._compositor._dirty_regions.clear()

    suspend, shut_down = Screen._on_screen_suspend, App._shutdown

    def draw_and_suspend(screen: Screen[object]) -> None:
        draw(screen)
        suspend(screen)

    async def draw_and_shut_down(app: App[object]) -> None:
        draw(app.screen)
        await shut_down(app)

    monkeypatch.setattr(Screen, "_compositor_refresh", refresh)
    monkeypatch.setattr(Screen, "_on_screen_suspend", draw_and_suspend)
    monkeypatch.setattr(App, "_shutdown", draw_and_shut_down)


def draw(screen: Screen[object]) -> None:
    """Draw all of it, so that a widget that can't be drawn fails its test."""
    screen._compositor.render_update(full=True, screen_stack=screen.app._background_screens)


@pytest.fixture
def drawn() -> None:
    """Have every change drawn, as in a terminal."""


@pytest.fixture
def clock() -> Clock:
    return Clock()
