"""A dashboard in a test, with everything behind it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from textual.pilot import Pilot
from textual.widgets import Input

from shared.commands import Invocation
from shared.commands.result import Problem, Result
from shared.domain.card import Card, Tone
from shared.domain.snapshot import Snapshot
from tests.tui.accounts import Clock, FakeFeed, tick_of
from tui.app.dashboard import DashboardApp
from tui.feed.pending_changes import PendingChanges
from tui.feed.workspace_state import WorkspaceState


class FakeService:
    """Knows the statuses of sequences, and obeys command lines unless it is `broken`."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.broken = False

    async def run(self, asked: Invocation) -> Result:
        self.lines.append(asked.line)
        if self.broken:
            card = Card(
                title="The outreach service can't be reached", tone=Tone.BAD, text=("Nothing was changed.",)
            )
            return Result(card=card, problem=Problem(text="refused"))
        return Result(card=Card(title="Done", tone=Tone.GOOD))


class DashboardHarness:
    """An app in a test, with everything behind it."""

    def __init__(self, pilot: Pilot[int], *, feed: FakeFeed, service: FakeService, clock: Clock) -> None:
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
    feed, service = FakeFeed(sends={"person08@useacme.example": 19}), FakeService()
    app = DashboardApp(
        [WorkspaceState(workspace="acme", feed=feed, pending_changes=PendingChanges(service.run, now=clock))],
        now=clock,
    )
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        yield DashboardHarness(pilot, feed=feed, service=service, clock=clock)
    assert feed.closed
