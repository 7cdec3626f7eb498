"""A dashboard in a test, with everything behind it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from textual.pilot import Pilot
from textual.widgets import Input

from shared.domain.snapshot import Snapshot
from tests.tui.accounts import Clock, FakeFeed, tick_of
from tests.tui.commanded import Commanded
from tui.app.dashboard import DashboardApp
from tui.feed.pending_changes import PendingChanges
from tui.feed.workspace_state import WorkspaceState


class DashboardHarness:
    """An app in a test, with everything behind it."""

    def __init__(self, pilot: Pilot[int], *, feed: FakeFeed, service: Commanded, clock: Clock) -> None:
        self.pilot, self.feed, self.service, self.clock = pilot, feed, service, clock
        assert isinstance(pilot.app, DashboardApp)
        self.app = pilot.app
        self.screen = pilot.app.board_screen

    async def see(self, snapshot: Snapshot, *, beats: int = 1) -> None:
        tick = tick_of(snapshot, beats=beats)
        self.feed.deliver(tick)
        async with asyncio.timeout(30):
            while self.app.workspaces.current.last is not tick:  # noqa: ASYNC110 # the pilot's pause ends early on a busy machine
                await asyncio.sleep(0.002)
        await self.pilot.pause()

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)
        await self.pilot.pause()

    async def write(self, opens: str, text: str, *keys: str) -> None:
        """Open a prompt, have the text in it at once, and press the keys."""
        await self.press(opens)
        self.app.screen.query_one(Input).value = text
        await self.press(*keys)

    def statuses(self) -> list[str]:
        lines = self.screen.board.sequences if self.screen.board else ()
        return [line.pending or str(line.sequence.status) for line in lines]


@asynccontextmanager
async def staged(clock: Clock, *, size: tuple[int, int] = (160, 50)) -> AsyncIterator[DashboardHarness]:
    feed, service = FakeFeed(sends={"person08@useacme.example": 19}), Commanded(clock)
    app = DashboardApp(
        [WorkspaceState(workspace="acme", feed=feed, pending_changes=PendingChanges(service.run, now=clock))],
        now=clock,
    )
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        yield DashboardHarness(pilot, feed=feed, service=service, clock=clock)
    assert feed.closed
