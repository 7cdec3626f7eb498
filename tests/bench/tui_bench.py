"""The dashboard's targets: first paint, ten thousand inboxes, memory over a month (targets, rows 7, 8 and 9)."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import json
import logging
import os
import pty
import random
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import psutil

from shared.api.client import OutreachClient
from shared.api.models import Inbox
from shared.api.turns import LocalBudget
from shared.database import beside, parse_url
from shared.history import History
from shared.snapshot import Reading, Snapshot
from tests.tui.accounts import account
from tui.board import Board, compose
from tui.changes import between
from tui.collector import calm
from tui.dashboard import DashboardApp
from tui.lines import ChangeLine
from tui.memory import Memory
from tui.poller import Poller
from tui.tick import Tick, intervals

Row = tuple[str, float, str, str, bool]

MANY = 10_000
CHANGED = MANY // 100
STARTS = 5
SECONDS = 8
"""Of the load at one tick a second."""
DAYS = 30
MONTH = 36.0
"""Seconds for the simulated month."""


def run() -> Iterator[Row]:
    """All rows, in under a minute."""
    yield from _first_paint()
    yield from asyncio.run(_many())
    yield from asyncio.run(_month())


# -- row 7 ---------------------------------------------------------------------------------------------


def _first_paint() -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as folder:
        database = f"sqlite:///{folder}/outreach.db"
        asyncio.run(_remember(database))
        ours, bare = [], []
        for _ in range(STARTS):
            bare.append(_timed_import())
            ours.append(_timed_start(database, folder=Path(folder)))
    ratio = min(ours) / min(bare)
    name = f"start to first useful paint ({min(ours) * 1000:.0f} ms)"
    yield name, ratio, "×", "under 2.5 × import textual.app", ratio < 2.5


async def _remember(database: str) -> None:
    now = datetime.now(UTC) - timedelta(minutes=5)
    async with History(beside(parse_url(database), "history")) as history:
        await history.add(replace(account(now=now), workspace="default"), now=now)


def _timed_import() -> float:
    began = time.perf_counter()
    subprocess.run([sys.executable, "-c", "import textual.app"], check=True)
    return time.perf_counter() - began


def _timed_start(database: str, *, folder: Path) -> float:
    """Seconds until an inbox of the history is on a real terminal."""
    environ = {k: v for k, v in os.environ.items() if not k.startswith("OUTREACH_")}
    environ |= {
        "OUTREACH_CONFIG": str(folder / "none.toml"),
        "OUTREACH_BASE_URL": "http://127.0.0.1:9/v1",
        "OUTREACH_API_KEY": "live_bench",
        "OUTREACH_DATABASE_URL": database,
        "TERM": "xterm-256color",
        "XDG_STATE_HOME": str(folder),
    }
    (folder / "none.toml").touch()
    began = time.perf_counter()
    child, terminal = pty.fork()
    if child == 0:  # pragma: no cover # another process
        os.execve(sys.executable, [sys.executable, "-m", "cli.main", "dashboard"], environ)
    try:
        _await_text(terminal, b"useacme.example", seconds=20)
        return time.perf_counter() - began
    finally:
        os.kill(child, signal.SIGKILL)
        os.close(terminal)
        os.waitpid(child, 0)


def _await_text(terminal: int, wanted: bytes, *, seconds: float) -> None:
    seen = b""
    end = time.monotonic() + seconds
    while wanted not in seen:
        if not select.select([terminal], [], [], max(0.0, end - time.monotonic()))[0]:
            raise TimeoutError(seen[-2000:])
        seen = (seen + os.read(terminal, 65536))[-200_000:]


# -- row 8 ---------------------------------------------------------------------------------------------


def _crowd() -> Snapshot:
    boxes = tuple(
        Inbox(
            email=f"person{n:05}@domain{n % 400}.example",
            health_score=float(40 + n * 7 % 60),
            daily_limit=20 + n % 30,
            status=("active", "active", "warming", "resting")[n % 4],
        )
        for n in range(MANY)
    )
    return replace(account(), inboxes=Reading(value=boxes, read_at=datetime.now(UTC)))


def _stirred(snapshot: Snapshot, dice: random.Random) -> Snapshot:
    """Every inbox as a new object, as a poll brings them, and one in a hundred different."""
    boxes = [replace(box) for box in snapshot.inboxes.value or ()]
    for _ in range(CHANGED):
        at = dice.randrange(len(boxes))
        boxes[at] = replace(boxes[at], health_score=float(dice.randrange(40, 100)))
    return replace(snapshot, inboxes=Reading(value=tuple(boxes), read_at=datetime.now(UTC)))


class _Lag:
    """The longest time for which the event loop did nothing else, by work of this process.

    Where other programs take the core, the clock runs and the process does not: that is not counted.
    """

    def __init__(self) -> None:
        self.worst = 0.0

    async def watch(self) -> None:
        while True:
            began, worked = time.perf_counter(), time.process_time()
            await asyncio.sleep(0.002)
            passed = time.perf_counter() - began - 0.002
            self.worst = max(self.worst, min(passed, time.process_time() - worked))


async def _many() -> list[Row]:
    dice = random.Random(7)
    snapshot = _crowd()
    app = DashboardApp(workspace="acme")
    async with app.run_test(size=(200, 50)) as pilot:
        board = compose(snapshot, intervals=intervals(30))
        app.post_message(app.Ticked(Tick(snapshot=snapshot, board=board, changes=(), beats=1)))
        await pilot.pause()
        upcoming = [snapshot]
        for _ in range(SECONDS):
            upcoming.append(_stirred(upcoming[-1], dice))
        with calm():
            idle = await _idle()
            block, share = await _ticks(app, upcoming, board)
        rewrite = await _rewrite(app)
    return [
        (
            "10,000 inboxes: loop blocked, the worst tick",
            block * 1000,
            "ms",
            f"under 20 ms (rewriting: {rewrite * 1000:.0f})",
            block < 0.02,
        ),
        ("10,000 inboxes: share of a core", share * 100, "%", "under 8 %", share < 0.08),
        ("10,000 inboxes: idle", idle * 100, "%", "under 1 %", idle < 0.01),
    ]


async def _idle() -> float:
    gc.collect()
    began, cpu = time.perf_counter(), time.process_time()
    await asyncio.sleep(4)
    return (time.process_time() - cpu) / (time.perf_counter() - began)


async def _ticks(app: DashboardApp, upcoming: list[Snapshot], board: Board) -> tuple[float, float]:
    """The longest block of all ticks and the share of a core, composing beside the loop as the poller does."""
    blocks = []
    lag, before = _Lag(), upcoming[0]
    watch = asyncio.create_task(lag.watch(), name="bench-lag")
    await asyncio.sleep(0.2)
    lag.worst = 0.0
    began, cpu = time.perf_counter(), time.process_time()
    for number, snapshot in enumerate(upcoming[1:], start=1):
        board, changed = await asyncio.to_thread(_work_out, before, snapshot, board)
        before = snapshot
        app.post_message(app.Ticked(Tick(snapshot=snapshot, board=board, changes=changed, beats=number)))
        await asyncio.sleep(max(0.0, began + number - time.perf_counter()))
        blocks.append(lag.worst)
        lag.worst = 0.0
    share = (time.process_time() - cpu) / (time.perf_counter() - began)
    watch.cancel()
    await asyncio.gather(watch, return_exceptions=True)
    return max(blocks), share


def _work_out(before: Snapshot, after: Snapshot, board: Board) -> tuple[Board, tuple[ChangeLine, ...]]:
    made = compose(after, intervals=intervals(30), before=board)
    return made, between(before, after, at=datetime.now(UTC))


async def _rewrite(app: DashboardApp) -> float:
    """The baseline: every cell of a framework's table, once."""
    from textual.widgets import DataTable

    table: DataTable[str] = DataTable()
    await app.board_screen.mount(table)
    table.add_columns(*"abcdef")
    keys = [table.add_row(*(str(n) for _ in range(6))) for n in range(MANY)]
    columns = list(table.columns)
    began = time.perf_counter()
    for number, key in enumerate(keys):
        for column in columns:
            table.update_cell(key, column, f"{number}!")
    spent = time.perf_counter() - began
    await table.remove()
    return spent


