"""Blocks of the event loop are measured by what its thread computes, not by how long a busy machine lets it wait."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from bot.runtime.loop_monitor import EVERY, LONG, LoopMonitor
from bot.telemetry import metrics
from tests.bot.harness import BotHarness, bot_process, interested, open_harness
from tests.event_loop import blocks_counted
from tests.processes import running
from tests.waiting import until


class Readings:
    """A clock that steps at each reading by what is given; then it ends the monitor."""

    def __init__(self, *steps: float) -> None:
        self._steps, self._now = iter(steps), 0.0

    def __call__(self) -> float:
        step = next(self._steps, None)
        if step is None:
            raise asyncio.CancelledError
        self._now += step
        return self._now


def blocks() -> float:
    return metrics.REGISTRY.get_sample_value("outreach_event_loop_block_seconds_count") or 0.0


async def logged(
    clock: Callable[[], float], cpu: Callable[[], float], monkeypatch: pytest.MonkeyPatch
) -> list[object]:
    async def at_once(_seconds: float) -> None: ...

    monkeypatch.setattr("bot.runtime.loop_monitor.asyncio.sleep", at_once)
    with capture_logs() as lines, suppress(asyncio.CancelledError):
        await LoopMonitor(clock=clock, cpu=cpu).run()
    return [line["seconds"] for line in lines]


@pytest.mark.parametrize(
    ("late", "computed", "counted", "lines"),
    [
        (0.0, 0.0, 0, []),
        (0.3, 0.25, 1, [0.25]),  # it computed
        (0.3, 0.001, 0, []),  # another program had the processor
        (0.05, 0.06, 1, []),
        (0.001, 0.02, 0, []),  # many short callbacks, no block
    ],
)
async def test_a_block_is_late_and_computing(
    late: float, computed: float, counted: int, lines: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = blocks()
    clock, cpu = Readings(0.0, EVERY + late), Readings(0.0, computed)
    assert await logged(clock, cpu, monkeypatch) == lines
    assert blocks() - before == counted


async def test_a_computation_on_the_loop_is_a_block() -> None:
    before = blocks()
    monitor = asyncio.create_task(LoopMonitor().run())
    await asyncio.sleep(2 * EVERY)
    with capture_logs() as lines:
        cpu = LoopMonitor()._cpu
        ends = cpu() + LONG + 4 * EVERY
        while cpu() < ends:
            pass
        await asyncio.sleep(2 * EVERY)
    monitor.cancel()
    assert blocks() > before
    assert [line["event"] for line in lines if line["event"] == "event loop blocked"]


BLOCKED = """
import asyncio, time
from bot.runtime.loop_monitor import LoopMonitor
beat = LoopMonitor.run
def compute():
    ends = time.thread_time() + 0.3
    while time.thread_time() < ends:
        pass
async def with_a_block(self):
    asyncio.get_running_loop().call_later(0.2, compute)
    await beat(self)
LoopMonitor.run = with_a_block
"""


async def run_blocked(bot: BotHarness) -> None:
    async with bot_process(bot, before=BLOCKED) as process:
        await until(lambda: blocks_of(bot))
        process.send_signal(signal.SIGTERM)
        await process.wait()


@pytest.mark.e2e
async def test_a_bot_whose_loop_is_blocked_fails_its_test(tmp_path: Path) -> None:
    async with open_harness(tmp_path) as bot:
        with pytest.raises(AssertionError, match="blocked"):
            await run_blocked(bot)


async def blocks_of(bot: BotHarness) -> int:
    return blocks_counted((await bot.get("/metrics"))[1])


@pytest.mark.e2e
async def test_a_busy_machine_is_no_block(tmp_path: Path) -> None:
    """Also while deliveries come: the processor has others to serve, and the loop waits for its turn."""
    busy = [running((sys.executable, "-c", "while True: pass")) for _ in range(2 * (os.cpu_count() or 1))]
    async with open_harness(tmp_path) as bot:
        await bot.control("settings", messages_per_second=0)
        async with bot_process(bot) as process:
            with ExitStack() as stack:
                for one in busy:
                    stack.enter_context(one)
                for number in range(50):
                    assert await bot.deliver(interested(number)) == 200
                await bot.until_posted(50)
                process.send_signal(signal.SIGHUP)
                assert await bot.deliver(interested(50)) == 200
                await bot.until_posted(51)
            assert await blocks_of(bot) == 0
