"""Socket Mode: tickets, redeliveries, and a Slack that falls silent."""

from __future__ import annotations

import asyncio

import aiohttp
import pytest
from slack_sdk.web.async_client import AsyncWebClient

from sandbox.slack import seed
from sandbox.slack.server import SlackStandIn
from tests.sandbox.slack.driver import Person


@pytest.fixture
async def url(client: AsyncWebClient, slack: SlackStandIn) -> str:
    opened = await client.apps_connections_open(app_token=slack.announcement["slack_app_token"])
    return str(opened["url"])


async def test_a_silent_slack_answers_nothing_until_it_speaks(
    url: str, person: Person, session: aiohttp.ClientSession
) -> None:
    await person.do("settings", ack_seconds=0.1)
    async with session.ws_connect(url) as socket:
        assert (await socket.receive_json())["type"] == "hello"
        await person.do("sockets", act="silence")
        assert (await person.do("command", text="/outreach status"))["ack"]["error"] == "operation_timeout"
        await person.do("sockets", act="speak")
        await person.do("settings", ack_seconds=10)
        command = asyncio.create_task(person.do("command", text="/outreach status"))
        envelope = await socket.receive_json()
        assert envelope["payload"]["text"] == "status"
        await socket.send_json({"envelope_id": envelope["envelope_id"]})
        assert (await command)["ack"]["ok"]


async def test_an_event_comes_again_with_its_number(
    url: str, person: Person, session: aiohttp.ClientSession
) -> None:
    await person.do("settings", ack_seconds=0.05)
    async with session.ws_connect(url) as socket:
        assert (await socket.receive_json())["num_connections"] == 1
        await person.do("message", text=f"<@{seed.BOT.id}> hello")
        envelopes = [await socket.receive_json() for _ in range(4)]
    assert [one["retry_attempt"] for one in envelopes] == [0, 1, 2, 3]
    assert [one["retry_reason"] for one in envelopes] == ["", "timeout", "timeout", "timeout"]
    assert len({one["payload"]["event_id"] for one in envelopes}) == 1


async def test_a_ticket_opens_once(url: str, session: aiohttp.ClientSession) -> None:
    async with session.ws_connect(url):
        pass
    # Slack: the address is good for one connection, and the next has to be asked for.
    with pytest.raises(aiohttp.WSServerHandshakeError):
        await session.ws_connect(url)
