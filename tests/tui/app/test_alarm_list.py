"""The list of alarms, by keys."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from shared.records.domains import DomainPast
from tests.tui.accounts import NOW, Clock, FakeFeed, account, acme, failing, tick_of
from tests.tui.commanded import Commanded
from tui.app.dashboard import DashboardApp
from tui.feed.pending_changes import PendingChanges
from tui.model.lists.columns import place
from tui.model.news.alarms import Alarm
from tui.screens.alarms import COLUMNS, AlarmLine, AlarmsScreen
from tui.screens.detail_page import DetailScreen
from tui.screens.dialogs import CardDialog, ConfirmDialog


def paused(*domains: str) -> DashboardApp.Ticked:
    boxes = tuple(
        replace(box, status="resting" if box.domain in domains else "active", health_score=95.0)
        for box in account().inboxes.value or ()
    )
    return DashboardApp.Ticked(tick_of(replace(account(), inboxes=replace(account().inboxes, value=boxes))))


def listed(app: DashboardApp) -> list[Alarm]:
    assert isinstance(app.screen, AlarmsScreen)
    return [line.alarm for line in app.screen.panel.grid.shown if isinstance(line, AlarmLine)]


async def test_one_alarm_is_acknowledged_in_the_list_and_the_others_stay() -> None:
    clock = Clock()
    app = DashboardApp([acme()], now=clock)
    async with app.run_test(size=(160, 50)) as pilot:
        app.post_message(paused())
        clock.advance(60)
        app.post_message(paused("acmehq.example", "getacme.example"))
        await pilot.pause()
        assert "(and 1 more)" in app.board_screen.banner.text
        await pilot.press("A")
        await pilot.pause()
        assert [alarm.where for alarm in listed(app)] == ["acmehq.example", "getacme.example"]
        await pilot.press("a")
        first, second = listed(app)
        assert (first.where, first.acknowledged_at) == ("acmehq.example", clock()), "it keeps its place"
        assert (second.where, second.is_new) == ("getacme.example", True)
        await pilot.press("escape")
        app.second_passed()
        assert "getacme.example paused" in app.board_screen.banner.text


async def test_enter_opens_the_domain_of_an_alarm_or_a_card_about_the_service() -> None:
    app = DashboardApp([acme()], now=Clock())
    async with app.run_test(size=(160, 50)) as pilot:
        app.post_message(paused("acmehq.example"))
        await pilot.press("A")
        await pilot.press("enter")
        await pilot.pause()
        assert isinstance(app.screen, DetailScreen)
        assert app.screen.page
        assert app.screen.page.card.title == "acmehq.example"
        await pilot.press("escape")
        app.post_message(app.Ticked(tick_of(failing(account(), since=NOW + timedelta(seconds=5)))))
        await pilot.press("A")
        await pilot.press("enter")
        await pilot.pause()
        assert isinstance(app.screen, CardDialog)
        assert "can't be reached" in app.screen.card.text[0]


def test_what_an_alarm_says_is_whole_on_the_narrowest_common_terminal() -> None:
    widths = {placed.column.title: placed.width for placed in place(COLUMNS, 76)}
    assert widths["What"] >= len("paused, 7 inboxes not sending")
    assert widths["Where"] >= len("acme-mail.example")
    assert widths["Since"] >= len("12:40 to 13:05")


def past_of(app: DashboardApp, domain: str, *sequences: str) -> None:
    feed = app.workspaces.current.feed
    assert isinstance(feed, FakeFeed)
    feed.pasts[domain] = DomainPast(
        reason="bounce rate", sequences=sequences, known_from=NOW - timedelta(days=90)
    )


async def test_a_key_pauses_the_sequences_of_the_alarms_domain_after_confirmation() -> None:
    lines = Commanded(Clock())
    state = acme()
    state.pending_changes = PendingChanges(lines, now=Clock())
    app = DashboardApp([state], now=Clock())
    async with app.run_test(size=(160, 50)) as pilot:
        app.post_message(paused("acmehq.example"))
        await pilot.pause()
        board = app.board_screen.board
        assert board
        active = [line.sequence for line in board.sequences if line.sequence.status == "active"][:2]
        past_of(app, "acmehq.example", *(one.label for one in active))
        await pilot.press("A")
        await pilot.pause(0.1)
        assert isinstance(app.screen, AlarmsScreen)
        assert "p  pause the 2 active sequences that used it" in app.screen.remedy.steps[0].text
        await pilot.press("p")
        await pilot.pause(0.1)
        assert isinstance(app.screen, ConfirmDialog)
        await pilot.press("y")
        await pilot.pause(0.1)
        assert lines.lines == [f"pause {' '.join(one.id for one in active)}"]


async def test_a_click_on_a_step_does_what_its_key_does() -> None:
    app = DashboardApp([acme()], now=Clock())
    async with app.run_test(size=(80, 24)) as pilot:
        app.post_message(paused("acmehq.example"))
        await pilot.press("A")
        await pilot.pause(0.1)
        await pilot.click("#step-0", offset=(3, 0))
        await pilot.pause(0.1)
        assert isinstance(app.screen, DetailScreen)


async def test_a_key_that_does_not_apply_says_so() -> None:
    app = DashboardApp([acme()], now=Clock())
    async with app.run_test(size=(160, 50)) as pilot:
        app.post_message(paused("acmehq.example"))
        await pilot.press("A")
        await pilot.pause(0.1)
        await pilot.press("p")
        assert isinstance(app.screen, AlarmsScreen)
        assert any("doesn't apply" in one.message for one in app._notifications)


async def test_only_what_is_on_counts_and_one_key_each_acknowledges_and_clears() -> None:
    clock = Clock()
    app = DashboardApp([acme()], now=clock)
    async with app.run_test(size=(160, 50)) as pilot:
        app.post_message(paused())
        clock.advance(60)
        app.post_message(paused("acmehq.example", "getacme.example", "tryacme.example"))
        for _ in range(2):
            await pilot.pause()
            clock.advance(60)
            app.post_message(paused("getacme.example", "tryacme.example"))
        await pilot.pause()
        assert "(and 1 more)" in app.board_screen.banner.text, "two are on, one has recovered"
        await pilot.press("A", "j")
        await pilot.pause()
        assert isinstance(app.screen, AlarmsScreen)
        panel = app.screen.panel
        assert "ALARMS 2  1 recovered" in panel.head.text
        assert [alarm.is_on for alarm in listed(app)] == [True, True, False]
        before = panel.grid.line
        await pilot.press("a")
        assert panel.grid.line
        assert before
        assert panel.grid.line.key == before.key == f"acme {listed(app)[1].key}", "the cursor stays"
        await pilot.press("A")
        assert not any(alarm.is_new for alarm in listed(app))
        app.second_passed()
        assert not app.screen.head.banner.has_class("-on")
        await pilot.press("c")
        assert [alarm.is_on for alarm in listed(app)] == [True, True]


async def test_what_has_recovered_is_not_in_the_color_of_alarms() -> None:
    clock = Clock()
    app = DashboardApp([acme()], now=clock)
    async with app.run_test(size=(160, 50)) as pilot:
        app.post_message(paused())
        for domains in (("acmehq.example",), (), ()):
            clock.advance(60)
            app.post_message(paused(*domains))
            await pilot.pause()
            if domains:
                assert app.board_screen.banner._ground == "alarm"
        app.second_passed()
        assert "Recovered at 14:34" in app.board_screen.banner.text
        assert app.board_screen.banner._ground == "panel"