# -- row 9 ---------------------------------------------------------------------------------------------


async def _month() -> list[Row]:
    """Memory after the first days and after the last, of a process that shows ten thousand inboxes."""
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.bench.tui_month", stdout=asyncio.subprocess.PIPE
    )
    told, _ = await child.communicate()
    largest, slope, widgets, ticks, lag = (float(word) for word in told.split())
    return [
        (
            f"memory at 10,000 inboxes ({ticks:.0f} polls to screen)",
            largest,
            "MB",
            "under 120 MB",
            largest < 120,
        ),
        ("memory over a simulated month", slope, "MB a day", "under 1 MB a day", slope < 1),
        ("widgets more than at the start", widgets, "", "none", widgets == 0),
        ("loop blocked at most, polls and history included", lag * 1000, "ms", "under 50 ms", lag < 0.05),
    ]


class Service:
    """Canned answers for the client's own transport, made beforehand: ten thousand inboxes, a hundred moving."""

    def __init__(self) -> None:
        dice, shown = random.Random(9), _crowd()
        self._inboxes = []
        for _ in range(4):
            shown = _stirred(shown, dice)
            self._inboxes.append(json.dumps([_sent(box) for box in shown.inboxes.value or ()]).encode())
        rows = [{**COUNTS, "group": box.email} for box in shown.inboxes.value or ()]
        self._stats = {True: json.dumps(rows).encode(), False: json.dumps(rows[:6]).encode()}
        self._asked = 0

    def __call__(self, request: httpx.Request) -> httpx.Response:
        path = request.url.path
        if path.endswith("/inboxes"):
            self._asked += 1
            return _answer(self._inboxes[self._asked % len(self._inboxes)])
        if path.endswith("/stats"):
            return _answer(self._stats[request.url.params.get("group_by") == "inbox"])
        return _answer(b"[]" if path.endswith("/sequences") else b'{"data": [], "next_cursor": null}')


