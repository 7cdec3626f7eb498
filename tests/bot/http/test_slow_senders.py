"""Strangers who send slowly, too much, or over many connections keep no delivery out and cost little memory."""

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

from bot.http import bounded_protocol
from tests.bot.harness import BotHarness, bot_process, interested, open_harness
from tests.waiting import BOUND

FEW_FILES = "import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (120, 120))\n"
HALF_A_HEAD = b"POST /webhooks/outreach HTTP/1.1\r\nHost: x\r\nX-Pad: "
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


def unsigned(path: str, *headers: str) -> bytes:
    """A request of a mebibyte whose last byte never comes."""
    lines = (f"POST {path} HTTP/1.1", "Host: x", f"Content-Length: {MEBIBYTE}", *headers, "", "")
    return "\r\n".join(lines).encode() + b"x" * (MEBIBYTE - 1)


@pytest.mark.e2e
async def test_a_delivery_is_taken_while_more_heads_stay_unfinished_than_the_bot_has_files(
    tmp_path: Path,
) -> None:
    async with (
        open_harness(tmp_path) as bot,
        bot_process(bot, before=FEW_FILES),
        connections(bot, 150, HALF_A_HEAD),
        asyncio.timeout(BOUND),
        aiohttp.ClientSession() as http,
    ):  # over its own connection
        assert await replace(bot, http=http).deliver(interested(1)) == 200


@pytest.mark.e2e
@pytest.mark.parametrize(
    ("path", "header"),
    [
        ("/webhooks/outreach", "X-Service-Signature: 00"),
        ("/slack/events", "X-Slack-Signature: v0=00\r\nX-Slack-Request-Timestamp: 1"),
    ],
)
async def test_a_hundred_and_fifty_unsigned_bodies_cost_little_memory(
    tmp_path: Path, path: str, header: str
) -> None:
    async with open_harness(tmp_path) as bot, bot_process(bot) as process:
        running = psutil.Process(process.pid)
        before = running.memory_info().rss
        async with connections(bot, 150, unsigned(path, header)):
            assert await bot.deliver(interested(1)) == 200
            await asyncio.sleep(1)  # for what is on its way
            assert running.memory_info().rss - before < 75 * MEBIBYTE


async def test_an_unfinished_head_is_cut_off(bot: BotHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounded_protocol, "HEADER_SECONDS", 1.0)
    async with connections(bot, 50, HALF_A_HEAD) as opened:
        async with asyncio.timeout(BOUND):
            for reader, _ in opened:
                with contextlib.suppress(ConnectionError):
                    assert await reader.read() == b""
        assert "outreach_connections_cut_off_total" in (await bot.get("/metrics"))[1]


def head(*headers: bytes, path: bytes = b"/webhooks/outreach") -> bytes:
    return b"\r\n".join((b"POST " + path + b" HTTP/1.1", b"Host: x", *headers, b"", b""))


LARGE_HEADS = {
    "one header": head(b"X-Pad: " + b"y" * 100_000),
    "one header, unfinished": head(b"X-Pad: " + b"y" * 100_000)[:-4],
    "many headers": head(*(b"X-%d: %s" % (number, b"y" * 80) for number in range(1_000))),
    "many short headers": head(*(b"%d:" % number for number in range(10_000))),
    "a long path": head(path=b"/" + b"y" * 100_000),
    "a long query": head(path=b"/webhooks/outreach?" + b"y" * 100_000),
}


@pytest.mark.parametrize("piece", [1_000, 1_000_000], ids=["in pieces", "at once"])
@pytest.mark.parametrize("sent", LARGE_HEADS.values(), ids=LARGE_HEADS)
async def test_a_large_head_is_refused_while_it_arrives(bot: BotHarness, sent: bytes, piece: int) -> None:
    async with connections(bot, 1, b"") as opened, asyncio.timeout(BOUND):
        reader, writer = opened[0]
        for start in range(0, len(sent), piece):
            writer.write(sent[start : start + piece])
            await asyncio.sleep(0)
        assert (await reader.readline()).startswith(b"HTTP/1.1 431 ")
        await reader.read()
    assert await bot.deliver(interested(1)) == 200


async def test_a_head_below_the_bound_is_accepted_again_and_again_on_one_connection(bot: BotHarness) -> None:
    sent = head(b"Content-Length: 0", *(b"X-%d: %s" % (number, b"y" * 95) for number in range(300)))
    assert 30_000 < len(sent) < 32_768
    async with connections(bot, 1, b"") as opened, asyncio.timeout(BOUND):
        reader, writer = opened[0]
        for _ in range(3):
            writer.write(sent)
            answer = await reader.readuntil(b"\r\n\r\n")
            assert answer.startswith(b"HTTP/1.1 401 ")


async def test_endless_trailers_are_cut_off(bot: BotHarness) -> None:
    trailers = b"".join(b"X-%d: %s\r\n" % (number, b"y" * 80) for number in range(1_000))
    sent = head(b"Transfer-Encoding: chunked", b"X-Service-Signature: 00") + b"1\r\nx\r\n0\r\n" + trailers
    async with connections(bot, 1, sent) as opened, asyncio.timeout(4):
        with contextlib.suppress(ConnectionError):
            assert b"200 OK" not in await opened[0][0].read()


@pytest.mark.parametrize("path", ["/webhooks/outreach", "/slack/events"])
async def test_a_packed_body_is_not_unpacked(bot: BotHarness, path: str) -> None:
    bomb = gzip.compress(gzip.compress(b" " * 50 * MEBIBYTE, 1), 9)
    headers = {"Content-Encoding": "gzip, gzip", "X-Service-Signature": "00"}
    before = psutil.Process().memory_info().rss
    async with bot.http.post(f"{bot.url}{path}", data=bomb, headers=headers) as answer:
        assert answer.status == 401
    assert psutil.Process().memory_info().rss - before < 20 * MEBIBYTE
