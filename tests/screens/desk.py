"""A dashboard in a test, read and driven as a person does."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace

from textual.pilot import Pilot
from textual.widgets import Input

from shared.api.models import Inbox
from shared.domain.snapshot import Reading, Snapshot
from tests.tui.accounts import NOW, Clock, FakeFeed, account, tick_of
from tests.tui.commanded import Commanded, own_records
from tui.app.dashboard import DashboardApp
from tui.feed.history_access import HistoryAccess
from tui.feed.pending_changes import PendingChanges
from tui.feed.poller import Tick
from tui.feed.workspace_state import OpenQueue, WorkspaceState


class Desk:
    """What is on the screen, the keys, and what the dashboard was told."""

    def __init__(self, pilot: Pilot[int], clock: Clock, service: Commanded) -> None:
        assert isinstance(pilot.app, DashboardApp)
        self.app, self.pilot, self.clock, self.service = pilot.app, pilot, clock, service

    @property
    def text(self) -> str:
        """All characters of the screen, and of what is behind a dialog."""
        page = self.app.page
        screens = [page, *([] if self.app.screen is page else [self.app.screen])]
        return "\n".join(
            strip.text.rstrip()
            for one in screens
            if one
            for strip in one._compositor.render_strips(self.app.size)
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

    async def write(self, opens: str, text: str, *keys: str) -> None:
        """Open a prompt, have the text in it at once, and press the keys."""
        await self.press(opens)
        self.app.screen.query_one(Input).value = text
        await self.press(*keys)

    async def see(self, snapshot: Snapshot, *, number: int = 0, **more: object) -> None:
        state = self.app.states[number]
        snapshot = replace(snapshot, workspace=state.workspace)
        tick: Tick = replace(tick_of(snapshot), **more)  # type: ignore[arg-type] # fields by name
        self.app.post_message(self.app.Ticked(tick, state))
        await self.settle()

    async def second(self, seconds: float = 1) -> None:
        """Let time pass."""
        self.clock.advance(seconds)
        self.app.second_passed()
        await self.settle()

    def shown(self, table: str) -> list[str]:
        """The keys of the lines of a list, from above."""
        from tui.widgets.table import ListTable

        found = self.app.page.query_one(f"#{table}", ListTable) if self.app.page else None
        return [line.key for line in found.shown] if found else []

    async def until(self, words: str) -> str:
        async with asyncio.timeout(10):
            while words not in self.text + self.toasts:
                await self.settle()
        return self.text


def state_of(
    name: str,
    *,
    clock: Clock,
    service: Commanded | None = None,
    history: HistoryAccess | None = None,
    read_only: bool = False,
    open_replies: OpenQueue | None = None,
) -> WorkspaceState:
    changes = PendingChanges(service or Commanded(clock), now=clock, read_only=read_only)
    feed = FakeFeed(history=history, sends={"person00@useacme.example": 26})
    return WorkspaceState(workspace=name, feed=feed, pending_changes=changes, open_replies=open_replies)


@asynccontextmanager
async def at_desk(
    *,
    snapshot: Snapshot | None = None,
    others: Sequence[str] = (),
    size: tuple[int, int] = (120, 40),
    history: HistoryAccess | None = None,
    keys: Mapping[str, str] | None = None,
    read_only: bool = False,
    wall: bool = False,
    open_replies: OpenQueue | None = None,
    theme: str = "",
    has_toasts: bool = False,
) -> AsyncIterator[Desk]:
    """A dashboard over an account that was read; `None` of a snapshot is one in a crisis."""
    clock = Clock()
    async with own_records(clock) as records:
        service = Commanded(clock, records)
        first = state_of(
            "acme",
            clock=clock,
            service=service,
            history=history,
            read_only=read_only,
            open_replies=open_replies,
        )
        states = [first, *(state_of(name, clock=clock) for name in others)]
        app = DashboardApp(states, now=clock, keys=keys, wall=wall, only_theme=theme)
        async with app.run_test(size=size, notifications=has_toasts) as pilot:
            desk = Desk(pilot, clock, service)
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
    return replace(calm, inboxes=Reading(value=boxes, read_at=NOW))


def inboxes(*boxes: Inbox) -> Snapshot:
    return replace(account(), inboxes=Reading(value=boxes, read_at=NOW))
