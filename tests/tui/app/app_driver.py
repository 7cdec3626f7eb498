"""Opens the dashboard over snapshots, and presses keys."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace

from textual.pilot import Pilot

from shared.api.models import Inbox
from shared.domain.snapshot import Reading, Snapshot
from tests.tui.accounts import NOW, Clock, FakeFeed, account, tick_of
from tests.tui.commanded import Commanded
from tui.app.dashboard import DashboardApp
from tui.feed.history_access import HistoryAccess
from tui.feed.pending_changes import PendingChanges
from tui.feed.workspace_state import WorkspaceState
from tui.screens.detail_page import DetailScreen


def state(
    name: str, *, clock: Clock, history: HistoryAccess | None = None, read_only: bool = False
) -> WorkspaceState:
    lines = Commanded(clock)
    pending_changes = PendingChanges(lines, now=clock, read_only=read_only)
    sends = {"person00@useacme.example": 26, "person08@useacme.example": 38}
    feed = FakeFeed(history=history, sends=sends)
    return WorkspaceState(workspace=name, feed=feed, pending_changes=pending_changes)


@asynccontextmanager
async def open_app(
    states: list[WorkspaceState],
    *,
    clock: Clock,
    size: tuple[int, int] = (160, 48),
    keys: Mapping[str, str] | None = None,
) -> AsyncIterator[tuple[DashboardApp, Pilot[int]]]:
    app = DashboardApp(states, now=clock, keys=keys)
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        yield app, pilot


async def see(app: DashboardApp, pilot: Pilot[int], number: int, snapshot: Snapshot) -> None:
    app.post_message(app.Ticked(tick_of(snapshot), app.workspaces.all[number]))
    await pilot.pause()


async def press(pilot: Pilot[int], *keys: str) -> None:
    await pilot.press(*keys)
    await pilot.app.workers.wait_for_complete()
    await pilot.pause()


def other_account() -> Snapshot:
    boxes = (Inbox(email="ops@beta.example", health_score=12.0, daily_limit=5, status="active"),)
    snapshot = account(inboxes=0)
    sequences = tuple(replace(s, name=f"Beta {s.id}") for s in snapshot.sequences.value or ())
    return replace(
        snapshot,
        workspace="beta",
        inboxes=Reading(value=boxes, read_at=NOW),
        sequences=Reading(value=sequences, read_at=NOW),
    )


def path_of(app: DashboardApp) -> str:
    assert isinstance(app.screen, DetailScreen)
    return " › ".join((app.workspaces.current.workspace, *app.screen.path))
