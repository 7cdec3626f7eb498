"""The screen, driven by keys and looked at by its state."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from textual.widgets import OptionList, Static

from shared.api.models import Inbox, StatsRow
from shared.api.pace import BudgetState
from shared.domain.card import Tone
from shared.domain.snapshot import Reading
from tests.shared.doubles import open_harness
from tests.tui.accounts import NOW, Clock, account, failing
from tests.tui.app.dashboard_harness import staged
from tui.feed.pending_changes import PendingChanges
from tui.screens.detail_page import DetailScreen
from tui.screens.dialogs import CardDialog, ConfirmDialog
from tui.theme.palette import UNICODE
from tui.widgets.status_lines import gauge


async def test_everything_of_the_account_is_on_the_screen(clock: Clock) -> None:
    async with staged(clock) as harness:
        await harness.see(account())
        screen = harness.screen
        assert "1 of 4 domains paused · 6 of 24 inboxes not sending" in screen.verdict.words.text
        assert {name: len(panel.grid.shown) for name, panel in screen.panels.items()} == {
            "inboxes": 24,
            "sequences": 4,
            "changes": 0,
            "domains": 4,
        }
        assert "Sends 20.4k" in screen.figures.text
        assert "acme" in screen.top.text
        assert "14:32:07 UTC" in screen.top.text


@pytest.mark.parametrize(
    ("budget", "words"),
    [
        (BudgetState(rate=9.5, used_last_second=2), ""),
        (BudgetState(rate=9.5, used_last_second=10), "9.5 of 9.5/s"),
        (BudgetState(rate=6.19275, used_last_second=6), "6 of 6.2/s"),
        (BudgetState(rate=9.5, used_last_second=3, waiting=4), "3 of 9.5/s, 4 waiting"),
    ],
)
def test_the_budget_is_shown_only_where_it_limits(budget: BudgetState, words: str) -> None:
    pieces = gauge(budget, now=NOW, glyphs=UNICODE, long=False)
    assert "".join(text for text, _ in pieces).removeprefix("budget ") == words


async def test_when_the_service_is_gone_the_figures_stay_and_the_banner_says_since_when(clock: Clock) -> None:
    async with staged(clock) as harness:
        await harness.see(account())
        await harness.press("a")
        assert not harness.screen.banner.has_class("-on")
        clock.advance(600)
        await harness.see(failing(account(), since=NOW + timedelta(seconds=60)))
        harness.app.second_passed()
        assert "ALARM" in harness.screen.banner.text
        await harness.press("a")
        assert "ALARM" not in harness.screen.banner.text
        assert harness.screen.banner.has_class("-on")
        content = harness.screen.banner.text
        assert "The outreach service can't be reached since 14:33 (9 min)" in content
        assert "showing data from 14:32" in content
        assert len(harness.screen.panels["inboxes"].grid.shown) == 24
        assert "stale" in harness.screen.panels["sequences"].head.text
        assert "as of the last read" in harness.screen.verdict.words.text
        await harness.see(account(now=clock()))
        assert not harness.screen.banner.has_class("-on")


async def test_panels_age_by_themselves(clock: Clock) -> None:
    async with staged(clock) as harness:
        await harness.see(account())
        grid = harness.screen.panels["sequences"].grid
        assert grid.freshness.name == "FRESH"
        clock.advance(70)
        harness.app.second_passed()
        assert grid.freshness.name == "LATE"
        assert "late: 1 min ago" in harness.screen.panels["sequences"].head.text


async def test_the_clock_does_nothing_once_the_screens_are_closed(clock: Clock) -> None:
    async with staged(clock) as harness:
        await harness.see(account())
    assert not harness.app.screen_stack
    harness.app.second_passed()


async def test_the_heart_beats_only_with_a_good_read(clock: Clock) -> None:
    async with staged(clock) as harness:
        await harness.see(account(), beats=1)
        first = harness.screen.top.text
        clock.advance(0.4)
        await harness.see(failing(account(), since=NOW), beats=1)
        assert harness.screen.top.text == first
        await harness.see(account(), beats=2)
        assert harness.screen.top.text != first


@pytest.mark.usefixtures("drawn")
async def test_only_changed_lines_are_painted_again(clock: Clock) -> None:
    async with staged(clock) as harness:
        await harness.see(account())
        grid = harness.screen.panels["inboxes"].grid
        before = grid.painted
        boxes = [*(account().inboxes.value or ())]
        boxes[3] = replace(boxes[3], daily_limit=99)
        await harness.see(account(inboxes=24))
        same = grid.painted
        assert same == before
        snapshot = replace(account(), inboxes=Reading(value=tuple(boxes), read_at=NOW))
        await harness.see(snapshot)
        assert grid.painted == before + 1


async def test_filter_faults_sort_and_back(clock: Clock) -> None:
    async with staged(clock) as harness:
        await harness.see(account())
        grid = harness.screen.panels["inboxes"].grid
        await harness.write("slash", "tryacme", "enter")
        assert {line.key.partition("@")[2] for line in grid.shown} == {"tryacme.example"}
        await harness.press("escape", "f")
        assert grid.shown
        assert all(line.tone is not Tone.GOOD for line in grid.shown)
        await harness.press("escape", "s", "s")
        assert "health" in grid.arrangement.order
        assert len(grid.shown) == 24


async def test_a_filter_that_is_left_is_forgotten(clock: Clock) -> None:
    async with staged(clock) as harness:
        await harness.see(account())
        await harness.write("slash", "zzz", "escape")
        assert len(harness.screen.panels["inboxes"].grid.shown) == 24


async def test_the_cursor_stays_on_its_line_when_the_order_changes(clock: Clock) -> None:
    async with staged(clock) as harness:
        await harness.see(account())
        grid = harness.screen.panels["inboxes"].grid
        await harness.press("down", "down")
        line = grid.line
        await harness.press("s")
        assert grid.line == line


async def test_enter_shows_what_is_behind_a_line_and_escape_goes_back(clock: Clock) -> None:
    async with staged(clock) as harness:
        await harness.see(account())
        await harness.press("enter")
        assert isinstance(harness.app.screen, DetailScreen)
        assert harness.app.screen.page
        assert harness.app.screen.page.card.title.endswith("@useacme.example")
        await harness.press("escape")
        assert harness.screen.is_current


async def test_a_typed_command_runs_and_its_card_is_shown(clock: Clock) -> None:
    async with staged(clock) as harness:
        await harness.see(account())
        await harness.press("colon", *"whoami", "enter")
        await harness.pilot.pause()
        assert harness.service.lines == ["whoami"]
        assert isinstance(harness.app.screen, CardDialog)


@pytest.mark.usefixtures("drawn")
async def test_questions_and_offers_fit_a_small_terminal(clock: Clock) -> None:
    async with staged(clock, size=(80, 24)) as harness:
        await harness.see(account())
        await harness.press("2")
        foot = harness.screen.foot.render_line(0).text.rstrip()
        assert foot.endswith("P pause for a time   f1 help   q quit"), "no word is cut"
        await harness.press("colon")
        offers = harness.app.screen.query_one(OptionList)
        assert offers.virtual_size.height == offers.option_count, "one line each"
        await harness.press("escape", "2", "p")
        left = harness.app.screen.query_one(".dialog").region.x
        assert left == harness.app.size.width - harness.app.screen.query_one(".dialog").region.right
        assert left > 0, "in the middle"


async def test_a_typed_command_that_changes_something_is_asked(clock: Clock) -> None:
    async with staged(clock) as harness:
        await harness.see(account())
        await harness.press("colon", *"pause sq_1", "enter")
        await harness.pilot.pause()
        assert isinstance(harness.app.screen, ConfirmDialog)
        await harness.press("n")
        assert harness.service.lines == []


async def test_pause_all_asks_about_all_beside_a_sequence_whose_name_begins_so(clock: Clock) -> None:
    commands = open_harness()
    commands.service.sequences[0]["name"] = "Allied founders"
    async with staged(clock) as harness, commands.client:
        harness.app.workspaces.current.pending_changes = PendingChanges(commands.run, now=clock)
        await harness.see(account())
        await harness.press("colon", *"pause all", "enter")
        await harness.pilot.pause()
        asked = harness.app.screen
        assert isinstance(asked, ConfirmDialog)
        shown = " ".join(str(one.render()) for one in asked.query(Static))
        assert "Pause 2 active sequences?" in shown
        assert commands.service.asked("PATCH") == []
        await harness.press("y")
        await harness.pilot.pause()
        assert sorted(commands.service.asked("PATCH")) == ["/sequences/sq_1", "/sequences/sq_3"]


async def test_the_foot_offers_what_does_something_where_the_cursor_is(clock: Clock) -> None:
    async with staged(clock) as harness:
        await harness.see(account())
        assert "pause" not in harness.screen.foot.text
        await harness.press("l")
        assert harness.screen.active == "sequences"
        assert "P pause for a time" in harness.screen.foot.text
        pending_changes = harness.app.workspaces.current.pending_changes
        assert pending_changes
        pending_changes.read_only = True
        harness.app.presenter.show()
        assert "pause" not in harness.screen.foot.text
        assert "read-only" in harness.screen.top.text


async def test_every_size_shows_the_active_panel(clock: Clock) -> None:
    async with staged(clock) as harness:
        await harness.see(account())
        for width, height in (
            (60, 20),
            (80, 24),
            (120, 30),
            (160, 50),
            (200, 60),
            (300, 80),
            (160, 50),
            (80, 24),
        ):
            await harness.pilot.resize_terminal(width, height)
            for name, panel in harness.screen.panels.items():
                harness.screen.action_panel(name)
                await harness.pilot.pause()
                assert panel.display
                assert panel.grid.size.height >= 3, (name, width)
                assert panel.grid.size.width >= 30, (name, width)


async def test_no_figure_is_without_its_name_where_columns_are_narrow(clock: Clock) -> None:
    async with staged(clock, size=(60, 20)) as harness:
        rows = (StatsRow(group="sq_0", sends=48_211, replies=3_313, positive_replies=1_524, meetings=1_100),)
        stats: dict[str, Reading[tuple[StatsRow, ...]]] = {
            **account().stats,
            "sequence": Reading(value=rows, read_at=NOW),
        }
        await harness.see(account(stats=stats))
        assert harness.screen.figures.size.height > 1
        line = harness.screen.figures.render_line(0).text
        assert line.split() == ["Sends", "48,211", "Replies", "3313", "Pos.", "1524", "Meet.", "1100"]


async def test_a_window_that_is_too_small_says_so(clock: Clock) -> None:
    async with staged(clock, size=(50, 15)) as harness:
        await harness.see(account())
        assert harness.screen.has_class("-too-small")
        await harness.pilot.resize_terminal(100, 30)
        await harness.pilot.pause()
        assert not harness.screen.has_class("-too-small")


HOSTILE = "\x1b[31mred\x1b[0m [bold]x[/bold] \u202egnp.exe 👩‍👩‍👧 \x07\r\n" + "長" * 40


async def test_names_from_outside_style_nothing_and_break_no_line(clock: Clock) -> None:
    async with staged(clock) as harness:
        snapshot = account()
        sequences = tuple(replace(s, name=HOSTILE) for s in snapshot.sequences.value or ())
        boxes = (Inbox(email=f"{HOSTILE}@x.example", status=HOSTILE, health_score=50.0),)
        await harness.see(
            replace(
                snapshot,
                sequences=Reading(value=sequences, read_at=NOW),
                inboxes=Reading(value=boxes, read_at=NOW),
            )
        )
        await harness.press("enter", "escape", "2", "enter", "escape")
        for name in ("inboxes", "sequences"):
            grid = harness.screen.panels[name].grid
            strip = grid.render_line(1)
            assert strip.cell_length == grid.size.width - grid.scrollbars_enabled[0]
            assert not set(strip.text) & set("\x1b\x07\r\n\u202e")
            assert "[bold]" in strip.text
