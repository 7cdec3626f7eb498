"""The tasks of a crisis, each in at most six keys that the screen names, and the answers."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from textual import events
from textual.pilot import Pilot
from textual.widget import Widget
from textual.widgets import Input

from shared.domain.snapshot import Reading, Snapshot
from shared.history import History
from shared.storage.database import parse_url
from tests.tui.accounts import NOW, Clock, FakeFeed, account, tick_of
from tests.tui.app.test_replies import FakeQueue, reply
from tests.tui.commanded import Commanded
from tui.app.dashboard import DashboardApp
from tui.feed.history_access import HistoryAccess
from tui.feed.pending_changes import PendingChanges
from tui.feed.workspace_state import WorkspaceState
from tui.model.input.palette_offers import offers
from tui.model.news.alarms import Alarm
from tui.screens.board import BoardScreen
from tui.screens.headed import HeadedScreen
from tui.screens.palette import Palette

MOST = 6
THREE = datetime(2026, 3, 2, 3, 0, tzinfo=UTC)
LONELY = "acmehq.example"
"""The domain that the service paused."""


def crisis(now: datetime = NOW) -> Snapshot:
    """All inboxes of one domain rest, and the others send."""
    calm = account(now=now)
    boxes = tuple(
        replace(box, status="resting" if box.domain == LONELY else "active")
        for box in calm.inboxes.value or ()
    )
    return replace(calm, inboxes=Reading(value=boxes, read_at=now))


class Person:
    """Somebody at the dashboard, whose keys are counted."""

    def __init__(self, app: DashboardApp, pilot: Pilot[int], lines: Commanded, folder: Path) -> None:
        self.app, self.pilot, self.lines, self.folder = app, pilot, lines, folder
        self.keys: list[str] = []

    async def press(self, *keys: str) -> None:
        for key in keys:
            self.keys.append(key)
            await self.pilot.press(key)
            await self.pilot.pause()
        assert len(self.keys) <= MOST, self.keys

    def is_named(self, key: str, *words: str) -> bool:
        """Whether the foot line names the key, or the palette finds it by each of these words."""
        page = self.app.screen
        assert isinstance(page, BoardScreen | HeadedScreen)
        if f"{key} " in page.query_one("#foot", Widget).render_line(0).text:
            return True
        found = [offers(word, keys=page.keys_here)[:3] for word in words]
        return bool(words) and all(any(one.key == key for one in best) for best in found)

    @property
    def screen_text(self) -> str:
        lines = self.app.screen._compositor.render_strips()
        return "\n".join("".join(segment.text for segment in strip) for strip in lines)

    @property
    def toasts(self) -> str:
        return "\n".join(note.message for note in self.app._notifications)

    @property
    def alarms(self) -> list[Alarm]:
        return list(self.app.workspaces.current.alarms)


@asynccontextmanager
async def at_the_dashboard(folder: Path, *, size: tuple[int, int] = (160, 50)) -> AsyncIterator[Person]:
    clock = Clock()
    lines = Commanded(clock)
    queue = FakeQueue(
        [
            reply("Ada", minutes=7),
            reply("Ben", minutes=50, claimed_by="cleo", claimed_at=NOW - timedelta(minutes=40)),
            reply("Eve", minutes=30, claimed_by="dora", claimed_at=NOW - timedelta(minutes=12)),
        ]
    )
    async with History(parse_url(f"sqlite:///{folder}/history.db")) as store:
        for at in (THREE - timedelta(minutes=10), THREE, THREE + timedelta(minutes=10)):
            await store.add(account(now=at), now=at)
        state = WorkspaceState(
            workspace="acme",
            feed=FakeFeed(history=HistoryAccess(store, workspace="acme")),
            pending_changes=PendingChanges(lines, now=clock),
            open_replies=queue.open,
        )
        app = DashboardApp([state], now=clock, folder=folder / "exports")
        async with app.run_test(size=size) as pilot:
            for snapshot in (account(), crisis()):
                app.post_message(app.Ticked(tick_of(snapshot)))
                await pilot.pause()
            app.second_passed()
            await pilot.pause()
            yield Person(app, pilot, lines, folder)


SIZES = pytest.mark.parametrize("size", [(80, 24), (160, 50)])


@SIZES
async def test_pause_a_sequence_for_two_hours(tmp_path: Path, size: tuple[int, int]) -> None:
    async with at_the_dashboard(tmp_path, size=size) as person:
        await person.press("2")
        assert person.is_named("P", "pause for")
        await person.press("P", "2", "y")
        assert person.lines.lines == ["pause sq_0 for 2h"]


@SIZES
async def test_undo_a_pause(tmp_path: Path, size: tuple[int, int]) -> None:
    async with at_the_dashboard(tmp_path, size=size) as person:
        await person.press("2", "p", "y")
        assert person.is_named("u", "undo")
        await person.press("u", "y")
        assert person.lines.lines == ["pause sq_0", "undo"]
        now = await person.lines.context.client.list_sequences()
        assert now[0].status == "active"


@SIZES
async def test_see_the_inboxes_of_a_domain(tmp_path: Path, size: tuple[int, int]) -> None:
    async with at_the_dashboard(tmp_path, size=size) as person:
        assert re.search(r"DOMAINS \d+ +7|7 Domains", person.screen_text)
        await person.press("7", "enter")
        own = [box.email for box in crisis().inboxes.value or () if box.domain == LONELY]
        assert own[0] in person.screen_text
        assert LONELY in person.screen_text


@SIZES
async def test_see_who_claimed_last(tmp_path: Path, size: tuple[int, int]) -> None:
    async with at_the_dashboard(tmp_path, size=size) as person:
        assert person.is_named("5", "replies", "claim")
        await person.press("5")
        claims = [line for line in person.screen_text.splitlines() if "@" in line and ":" in line]
        assert any("Eve" in line and "@dora 14:20" in line for line in claims), "twelve minutes ago"
        assert any("Ben" in line and "@cleo 13:52" in line for line in claims)


@SIZES
async def test_see_the_board_of_three_in_the_morning(tmp_path: Path, size: tuple[int, int]) -> None:
    async with at_the_dashboard(tmp_path, size=size) as person:
        assert person.is_named("@", "time", "go to")
        await person.press("at", *"3am", "enter")
        assert person.app.replay.at == THREE
        assert "03:00" in person.screen_text


@SIZES
async def test_acknowledge_the_alarm(tmp_path: Path, size: tuple[int, int]) -> None:
    async with at_the_dashboard(tmp_path, size=size) as person:
        assert LONELY in person.app.board_screen.banner.text
        assert LONELY in {alarm.where for alarm in person.alarms if alarm.is_new}
        assert person.is_named("a", "acknowledge")
        await person.press("a")
        assert LONELY not in {alarm.where for alarm in person.alarms if alarm.is_new}


@SIZES
async def test_show_only_problems(tmp_path: Path, size: tuple[int, int]) -> None:
    async with at_the_dashboard(tmp_path, size=size) as person:
        assert person.is_named("f", "problems")
        before = len(person.app.board_screen.grid.shown)
        await person.press("f")
        shown = person.app.board_screen.grid.shown
        assert 0 < len(shown) < before
        assert {line.key for line in shown if LONELY in line.key}


@SIZES
async def test_sort_inboxes_by_health(tmp_path: Path, size: tuple[int, int]) -> None:
    async with at_the_dashboard(tmp_path, size=size) as person:
        assert person.is_named("s", "sort")
        await person.press("s", "s")
        shown = {box.email: box.health_score or 0.0 for box in crisis().inboxes.value or ()}
        scores = [shown[line.key] for line in person.app.board_screen.grid.shown]
        assert scores == sorted(shown.values())
        assert "Health" in person.screen_text


@SIZES
async def test_export_the_view(tmp_path: Path, size: tuple[int, int]) -> None:
    async with at_the_dashboard(tmp_path, size=size) as person:
        assert person.is_named("e", "export")
        await person.press("e")
        assert {path.suffix for path in (person.folder / "exports").rglob("*.*")} == {".csv", ".txt", ".svg"}
        assert "Exported" in person.toasts


@pytest.mark.parametrize(("opens", "typed"), [("colon", "export"), ("slash", "acme"), ("at", "3am")])
async def test_what_is_typed_right_after_a_key_belongs_to_its_line(
    opens: str, typed: str, tmp_path: Path
) -> None:
    async with at_the_dashboard(tmp_path) as person:
        for key in (opens, *typed):
            person.app.post_message(events.Key(key, key if len(key) == 1 else None))
        await person.pilot.pause()
        await person.pilot.pause(0.1)
        assert person.app.screen.query_one(Input).value == typed
        assert not person.toasts


async def test_a_command_typed_and_sent_in_one_burst_is_run(tmp_path: Path) -> None:
    async with at_the_dashboard(tmp_path) as person:
        for key in ("colon", *"export", "enter"):
            person.app.post_message(events.Key(key, key if len(key) == 1 else None))
        await person.pilot.pause()
        await person.pilot.pause(0.1)
        assert not isinstance(person.app.screen, Palette)
        assert "Exported" in person.toasts


@pytest.mark.parametrize(
    ("keys", "panel", "cursor"),
    [(("2",), "sequences", 0), (("2", "down"), "sequences", 1), (("j", "j"), "inboxes", 2)],
)
async def test_keys_right_before_a_line_is_opened_still_count(
    keys: tuple[str, ...], panel: str, cursor: int, tmp_path: Path
) -> None:
    async with at_the_dashboard(tmp_path) as person:
        for key in (*keys, "colon", *"help"):
            person.app.post_message(events.Key(key, key if len(key) == 1 else None))
        await person.pilot.pause()
        await person.pilot.pause(0.1)
        assert person.app.screen.query_one(Input).value == "help"
        assert person.app.board_screen.active == panel
        assert person.app.board_screen.grid._cursor == cursor
