"""Senders of too much, or over too many connections, cost little memory and leave the bot able to work."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import aiohttp
import psutil
import pytest

from tests.bot.harness import BotHarness, bot_process, interested, open_harness
from tests.kit.waiting import BOUND_SECONDS, until

# With few descriptors a hundred connections are enough to reach the bound.
FEW_FILES = "import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (120, 120))\n"
MEBIBYTE = 2**20

Stream = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@contextlib.asynccontextmanager
async def connections(bot: BotHarness, count: int, sent: bytes) -> AsyncIterator[list[Stream]]:
    """So many connections over which the same is sent, and then nothing more."""

    async def connected() -> Stream:
        reader, writer = await asyncio.open_connection("127.0.0.1", bot.port)
        writer.write(sent)
        with contextlib.suppress(ConnectionError):
            await asyncio.wait_for(writer.drain(), 5)
        return reader, writer

    opened: list[Stream] = []
    try:
        for _ in range(0, count, 50):
            opened += await asyncio.gather(*(connected() for _ in range(50)))
        yield opened
    finally:
        for _, writer in opened:
            writer.transport.abort()


@pytest.mark.e2e
async def test_a_request_above_the_bound_of_connections_gets_503_and_the_next_one_200(tmp_path: Path) -> None:
    async with (
        open_harness(tmp_path) as bot,
        bot_process(bot, before=FEW_FILES),
        asyncio.timeout(BOUND_SECONDS),
    ):
        async with connections(bot, 100, b"") as opened:
            reader, writer = opened[-1]
            writer.write(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
            assert (await reader.readline()).startswith(b"HTTP/1.1 503 ")
        async with aiohttp.ClientSession() as http:
            fresh = replace(bot, http=http)

            async def taken() -> bool:
                return await fresh.deliver(interested(1)) == 200

            await until(taken)  # the bot hears of the closed connections one by one


@pytest.mark.parametrize("path", ["/webhooks/outreach", "/slack/events"])
async def test_a_packed_body_is_not_unpacked(bot: BotHarness, path: str) -> None:
    # 50 MiB in very few bytes: unpacked before the signature is compared, anyone could fill the memory.
    bomb = gzip.compress(gzip.compress(b" " * 50 * MEBIBYTE, 1), 9)
    headers = {"Content-Encoding": "gzip, gzip", "X-Service-Signature": "00"}
    before = psutil.Process().memory_info().rss
    async with bot.http.post(f"{bot.url}{path}", data=bomb, headers=headers) as answer:
        assert answer.status == 401
    assert psutil.Process().memory_info().rss - before < 20 * MEBIBYTE