COUNTS = {"sends": 900, "replies": 31, "positive_replies": 9, "meetings": 2}


def _sent(box: Inbox) -> dict[str, object]:
    return {name: getattr(box, name) for name in ("email", "health_score", "daily_limit", "status")}


def _answer(body: bytes) -> httpx.Response:
    return httpx.Response(200, content=body, headers={"Content-Type": "application/json"})


async def month(seconds: float = MONTH) -> tuple[float, float, int, int, float]:
    """A month in so many seconds through client, poller, history and screen.

    Largest resident memory in MB, its slope in MB a simulated day, widgets added, boards shown, longest block.
    """
    began, real = datetime.now(UTC), time.monotonic()
    process, sizes, ticks, lag = psutil.Process(), list[float](), 0, _Lag()

    def now() -> datetime:
        return began + timedelta(days=DAYS) * ((time.monotonic() - real) / seconds)

    def deliver(tick: Tick) -> None:
        nonlocal ticks
        ticks += 1
        app.post_message(app.Ticked(tick))

    logging.disable(logging.ERROR)  # time that flies is told as a clock that is set
    async with contextlib.AsyncExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        client = await stack.enter_async_context(
            OutreachClient(
                base_url="http://127.0.0.1:9/v1",
                api_key="live_bench",
                pacer=LocalBudget(),
                transport=httpx.MockTransport(Service()),
            )
        )
        history = await stack.enter_async_context(History(parse_url(f"sqlite:///{folder}/history.db")))
        app = DashboardApp(workspace="acme", now=now)
        await stack.enter_async_context(app.run_test(size=(200, 50)))
        poller = Poller(
            client=client, workspace="acme", poll_seconds=1, now=now, memory=Memory(history, workspace="acme")
        )
        stack.push_async_callback(poller.aclose)
        poller.start(deliver)
        await asyncio.sleep(seconds / 10)
        widgets = len(app.board_screen.query("*"))
        stack.enter_context(calm())
        watch = asyncio.create_task(lag.watch(), name="bench-lag")
        while (left := seconds - (time.monotonic() - real)) > 0:
            await asyncio.sleep(min(left, seconds / DAYS))
            sizes.append(process.memory_info().rss / 2**20)
        watch.cancel()
        await asyncio.gather(watch, return_exceptions=True)
        added = len(app.board_screen.query("*")) - widgets
    first, last = sum(sizes[4:9]) / 5, sum(sizes[-5:]) / 5
    return max(sizes), (last - first) / (len(sizes) - 7), added, ticks, lag.worst
