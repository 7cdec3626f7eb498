"""The palette, the foot line and the mouse, on every page."""

from __future__ import annotations

import pytest
from textual.pilot import Pilot
from textual.screen import Screen
from textual.widgets import Input, OptionList

from tests.tui.accounts import Clock, account
from tests.tui.app.app_driver import open_app, press, see, state
from tui.app.dashboard import DashboardApp
from tui.screens.alarms import AlarmsScreen
from tui.screens.all_workspaces import AllWorkspacesScreen
from tui.screens.board import BoardScreen
from tui.screens.detail_page import DetailScreen
from tui.screens.dialogs import CardDialog
from tui.screens.palette import Palette
from tui.screens.replies import RepliesScreen

PAGES: dict[str, type[Screen[None]]] = {
    "": BoardScreen,
    "enter": DetailScreen,
    "5": RepliesScreen,
    "A": AlarmsScreen,
    "0": AllWorkspacesScreen,
}


async def type_in(app: DashboardApp, pilot: Pilot[int], text: str, *keys: str) -> None:
    await press(pilot, "colon")
    assert isinstance(app.screen, Palette)
    app.screen.query_one(Input).value = text
    await pilot.pause()
    await pilot.press(*keys)
    await pilot.pause(0.1)


def listed(app: DashboardApp) -> str:
    found = app.screen.query_one(OptionList)
    return str(found.get_option_at_index(0).prompt)


@pytest.mark.parametrize("key", PAGES)
async def test_an_action_is_found_and_run_from_every_page(key: str) -> None:
    clock = Clock()
    async with open_app([state("acme", clock=clock)], clock=clock) as (app, pilot):
        await see(app, pilot, 0, account())
        await pilot.press(*filter(None, [key]))
        await pilot.pause(0.1)
        assert isinstance(app.screen, PAGES[key])
        before = app.theme
        await type_in(app, pilot, "them", "enter")
        assert app.theme != before
        assert type(app.screen) is PAGES[key]


async def test_what_matches_nothing_is_said_while_typing(clock: Clock) -> None:
    async with open_app([state("acme", clock=clock)], clock=clock) as (app, pilot):
        await see(app, pilot, 0, account())
        await type_in(app, pilot, "zzqqxx")
        assert listed(app) == "Nothing matches “zzqqxx”"
        await pilot.press("down", "enter")
        assert isinstance(app.screen, Palette)


async def test_a_command_runs_with_its_arguments_and_a_completed_one_waits_for_them(clock: Clock) -> None:
    async with open_app([state("acme", clock=clock)], clock=clock) as (app, pilot):
        await see(app, pilot, 0, account())
        await type_in(app, pilot, "lead", "tab")
        assert app.screen.query_one(Input).value.startswith("lead")
        app.screen.query_one(Input).value = "lead ada@acme.example"
        await pilot.press("enter")
        await pilot.pause(0.1)
        assert isinstance(app.screen, CardDialog)


async def test_the_best_match_runs_at_once_if_it_takes_nothing_more(clock: Clock) -> None:
    async with open_app([state("acme", clock=clock)], clock=clock) as (app, pilot):
        await see(app, pilot, 0, account())
        await type_in(app, pilot, "whoa", "enter")
        assert isinstance(app.screen, CardDialog)


async def test_a_click_in_the_list_runs_an_action(clock: Clock) -> None:
    async with open_app([state("acme", clock=clock)], clock=clock) as (app, pilot):
        await see(app, pilot, 0, account())
        await type_in(app, pilot, "alarms")
        await pilot.click("#offers", offset=(3, 0))
        await pilot.pause(0.1)
        assert isinstance(app.screen, AlarmsScreen)


@pytest.mark.parametrize("size", [(60, 20), (80, 24), (160, 50)])
@pytest.mark.parametrize("key", PAGES)
async def test_every_foot_line_ends_with_help_and_quit(key: str, size: tuple[int, int]) -> None:
    clock = Clock()
    async with open_app([state("acme", clock=clock)], clock=clock, size=size) as (app, pilot):
        await see(app, pilot, 0, account())
        await pilot.press(*filter(None, [key]))
        await pilot.pause(0.1)
        foot = app.screen.query_one("#foot").render_line(0).text
        assert foot.rstrip().endswith("f1 help   q quit")


@pytest.mark.parametrize("key", PAGES)
async def test_f1_opens_the_help_of_every_page(key: str) -> None:
    clock = Clock()
    async with open_app([state("acme", clock=clock)], clock=clock) as (app, pilot):
        await see(app, pilot, 0, account())
        await pilot.press(*filter(None, [key]), "f1")
        await pilot.pause(0.1)
        assert isinstance(app.screen, CardDialog)
        assert app.screen.card.title.startswith("Help")


async def test_a_click_on_a_key_of_the_foot_line_presses_it(clock: Clock) -> None:
    async with open_app([state("acme", clock=clock)], clock=clock) as (app, pilot):
        await see(app, pilot, 0, account())
        text = app.screen.query_one("#foot").render_line(0).text
        await pilot.click("#foot", offset=(text.index("f1 help") + 1, 0))
        await pilot.pause(0.1)
        assert isinstance(app.screen, CardDialog)
        await press(pilot, "escape")
        await pilot.click("#foot", offset=(text.index(": commands"), 0))
        await pilot.pause(0.1)
        assert isinstance(app.screen, Palette)


@pytest.fixture
def clock() -> Clock:
    return Clock()
