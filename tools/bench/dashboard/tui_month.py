"""A simulated month of the dashboard in its own process, so that its memory is its own.

Ten thousand inboxes through client, poller, history and screen; the history has seen the fortnight before.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import astuple, dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path

import psutil

from shared.api.client import OutreachClient
from shared.api.pace import LocalBudget
from shared.domain.snapshot import Reading
from shared.history import History
from shared.storage.database import parse_url
from tests.kit.clock import moment
from tools.bench.dashboard.large_account import CHANGED, Lag, large_snapshot
from tools.bench.dashboard.tui_terminal import dashboard
from tui.app.dashboard import DashboardApp
from tui.feed.history_access import HistoryAccess
from tui.feed.poller import Poller, PollIntervals, Tick
from tui.feed.workspace_state import WorkspaceState
from tui.system.process import tuned_gc

DAYS = 30
SECONDS = 36.0
OFTEN = 5
"""Seconds: six times as often as by itself."""
FASTEST = 2
"""Seconds, for the share of a core from outside; inboxes are read at twice the base interval."""
INBOXES_EVERY = 2 * FASTEST
BEFORE = 14
"""Days of which the history knows: as far back as the charts of rows go."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Month:
    """Largest resident memory in MB, its slope in MB a simulated day, widgets added, boards shown.

    And the longest block of the event loop in seconds, by work of the process and by the clock.
    """

    largest: float
    slope: float
    widgets: float
    boards: float
    lag: float
    late: float


def largest(seconds: float) -> float:
    """The most memory in MB that the real program takes in its first so many seconds."""
    with tempfile.TemporaryDirectory() as folder, _service() as port:
        asyncio.run(_simulate_fortnight(folder, workspace="default"))
        place, service = Path(folder), f"http://127.0.0.1:{port}/v1"
        with dashboard(
            place, base_url=service, database=f"sqlite:///{folder}/outreach.db", poll_seconds=OFTEN
        ) as terminal:
            return terminal.largest(seconds=seconds)


def share(seconds: float, *, settled: float) -> float:
    """The share of a core that the real program takes, polling every two seconds while 1% changes a second."""
    with tempfile.TemporaryDirectory() as folder, _service(CHANGED * INBOXES_EVERY) as port:
        asyncio.run(_simulate_fortnight(folder, workspace="default"))
        place, service = Path(folder), f"http://127.0.0.1:{port}/v1"
        database = f"sqlite:///{folder}/outreach.db"
        with dashboard(place, base_url=service, database=database, poll_seconds=FASTEST) as terminal:
            terminal.largest(seconds=settled)
            return terminal.share(seconds=seconds)


def measure(seconds: float = SECONDS) -> Month:
    """A month in so many seconds, in its own process."""
    with tempfile.TemporaryDirectory() as folder, _service() as port:
        asyncio.run(_simulate_fortnight(folder))
        command = [sys.executable, "-m", "tools.bench.dashboard.tui_month", folder, str(port), str(seconds)]
        result = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    most, slope, widgets, boards, lag, late = map(float, result)
    return Month(largest=most, slope=slope, widgets=widgets, boards=boards, lag=lag, late=late)


@contextlib.contextmanager
def _service(changed: int = CHANGED) -> Iterator[int]:
    command = [sys.executable, "-m", "tools.bench.dashboard.tui_service", str(changed)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        try:
            yield int(process.stdout.readline())
        finally:
            process.terminate()


async def _simulate_fortnight(folder: str, *, workspace: str = "acme") -> None:
    """Health moves daily, of each inbox."""
    dice, snapshot = random.Random(5), replace(large_snapshot(), workspace=workspace)
    async with _history(folder) as history:
        for days in range(BEFORE, 0, -1):
            at = moment() - timedelta(days=days)
            boxes = (
                replace(b, health_score=float(dice.randrange(40, 100))) for b in snapshot.inboxes.value or ()
            )
            await history.add(replace(snapshot, inboxes=Reading(value=tuple(boxes), read_at=at)), now=at)


def _history(folder: str) -> History:
    return History(parse_url(f"sqlite:///{Path(folder) / 'history.db'}"))


class Dashboard:
    """What is measured, while a month flies by in so many seconds."""

    def __init__(self, *, seconds: float) -> None:
        self._began, self._real, self._seconds = moment(), time.monotonic(), seconds
        self._sizes: list[float] = []
        self._boards = 0
        self._lag = Lag()
        self._app = DashboardApp([WorkspaceState(workspace="acme")], now=self._now)

    def _now(self) -> datetime:
        return self._began + timedelta(days=DAYS) * ((time.monotonic() - self._real) / self._seconds)

    def _deliver(self, tick: Tick) -> None:
        self._boards += 1
        self._app.post_message(self._app.Ticked(tick))

    async def live(self, folder: str, *, port: int) -> Month:
        """The month."""
        async with contextlib.AsyncExitStack() as stack:
            client = await stack.enter_async_context(
                OutreachClient(
                    base_url=f"http://127.0.0.1:{port}/v1", api_key="live_bench", pacer=LocalBudget()
                )
            )
            history = HistoryAccess(await stack.enter_async_context(_history(folder)), workspace="acme")
            await stack.enter_async_context(self._app.run_test(size=(200, 50)))
            stack.enter_context(tuned_gc())
            poller = Poller(
                client=client,
                workspace="acme",
                poll_intervals=PollIntervals.of(1),
                now=self._now,
                history=history,
            )
            stack.push_async_callback(poller.aclose)
            poller.start(self._deliver, past=await history.recall(now=self._now()))
            await asyncio.sleep(self._seconds / 10)
            widgets = self._widgets()
            await self._watch()
            return self._measured(widgets)

    async def _watch(self) -> None:
        process = psutil.Process()
        watch = asyncio.create_task(self._lag.watch(), name="bench-lag")
        while (left := self._seconds - (time.monotonic() - self._real)) > 0:
            await asyncio.sleep(min(left, self._seconds / DAYS))
            self._sizes.append(process.memory_info().rss / 2**20)
        watch.cancel()
        await asyncio.gather(watch, return_exceptions=True)

    def _widgets(self) -> int:
        return len(self._app.board.query("*"))

    def _measured(self, widgets: int) -> Month:
        sizes = self._sizes
        first, last = sum(sizes[4:9]) / 5, sum(sizes[-5:]) / 5
        return Month(
            largest=max(sizes),
            slope=(last - first) / (len(sizes) - 7),
            widgets=self._widgets() - widgets,
            boards=self._boards,
            lag=self._lag.worst,
            late=self._lag.late,
        )


if __name__ == "__main__":
    logging.disable(logging.ERROR)  # time that flies is told as a clock that is set
    place, number, long = sys.argv[1:]
    figures = asyncio.run(Dashboard(seconds=float(long)).live(place, port=int(number)))
    sys.stdout.write(" ".join(map(str, astuple(figures))))
