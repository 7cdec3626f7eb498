"""The bot's server inside a test: what its service manager and its two addresses learn."""

from __future__ import annotations

import asyncio
import contextlib
import json
import signal
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import pytest

from bot import server
from bot.telemetry import logs
from shared.settings import load
from tests.kit.bot import interested
from tests.kit.ports import free_port
from tests.kit.team import HASTE, Installation, installed
from tests.kit.waiting import BOUND_SECONDS, until


@asynccontextmanager
async def served(bot: Installation, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[None]:
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
    async with installed(tmp_path, OUTREACH_METRICS_LISTEN=f"127.0.0.1:{port}") as bot:
        inside = bot.second(port)
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


@pytest.fixture
def systemd(tmp_path: Path) -> Iterator[socket.socket]:
    """Where a service manager listens."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(tmp_path / "notify"))
        manager.settimeout(BOUND_SECONDS)
        yield manager


async def hear(manager: socket.socket, states: list[bytes]) -> None:
    """Take each state as it comes, until the last: a socket that holds ten drops those after them."""
    while b"STOPPING=1" not in states:
        states.append(await asyncio.to_thread(manager.recv, 100))


async def test_systemd_is_notified_of_ready_alive_and_stopping(
    tmp_path: Path, systemd: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NOTIFY_SOCKET", systemd.getsockname())
    # Half of it is the interval, so that two signs of life come at once.
    monkeypatch.setenv("WATCHDOG_USEC", "200000")
    states: list[bytes] = []
    hearing = asyncio.create_task(hear(systemd, states))
    async with installed(tmp_path) as bot, served(bot, monkeypatch):
        await until(lambda: len(states) >= 3, "two signs of life")
    await hearing
    assert states[:3] == [b"READY=1", b"WATCHDOG=1", b"WATCHDOG=1"]
    assert set(states[3:-1]) <= {b"WATCHDOG=1"}
