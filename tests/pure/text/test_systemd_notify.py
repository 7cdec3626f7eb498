"""Messages to systemd about a service."""

from __future__ import annotations

from pathlib import Path

import pytest

from shared.text.systemd_notify import interval, systemd_notified
from tests.kit.waiting import until


async def test_a_systemd_that_does_not_listen_ends_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with systemd_notified({"NOTIFY_SOCKET": str(tmp_path / "gone"), "WATCHDOG_USEC": "20000"}):
        await until(lambda: caplog.text.count("systemd couldn't be notified of WATCHDOG=1") > 2)
    assert "systemd couldn't be notified of STOPPING=1" in caplog.text


def test_a_watchdog_for_another_process_is_left_alone() -> None:
    # A child inherits the variables: systemd waits for signs of life of the named process alone.
    assert interval({"WATCHDOG_USEC": "10000000", "WATCHDOG_PID": "8"}, process=7) is None
    assert interval({"WATCHDOG_USEC": "10000000", "WATCHDOG_PID": "7"}, process=7) == 5
