"""The whole sandbox in one block."""

from __future__ import annotations

import asyncio
import signal
import sys
from pathlib import Path

import httpx
import pytest

from sandbox.embedded import embedded
from sandbox.service import Service
from tests.processes import running_async

KEYS = {
    "base_url",
    "api_keys",
    "control_url",
    "dns_resolvers",
    "slack_page",
    "slack_api_url",
    "slack_bot_token",
    "slack_signing_secret",
}


async def test_a_sandbox_announces_all_that_scripts_need() -> None:
    async with (
        embedded(Service(scenario="empty")) as connection,
        httpx.AsyncClient(verify=False) as client,
    ):
        assert set(connection) >= KEYS
        assert list(connection["api_keys"]) == ["acme", "globex"]
        assert connection["base_url"].endswith("/v1")
        headers = {"Authorization": f"Bearer {connection['api_keys']['acme']}"}
        assert (await client.get(f"{connection['base_url']}/sequences", headers=headers)).status_code == 200
        assert (await client.get(connection["control_url"])).status_code == 200
        assert (await client.get(connection["slack_page"])).status_code == 200
    async with httpx.AsyncClient(verify=False) as client:
        with pytest.raises(httpx.ConnectError):
            await client.get(connection["control_url"])


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
