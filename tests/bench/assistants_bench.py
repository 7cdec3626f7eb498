"""Row 3 while assistants call: alerts of the bot are as fast beside 50 tool calls a second."""

from __future__ import annotations

import asyncio
import contextlib
import tempfile
import time
from collections.abc import AsyncIterator
from pathlib import Path

import uvloop

from bot.store import open_store
from shared.commands.table import Role
from shared.storage.database import parse_url
from tests.bench.bot_bench import Row, _at, _posted_after
from tests.bot.fake_service import KEY, open_remote
from tests.bot.harness import BotHarness, bot_process, open_harness

ALERTS = 40
CALLS_A_SECOND = 50
PEOPLE = 8
"""Tokens that call in turn: one person alone is told to wait after four calls at once."""
LIMITS = "[mcp]\nenabled = true\ncalls_an_hour = 1000000\ncalls_a_day = 1000000\n"


def run() -> list[Row]:
    """All rows."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(latency_beside_calls())


async def latency_beside_calls() -> list[Row]:
    """From a delivery's first byte to its message, one at a time: alone, and beside tool calls."""
    names = [f"Sequence {n}" for n in range(20)]
    async with open_remote(*names) as remote:
        with tempfile.TemporaryDirectory() as folder:
            where = {"OUTREACH_BASE_URL": remote.url, "OUTREACH_API_KEY": KEY}
            async with open_harness(Path(folder), **where) as bot:
                bot.config(LIMITS)
                async with open_store(parse_url(bot.environ["OUTREACH_DATABASE_URL"])) as store:
                    tokens = [
                        (
                            await store.assistant_tokens.create(
                                f"t{n}", role=Role.READER, workspaces=["default"], created_by="", seconds=3600
                            )
                        )[0]
                        for n in range(PEOPLE)
                    ]
                async with bot_process(bot, pace=None):
                    await bot.control("settings", messages_per_second=0)
                    alone = [await _posted_after(bot, number) for number in range(ALERTS)]
                    async with calling(bot, tokens) as answered:
                        started = time.monotonic()
                        beside = [await _posted_after(bot, ALERTS + number) for number in range(ALERTS)]
                        rate = len(answered) / (time.monotonic() - started)
    p50, p99 = _at(beside, 0.5), _at(beside, 0.99)
    good = sum(status == 200 for status in answered) / len(answered)
    return [
        ("delivery to post alone, p50", _at(alone, 0.5) * 1e3, "ms", "the baseline", True),
        ("tool calls answered meanwhile", rate, "/s", "50, within 5 %", rate >= 0.95 * CALLS_A_SECOND),
        ("of them answered 200", good * 100, "%", "100", good == 1.0),
        ("delivery to post beside them, p50", p50 * 1e3, "ms", "under 30", p50 < 0.030),
        ("delivery to post beside them, p99", p99 * 1e3, "ms", "under 150", p99 < 0.150),
    ]


@contextlib.asynccontextmanager
async def calling(bot: BotHarness, tokens: list[str]) -> AsyncIterator[list[int]]:
    """Call tools so often meanwhile; yields the statuses of the answers as they come."""
    answered: list[int] = []
    calls: set[asyncio.Task[None]] = set()

    async def call(number: int) -> None:
        # Of these the database alone answers two, and all are recorded there.
        params: dict[str, object] = {"name": ("whoami", "audit", "sequences")[number % 3], "arguments": {}}
        body = {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}
        headers = {
            "Authorization": f"Bearer {tokens[number % len(tokens)]}",
            "Accept": "application/json, text/event-stream",
        }
        async with bot.http.post(f"{bot.url}/mcp", json=body, headers=headers) as answer:
            await answer.read()
            answered.append(answer.status)

    async def keep_calling() -> None:
        loop = asyncio.get_running_loop()
        began, number = loop.time(), 0
        while True:
            task = asyncio.create_task(call(number))
            calls.add(task)
            task.add_done_callback(calls.discard)
            number += 1
            await asyncio.sleep(max(0.0, began + number / CALLS_A_SECOND - loop.time()))

    caller = asyncio.create_task(keep_calling())
    try:
        yield answered
    finally:
        caller.cancel()
        await asyncio.gather(*calls, return_exceptions=True)
