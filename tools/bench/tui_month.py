"""A simulated month of the dashboard in its own process, so that its memory is its own.

Ten thousand inboxes through client, poller, history and screen; the history has seen the fortnight before. It loads
what the program loads, commands and records too, and nothing of the tests: their kit alone takes fifty megabytes.
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

from cli import main as _program  # noqa: F401 # first, as the program does
from shared.api.client import OutreachClient
from shared.api.pace import LocalBudget
from shared.commands import run as _commands  # noqa: F401 # likewise
from shared.domain.snapshot import Reading
from shared.history.history import History
from shared.storage.database import parse_url
from shared.store import open_store as _records  # noqa: F401 # likewise
from tools.bench.large_account import Lag, large_snapshot, present
from tui.app import run as _dashboard  # noqa: F401 # likewise
from tui.app.dashboard import DashboardApp
from tui.feed.history_access import HistoryAccess
from tui.feed.poller import Poller, Tick, intervals
from tui.feed.workspace_state import WorkspaceState
from tui.system.process import tuned_gc

DAYS = 30
SECONDS = 36.0
DAYS_BEFORE = 14
"""The history knows as many days as the charts of rows show."""


@dataclass(frozen=True, slots=True)
class Month:
    """Largest resident memory in MB, its slope in MB a simulated day, boards shown, and the longest block of the event
    loop in seconds, by work of the process."""

    largest: float
    slope: float
    boards: float
    lag: float


def measure(seconds: float = SECONDS) -> Month:
    """Let a month pass in so many seconds, in a process of its own."""
    with tempfile.TemporaryDirectory() as folder, _service() as port:
        asyncio.run(_simulate_fortnight(folder))
        command = [sys.executable, "-m", "tools.bench.tui_month", folder, str(port), str(seconds)]
        result = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    return Month(*map(float, result))


@contextlib.contextmanager
def _service() -> Iterator[int]:
    command = [sys.executable, "-m", "tools.bench.large_account"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        try:
            yield int(process.stdout.readline())
        finally:
            process.terminate()


async def _simulate_fortnight(folder: str) -> None:
    """Fill the history with a health score of each inbox a day."""
    dice, snapshot = random.Random(5), large_snapshot()
    async with _history(folder) as history:
        for days in range(DAYS_BEFORE, 0, -1):
            at = present() - timedelta(days=days)
            boxes = (
                replace(b, health_score=float(dice.randrange(40, 100))) for b in snapshot.inboxes.value or ()
            )
            await history.add(replace(snapshot, inboxes=Reading(value=tuple(boxes), read_at=at)), now=at)


def _history(folder: str) -> History:
    return History(parse_url(f"sqlite:///{Path(folder) / 'history.db'}"))


class Dashboard:
    """The dashboard while a month flies by in so many seconds, and what is measured of it."""

    def __init__(self, *, seconds: float) -> None:
        self._began, self._real, self._seconds = present(), time.monotonic(), seconds
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
                workspace="acme",
                intervals=intervals(1),
                now=self._now,
                history=history,
            )
            stack.push_async_callback(poller.aclose)
            poller.start(self._deliver, past=await history.recall(now=self._now()))
            poller.connect(client)
            await self._watch()
            return self._measured()

    async def _watch(self) -> None:
        process = psutil.Process()
        watch = asyncio.create_task(self._lag.watch(), name="bench-lag")
        while (left := self._seconds - (time.monotonic() - self._real)) > 0:
            await asyncio.sleep(min(left, self._seconds / DAYS))
            self._sizes.append(process.memory_info().rss / 2**20)
        watch.cancel()
        await asyncio.gather(watch, return_exceptions=True)

    def _measured(self) -> Month:
        sizes = self._sizes
        # The first days fill caches, which the others keep.
        first, last = sum(sizes[4:9]) / 5, sum(sizes[-5:]) / 5
        return Month(
            largest=max(sizes),
            slope=(last - first) / (len(sizes) - 7),
            boards=self._boards,
            lag=self._lag.worst,
        )


if __name__ == "__main__":
    logging.disable(logging.ERROR)  # time that flies is told as a clock that is set
    place, number, long = sys.argv[1:]
    figures = asyncio.run(Dashboard(seconds=float(long)).live(place, port=int(number)))
    sys.stdout.write(" ".join(map(str, astuple(figures))))
