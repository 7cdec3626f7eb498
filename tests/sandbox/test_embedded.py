"""The whole sandbox in one block."""

from __future__ import annotations

import asyncio
import signal
import sys
from pathlib import Path

import pytest

from sandbox.embedded import embedded
from sandbox.service import Service
from tests.kit.processes import running_async


async def test_a_port_in_use_is_reported_and_leaves_nothing_running() -> None:
    async with embedded(Service(scenario="empty")) as connection:
        port = int(connection["base_url"].removesuffix("/v1").rpartition(":")[2])
        with pytest.raises(OSError):
            async with embedded(Service(port=port, scenario="empty")):
                pass


@pytest.mark.e2e
@pytest.mark.parametrize("times", [1, 3])
async def test_however_often_it_is_asked_to_end_it_ends_in_order(times: int) -> None:
    pipe = asyncio.subprocess.PIPE
    command = [str(Path(sys.executable).with_name("outreach")), "sandbox", "--scenario", "empty"]
    command += ["--port", "0", "--slack-port", "0"]
    async with running_async(*command, stdout=pipe, stderr=pipe) as running:
        assert running.stdout is not None
        await running.stdout.readline()
        # A person who sees no reaction presses ctrl-c again: the end must not be cut short by it.
        for _ in range(times):
            running.send_signal(signal.SIGINT)
        _, complaints = await asyncio.wait_for(running.communicate(), 60)
        assert (running.returncode, complaints) == (0, b"")
