"""Blocks of the event loop are measured by what its thread computes, not by how long a busy machine lets it wait."""

from __future__ import annotations

import asyncio
import signal
from contextlib import suppress
from pathlib import Path

import pytest

from tests.bot.harness import BotHarness, bot_process, open_harness
from tests.event_loop import EVERY_SECONDS, LONG_SECONDS, blocks_written, watch

BLOCKED = """
import asyncio, time
from bot.server import Server
serve = Server.main_loop
def compute():
    ends = time.thread_time() + 0.3
    while time.thread_time() < ends:
        pass
async def with_a_block(server):
    asyncio.get_running_loop().call_later(0.2, compute)
    await serve(server)
Server.main_loop = with_a_block
"""


class Readings:
    """A clock that steps at each reading by what is given; then it ends the watch."""

    def __init__(self, *steps: float) -> None:
        self._steps, self._now = iter(steps), 0.0

    def __call__(self) -> float:
        step = next(self._steps, None)
        if step is None:
            raise asyncio.CancelledError
        self._now += step
        return self._now


@pytest.mark.parametrize(
    ("late", "computed", "written"),
    [
        (0.0, 0.0, []),
        (0.3, 0.25, [0.25]),  # it computed
        (0.3, 0.001, []),  # another program had the processor
        (0.001, LONG_SECONDS, []),  # many short callbacks, no block
    ],
)
async def test_a_block_is_late_and_computing(
    late: float, computed: float, written: list[float], capsys: pytest.CaptureFixture[str]
) -> None:
    with suppress(asyncio.CancelledError):
        await watch(clock=Readings(0.0, EVERY_SECONDS + late), cpu=Readings(0.0, computed))
    assert blocks_written(capsys.readouterr().err) == written


async def run_blocked(bot: BotHarness) -> None:
    async with bot_process(bot, before=BLOCKED) as process:
        await asyncio.sleep(1)
        process.send_signal(signal.SIGTERM)
        await process.wait()


@pytest.mark.e2e
async def test_a_bot_whose_loop_is_blocked_fails_its_test(tmp_path: Path) -> None:
    async with open_harness(tmp_path) as bot:
        with pytest.raises(AssertionError, match="blocked"):
            await run_blocked(bot)
