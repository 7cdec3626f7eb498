"""What the stand-in sends to a bot, over HTTP and over sockets."""

from __future__ import annotations

import asyncio
from urllib.parse import parse_qs

import aiohttp
import pytest
from slack_sdk.signature import SignatureVerifier
from slack_sdk.web.async_client import AsyncWebClient

from sandbox.slack import seed
from sandbox.slack.server import SlackStandIn
from tests.sandbox.receiver import Receiver
from tests.sandbox.slack.driver import Person, payloads


async def test_a_command_is_signed_and_whole(slack: SlackStandIn, person: Person, receiver: Receiver) -> None:
    # Signed by the bot's own clock, however far the time here was moved.
    await person.do("clock", advance=25 * 3600)
    done = await person.do("command", text="/outreach stats by step", user="cleo", channel="sales")
    [request] = receiver.received
    verifier = SignatureVerifier(slack.announcement["slack_signing_secret"])
    assert verifier.is_valid_request(request.body, request.headers)
    form = {name: values[0] for name, values in parse_qs(request.body.decode()).items()}
    assert (form["command"], form["text"]) == ("/outreach", "stats by step")
    assert (form["user_id"], form["channel_name"]) == (seed.CLEO.id, "sales")
    assert form["response_url"] == done["response_url"]
    assert set(form) == {
        *("team_id", "team_domain", "channel_id", "channel_name", "user_id", "user_name"),
        *("command", "text", "api_app_id", "is_enterprise_install", "response_url", "trigger_id"),
    }


async def test_a_late_acknowledgement_is_a_timeout_that_people_see(
    person: Person, receiver: Receiver
) -> None:
    receiver.delay = 5.0
    # Slack waits three seconds.
    await person.do("settings", ack_seconds=0.05)
    done = await person.do("command", text="/outreach status")
    assert done["ack"]["error"] == "operation_timeout"
    assert done["answers"][0]["text"] == "`/outreach` failed with the error `operation_timeout`"
    assert (await person.see("summary"))["unacknowledged"] == {"operation_timeout": 1}


async def test_an_event_is_delivered_four_times_at_most(
    slack: SlackStandIn, person: Person, receiver: Receiver
) -> None:
    receiver.status = 500
    await person.do("message", text=f"<@{seed.BOT.id}> hello")
    traffic = slack.workspace.traffic.exchanges
    # Recorded after its answer: by then a fifth request would be under way.
    assert await slack.feed.until(lambda: len(traffic) == 4, timeout=20)
    numbers = [one.headers.get("X-Slack-Retry-Num") for one in receiver.received]
    assert numbers == [None, "1", "2", "3"]
    assert receiver.received[1].headers["X-Slack-Retry-Reason"] == "http_error"
    assert len({one.body for one in receiver.received}) == 1, "a redelivery is the same event"


async def test_a_renamed_or_moved_channel_sends_an_event(person: Person, receiver: Receiver) -> None:
    await person.do("channel", channel=seed.SALES, name="sales-emea")
    await person.do("channel", channel=seed.SALES, id="C0SHARED07")
    await person.do("message", channel="C0SHARED07", text="still there")
    await person.do("token", uninstalled=True)
    await receiver.wait_for(4)
    events = {one["event"]["type"]: one["event"] for one in payloads(receiver)}
    assert events["channel_rename"]["channel"]["name"] == "sales-emea"
    moved = events["channel_id_changed"]
    assert (moved["old_channel_id"], moved["new_channel_id"]) == (seed.SALES, "C0SHARED07")
    assert {"app_uninstalled", "tokens_revoked"} <= set(events)


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
