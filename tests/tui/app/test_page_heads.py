"""The top lines, which tell the same on every page: where, when, the verdict, and what is wrong."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from rich.cells import cell_len
from rich.console import Console
from textual.pilot import Pilot

from shared.api.pace import BudgetState
from shared.domain.snapshot import Snapshot
from tests.tui.accounts import NOW, Clock, account, failing
from tests.tui.app.app_driver import open_app, press, see, state
from tui.app.dashboard import DashboardApp
from tui.feed.history_access import HistoryAccess
from tui.screens.detail_page import DetailScreen
from tui.screens.headed import HeadedScreen
from tui.theme.palette import PALETTES
from tui.widgets.panel import TextLine
from tui.widgets.status_lines import Banner, TopLine, Verdict

PAGES: dict[str, tuple[str, ...]] = {
    "board": (),
    "domain": ("7", "enter"),
    "inbox": ("enter",),
    "sequence": ("2", "enter"),
    "incident": ("i",),
    "step": ("2", "enter", "enter"),
    "alarms": ("A",),
    "help": ("f1",),
    "help of a page": ("2", "enter", "f1"),
    "question": ("2", "p"),
    "hours": ("2", "P"),
    "wall": ("w",),
}
SIZES = ((80, 24), (160, 50), (250, 70))
ERRORS = {
    "401": ("The service rejects the API key", "rejects the API key"),
    "429": ("The service rate limited the key", "rate limited"),
    "HTML": ("The service's response is unreadable", "unreadable"),
    "no answer": ("The outreach service can't be reached", "can't be reached"),
}


def failed(cause: str) -> Snapshot:
    """Read at `NOW`, and failing from 10 seconds later on."""
    snapshot = failing(account(), since=NOW + timedelta(seconds=10), error=cause)
    parts = {
        name: replace(getattr(snapshot, name), cause=cause)
        for name in ("sequences", "inboxes", "today", "previous", "interested")
    }
    stats = {name: replace(reading, cause=cause) for name, reading in snapshot.stats.items()}
    return replace(snapshot, stats=stats, **parts)


def heads(app: DashboardApp) -> tuple[TopLine, Banner, Verdict]:
    """The lines of the page or dialog in front."""
    screen = app.screen
    if isinstance(screen, HeadedScreen):
        return screen.head.top, screen.head.banner, screen.head.verdict
    return screen.query_one(TopLine), screen.query_one(Banner), screen.query_one(Verdict)


async def opened(app: DashboardApp, pilot: Pilot[int], name: str) -> None:
    await pilot.press(*PAGES[name])
    await pilot.pause()


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
@pytest.mark.parametrize("name", PAGES)
async def test_a_failure_and_its_age_are_on_every_page(
    name: str, size: tuple[int, int], clock: Clock
) -> None:
    async with open_app([state("acme", clock=clock)], clock=clock, size=size) as (app, pilot):
        await see(app, pilot, 0, account())
        await press(pilot, "a")
        await opened(app, pilot, name)
        for cause, words in ERRORS.values():
            clock.time = NOW + timedelta(seconds=35)
            await see(app, pilot, 0, failed(cause))
            app.second_passed()
            await pilot.pause()
            top, banner, verdict = heads(app)
            assert "acme" in top.text
            assert "14:32:42 UTC" in top.text
            assert banner.has_class("-on"), name
            assert not cut(banner), (name, banner.text)
            assert words in banner.text, (name, banner.text)
            assert banner.size.width == app.size.width or name == "wall"
            assert banner.region.y + banner.region.height <= app.size.height
            if name != "wall":  # there it is the block
                assert "1 of 4 domains paused" in verdict.words.text
                assert "as of the last read" in verdict.words.text


def cut(line: TextLine) -> bool:
    return sum(cell_len(text) for text, _ in (*line._left, *line._right)) > line.size.width


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
async def test_a_page_keeps_its_name_where_the_budget_limits(size: tuple[int, int], clock: Clock) -> None:
    busy = BudgetState(rate=5.0, used_last_second=5, waiting=12)
    async with open_app([state("acme", clock=clock)], clock=clock, size=size) as (app, pilot):
        await see(app, pilot, 0, replace(account(), budget=busy))
        await opened(app, pilot, "sequence")
        app.second_passed()
        top, _, _ = heads(app)
        assert not cut(top), top.text
        assert ("budget" in top.text) == (size[0] > 80)


@pytest.mark.parametrize("name", ["domain", "inbox", "sequence", "step"])
async def test_the_facts_of_a_page_are_dim_while_the_service_fails(name: str, clock: Clock) -> None:
    async with open_app([state("acme", clock=clock)], clock=clock) as (app, pilot):
        await see(app, pilot, 0, account())
        await opened(app, pilot, name)
        assert "ago" not in facts(app)
        clock.advance(35)
        await see(app, pilot, 0, failed(ERRORS["401"][0]))
        app.second_passed()
        assert facts(app).startswith("▲ late: 35 s ago")
        assert colors(app) <= {PALETTES[app.theme].muted, PALETTES[app.theme].faint, PALETTES[app.theme].warn}
        await see(app, pilot, 0, account(now=clock()))
        app.second_passed()
        assert "ago" not in facts(app)


def facts(app: DashboardApp) -> str:
    assert isinstance(app.screen, DetailScreen)
    console = Console(width=60, color_system=None)
    with console.capture() as captured:
        console.print(app.screen.facts_text.content)
    return captured.get().strip()


def colors(app: DashboardApp) -> set[str]:
    assert isinstance(app.screen, DetailScreen)
    console = Console(width=60)
    segments = console.render(app.screen.facts_text.content)  # type: ignore[arg-type] # a renderable it is
    styles = [segment.style for segment in segments if segment.text.strip() and segment.style]
    return {style.color.name for style in styles if style.color}


async def test_a_page_of_the_past_says_so_and_counts_the_alarms_of_now(
    clock: Clock, falling: HistoryAccess
) -> None:
    async with open_app([state("acme", clock=clock, history=falling)], clock=clock) as (app, pilot):
        await see(app, pilot, 0, account())
        await press(pilot, "at", *"yesterday 14:40", "enter")
        await opened(app, pilot, "domain")
        top, _, verdict = heads(app)
        assert "REPLAY 01 Mar 14:32:07" in top.text
        assert "now: 1 alarm" in verdict.words.text
        assert app.screen.has_class("-replay")
        await pilot.press("escape", "A")
        await pilot.pause()
        top, _, _ = heads(app)
        assert "REPLAY" not in top.text
        assert "Alarms" in top.text
