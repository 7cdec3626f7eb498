"""The dashboard's targets: first paint, ten thousand inboxes, memory and blocks over a month."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import gc
import os
import pty
import random
import resource
import select
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path

import psutil

from shared.domain.snapshot import Snapshot
from shared.history.history import History
from shared.storage.database import parse_url
from tests.kit.clock import moment
from tests.kit.snapshots import account
from tools.bench import tui_month
from tools.bench.large_account import Lag, large_snapshot, with_random_changes
from tui.app.dashboard import DashboardApp
from tui.feed.poller import Tick, intervals
from tui.feed.workspace_state import WorkspaceState
from tui.model.board import Board, compose
from tui.system.process import tuned_gc

Row = tuple[str, float, str, str, bool]

STARTS = 5
LOAD_SECONDS = 8
"""The load lasts so long, at one tick a second."""


def run() -> Iterator[Row]:
    """Measure everything, in about a minute."""
    yield from _first_paint()
    yield from asyncio.run(_many())
    yield from _month()


def _first_paint() -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as folder:
        database = f"sqlite:///{folder}/outreach.db"
        asyncio.run(_remember(f"sqlite:///{folder}/outreach-history.db"))
        ours, bare = [], []
        for _ in range(STARTS):
            bare.append(_timed_import())
            ours.append(_timed_start(database, folder=Path(folder)))
    ratio = min(ours) / min(bare)
    name = f"start to first useful paint, processor time ({min(ours) * 1000:.0f} ms)"
    yield name, ratio, "×", "under 2.5 × import textual.app", ratio < 2.5


async def _remember(history_database: str) -> None:
    now = moment() - timedelta(minutes=5)
    async with History(parse_url(history_database)) as history:
        await history.add(replace(account(now=now), workspace="default"), now=now)


def _timed_import() -> float:
    began = _spent_by_children()
    subprocess.run([sys.executable, "-c", "import textual.app"], check=True)
    return _spent_by_children() - began


def _spent_by_children() -> float:
    # Of child processes: what this one has imported costs nothing any more.
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return spent.ru_utime + spent.ru_stime


def _timed_start(database: str, *, folder: Path) -> float:
    """Return the processor time until an inbox of the history is on a real terminal, in seconds."""
    with dashboard(folder, base_url="http://127.0.0.1:9/v1", database=database) as terminal:
        terminal.await_text(b"useacme.example", seconds=20)
        spent = psutil.Process(terminal.process).cpu_times()
        return spent.user + spent.system


async def _many() -> list[Row]:
    dice = random.Random(7)
    snapshot = large_snapshot(account())
    app = DashboardApp([WorkspaceState(workspace="acme")])
    async with app.run_test(size=(200, 50)) as pilot:
        board = compose(snapshot, intervals=intervals(30))
        app.post_message(app.Ticked(Tick(board=board, beats=1)))
        await pilot.pause()
        upcoming = [snapshot]
        for _ in range(LOAD_SECONDS):
            upcoming.append(with_random_changes(upcoming[-1], dice))
        with tuned_gc():
            idle = await _idle()
            block, share = await _ticks(app, upcoming, board)
    return [
        (
            "10,000 inboxes: loop blocked, the worst tick",
            block * 1000,
            "ms",
            "under 20 ms",
            block < 0.02,
        ),
        ("10,000 inboxes: share of a core", share * 100, "%", "under 8 %", share < 0.08),
        ("10,000 inboxes: idle", idle * 100, "%", "under 1 %", idle < 0.01),
    ]


async def _idle() -> float:
    # What the first paint left must not be collected while it is measured.
    gc.collect()
    began, cpu = time.perf_counter(), time.process_time()
    await asyncio.sleep(4)
    return (time.process_time() - cpu) / (time.perf_counter() - began)


async def _ticks(app: DashboardApp, upcoming: list[Snapshot], board: Board) -> tuple[float, float]:
    """Return the longest block of all ticks and the share of a core. Boards are composed beside the loop, as the poller does."""
    blocks = []
    lag = Lag()
    watch = asyncio.create_task(lag.watch(), name="bench-lag")
    await asyncio.sleep(0.2)
    lag.worst = 0.0
    began, cpu = time.perf_counter(), time.process_time()
    for number, snapshot in enumerate(upcoming[1:], start=1):
        # In a thread, as the poller does: composing a board must not block the screen.
        board = await asyncio.to_thread(_compose_board, snapshot, board)
        app.post_message(app.Ticked(Tick(board=board, beats=number)))
        await asyncio.sleep(max(0.0, began + number - time.perf_counter()))
        blocks.append(lag.worst)
        lag.worst = 0.0
    share = (time.process_time() - cpu) / (time.perf_counter() - began)
    watch.cancel()
    await asyncio.gather(watch, return_exceptions=True)
    return max(blocks), share


def _compose_board(after: Snapshot, board: Board) -> Board:
    return compose(after, intervals=intervals(30), before=board)


def _month() -> list[Row]:
    """Let a month of the dashboard pass in half a minute."""
    month = tui_month.measure()
    return [
        ("memory at 10,000 inboxes", month.largest, "MB", "under 120 MB", month.largest < 120),
        (
            f"memory over a simulated month ({month.boards:.0f} boards)",
            month.slope,
            "MB a day",
            "under 1 MB a day",
            month.slope < 1,
        ),
        (
            "loop blocked at most, polls and history included",
            month.lag * 1000,
            "ms",
            "under 50 ms",
            month.lag < 0.05,
        ),
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Terminal:
    """A dashboard's process, and our end of what it is shown on."""

    process: int
    descriptor: int

    def await_text(self, wanted: bytes, *, seconds: float) -> None:
        """Read until it is on the screen."""
        if wanted not in (seen := self.read(until=wanted, seconds=seconds)):
            raise TimeoutError(seen[-2000:])

    def read(self, *, seconds: float, until: bytes | None = None) -> bytes:
        """Take what is drawn for so long: the program would wait for room in the terminal."""
        seen, end = b"", time.monotonic() + seconds
        while until is None or until not in seen:
            if not select.select([self.descriptor], [], [], max(0.0, end - time.monotonic()))[0]:
                break
            seen = (seen + os.read(self.descriptor, 65536))[-200_000:]
        return seen


@contextlib.contextmanager
def dashboard(folder: Path, *, base_url: str, database: str) -> Iterator[Terminal]:
    """`outreach dashboard` on 200 by 50 cells, until the block ends; polls inboxes often."""
    environ = {k: v for k, v in os.environ.items() if not k.startswith("OUTREACH_")}
    environ |= {
        "OUTREACH_CONFIG": str(folder / "bench.toml"),
        "OUTREACH_BASE_URL": base_url,
        "OUTREACH_API_KEY": "live_bench",
        "OUTREACH_DATABASE_URL": database,
        "TERM": "xterm-256color",
        "XDG_STATE_HOME": str(folder),
    }
    (folder / "bench.toml").write_text("[dashboard.intervals]\ninboxes = 5\n")
    process, descriptor = pty.fork()
    if process == 0:  # pragma: no cover # another process
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 200, 0, 0))
        os.execve(sys.executable, [sys.executable, "-P", "-m", "outreach_ops", "dashboard"], environ)
    try:
        yield Terminal(process=process, descriptor=descriptor)
    finally:
        # Killed: what it would save at its end is nothing that is measured.
        os.kill(process, signal.SIGKILL)
        os.close(descriptor)
        os.waitpid(process, 0)
