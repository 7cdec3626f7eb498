"""Names of clients and channels are told on an address of their own, if there is one."""

from __future__ import annotations

import asyncio
import contextlib
import json
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import aiohttp
import pytest

from bot import server
from bot.telemetry import logs
from shared.settings import load
from tests.bot.harness import BotHarness, interested, open_harness
from tests.kit.ports import free_port
from tests.kit.team import HASTE
from tests.kit.waiting import BOUND_SECONDS, until


@asynccontextmanager
async def served(bot: BotHarness, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[None]:
    """The bot's server inside this test."""
    monkeypatch.setattr(server, "tune_runtime", lambda: None)  # of the whole process, as are its logs
    monkeypatch.setattr(logs, "set_up", lambda _level: None)
    serving = asyncio.create_task(server.serve(load(environ=bot.environ), pace=HASTE))

    async def answers() -> bool:
        assert not serving.done() or serving.result()
        with contextlib.suppress(aiohttp.ClientConnectionError):
            return (await bot.get("/readyz"))[0] == 200
        return False

    try:
        await until(answers)
        yield
    finally:
        signal.raise_signal(signal.SIGTERM)
        await asyncio.wait_for(serving, BOUND_SECONDS)


async def test_details_are_on_their_own_address_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    port = free_port()
    async with open_harness(tmp_path, OUTREACH_METRICS_LISTEN=f"127.0.0.1:{port}") as bot:
        inside = replace(bot, port=port)
        async with served(bot, monkeypatch):
            assert await bot.get("/readyz") == (200, '{"ready": true}')
            assert (await bot.get("/metrics"))[0] == 404
            assert (await bot.get("/healthz"))[0] == (await inside.get("/healthz"))[0] == 200
            status, body = await inside.get("/readyz")
            assert (status, list(json.loads(body)["workspaces"])) == (200, ["default"])
            assert 'workspace="default"' in (await inside.get("/metrics"))[1]
            assert await inside.deliver(interested(1)) == 404
            assert await bot.deliver(interested(1)) == 200
            await bot.until_posted(1)
