"""The bot's process as its service manager sees it."""

from __future__ import annotations

import asyncio
import signal
import socket
from pathlib import Path

from tests.bot.harness import bot_process, open_harness


async def test_systemd_is_notified_of_ready_alive_and_stopping(tmp_path: Path) -> None:
    address = str(tmp_path / "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd:
        systemd.bind(address)
        systemd.settimeout(10)
        async with (
            open_harness(tmp_path, NOTIFY_SOCKET=address, WATCHDOG_USEC="200000") as bot,
            bot_process(bot) as process,
        ):
            states = [await asyncio.to_thread(systemd.recv, 100) for _ in range(3)]
            process.send_signal(signal.SIGTERM)
            assert await asyncio.wait_for(process.wait(), 10) == 0
        assert states == [b"READY=1", b"WATCHDOG=1", b"WATCHDOG=1"]
        state = b""
        while state != b"STOPPING=1":
            state = systemd.recv(100)
