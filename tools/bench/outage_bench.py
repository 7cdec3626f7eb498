"""Intake of a real bot process while Slack answers 503: at the first deliveries, and with 40,000 alerts waiting.

Each figure stands beside a bare server's of the same seconds. Loads come from outside, over 32 connections.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import sqlite3
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from aiohttp import web

from shared.store import LeaseTimings
from tests.kit.databases import migrated_file
from tests.kit.ports import free_port
from tests.kit.processes import running_async
from tests.kit.team import PROGRAM
from tests.kit.waiting import until
from tools.bench.__main__ import Row
from tools.bench.bot_bench import server, until_open
from tools.bench.intake_server import SECRET, environment
from tools.bench.load import Load, deliveries, fire

WAITING = 40_000
CHUNK = 4_000
"""Deliveries of one measurement."""
PAIRS = 3
"""The number of comparisons of a chunk to the bare server and one to the bot; the medians count."""
WARM_UP, SETTLED = 500, 5.0
"""Deliveries that a fresh process has had, and the seconds since then."""
ROUTED_WITHIN = 300.0
KEPT = 0.8
"""The share of the first ratio that must be left with many waiting; the rest is for the noise of one machine."""
SLOWER = 1.5
"""The p99 with many waiting may be so many times the first one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """The bot's rate as a share of the bare server's, and the p99 of both in milliseconds."""

    ratio: float
    p99: float
    bare_p99: float
    refused: int


def run() -> list[Row]:
    """Measure all rows, in about two minutes."""
    with asyncio.Runner() as runner:
        return runner.run(_measure())


async def _measure() -> list[Row]:
    numbers = _numbers()
    async with contextlib.AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        bare, _ = await stack.enter_async_context(server("bare", folder))
        slack = await stack.enter_async_context(_unavailable_slack())
        await _send(bare, numbers)
        at_first = []
        # Each on a fresh bot: the second chunk of one finds a database that is larger.
        for _ in range(PAIRS - 1):
            async with _bot(slack, numbers) as (port, _):
                at_first.append(await _compare(bare, port, numbers))
        port, database = await stack.enter_async_context(_bot(slack, numbers))
        at_first.append(await _compare(bare, port, numbers))
        for _ in range(CHUNK, WAITING - CHUNK, CHUNK):
            await _send(port, numbers)
        unrouted = [await _compare(bare, port, numbers) for _ in range(PAIRS)]
        await until(lambda: _all_routed(database), seconds=ROUTED_WITHIN)
        waiting = [await _compare(bare, port, numbers) for _ in range(PAIRS)]
    first = _middle(at_first)
    return [
        (
            "intake with Slack down, the first",
            first.ratio,
            "of the baseline",
            "at least 0.40",
            first.ratio >= 0.40,
        ),
        _p99_row("intake with Slack down, the first, p99", first),
        *_later_rows(f"{WAITING:,} arriving at once", first, _middle(unrouted)),
        *_later_rows(f"{WAITING:,} alerts waiting", first, _middle(waiting)),
    ]


def _p99_row(name: str, one: Comparison) -> Row:
    most = max(12.0, 4 * one.bare_p99)
    return (
        name,
        one.p99,
        "ms",
        f"under 12, or four times {one.bare_p99:.1f}",
        one.p99 < most and not one.refused,
    )


def _later_rows(name: str, first: Comparison, now: Comparison) -> list[Row]:
    least, most = KEPT * first.ratio, SLOWER * first.p99
    return [
        (name, now.ratio, "of the baseline", f"as the first: at least {least:.2f}", now.ratio >= least),
        (
            f"{name}, p99",
            now.p99,
            "ms",
            f"as the first: under {most:.0f}",
            now.p99 <= most and not now.refused,
        ),
    ]


def _middle(found: list[Comparison]) -> Comparison:
    return Comparison(
        ratio=median(one.ratio for one in found),
        p99=median(one.p99 for one in found),
        bare_p99=median(one.bare_p99 for one in found),
        refused=sum(one.refused for one in found),
    )


def _numbers() -> Iterator[int]:
    """The first lead of each chunk."""
    yield from range(0, sys.maxsize, CHUNK)


async def _send(port: int, numbers: Iterator[int]) -> Load:
    return await fire(port, deliveries(CHUNK, secret=SECRET, first=next(numbers)))


async def _compare(bare: int, bot: int, numbers: Iterator[int]) -> Comparison:
    """Send a chunk to the bot between two to the bare server: what else the machine does meets both."""
    before, load, after = await _send(bare, numbers), await _send(bot, numbers), await _send(bare, numbers)
    return Comparison(
        ratio=load.rate / ((before.rate + after.rate) / 2),
        p99=load.at(0.99) * 1e3,
        bare_p99=(before.at(0.99) + after.at(0.99)) / 2 * 1e3,
        refused=load.refused,
    )


@contextlib.asynccontextmanager
async def _bot(slack_port: int, numbers: Iterator[int]) -> AsyncIterator[tuple[int, Path]]:
    """Run a bot process on a database of its own, and yield its port and the file."""
    with tempfile.TemporaryDirectory() as folder:
        file, port = Path(folder) / "bot.db", free_port()
        environ = {
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(Path.cwd()),
            **environment(migrated_file(file)),
            "OUTREACH_PORT": str(port),
            "SLACK_API_URL": f"http://127.0.0.1:{slack_port}/api/",
            "XDG_STATE_HOME": folder,
        }
        program = PROGRAM.format(pace=LeaseTimings())
        async with running_async(
            sys.executable, "-c", program, env=environ, stderr=asyncio.subprocess.DEVNULL
        ):
            await until_open(port)
            await fire(port, deliveries(WARM_UP, secret=SECRET, first=next(numbers)))
            await asyncio.sleep(SETTLED)  # the jobs of a start are done
            yield port, file


@contextlib.asynccontextmanager
async def _unavailable_slack() -> AsyncIterator[int]:
    async def refuse(_: web.Request) -> web.Response:
        return web.Response(status=503)

    application = web.Application()
    application.router.add_route("*", "/{tail:.*}", refuse)
    runner = web.AppRunner(application)
    await runner.setup()
    port = free_port()
    await web.TCPSite(runner, "127.0.0.1", port).start()
    try:
        yield port
    finally:
        await runner.cleanup()


async def _all_routed(file: Path) -> bool:
    # Read-only and by its file, so that the bot under load notices nothing.
    with contextlib.closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as connection:
        return connection.execute("SELECT 1 FROM deliveries WHERE pending = 1 LIMIT 1").fetchone() is None
