"""Programs that run for long: the sandbox, the demo, and the bot that takes new settings while it runs."""

from __future__ import annotations

import asyncio
import contextlib
import json
import signal
import socket
import sqlite3
from asyncio.subprocess import Process
from typing import Any

import aiohttp
import pytest

from tests.kit import Shell, Team, interested, signature
from tests.kit.waiting import BOUND_SECONDS, until

ANNOUNCED = {
    "base_url",
    "api_keys",
    "control_url",
    "slack_page",
    "slack_api_url",
    "slack_bot_token",
    "slack_signing_secret",
}


async def first_line(process: Process) -> dict[str, Any]:
    assert process.stdout is not None
    announced: dict[str, Any] = json.loads(await process.stdout.readline())
    return announced


async def test_a_sandbox_says_on_its_first_line_where_everything_is(shell: Shell, real_time: None) -> None:
    async with shell.start("sandbox", "--scenario", "empty") as process, aiohttp.ClientSession() as http:
        announced = await first_line(process)
        assert announced.keys() >= ANNOUNCED
        headers = {"Authorization": f"Bearer {announced['api_keys']['acme']}"}
        async with http.get(f"{announced['base_url']}/sequences", headers=headers) as answer:
            assert answer.status == 200
        async with http.get(announced["slack_page"]) as page:
            assert page.status == 200
        process.send_signal(signal.SIGTERM)
        assert await process.wait() == 0


@pytest.mark.e2e
async def test_a_demo_says_where_everything_is_and_sums_up(shell: Shell, real_time: None) -> None:
    async with shell.start("demo", "--headless", "--for", "5") as process, aiohttp.ClientSession() as http:
        announced = await first_line(process)
        assert announced.keys() >= {*ANNOUNCED, "bot_url", "bot_pid"}
        async with http.get(f"{announced['bot_url']}/healthz") as answer:
            assert answer.status == 200
        out, _ = await process.communicate()
    assert process.returncode == 0
    assert "0 lost, 0 doubled" in out.decode()


SECRETS = ("whsec-of-before", "whsec-of-after")


async def deliver(team: Team, name: str, *, secret: str) -> int:
    body = interested(name)
    return await team.deliver(body, headers={"X-Service-Signature": signature(body, secret)})


def write_settings(team: Team, text: str) -> None:
    # The environment would win over the file.
    team.environ.pop("OUTREACH_WEBHOOK_SECRET", None)
    team.set(text)


async def test_a_signal_reloads_the_settings_and_drops_no_delivery(team: Team) -> None:
    old, new = SECRETS
    await team.stop()
    write_settings(team, f'webhook_secret = "{old}"\n')
    async with team.serving():
        assert await deliver(team, "Ada", secret=old) == 200
        assert await deliver(team, "Grace", secret=new) == 401
        write_settings(team, f'webhook_secret = "{old},{new}"\n')
        signal.raise_signal(signal.SIGHUP)

        async def is_taken() -> bool:
            # The old secret counts all the time: no delivery is dropped over it.
            assert await deliver(team, "Ada", secret=old) == 200
            return await deliver(team, "Grace", secret=new) == 200

        await until(is_taken, "the new secret counts")
        await team.card("Grace")


async def test_settings_that_cannot_be_read_change_nothing(
    team: Team, capfd: pytest.CaptureFixture[str]
) -> None:
    old, new = SECRETS
    await team.stop()
    write_settings(team, f'webhook_secret = "{old}"\n')
    async with team.serving():
        elsewhere = f'webhook_secret = "{new}"\nmetrics_listen = "127.0.0.1:9"'
        for text, why in (("webhook_secret = [", "outreach.toml"), (elsewhere, "a restart is needed")):
            write_settings(team, text)
            signal.raise_signal(signal.SIGHUP)
            await until(lambda: why in "".join(capfd.readouterr()), "the bot logs why it can't take them")  # noqa: B023
            assert await deliver(team, "Ada", secret=old) == 200
            assert await deliver(team, "Grace", secret=new) == 401


async def test_a_reload_waits_for_a_database_that_cannot_be_used(team: Team) -> None:
    """Another program holds it: the service is told to send its deliveries again."""
    await team.stop()
    async with team.serving():
        with contextlib.closing(sqlite3.connect(team.state_dir / "bot.db", isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            signal.raise_signal(signal.SIGHUP)

            async def waits() -> bool:
                return await team.ready() == (503, {"ready": False, "database": "waiting for the database"})

            await until(waits)
            assert await team.get("/healthz") == (200, "ok\n")
            assert await team.deliver(interested("Ada")) == 503

        async def is_taken() -> bool:
            return await team.deliver(interested("Ada")) == 200

        await until(is_taken)
        await team.card("Ada")


async def test_details_are_on_their_own_address_alone(team: Team) -> None:
    await team.stop()
    inside = team.second()
    team.environ["OUTREACH_METRICS_LISTEN"] = f"127.0.0.1:{inside.port}"
    async with team.serving():
        assert await team.get("/readyz") == (200, '{"ready": true}')
        assert (await team.get("/metrics"))[0] == 404
        assert (await team.get("/healthz"))[0] == (await inside.get("/healthz"))[0] == 200
        status, ready = await inside.ready()
        assert (status, list(ready["workspaces"])) == (200, ["default"])
        assert 'workspace="default"' in (await inside.get("/metrics"))[1]
        assert await inside.deliver(interested("Ada")) == 404
        assert await team.deliver(interested("Ada")) == 200
        await team.card("Ada")


async def hear(manager: socket.socket, states: list[bytes]) -> None:
    """Take each state as it comes, until the last: a socket that holds ten drops those after them."""
    while b"STOPPING=1" not in states:
        states.append(await asyncio.to_thread(manager.recv, 100))


async def test_systemd_is_notified_of_ready_alive_and_stopping(
    team: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    await team.stop()
    states: list[bytes] = []
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(team.state_dir / "notify"))
        manager.settimeout(BOUND_SECONDS)
        monkeypatch.setenv("NOTIFY_SOCKET", manager.getsockname())
        # Half of it is the interval, so that two signs of life come at once.
        monkeypatch.setenv("WATCHDOG_USEC", "200000")
        hearing = asyncio.create_task(hear(manager, states))
        async with team.serving():
            await until(lambda: len(states) >= 3, "two signs of life")
        await hearing
    assert states[:3] == [b"READY=1", b"WATCHDOG=1", b"WATCHDOG=1"]
    assert set(states[3:-1]) <= {b"WATCHDOG=1"}
