"""Memory of a real bot over a simulated month of 1,000 inboxes with alerts. Only when it is named: it takes minutes.

The bot is a process of its own on a clock that is set ahead six hours at a time, so that every job is due at each
step. The service's counts and health move with the same clock, deliveries and commands come from outside, and the month
is measured after days in which the bot has read the past that it keeps in memory.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from statistics import median

import psutil
import time_machine
import uvloop

from tests.bench.__main__ import Row
from tests.bench.account import DOMAINS, SEQUENCES, Account, address
from tests.bot.harness import START_BOUND, BotHarness, free_port, interested, open_harness
from tests.clock import moment
from tests.processes import running_async
from tests.waiting import until

BEGINS = datetime(2026, 10, 5, 6, 0, tzinfo=UTC)
WARM_UP, DAYS = 3, 30
STEP = timedelta(hours=6)
STEPS_A_DAY = 4
LOOK_SECONDS, MOST_LOOKS = 0.7, 90
AT_REST = 0.1
"""The share of a core below which the bot has done what a step brought: the jobs of one must not meet those of the next."""
INBOXES = 1_000
REPLIES, BOUNCES, OPT_OUTS = 10, 24, 4
"""Deliveries of each step; a domain is paused every day, and every third day one has a spike of bounces."""
SPIKE = 40
READINGS = ("status", "open", "inboxes unhealthy", "stats by inbox 7d", "digest now", "guardrails")
"""Commands of each day."""
FLAT = 5.0


@dataclass(kw_only=True)
class Month:
    """A bot on a clock that is set ahead, and its memory in MB after each step."""

    bot: BotHarness
    process: asyncio.subprocess.Process
    clock: time_machine.Traveller
    dice: random.Random = field(default_factory=lambda: random.Random(7))
    leads: int = 0
    sizes: list[float] = field(default_factory=list)

    async def live(self, days: int) -> None:
        """So many days."""
        resident = psutil.Process(self.process.pid).memory_info
        for number in range(days * STEPS_A_DAY):
            await self._step(number)
            self.sizes.append(resident().rss / 2**20)

    async def _step(self, number: int) -> None:
        assert self.process.stdin
        self.process.stdin.write(f"{STEP.total_seconds()}\n".encode())
        self.clock.shift(STEP)
        for body in self._deliveries(number):
            await until(partial(self._accepted, body))
        for line in self._commands(number):
            assert await self.bot.say(line), line
        await self._until_at_rest()

    async def _until_at_rest(self) -> None:
        bot = psutil.Process(self.process.pid)
        for _ in range(MOST_LOOKS):
            before = bot.cpu_times()
            await asyncio.sleep(LOOK_SECONDS)
            now = bot.cpu_times()
            if now.user + now.system - before.user - before.system < AT_REST * LOOK_SECONDS:
                return
        raise TimeoutError("the bot is still busy with one step")

    async def _accepted(self, body: bytes) -> bool:
        """As the service does, until 200: on a busy machine a delivery may be refused."""
        return await self.bot.deliver(body) == 200

    def _deliveries(self, number: int) -> Iterator[bytes]:
        for kind, count in (
            ("reply.interested", REPLIES),
            ("lead.bounced", BOUNCES),
            ("lead.unsubscribed", OPT_OUTS),
        ):
            for _ in range(count):
                yield self._event(kind, inbox=address(self.dice.randrange(INBOXES)))
        day, step = divmod(number, STEPS_A_DAY)
        if step == 0:
            domain = {"event": "domain.paused", "domain": f"mail{day % DOMAINS}.example"}
            yield json.dumps({**domain, "reason": f"health below 60 on day {day}"}).encode()
        if step == 1 and day % 3 == 0:
            for _ in range(SPIKE):
                yield self._event("lead.bounced", inbox=address(day % DOMAINS))

    def _event(self, kind: str, *, inbox: str) -> bytes:
        self.leads += 1
        sequence = f"Sequence {self.leads % SEQUENCES}"
        return interested(self.leads, event=kind, sequence=sequence, inbox=inbox)

    def _commands(self, number: int) -> Iterator[str]:
        if number % STEPS_A_DAY == 2:
            yield from READINGS


async def _measure() -> list[Row]:
    with tempfile.TemporaryDirectory() as folder, time_machine.travel(BEGINS, tick=True) as clock:
        async with _service() as port, open_harness(Path(folder)) as bot:
            bot.environ["OUTREACH_BASE_URL"] = f"http://127.0.0.1:{port}/v1"
            async with _bot(bot) as process:
                month = Month(bot=bot, process=process, clock=clock)
                await month.live(WARM_UP + DAYS)
    of_day = [median(month.sizes[at : at + STEPS_A_DAY]) for at in range(0, len(month.sizes), STEPS_A_DAY)]
    before, after = of_day[WARM_UP - 1], of_day[-1]
    return [
        (f"memory with {INBOXES:,} inboxes after {WARM_UP} days", before, "MB", "", True),
        (f"memory {DAYS} days and {month.leads:,} events later", after, "MB", "", True),
        (
            "its rise over the month",
            after - before,
            "MB",
            f"within {FLAT:g} either way; days: {' '.join(f'{one:.0f}' for one in of_day)}",
            abs(after - before) <= FLAT,
        ),
    ]


@asynccontextmanager
async def _service() -> AsyncIterator[int]:
    port = free_port()
    async with await asyncio.start_server(Account(port=port, inboxes=INBOXES).serve, "127.0.0.1", port):
        yield port


@asynccontextmanager
async def _bot(bot: BotHarness) -> AsyncIterator[asyncio.subprocess.Process]:
    """The bot, on the same clock as this process."""
    environ = {"PATH": os.environ["PATH"], "PYTHONPATH": str(Path.cwd()), **bot.environ}
    command = (sys.executable, "-m", "tests.bench.month_bot", str(moment().timestamp()))
    async with running_async(*command, env=environ, stdin=asyncio.subprocess.PIPE) as process:

        async def answers() -> bool:
            try:
                return (await bot.get("/healthz"))[0] == 200
            except OSError:
                return False

        await until(answers, seconds=START_BOUND)
        yield process


def run() -> list[Row]:
    """All rows, in about twelve minutes."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(_measure())
