"""Socket Mode: the official client lives through everything that Slack does to connections."""

from __future__ import annotations

from typing import Any

import aiohttp
import pytest
from slack_bolt.async_app import AsyncApp
from slack_sdk.web.async_client import AsyncWebClient

from sandbox.slack import seed
from sandbox.slack.server import SlackStandIn
from tests.sandbox.slack.driver import Person, over_socket


async def address(client: AsyncWebClient, slack: SlackStandIn) -> str:
    opened = await client.apps_connections_open(app_token=slack.announcement["slack_app_token"])
    return str(opened["url"])


async def answering(app: AsyncApp) -> None:
    @app.command("/outreach")
    async def command(ack: Any) -> None:
        await ack("here")


async def test_a_silent_slack_answers_nothing_until_it_speaks(
    slack: SlackStandIn, app: AsyncApp, person: Person
) -> None:
    await answering(app)
    await person.do("settings", ack_seconds=0.1)
    async with over_socket(slack, app):
        await person.do("sockets", act="silence")
        assert (await person.do("command", text="/outreach status"))["ack"]["error"] == "operation_timeout"
        await person.do("sockets", act="speak")
        await person.do("settings", ack_seconds=3)
        assert (await person.do("command", text="/outreach status"))["ack"]["ok"]


async def test_an_event_comes_again_with_its_number(
    slack: SlackStandIn, client: AsyncWebClient, person: Person, session: aiohttp.ClientSession
) -> None:
    await person.do("settings", ack_seconds=0.05)
    async with session.ws_connect(await address(client, slack)) as socket:
        hello = await socket.receive_json()
        assert (hello["type"], hello["num_connections"]) == ("hello", 1)
        await person.do("message", text=f"<@{seed.BOT.id}> hello")
        envelopes = [await socket.receive_json() for _ in range(4)]
    assert [one["retry_attempt"] for one in envelopes] == [0, 1, 2, 3]
    assert [one["retry_reason"] for one in envelopes] == ["", "timeout", "timeout", "timeout"]
    assert len({one["payload"]["event_id"] for one in envelopes}) == 1
    assert len({one["envelope_id"] for one in envelopes}) == 4


async def test_a_ticket_opens_once(
    slack: SlackStandIn, client: AsyncWebClient, session: aiohttp.ClientSession
) -> None:
    url = await address(client, slack)
    async with session.ws_connect(url):
        pass
    with pytest.raises(aiohttp.WSServerHandshakeError):
        await session.ws_connect(url)
