"""The wall, the alarms, looking back, and the views as files."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from textual import events

from shared.domain.snapshot import Snapshot
from shared.history import History
from shared.storage.database import parse_url
from tests.tui.accounts import NOW, Clock, account, acme, tick_of
from tui.app.dashboard import DashboardApp
from tui.feed.history_access import HistoryAccess
from tui.feed.poller import Tick


def with_failed_domain() -> Snapshot:
    """The account, with one domain's health gone."""
    snapshot = account()
    boxes = tuple(
        replace(box, health_score=95.0 if box.domain != "tryacme.example" else 10.0, status="active")
        for box in snapshot.inboxes.value or ()
    )
    return replace(snapshot, inboxes=replace(snapshot.inboxes, value=boxes))


def healthy() -> Snapshot:
    snapshot = with_failed_domain()
    boxes = tuple(replace(box, health_score=95.0) for box in snapshot.inboxes.value or ())
    return replace(snapshot, inboxes=replace(snapshot.inboxes, value=boxes))


def ticked(tick: Tick) -> DashboardApp.Ticked:
    return DashboardApp.Ticked(tick)


async def test_the_wall_rotates_and_any_key_returns_to_the_board(clock: Clock) -> None:
    app = DashboardApp([acme()], now=clock, wall=True)
    async with app.run_test(size=(160, 50)) as pilot:
        app.post_message(ticked(tick_of(healthy())))
        await pilot.pause()
        assert app.wall.is_current
        assert app.wall.view == "domains"
        assert len(app.wall.panels["domains"].grid.shown) == 4
        clock.advance(13)
        app.second_passed()
        assert app.wall.view == "sequences"
        assert [name for name, panel in app.wall.panels.items() if panel.display] == ["sequences"]
        await pilot.press("x")
        assert app.board_screen.is_current
        await pilot.press("w")
        assert app.wall.is_current


async def test_an_alarm_holds_the_wall_still_until_someone_has_seen_it(clock: Clock) -> None:
    app = DashboardApp([acme()], now=clock, wall=True)
    async with app.run_test(size=(160, 50)) as pilot:
        app.post_message(ticked(tick_of(healthy())))
        app.post_message(ticked(tick_of(with_failed_domain())))
        await pilot.pause()
        clock.advance(13)
        app.second_passed()
        assert app.wall.view == "domains"
        assert "ALARM  tryacme.example" in app.wall.banner.text
        app.post_message(ticked(tick_of(healthy())))
        await pilot.pause()
        app.second_passed()
        assert app.wall.banner.has_class("-on"), "it stays, though all is well again"
        await pilot.press("a")
        assert app.wall.is_current
        assert not app.wall.banner.has_class("-on")
        assert app.wall.view == "sequences"


async def test_a_wall_in_trouble_is_not_dimmed_at_night(clock: Clock) -> None:
    app = DashboardApp([acme()], now=clock, wall=True)
    async with app.run_test(size=(160, 50)) as pilot:
        app.post_message(ticked(tick_of(with_failed_domain())))
        await pilot.pause()
        clock.advance(9 * 3600)
        app.presenter.second_passed()
        assert app.theme == "night"
        assert app.wall.trouble_block.text.startswith("6 inboxes bad")


async def test_the_wall_is_dimmed_at_night(clock: Clock) -> None:
    app = DashboardApp([acme()], now=clock, wall=True)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        clock.advance(9 * 3600)
        app.second_passed()
        assert app.theme == "dimmed"
        clock.advance(9 * 3600)
        app.second_passed()
        assert app.theme == "night"


async def test_replay_shows_the_past_and_escape_returns_to_now(clock: Clock, tmp_path: Path) -> None:
    async with History(parse_url(f"sqlite:///{tmp_path}/history.db")) as store:
        history = HistoryAccess(store, workspace="acme")
        await history.keep(account(inboxes=3, now=NOW - timedelta(hours=3)), now=NOW - timedelta(hours=3))
        await history.keep(account(inboxes=5, now=NOW - timedelta(hours=1)), now=NOW - timedelta(hours=1))
        app = DashboardApp([acme(history=history)], now=clock)
        async with app.run_test(size=(160, 50)) as pilot:
            app.post_message(ticked(tick_of(account())))
            await pilot.pause()
            grid = app.board_screen.panels["inboxes"].grid
            await pilot.press("left_square_bracket")
            await app.workers.wait_for_complete()
            assert len(grid.shown) == 5
            assert "REPLAY 13:32:07, 1 h ago (gap of 2 h before, latest poll)" in app.board_screen.top.text
            await pilot.press("left_square_bracket")
            await app.workers.wait_for_complete()
            assert len(grid.shown) == 3
            assert "history starts here" in app.board_screen.top.text
            assert "THEN  useacme.example" in app.board_screen.banner.text, "the alarms of that moment"
            app.post_message(ticked(tick_of(account())))
            await pilot.pause()
            assert len(grid.shown) == 3, "what comes in does not push the past away"
            await pilot.press("escape")
            await pilot.pause()
            assert len(grid.shown) == 24
            assert "REPLAY" not in app.board_screen.top.text


