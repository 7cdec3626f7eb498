"""Socket Mode: the official client lives through everything that Slack does to connections."""

from __future__ import annotations

import asyncio
import inspect
import json
from typing import Any

import aiohttp
import pytest
from slack_bolt.async_app import AsyncApp
from slack_sdk import WebClient
from slack_sdk.socket_mode.response import SocketModeResponse
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


@pytest.mark.parametrize("act", ["refresh", "cut"])
async def test_the_client_comes_back(act: str, slack: SlackStandIn, app: AsyncApp, person: Person) -> None:
    await answering(app)
    async with over_socket(slack, app):
        before = slack.sockets.opened
        assert (await person.do("sockets", act=act))["connections"] == 1
        back = await slack.feed.until(
            lambda: slack.sockets.opened > before and bool(slack.sockets.ready), timeout=10
        )
        assert back
        done = await person.do("command", text="/outreach status", wait=3)
        assert done["answers"][0]["text"] == "here"


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


async def test_an_acknowledged_event_does_not_come_again(
    slack: SlackStandIn, client: AsyncWebClient, person: Person, session: aiohttp.ClientSession
) -> None:
    async with session.ws_connect(await address(client, slack)) as socket:
        await socket.receive_json()
        await person.do("message", text=f"<@{seed.BOT.id}> hello")
        envelope = await socket.receive_json()
        await socket.send_str("nonsense that is not JSON")
        await socket.send_str(json.dumps({"envelope_id": envelope["envelope_id"]}))
        summary = slack.workspace.traffic.summary
        assert await slack.feed.until(lambda: summary()["acks"]["count"] == 1, timeout=20)
        assert summary()["redelivered"] == 0


async def test_a_ticket_opens_once(
    slack: SlackStandIn, client: AsyncWebClient, session: aiohttp.ClientSession
) -> None:
    url = await address(client, slack)
    async with session.ws_connect(url):
        pass
    with pytest.raises(aiohttp.WSServerHandshakeError):
        await session.ws_connect(url)


async def test_the_eleventh_connection_is_sent_away(
    slack: SlackStandIn, client: AsyncWebClient, session: aiohttp.ClientSession
) -> None:
    slack.settings.tier_factor = 0
    sockets = [await session.ws_connect(await address(client, slack)) for _ in range(11)]
    for socket in sockets[:10]:
        assert (await socket.receive_json())["type"] == "hello"
    last = await sockets[10].receive_json()
    assert (last["type"], last["reason"]) == ("disconnect", "too_many_websockets")
    for socket in sockets:
        await socket.close()


def _clients() -> list[type[Any]]:
    """Every synchronous or asynchronous Socket Mode client of the SDK, by the library under it."""
    from slack_sdk.socket_mode.aiohttp import SocketModeClient as OnAiohttp
    from slack_sdk.socket_mode.builtin import SocketModeClient as BuiltIn
    from slack_sdk.socket_mode.websocket_client import SocketModeClient as OnWebsocketClient
    from slack_sdk.socket_mode.websockets import SocketModeClient as OnWebsockets

    return [BuiltIn, OnAiohttp, OnWebsocketClient, OnWebsockets]


@pytest.mark.e2e
@pytest.mark.parametrize("kind", _clients(), ids=lambda kind: str(kind.__module__).split(".")[2])
async def test_every_client_of_the_sdk_connects_and_acknowledges(
    slack: SlackStandIn, person: Person, kind: type[Any]
) -> None:
    connection = slack.announcement
    web: Any = AsyncWebClient if inspect.iscoroutinefunction(kind.connect) else WebClient
    client = kind(
        app_token=connection["slack_app_token"],
        web_client=web(base_url=connection["slack_api_url"]),
        ping_interval=0.5,  # closing waits for the next ping
    )

    def acknowledge(client: Any, request: Any) -> Any:
        answer = SocketModeResponse(envelope_id=request.envelope_id, payload={"text": "Hello"})
        return client.send_socket_mode_response(answer)

    async def acknowledge_later(client: Any, request: Any) -> None:
        await acknowledge(client, request)

    is_async = inspect.iscoroutinefunction(kind.connect)
    client.socket_mode_request_listeners.append(acknowledge_later if is_async else acknowledge)
    try:
        await (client.connect() if is_async else asyncio.to_thread(client.connect))
        assert await slack.feed.until(lambda: bool(slack.sockets.ready), timeout=20)
        done = await person.do("command", text="/outreach help")
        assert done["ack"]["ok"], done
        assert done["answers"][0]["text"] == "Hello"
    finally:
        await (client.close() if is_async else asyncio.to_thread(client.close))
