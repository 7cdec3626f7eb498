"""The bot as a process: a task of it that fails, SIGHUP, and few descriptors."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from bot.runtime import FAILING
from tests.kit.bot import interested
from tests.kit.service import open_account
from tests.kit.team import Installation, installed
from tests.kit.waiting import BOUND_SECONDS, until

pytestmark = pytest.mark.e2e

FIRST, SECOND = "whsec-first", "whsec-second"
REFRESH_FAILS = """
from shared.store.alerts import Alerts
async def paused_domains(self, workspace):
    raise OverflowError("date value out of range")
Alerts.paused_domains = paused_domains
"""
# With few descriptors a hundred connections are enough to reach the bound.
FEW_FILES = "import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (120, 120))\n"


async def test_a_task_that_keeps_failing_is_restarted_and_shown_while_alerts_are_posted(
    tmp_path: Path,
) -> None:
    async with (
        open_account() as account,
        installed(tmp_path, **account.environ) as bot,
        bot.process(before=REFRESH_FAILS),
    ):

        async def failing() -> dict[str, Any] | None:
            status, state = await bot.ready()
            task: dict[str, Any] = state["tasks"].get("card_refresh", {})
            return task if status == 503 and task.get("failing") else None

        task = await until(failing)
        assert task["restarts"] >= FAILING
        assert "OverflowError" in task["error"]
        assert 'outreach_task_failing{task="card_refresh"} 1.0' in (await bot.get("/metrics"))[1]
        assert "card_refresh failed" in (await bot.ask("status")).shown
        assert await bot.deliver(interested(1)) == 200
        await bot.until_posted(1)


async def test_a_reload_reads_a_secrets_file_again(tmp_path: Path) -> None:
    secret = tmp_path / "webhook.secret"
    secret.write_text(f"{FIRST}\n")
    secret.chmod(0o600)
    async with installed(tmp_path, OUTREACH_WEBHOOK_SECRET_FILE=str(secret)) as bot:
        del bot.environ["OUTREACH_WEBHOOK_SECRET"]
        async with bot.process() as process:
            assert await bot.deliver(interested(1), secret=FIRST) == 200
            secret.write_text(f"{SECOND}\n")
            process.send_signal(signal.SIGHUP)

            async def taken() -> bool:
                return await bot.deliver(interested(2), secret=SECOND) == 200

            await until(taken)
            assert await bot.deliver(interested(3), secret=FIRST) == 401


Stream = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@contextlib.asynccontextmanager
async def connections(bot: Installation, count: int, sent: bytes) -> AsyncIterator[list[Stream]]:
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


async def test_a_request_above_the_bound_of_connections_gets_503_and_the_next_one_200(tmp_path: Path) -> None:
    async with (
        installed(tmp_path) as bot,
        bot.process(before=FEW_FILES),
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
