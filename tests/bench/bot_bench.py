"""The bot against targets.md, rows 1 to 4, each beside its baseline in the same run."""

from __future__ import annotations

import asyncio
import contextlib
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import uvloop

from tests.bench.intake_server import SECRET
from tests.bench.load import Load, deliveries, fire
from tests.bot.house import free_port

Row = tuple[str, float, str, str, bool]
COUNT = 20_000
SLOW_COUNT = 8_000
SINGLE_COUNT = 600


def run() -> list[Row]:
    """All rows."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return [*runner.run(intake())]


async def intake() -> list[Row]:
    """Rows 1 and 2."""
    bare = await loaded("bare", COUNT)
    bot = await loaded("bot", COUNT)
    slow = await loaded("slow", SLOW_COUNT)
    single = await loaded("single", SINGLE_COUNT)
    ratio, gain = bot.rate / bare.rate, slow.rate / single.rate
    return [
        ("intake without storing", bare.rate, "/s", "the baseline", True),
        ("durable intake", bot.rate, "/s", f"{ratio:.2f} of the baseline, at least 0.35", ratio >= 0.35),
        ("durable intake p50", bot.at(0.5) * 1e3, "ms", "", True),
        ("durable intake p99", bot.at(0.99) * 1e3, "ms", "under 12", bot.at(0.99) < 0.012),
        ("2 ms a commit, one a delivery", single.rate, "/s", "the baseline", True),
        ("2 ms a commit, grouped", slow.rate, "/s", f"{gain:.1f}x the baseline, at least 10", gain >= 10),
        (
            "refused under load",
            float(bot.refused + slow.refused),
            "",
            "none",
            bot.refused + slow.refused == 0,
        ),
    ]


async def loaded(mode: str, count: int) -> Load:
    """A fresh server under load, after a little to warm it."""
    with tempfile.TemporaryDirectory() as folder:
        async with server(mode, Path(folder)) as port:
            await fire(port, deliveries(500, secret=SECRET, first=10_000_000))
            return await fire(port, deliveries(count, secret=SECRET))


@contextlib.asynccontextmanager
async def server(mode: str, folder: Path) -> AsyncIterator[int]:
    """A server process on a free port."""
    port = free_port()
    command = [
        sys.executable,
        "-m",
        "tests.bench.intake_server",
        mode,
        str(port),
        f"sqlite:///{folder}/bot.db",
    ]
    with _process(command):
        await _until_open(port)
        yield port


@contextlib.contextmanager
def _process(command: list[str]) -> Iterator[None]:
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)  # noqa: S603 # our own module
    try:
        yield
    finally:
        process.kill()
        process.wait()


async def _until_open(port: int) -> None:
    ends = time.monotonic() + 20
    while time.monotonic() < ends:
        with contextlib.suppress(OSError):
            _, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.close()
            return
        await asyncio.sleep(0.05)
    raise TimeoutError("the server did not start")