async def test_nothing_is_paused_in_the_past(clock: Clock, tmp_path: Path) -> None:
    async with History(parse_url(f"sqlite:///{tmp_path}/history.db")) as store:
        history = HistoryAccess(store, workspace="acme")
        await history.keep(account(now=NOW - timedelta(hours=1)), now=NOW - timedelta(hours=1))
        app = DashboardApp([acme(history=history)], now=clock)
        async with app.run_test(size=(160, 50)) as pilot:
            app.post_message(ticked(tick_of(account())))
            await pilot.pause()
            await pilot.press("left_square_bracket")
            await app.workers.wait_for_complete()
            await pilot.press("2", "p")
            await pilot.pause()
            assert app.board_screen.is_current, "nothing was asked"
            assert any("now" in note.message for note in app._notifications)


async def test_the_view_is_written_as_csv_text_and_picture(clock: Clock, tmp_path: Path) -> None:
    app = DashboardApp([acme()], now=clock, folder=tmp_path / "exports")
    async with app.run_test(size=(120, 40)) as pilot:
        app.post_message(ticked(tick_of(account())))
        await pilot.pause()
        await pilot.press("e")
        await pilot.pause()
    written = {path.suffix: path for path in (tmp_path / "exports").iterdir()}
    assert set(written) == {".csv", ".txt", ".svg"}
    assert len(written[".csv"].read_text().splitlines()) == 25
    assert "SaaS founders" in written[".txt"].read_text()
    assert written[".svg"].read_text().startswith("<svg")
    assert all(path.stat().st_mode & 0o077 == 0 for path in written.values())


async def test_themes_follow_one_another(clock: Clock) -> None:
    app = DashboardApp([acme()], now=clock)
    async with app.run_test(size=(80, 24)) as pilot:
        worn = [app.theme]
        for _ in range(3):
            await pilot.press("t")
            await pilot.pause()
            worn.append(app.theme)
    assert worn == ["night", "day", "contrast", "night"]


async def test_a_resized_wall_is_redrawn_at_once(clock: Clock) -> None:
    app = DashboardApp([acme()], now=clock, wall=True)
    async with app.run_test(size=(80, 24)) as pilot:
        app.post_message(ticked(tick_of(with_failed_domain())))
        await pilot.pause()
        small = app.wall.trouble_block.size.height
        await pilot.resize_terminal(160, 50)
        await pilot.pause()
        assert app.wall.trouble_block.size.height > small


async def test_keys_in_a_hurry_leave_the_wall_once(clock: Clock) -> None:
    app = DashboardApp([acme()], now=clock, wall=True)
    async with app.run_test(size=(120, 36)) as pilot:
        for _ in range(3):
            app.wall.post_message(events.Key("x", "x"))
        await pilot.pause()
        assert app.board_screen.is_current


@pytest.mark.parametrize("size", [(80, 24), (160, 50), (250, 70)], ids=lambda size: f"{size[0]}x{size[1]}")
async def test_a_wall_in_trouble_leaves_little_of_its_list_empty(clock: Clock, size: tuple[int, int]) -> None:
    app = DashboardApp([acme()], now=clock, wall=True)
    async with app.run_test(size=size) as pilot:
        app.post_message(ticked(tick_of(account(inboxes=60))))
        await pilot.pause()
        app.second_passed()
        await pilot.pause()
        block, panel = app.wall.trouble_block, app.wall.panels["domains"]
        assert block.region.width >= size[0] - 4
        assert "useacme.example" in "".join(block.render_line(y).text for y in range(block.size.height))
        assert block.size.height <= size[1] // 2 + 1
        taken = 2 + len(panel.grid.shown) * panel.grid._pitch
        assert taken >= panel.size.height * 2 / 3, "its lines share the height"
        assert "return to the board" in app.wall.dots.text
        assert app.wall.dots.region.bottom <= size[1]
