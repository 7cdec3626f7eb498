from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from slack_bolt.async_app import AsyncApp
from slack_bolt.authorization import AuthorizeResult
from slack_bolt.context.ack.async_ack import AsyncAck

from bot.slack import socket_mode
from bot.slack.socket_mode import SocketMode
from bot.slack.web_api import open_web_api
from shared.settings import load
from tests.kit.bot import interested
from tests.kit.team import Installation, installed
from tests.kit.waiting import until


@pytest.fixture(autouse=True)
def haste(monkeypatch: pytest.MonkeyPatch) -> None:
    """Short waits, with the pings of production: aiohttp gives a connection up that answers none within half of their
    interval, and a busy machine takes longer than half a second now and then."""
    waits = {"FIRST_WAIT_SECONDS": 0.05, "LONGEST_WAIT_SECONDS": 0.2, "CLOSE_SECONDS": 0.5}
    for name, seconds in waits.items():
        monkeypatch.setattr(socket_mode, name, seconds)


@asynccontextmanager
async def socket_harness(folder: Path, *, disabled: bool = False) -> AsyncIterator[Installation]:
    """A bot that Slack reaches by Socket Mode alone; a cut is noticed by the next ping."""
    async with installed(folder) as bot:
        bot.use_socket_mode()
        await bot.act("settings", tier_factor=0)  # these connect more often than Slack lets a bot
        if disabled:
            await bot.act("sockets", act="disable")
        async with bot.inside():
            if not disabled:
                await connected(bot, times=1)
            yield bot


async def state(bot: Installation) -> dict[str, Any]:
    body: dict[str, Any] = json.loads((await bot.get("/readyz"))[1])["socket_mode"]
    return body


async def connected(bot: Installation, *, times: int) -> dict[str, Any]:
    """Wait for the so-manieth connection."""

    async def there() -> dict[str, Any] | None:
        connection = await state(bot)
        return connection if connection["connected"] and connection["rebuilds"] == times - 1 else None

    return dict(await until(there))


async def answers(bot: Installation) -> bool:
    return "You are ann" in (await bot.ask("whoami")).shown


async def test_commands_come_by_the_socket_and_deliveries_by_http(tmp_path: Path) -> None:
    async with socket_harness(tmp_path) as bot:
        assert await answers(bot)
        assert await bot.deliver(interested(1)) == 200
        await bot.until_posted(1)
        assert (await bot.http.post(f"{bot.url}/slack/events")).status == 404


@pytest.mark.parametrize(("act", "reason"), [("cut", "cut"), ("silence", "no response")])
async def test_a_lost_or_silent_connection_is_replaced(
    tmp_path: Path, act: str, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(socket_mode, "PING_SECONDS", 1.0)
    async with socket_harness(tmp_path) as bot:
        await bot.act("sockets", act=act)

        async def rebuilt() -> bool:
            status = await state(bot)
            return bool(status["rebuilds"] and str(status["last_loss"]).startswith(reason))

        await until(rebuilt)
        await bot.act("sockets", act="speak")
        assert await answers(bot)


@pytest.mark.parametrize("at_start", [False, True])
async def test_socket_mode_that_is_off_is_reported_until_it_is_on_and_stops_no_delivery(
    tmp_path: Path, *, at_start: bool
) -> None:
    async with socket_harness(tmp_path, disabled=at_start) as bot:
        await bot.act("sockets", act="disable")

        async def troubled(words: str = "refused") -> bool:
            return words in (await state(bot))["trouble"]

        await until(troubled)
        await bot.act("faults", method="apps.connections.open", kind="cut", times=None)
        await until(lambda: troubled("can't be reached"))
        await bot.act("faults", clear=True)
        assert (await bot.get("/readyz"))[0] == 200, "deliveries are taken in any case"
        assert await bot.deliver(interested(1)) == 200
        await bot.until_posted(1)
        await bot.act("sockets", act="enable")
        await connected(bot, times=1 if at_start else 2)
        assert await answers(bot)


async def test_a_connection_that_slack_wants_refreshed_is_replaced_without_leaving_one_behind(
    tmp_path: Path,
) -> None:
    async with socket_harness(tmp_path) as bot:
        for times in (2, 3):
            await bot.act("sockets", act="refresh")
            assert "reconnect" in (await connected(bot, times=times))["last_loss"]
            assert await answers(bot)

        async def one() -> bool:
            return len(bot.slack.sockets.connections) == 1

        await until(one)


async def test_a_refresh_waits_for_every_acknowledgement_that_is_due(tmp_path: Path) -> None:
    async with installed(tmp_path) as bot:
        bot.slack.settings.request_url = None
        bot.slack.settings.tier_factor = 100.0  # these connect anew far more often than a bot does
        await bot.act("settings", commands=[{"command": "/slow"}, {"command": "/quick"}])
        async with open_web_api(load(environ=bot.environ).slack) as slack:
            app = AsyncApp(client=slack.client, signing_secret="", authorize=authorized)

            @app.command("/slow")
            async def slow(ack: AsyncAck) -> None:
                await asyncio.sleep(0.4)
                await ack()

            @app.command("/quick")
            async def quick(ack: AsyncAck) -> None:
                await ack()

            mode = SocketMode(app, bot.slack.announcement["slack_app_token"], slack)
            running = asyncio.create_task(mode.run())
            await until(lambda: bool(mode.state["connected"]))
            typed = asyncio.create_task(bot.act("command", text="/slow"))
            # The slow one must be under way when Slack asks for another connection.
            await asyncio.sleep(0.1)
            assert (await bot.act("command", text="/quick"))["ack"]["ok"]
            await bot.act("sockets", act="refresh")
            assert (await typed)["ack"]["ok"], "the quick one's acknowledgement was not the last one due"
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)


async def authorized(enterprise_id: str | None, team_id: str | None) -> AuthorizeResult:
    return AuthorizeResult(enterprise_id=enterprise_id, team_id=team_id, bot_token="xoxb")
