"""The bot as its service manager sees it."""

from __future__ import annotations

import asyncio
import signal
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from bot import server
from bot.telemetry import logs
from shared.settings import load
from tests.bot.harness import open_harness
from tests.kit.team import HASTE
from tests.kit.waiting import BOUND_SECONDS


@pytest.fixture
def systemd(tmp_path: Path) -> Iterator[socket.socket]:
    """Where a service manager listens."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(tmp_path / "notify"))
        manager.settimeout(BOUND_SECONDS)
        yield manager


async def received(manager: socket.socket) -> bytes:
    return await asyncio.to_thread(manager.recv, 100)


async def test_systemd_is_notified_of_ready_alive_and_stopping(
    tmp_path: Path, systemd: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NOTIFY_SOCKET", systemd.getsockname())
    # Half of it is the interval, so that two signs of life come at once.
    monkeypatch.setenv("WATCHDOG_USEC", "200000")
    monkeypatch.setattr(server, "tune_runtime", lambda: None)  # of the whole process, as are its logs
    monkeypatch.setattr(logs, "set_up", lambda _level: None)
    async with open_harness(tmp_path) as bot:
        serving = asyncio.create_task(server.serve(load(environ=bot.environ), pace=HASTE))
        states = [await received(systemd) for _ in range(3)]
        assert (await bot.get("/healthz"))[0] == 200
        signal.raise_signal(signal.SIGTERM)
        await asyncio.wait_for(serving, BOUND_SECONDS)
    assert states == [b"READY=1", b"WATCHDOG=1", b"WATCHDOG=1"]
    while await received(systemd) != b"STOPPING=1":
        pass
