"""A dashboard over an account in memory, read and driven as a person does."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace

from textual.pilot import Pilot

from shared.commands import Invocation
from shared.commands.base import Result
from shared.domain.card import Card
from shared.domain.snapshot import Snapshot
from tests.kit.snapshots import Clock, FakeFeed, account, reading, tick_of
from tui.app.dashboard import DashboardApp
from tui.feed.history_access import HistoryAccess
from tui.feed.pending_changes import PendingChanges
from tui.feed.workspace_state import OpenQueue, WorkspaceState


class Desk:
    """What is on the screen, and the keys."""

    def __init__(self, pilot: Pilot[int], clock: Clock) -> None:
        assert isinstance(pilot.app, DashboardApp)
        self.app, self.pilot, self.clock = pilot.app, pilot, clock

    @property
    def text(self) -> str:
        """All characters of the screen, and of what is behind a dialog."""
        stack = self.app.screen_stack
        screens = stack[stack.index(self.app.page) :]
        return "\n".join(
            strip.text.rstrip() for one in screens for strip in one._compositor.render_strips(self.app.size)
        )

    @property
    def toasts(self) -> str:
        return "\n".join(f"{one.title} {one.message}".strip() for one in self.app._notifications)

    async def settle(self) -> None:
        """Wait until keys, commands and readings are through, and the screen has followed."""
        # A key starts a command, its answer a reading, and that a drawing, each queued behind the one before.
        for _ in range(3):
            await self.pilot.pause()
            working = [
                one for one in self.app.workers if one.group not in {"replies", "permission", "commands"}
            ]
            if working:
                await self.app.workers.wait_for_complete(working)
            await self.pilot.pause(0.01)

    async def press(self, *keys: str) -> None:
        for key in keys:
            await self.pilot.press(key)
            await self.settle()

    async def see(self, snapshot: Snapshot, *, number: int = 0) -> None:
        state = self.app.states[number]
        tick = tick_of(replace(snapshot, workspace=state.workspace))
        self.app.post_message(self.app.Ticked(tick, state))
        await self.settle()

    async def second(self, seconds: float = 1) -> None:
        """Let time pass."""
        self.clock.advance(seconds)
        self.app.second_passed()
        await self.settle()

    async def until(self, words: str) -> str:
        async with asyncio.timeout(10):
            while words not in self.text + self.toasts:
                await self.settle()
        return self.text


async def refuse(_: Invocation) -> Result:
    """Carry nothing out: there is no service."""
    return Result(card=Card(title="No service"))


@asynccontextmanager
async def at_desk(
    *,
    snapshot: Snapshot | None = None,
    others: Sequence[str] = (),
    size: tuple[int, int] = (120, 40),
    history: HistoryAccess | None = None,
    open_replies: OpenQueue | None = None,
    has_toasts: bool = False,
) -> AsyncIterator[Desk]:
    """A dashboard over an account that was read; `None` of a snapshot is one in a crisis."""
    clock = Clock()
    states = [
        WorkspaceState(
            workspace=name,
            feed=FakeFeed(history=history, sends={"person00@useacme.example": 26}),
            pending_changes=PendingChanges(refuse, now=clock),
            open_replies=open_replies,
        )
        for name in ("acme", *others)
    ]
    app = DashboardApp(states, now=clock)
    async with app.run_test(size=size, notifications=has_toasts) as pilot:
        desk = Desk(pilot, clock)
        await desk.settle()
        for number in range(len(states)):
            await desk.see(snapshot or crisis(), number=number)
        yield desk


PAUSED = "acmehq.example"
"""The domain that the service has paused."""


def crisis() -> Snapshot:
    """All inboxes of one domain rest; of another one the health is bad."""
    calm = account()
    boxes = tuple(
        replace(
            box,
            status="resting" if box.domain == PAUSED else "active",
            health_score=59.7 if box.email == "person02@tryacme.example" else 90.0 - number / 10,
        )
        for number, box in enumerate(calm.inboxes.value or ())
    )
    return replace(calm, inboxes=reading(boxes))
