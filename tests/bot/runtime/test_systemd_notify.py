"""Messages to systemd about a service."""

from __future__ import annotations

import asyncio
import socket
from pathlib import Path

import pytest

from shared.text.systemd_notify import interval, systemd_notified
from tests.waiting import until


async def test_systemd_is_notified_of_start_watchdog_and_stop(tmp_path: Path) -> None:
    address = str(tmp_path / "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd:
        systemd.bind(address)
        systemd.settimeout(60)
        async with systemd_notified({"NOTIFY_SOCKET": address, "WATCHDOG_USEC": "40000"}):
            messages = [await asyncio.to_thread(systemd.recv, 100) for _ in range(4)]
        assert messages == [b"READY=1", b"WATCHDOG=1", b"WATCHDOG=1", b"WATCHDOG=1"]
        last = b""
        while last != b"STOPPING=1":
            last = systemd.recv(100)


async def test_a_systemd_that_does_not_listen_ends_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with systemd_notified({"NOTIFY_SOCKET": str(tmp_path / "gone"), "WATCHDOG_USEC": "20000"}):
        await until(lambda: caplog.text.count("systemd couldn't be notified of WATCHDOG=1") > 2)
    assert "systemd couldn't be notified of STOPPING=1" in caplog.text


@pytest.mark.parametrize("given", ["", "0", "x", "²", "-5"])
def test_an_invalid_interval_is_none(given: str) -> None:
    assert interval({"WATCHDOG_USEC": given}, process=7) is None


def test_a_watchdog_for_another_process_is_left_alone() -> None:
    assert interval({"WATCHDOG_USEC": "10000000", "WATCHDOG_PID": "8"}, process=7) is None
    assert interval({"WATCHDOG_USEC": "10000000", "WATCHDOG_PID": "7"}, process=7) == 5
