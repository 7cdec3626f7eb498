"""A month on a moved clock: a wall that nobody restarts needs no more memory at its end than after its first days."""

from __future__ import annotations

import gc
import sys
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from textual.pilot import Pilot

from shared.domain.snapshot import Snapshot
from shared.history.history import History
from shared.records import InterestedReply
from shared.storage.database import parse_url
from tests.kit.snapshots import Clock, FakeFeed, account, failing
from tui.app.dashboard import DashboardApp
from tui.feed.history_access import HistoryAccess
from tui.feed.poller import Tick, intervals
from tui.feed.workspace_state import WorkspaceState
from tui.model.board import compose, unread

DAYS = 30
SETTLED = 20
"""Days after which what is kept for a day, or up to a number, is full, and so are the caches of the framework."""
LOOKS = 2
"""Readings a day."""
MOST_GROWTH = 4_000
"""Memory blocks of Python in the second half of the month, of half a million; a page that stays adds 5,000 at each visit."""


def look(number: int, clock: Clock) -> Snapshot:
    """Inboxes rest and recover, replies come, and once a day the service fails."""
    snapshot = account(now=clock.time)
    boxes = tuple(
        replace(
            box,
            status="resting" if (number + place) % 5 == 0 else "active",
            health_score=40.0 + (number + place) % 60,
        )
        for place, box in enumerate(snapshot.inboxes.value or ())
    )
    reply = InterestedReply(email=f"lead{number}@firm.example", received_at=clock.time, sequence="Q3")
    snapshot = replace(snapshot, inboxes=replace(snapshot.inboxes, value=boxes), replies=(reply,))
    if number % LOOKS:
        return snapshot
    return failing(snapshot, since=clock.time - timedelta(minutes=1), error=f"Request {number} failed.")


class Month:
    """A wall over a real history, to which boards come as the poller makes them."""

    def __init__(self, pilot: Pilot[int], history: HistoryAccess, clock: Clock) -> None:
        assert isinstance(pilot.app, DashboardApp)
        self._app, self._pilot, self._history, self._clock = pilot.app, pilot, history, clock
        self._board = unread("acme")

    async def live(self) -> list[int]:
        """The blocks of memory that Python has allocated at the end of each day."""
        taken = []
        for number in range(DAYS * LOOKS):
            self._clock.advance(86_400 / LOOKS)
            self._app.post_message(self._app.Ticked(self._tick(look(number, self._clock), number + 1)))
            await self._history.keep(self._board.snapshot, now=self._clock.time)
            await self._pilot.pause()
            self._app.second_passed()
            await self._turn(number)
            if number % LOOKS == LOOKS - 1:
                # Cycles wait for the collector, and when it runs would decide what is counted.
                gc.collect()
                taken.append(sys.getallocatedblocks())
        return taken

    def _tick(self, snapshot: Snapshot, beats: int) -> Tick:
        self._board = compose(snapshot, intervals=intervals(30), before=self._board)
        return Tick(board=self._board, beats=beats)

    async def _turn(self, number: int) -> None:
        """A person comes by every third day, looks at the board and an alarm, and goes."""
        if number % (3 * LOOKS) == 0:
            await self._pilot.press("a", "escape", "4", "enter", "w")


@pytest.mark.e2e  # for its length
async def test_the_memory_of_a_wall_is_flat_over_a_month(tmp_path: Path, clock: Clock) -> None:
    async with History(parse_url(f"sqlite:///{tmp_path}/history.db")) as store:
        history = HistoryAccess(store, workspace="acme")
        told: list[str] = []
        state = WorkspaceState(workspace="acme", feed=FakeFeed(history=history))
        app = DashboardApp([state], now=clock, wall=True, on_alarm=told.extend)
        async with app.run_test(size=(120, 36)) as pilot:
            widgets = len(app.screen.query("*"))
            # What earlier tests have left would be walked through at the end of each day.
            gc.collect()
            gc.freeze()
            taken = await Month(pilot, history, clock).live()
            assert len(told) > DAYS / 3, "things happened"
            told.clear()
            assert len(app.screen.query("*")) == widgets
            assert len(app.screen_stack) == 2, "the board and the wall"
    gc.unfreeze()
    growth = sum(taken[-3:]) / 3 - sum(taken[SETTLED - 3 : SETTLED]) / 3
    assert growth < MOST_GROWTH, str(taken)
