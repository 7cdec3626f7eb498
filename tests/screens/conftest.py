"""A clock that the test moves, and no drawing that nobody sees."""

from __future__ import annotations

import pytest
from textual.app import App
from textual.screen import Screen

from tests.kit.snapshots import Clock
from tests.pure.dashboard.conftest import _in_utc  # noqa: F401 -- a fixture of every test here


@pytest.fixture(autouse=True)
def _draw_once(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Draw each screen where it is left instead of at each change.

    Without a terminal Textual draws all the same and drops it, which is half of what these tests cost. A test of the
    drawing itself asks for `drawn`.
    """
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
