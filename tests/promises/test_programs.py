"""Programs that run for long: the sandbox, the demo, and the bot that takes new settings while it runs."""

from __future__ import annotations

import json
import signal
from asyncio.subprocess import Process
from typing import Any

import aiohttp
import pytest

from tests.kit import Shell, Team, interested, signature
from tests.kit.waiting import until

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


async def test_a_signal_reloads_the_settings_and_drops_no_delivery(team: Team, real_time: None) -> None:
    old, new = SECRETS
    await team.stop()
    write_settings(team, f'webhook_secret = "{old}"\n')
    async with team.process() as process:
        assert await deliver(team, "Ada", secret=old) == 200
        assert await deliver(team, "Grace", secret=new) == 401
        write_settings(team, f'webhook_secret = "{old},{new}"\n')
        process.send_signal(signal.SIGHUP)

        async def is_taken() -> bool:
            # The old secret counts all the time: no delivery is dropped over it.
            assert await deliver(team, "Ada", secret=old) == 200
            return await deliver(team, "Grace", secret=new) == 200

        await until(is_taken, "the new secret counts")
        await team.card("Grace")


async def test_settings_that_cannot_be_read_change_nothing(team: Team, real_time: None) -> None:
    old, new = SECRETS
    await team.stop()
    write_settings(team, f'webhook_secret = "{old}"\n')
    async with team.process() as process:
        (log,) = team.state_dir.glob("bot-*.log")
        before = log.stat().st_size
        write_settings(team, "webhook_secret = [")
        process.send_signal(signal.SIGHUP)
        await until(lambda: log.stat().st_size > before, "the bot logs that it can't read them")
        assert await deliver(team, "Ada", secret=old) == 200
        assert await deliver(team, "Grace", secret=new) == 401
        process.send_signal(signal.SIGTERM)
        assert await process.wait() == 0
