"""The bot: intake, posting and its rest, each beside its baseline in the same run."""

from __future__ import annotations

import asyncio
import contextlib
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

from aiohttp import web

from tests.bot.harness import BotHarness, bot_process, interested, open_harness
from tests.kit.ports import free_port
from tools.bench import channels, memory
from tools.bench.intake_server import SECRET
from tools.bench.load import Load, deliveries, fire

Row = tuple[str, float, str, str, bool]
COUNT = 20_000
PAIRS = 3
"""The number of pairs of a baseline and a measurement; the pair with the middle ratio counts."""


def run() -> list[Row]:
    with asyncio.Runner() as runner:
        return [
            *runner.run(intake()),
            *runner.run(latency()),
            *runner.run(commands()),
            *runner.run(sharing()),
            *runner.run(memory_use()),
        ]


async def intake() -> list[Row]:
    """Compare the whole bot with a server that checks the signature and stores nothing."""
    # By pairs, because the machine has slow minutes that must meet both.
    pairs = [(await loaded("bare", COUNT), await loaded("bot", COUNT)) for _ in range(PAIRS)]
    bare, bot = sorted(pairs, key=lambda pair: pair[1].rate / pair[0].rate)[PAIRS // 2]
    ratio = bot.rate / bare.rate
    return [
        ("intake without storing", bare.rate, "/s", "the baseline", True),
        ("durable intake", bot.rate, "/s", f"{ratio:.2f} of the baseline, at least 0.40", ratio >= 0.40),
        ("durable intake p50", bot.at(0.5) * 1e3, "ms", "", True),
        ("durable intake p99", bot.at(0.99) * 1e3, "ms", "under 12", bot.at(0.99) < 0.012),
        ("refused under load", float(bot.refused), "", "none", bot.refused == 0),
    ]


async def loaded(mode: str, count: int) -> Load:
    """Put a fresh server under load, after a little to warm it."""
    with tempfile.TemporaryDirectory() as folder:
        async with server(mode, Path(folder)) as (port, _):
            # The first requests open and compile what later ones find.
            await fire(port, deliveries(500, secret=SECRET, first=10_000_000))
            return await fire(port, deliveries(count, secret=SECRET))


@contextlib.asynccontextmanager
async def server(mode: str, folder: Path) -> AsyncIterator[tuple[int, int]]:
    """Run a server process, and yield its port and its process id."""
    port = free_port()
    command = [
        sys.executable,
        "-m",
        "tools.bench.intake_server",
        mode,
        str(port),
        f"sqlite:///{folder}/bot.db",
    ]
    with _process(command) as pid:
        await until_open(port)
        yield port, pid


@contextlib.contextmanager
def _process(command: list[str]) -> Iterator[int]:
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield process.pid
    finally:
        process.kill()
        process.wait()


async def until_open(port: int) -> None:
    """Wait until something listens there."""
    ends = time.monotonic() + 20
    while time.monotonic() < ends:
        with contextlib.suppress(OSError):
            _, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.close()
            return
        await asyncio.sleep(0.05)
    raise TimeoutError("the server did not start")


ALERTS = 40
COMMANDS = 50


async def latency() -> list[Row]:
    """Measure from a delivery's first byte to its message, one at a time."""
    with tempfile.TemporaryDirectory() as folder:
        async with open_harness(Path(folder)) as bot, bot_process(bot, pace=None):
            # The bot keeps its own pace; the stand-in must not slow it down further.
            await bot.control("settings", messages_per_second=0)
            took = [await _posted_after(bot, number) for number in range(ALERTS)]
    p50, p99 = _at(took, 0.5), _at(took, 0.99)
    return [
        ("delivery to post, p50", p50 * 1e3, "ms", "under 30", p50 < 0.030),
        ("delivery to post, p99", p99 * 1e3, "ms", "under 150", p99 < 0.150),
    ]


async def _posted_after(bot: BotHarness, number: int) -> float:
    """Return the seconds until the stand-in has the message."""
    started = time.monotonic()
    await bot.deliver(interested(number))
    feed = bot.slack.feed
    assert await feed.until(lambda: len(bot.slack.workspace.alerts) > number, timeout=10.0)
    took = time.monotonic() - started
    # A channel takes a message a second: the next alert must not wait for this one.
    await asyncio.sleep(max(0.0, 1.05 - took))
    return took


async def commands() -> list[Row]:
    """Type fifty commands at once while the service takes two seconds for every answer."""
    async with _slow_service() as address:
        with tempfile.TemporaryDirectory() as folder:
            async with (
                open_harness(Path(folder), OUTREACH_BASE_URL=address) as bot,
                bot_process(bot, pace=None),
            ):
                # The first command reads its person from Slack, which later ones remember.
                await bot.say("whoami")
                busy = sorted(
                    await asyncio.gather(*(_acknowledged(bot, "sequences") for _ in range(COMMANDS)))
                )
    p99 = _at(busy, 0.99)
    return [
        ("50 commands, the service slow, acknowledged p99", p99, "ms", "under 100", p99 < 100),
    ]


async def _acknowledged(bot: BotHarness, line: str) -> float:
    """Milliseconds until the acknowledgement, as the stand-in saw it."""
    response = await bot.control("command", text=f"/outreach {line}")
    return float(response["ack"]["ms"])


@contextlib.asynccontextmanager
async def _slow_service() -> AsyncIterator[str]:
    async def answer(_: web.Request) -> web.Response:
        # A bot that acknowledged after its request would show here.
        await asyncio.sleep(2.0)
        return web.json_response({"data": []})

    application = web.Application()
    application.router.add_route("*", "/{tail:.*}", answer)
    runner = web.AppRunner(application)
    await runner.setup()
    port = free_port()
    await web.TCPSite(runner, "127.0.0.1", port).start()
    try:
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        await runner.cleanup()


async def memory_use() -> list[Row]:
    """Memory over two hundred thousand deliveries."""
    found = await memory.resident(200_000)
    rise = memory.slope(found)
    return [
        ("memory after 200,000 deliveries", found[-1], "MB", "", True),
        ("its rise per 100,000 deliveries", rise, "MB", "flat: under 3", rise < 3),
    ]


async def sharing() -> list[Row]:
    """Fill forty channels with alerts, on PostgreSQL."""
    measured = await channels.measure()
    most, limit = max(measured.one_core, *measured.two_cores), float(channels.CHANNELS)
    return [
        ("40 channels, one process", measured.one, "/s", "40, within 5 %", measured.one >= 0.95 * limit),
        ("40 channels, two processes", measured.two, "/s", "40, within 5 %", measured.two >= 0.95 * limit),
        ("of a core for each of them, at most", most, "cores", "under 0.5", most < 0.5),
        ("silence of a channel after one was killed", measured.gap, "s", "at most 10", measured.gap <= 10),
    ]


def _at(figures: list[float], share: float) -> float:
    return sorted(figures)[min(len(figures) - 1, int(len(figures) * share))]
