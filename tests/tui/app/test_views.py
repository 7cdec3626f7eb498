"""Own columns and views, from the palette."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import Input, OptionList

from tests.tui.accounts import Clock, account, board_of, tick_of
from tests.tui.app.app_driver import state
from tui.app.dashboard import DashboardApp
from tui.model.lists.columns import INBOXES, LISTS
from tui.model.lists.filter_sort import arranged
from tui.screens.alarms import AlarmsScreen
from tui.screens.dialogs import CardDialog
from tui.screens.palette import Palette


@asynccontextmanager
async def opened(
    views: Path | None, *, size: tuple[int, int] = (160, 48)
) -> AsyncIterator[tuple[DashboardApp, Pilot[int]]]:
    clock = Clock()
    app = DashboardApp([state("acme", clock=clock), state("beta", clock=clock)], now=clock, views=views)
    async with app.run_test(size=size) as pilot:
        app.post_message(DashboardApp.Ticked(tick_of(account())))
        await pilot.pause()
        yield app, pilot


async def say(app: DashboardApp, pilot: Pilot[int], line: str) -> None:
    await pilot.press("colon")
    app.screen.query_one(Input).value = line
    await pilot.pause()
    await pilot.press("enter")
    await pilot.pause(0.1)


def titles(app: DashboardApp) -> list[str]:
    """Of the active panel, as they stand on the screen."""
    return app.board_screen.grid.render_line(0).text.replace("▲", "").replace("▼", "").split()


def card(app: DashboardApp) -> str:
    assert isinstance(app.screen, CardDialog)
    return " ".join((app.screen.card.title, *app.screen.card.text))


async def test_columns_are_chosen_and_ordered_in_any_case(tmp_path: Path) -> None:
    async with opened(tmp_path / "views.toml") as (app, pilot):
        await say(app, pilot, "columns status, HEALTH, Inbox")
        assert titles(app) == ["Status", "Health", "Inbox"]
        await say(app, pilot, "columns reply-rate, inbox")
        assert titles(app) == ["Reply", "rate", "Inbox"]
        await say(app, pilot, "columns all")
        assert titles(app)[0] == "Inbox"
        await say(app, pilot, "columns helth")
        assert "did you mean Health?" in card(app)


async def test_a_renamed_column_breaks_no_view_filter_or_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    renamed = tuple(replace(one, title="Score") if one.id == "health" else one for one in INBOXES)
    monkeypatch.setitem(LISTS, "inboxes", renamed)
    path = tmp_path / "views.toml"
    path.write_text('[acme.mine]\npanel = "inboxes"\ncolumns = ["inbox", "health"]\nsort = "health"\n')
    async with opened(path) as (app, pilot):
        await say(app, pilot, "view mine")
        assert app.board_screen.grid.render_line(0).text.split() == ["Inbox", "Score▲"]
        arrangement = replace(app.board_screen.grid.arrangement, find="health:57")
        assert len(arranged(board_of(account()).inboxes, arrangement, columns=renamed)) == 3


async def test_a_chosen_group_stays_with_another_grouping(tmp_path: Path) -> None:
    async with opened(tmp_path / "views.toml") as (app, pilot):
        app.board_screen.action_panel("stats")
        await say(app, pilot, "columns Step, Sent")
        before = titles(app)
        await pilot.press("g")
        await pilot.pause()
        assert len(before) == len(titles(app)) == 2
        assert before[0] != titles(app)[0]


async def test_a_view_is_saved_and_shown_again_from_any_page(tmp_path: Path) -> None:
    path = tmp_path / "views.toml"
    async with opened(path) as (app, pilot):
        await say(app, pilot, "columns Inbox, Health")
        await pilot.press("f", "s")
        await say(app, pilot, "view save my problems")
        assert path.exists()
        await pilot.press("escape")
        assert app.board_screen.grid.arrangement.plain
        assert len(titles(app)) > 2
        await pilot.press("A")
        await pilot.pause(0.1)
        assert isinstance(app.screen, AlarmsScreen)
        await say(app, pilot, "view my")
        assert len(app.screen_stack) == 2, "the board alone"
        assert titles(app) == ["Inbox", "Health"]
        assert app.board_screen.grid.arrangement.problems
        assert "view my problems" in app.board_screen.panels["inboxes"].head.text


async def test_a_view_of_another_panel_goes_there(tmp_path: Path) -> None:
    path = tmp_path / "views.toml"
    path.write_text(
        '[acme.slow]\npanel = "sequences"\nfilter = "founders"\nsort = "Sent"\ndescending = true\n'
    )
    async with opened(path) as (app, pilot):
        await pilot.press("v")
        assert isinstance(app.screen, Palette)
        await pilot.press(*"slow", "enter")
        await pilot.pause(0.1)
        assert app.board_screen.active == "sequences"
        assert app.board_screen.grid.arrangement.order == "sent"
        assert app.board_screen.grid.arrangement.descending


async def test_a_key_lists_saved_views_before_anything_else(tmp_path: Path) -> None:
    path = tmp_path / "views.toml"
    path.write_text(
        '[acme.slow]\npanel = "sequences"\n[acme."my inboxes"]\npanel = "inboxes"\nproblems = true\n'
    )
    async with opened(path) as (app, pilot):
        await pilot.press("v")
        offers = app.screen.query_one(OptionList)
        shown = [str(offers.get_option_at_index(number).prompt) for number in range(2)]
        assert shown[0].startswith("view slow")
        assert shown[1].startswith('view "my inboxes"')
        await pilot.press("down", "down", "enter")
        await pilot.pause(0.1)
        assert app.board_screen.grid.view == "my inboxes"


async def test_views_belong_to_a_workspace(tmp_path: Path) -> None:
    async with opened(tmp_path / "views.toml") as (app, pilot):
        await say(app, pilot, "view save mine")
        await pilot.press("full_stop")
        await say(app, pilot, "view mine")
        assert "No view is named “mine”" in card(app)


async def test_a_deleted_view_is_gone(tmp_path: Path) -> None:
    async with opened(tmp_path / "views.toml") as (app, pilot):
        await say(app, pilot, "view save mine")
        await say(app, pilot, "view delete mine")
        await say(app, pilot, "view")
        assert card(app).startswith("No views yet")


@pytest.mark.parametrize("line", ["view mine", "view save mine", "view delete mine", "view"])
async def test_a_broken_file_is_named_with_its_line_and_stays(tmp_path: Path, line: str) -> None:
    path = tmp_path / "views.toml"
    path.write_text("[acme.mine]\npanel = \n")
    async with opened(path) as (app, pilot):
        await say(app, pilot, line)
        assert "line 2: " in card(app)
        assert str(path) in card(app)
    assert path.read_text() == "[acme.mine]\npanel = \n"


async def test_a_view_with_a_mistake_is_shown_without_it_and_says_so(tmp_path: Path) -> None:
    path = tmp_path / "views.toml"
    path.write_text('[acme.mine]\npanel = "inboxes"\ncolumns = ["Health", "\\u001b[2JNope"]\n')
    async with opened(path) as (app, pilot):
        await say(app, pilot, "view mine")
        assert titles(app) == ["Health"]
        (toast,) = app._notifications
        assert "line 3: " in toast.message
        assert "\x1b" not in toast.message


async def test_without_a_file_columns_work_and_views_say_why_not() -> None:
    async with opened(None) as (app, pilot):
        await say(app, pilot, "columns Health")
        assert titles(app) == ["Health"]
        await say(app, pilot, "view save mine")
        assert "in a terminal" in card(app)


@pytest.mark.parametrize("size", [(60, 20), (80, 24), (250, 70)])
async def test_chosen_columns_fit_every_size(tmp_path: Path, size: tuple[int, int]) -> None:
    async with opened(tmp_path / "views.toml", size=size) as (app, pilot):
        await say(app, pilot, "columns Why, Inbox, Health, Status, Limit, Sent, Trend, Reply rate")
        assert titles(app)[0] == "Why"
        assert "Inbox" in titles(app)
