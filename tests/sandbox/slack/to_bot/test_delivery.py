"""What Slack does when a bot is late, wrong or gone; and what it sends."""

from __future__ import annotations

import asyncio
from urllib.parse import parse_qs

from aiohttp import web
from slack_bolt.async_app import AsyncApp
from slack_sdk.signature import SignatureVerifier

from sandbox.slack import seed
from sandbox.slack.server import SlackStandIn
from tests.sandbox.slack.driver import Json, Person


class Receiver:
    """A bot of ten lines that keeps what it got and answers as it is told."""

    def __init__(self) -> None:
        self.requests: list[tuple[dict[str, str], bytes]] = []
        self.status = 200
        self.headers: dict[str, str] = {}
        self.pause = 0.0

    async def handle(self, request: web.Request) -> web.Response:
        self.requests.append((dict(request.headers), await request.read()))
        await asyncio.sleep(self.pause)
        return web.Response(status=self.status, headers=self.headers)


async def serve(receiver: Receiver, slack: SlackStandIn) -> web.AppRunner:
    application = web.Application()
    application.router.add_post("/slack/events", receiver.handle)
    runner = web.AppRunner(application, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    slack.settings.request_url = f"http://127.0.0.1:{runner.addresses[0][1]}/slack/events"
    return runner


async def test_a_command_is_signed_and_whole(slack: SlackStandIn, person: Person) -> None:
    receiver = Receiver()
    runner = await serve(receiver, slack)
    try:
        # Signed by the bot's own clock, however far the time here was moved.
        await person.do("clock", advance=25 * 3600)
        done = await person.do("command", text="/outreach stats by step", user="cleo", channel="sales")
    finally:
        await runner.cleanup()
    headers, body = receiver.requests[0]
    verifier = SignatureVerifier(slack.announcement["slack_signing_secret"])
    assert verifier.is_valid_request(body, headers)
    form = {name: values[0] for name, values in parse_qs(body.decode()).items()}
    assert form["command"] == "/outreach"
    assert form["text"] == "stats by step"
    assert (form["user_id"], form["channel_name"]) == (seed.CLEO.id, "sales")
    assert form["response_url"] == done["response_url"]
    assert set(form) == {
        *("team_id", "team_domain", "channel_id", "channel_name", "user_id", "user_name"),
        *("command", "text", "api_app_id", "is_enterprise_install", "response_url", "trigger_id"),
    }


async def test_a_late_acknowledgement_is_a_timeout_that_people_see(
    slack: SlackStandIn, person: Person
) -> None:
    receiver = Receiver()
    receiver.pause = 5.0
    runner = await serve(receiver, slack)
    try:
        await person.do("settings", ack_seconds=0.05)
        done = await person.do("command", text="/outreach status")
    finally:
        await runner.cleanup()
    assert done["ack"]["error"] == "operation_timeout"
    assert done["answers"][0]["text"] == "`/outreach` failed with the error `operation_timeout`"
    assert (await person.see("summary"))["unacknowledged"] == {"operation_timeout": 1}


def receiver_attempts(slack: SlackStandIn) -> list[int]:
    return [one["attempt"] for one in slack.workspace.traffic.exchanges if one["direction"] == "to_bot"]


async def test_an_event_is_delivered_four_times_at_most(slack: SlackStandIn, person: Person) -> None:
    receiver = Receiver()
    receiver.status = 500
    runner = await serve(receiver, slack)
    try:
        await person.do("message", text=f"<@{seed.BOT.id}> hello")
        assert await slack.feed.until(lambda: len(receiver_attempts(slack)) == 4, timeout=20)
    finally:
        await runner.cleanup()
    numbers = [headers.get("X-Slack-Retry-Num") for headers, _ in receiver.requests]
    assert numbers == [None, "1", "2", "3"]
    assert receiver.requests[1][0]["X-Slack-Retry-Reason"] == "http_error"
    assert len({body for _, body in receiver.requests}) == 1, "a redelivery is the same event"


async def test_a_renamed_or_moved_channel_sends_an_event(running: AsyncApp, person: Person) -> None:
    heard: asyncio.Queue[Json] = asyncio.Queue()
    for kind in ("channel_rename", "channel_id_changed", "app_uninstalled"):

        @running.event(kind)
        async def happened(event: Json) -> None:
            heard.put_nowait(event)

    await person.do("channel", channel=seed.SALES, name="sales-emea")
    assert (await asyncio.wait_for(heard.get(), 20))["channel"]["name"] == "sales-emea"
    await person.do("channel", channel=seed.SALES, id="C0SHARED07")
    moved = await asyncio.wait_for(heard.get(), 20)
    assert (moved["old_channel_id"], moved["new_channel_id"]) == (seed.SALES, "C0SHARED07")
    await person.do("message", channel="C0SHARED07", text="still there")
    await person.do("token", uninstalled=True)
    assert (await asyncio.wait_for(heard.get(), 20))["type"] == "app_uninstalled"
