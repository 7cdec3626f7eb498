"""Links that people share, what apps show for them, and the threads of an app's assistant."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from slack_bolt.async_app import AsyncApp
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from sandbox.slack.state import seed
from tests.sandbox.slack.driver import Person

URL = "https://tickets.acme.example/T-42"
MANIFEST: dict[str, Any] = {
    "features": {"unfurl_domains": ["acme.example"]},
    "settings": {"event_subscriptions": {"bot_events": ["link_shared", "assistant_thread_started"]}},
}


@pytest.fixture
async def heard(running: AsyncApp, person: Person) -> asyncio.Queue[dict[str, Any]]:
    """The events that the app was sent."""
    queue: asyncio.Queue[dict[str, Any]] = asyncio.Queue()

    async def hear(event: dict[str, Any]) -> None:
        queue.put_nowait(event)

    running.event("link_shared")(hear)
    running.event("assistant_thread_started")(hear)
    await person.do("manifest", **MANIFEST)
    return queue


async def test_a_shared_link_is_told_and_shown_once(
    heard: asyncio.Queue[dict[str, Any]], client: AsyncWebClient, person: Person
) -> None:
    posted = await person.do(
        "message", channel="sales", text=f"<{URL}|the ticket>, {URL}, https://example.org"
    )
    event = await asyncio.wait_for(heard.get(), 10)
    assert event["links"] == [{"domain": "acme.example", "url": URL}]
    assert (event["message_ts"], event["user"]) == (posted["message"]["ts"], seed.ANN.id)
    where = {"unfurl_id": event["unfurl_id"], "source": event["source"]}
    await client.chat_unfurl(**where, unfurls={URL: {"title": "T-42"}})
    shown = {"title": "T-42, closed", "blocks": [{"type": "divider"}]}
    await client.chat_unfurl(channel=seed.SALES, ts=event["message_ts"], unfurls={URL: shown})
    (message,) = (await person.see("messages", channel="sales"))["messages"]
    (attachment,) = message["attachments"]
    assert (attachment["title"], attachment["from_url"], attachment["id"]) == ("T-42, closed", URL, 1)


async def test_links_of_other_domains_and_of_bots_are_not_told(
    heard: asyncio.Queue[dict[str, Any]], client: AsyncWebClient, person: Person
) -> None:
    await client.chat_postMessage(channel=seed.SALES, text=URL)
    await person.do("message", channel="sales", text="https://notacme.example/1")
    await person.do("message", channel="sales", text="https://acme.example/2")
    assert (await asyncio.wait_for(heard.get(), 10))["links"][0]["url"] == "https://acme.example/2"
    assert heard.empty()


@pytest.mark.parametrize(
    ("args", "error"),
    [
        ({"unfurls": {}}, "missing_unfurls"),
        ({"unfurls": {URL: "x"}}, "invalid_unfurls_format"),
        ({"unfurls": {"https://other.example": {"title": "x"}}}, "cannot_unfurl_url"),
        ({"channel": "C0NOWHERE0"}, "cannot_find_channel"),
        ({"ts": "1.000001"}, "cannot_find_message"),
        ({"ts": ""}, "missing_ts"),
        ({"channel": ""}, "missing_channel"),
        ({"unfurls": {URL: {"blocks": [{"type": "nonsense"}]}}}, "invalid_blocks"),
    ],
)
async def test_what_cannot_be_shown_is_refused(
    client: AsyncWebClient, person: Person, args: dict[str, Any], error: str
) -> None:
    posted = await person.do("message", channel="sales", text=URL)
    call = {"channel": seed.SALES, "ts": posted["message"]["ts"], "unfurls": {URL: {"title": "x"}}, **args}
    with pytest.raises(SlackApiError) as caught:
        await client.api_call("chat.unfurl", json=call)
    assert caught.value.response["error"] == error


async def test_an_assistant_is_opened_in_a_thread_of_its_own(
    heard: asyncio.Queue[dict[str, Any]], client: AsyncWebClient, person: Person
) -> None:
    opened = await person.do("assistant/open", context={"channel_id": seed.SALES})
    thread = (await asyncio.wait_for(heard.get(), 10))["assistant_thread"]
    assert (thread["user_id"], thread["thread_ts"]) == (seed.ANN.id, opened["thread_ts"])
    assert thread["context"] == {"team_id": seed.TEAM.id, "channel_id": seed.SALES}
    where = {"channel_id": thread["channel_id"], "thread_ts": thread["thread_ts"]}
    assert (await client.assistant_threads_setTitle(**where, title="On call"))["ok"]
    said = await person.do("message", channel="dm", thread_ts=opened["thread_ts"], text="Who?")
    assert said["message"]["thread_ts"] == opened["thread_ts"]
