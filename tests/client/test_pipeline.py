"""How often a request is sent, how long it waits, and what its failure says."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import httpx
import pytest

from shared.api import (
    NoResponse,
    NotFound,
    OutreachClient,
    Uncertain,
    Unreachable,
)
from tests.client.conftest import KEY, RecordingPacer
from tests.client.endpoint_calls import CHANGES, EVERY_CALL
from tests.client.scripted_server import Answer, RecordedRequest, ScriptedServer


@pytest.mark.parametrize("endpoint", EVERY_CALL)
async def test_a_429_stops_every_process_until_retry_after(
    client: OutreachClient, server: ScriptedServer, pacer: RecordingPacer, endpoint: str
) -> None:
    server.play = lambda _: Answer(body={"data": [], "id": "wh_1", "secret": "s"})
    server.script = [
        Answer(status=429, headers={"Retry-After": "0.06"}, body={"error": {"code": "rate_limited"}})
    ]
    started = time.monotonic()
    await EVERY_CALL[endpoint](client)
    assert time.monotonic() - started >= 0.06
    assert (len(server.asked), pacer.stops) == (2, [0.06])
    assert (client.counts.requests, client.counts.throttled, client.counts.retried) == (2, 1, 1)


@pytest.mark.parametrize(
    ("broken", "endpoint"),
    [
        (broken, endpoint)
        for broken in (
            Answer(status=500, body={"error": {}}),
            Answer(status=502, body=b"<html>Bad Gateway</html>", headers={"Content-Type": "text/html"}),
            Answer(
                status=200,
                body=b"<!doctype html><title>Log in</title>",
                headers={"Content-Type": "text/html"},
            ),
            Answer(cut=True),
            Answer(raw=b'HTTP/1.1 200 Fine\r\nContent-Length: 900\r\n\r\n{"data": [{"id'),
            Answer(raw=b"\xff\xfe garbage\r\n\r\n"),
        )
        for endpoint in EVERY_CALL
    ],
)
async def test_safe_requests_are_retried_and_webhooks_are_not(
    client: OutreachClient, server: ScriptedServer, broken: Answer, endpoint: str
) -> None:
    server.play = lambda _: Answer(body={"data": [], "added": 0, "skipped": [], "id": "wh_1", "secret": "s"})
    server.script = [broken]
    if endpoint == "POST /webhooks":
        # A second subscription would deliver everything twice; leads that are added again are skipped.
        with pytest.raises(Uncertain):
            await EVERY_CALL[endpoint](client)
        assert len(server.asked) == 1
    else:
        result = await EVERY_CALL[endpoint](client)
        assert len(server.asked) == 2
        assert endpoint != "POST /leads" or result.repeated


async def test_a_404_after_an_uncertain_removal_is_the_removal(
    client: OutreachClient, server: ScriptedServer
) -> None:
    # The first attempt removed it and its answer was lost, so that the second finds nothing.
    server.script = [Answer(cut=True), Answer(status=404, body={"error": {"code": "not_found"}})]
    await client.remove_lead("ld_1")
    assert len(server.asked) == 2


async def test_a_404_at_once_is_an_error(client: OutreachClient, server: ScriptedServer) -> None:
    with pytest.raises(NotFound):
        await client.remove_lead("ld_1")
    # 503 says that nothing was done: the 404 after it means what it says.
    server.script = [Answer(status=503, body={}), Answer(status=404, body={})]
    with pytest.raises(NotFound):
        await client.remove_lead("ld_1")


@pytest.mark.parametrize("endpoint", CHANGES)
async def test_a_change_that_never_gets_an_answer_is_uncertain(server: ScriptedServer, endpoint: str) -> None:
    server.play = lambda _: Answer(cut=True)
    async with OutreachClient(
        base_url=server.base_url, api_key=KEY, pacer=RecordingPacer(), total_timeout=2.0, jitter=lambda: 0.5
    ) as client:
        with pytest.raises(Uncertain) as caught:
            await EVERY_CALL[endpoint](client)
    assert caught.value.endpoint == endpoint


async def test_an_attempt_that_may_have_worked_is_not_forgotten_when_the_next_cannot_connect(
    client: OutreachClient, server: ScriptedServer
) -> None:
    # The first attempt may have paused the sequence; that the second is stopped says nothing about it.
    server.script = [Answer(cut=True), Answer(status=429, headers={"Retry-After": "3600"})]
    with pytest.raises(Uncertain, match="rate limit"):
        await client.pause_sequence("sq_1")
    assert len(server.asked) == 2


async def test_a_connection_that_opens_slowly_moves_those_behind_it(
    server: ScriptedServer, pacer: RecordingPacer
) -> None:
    server.play = lambda _: Answer(body=[])
    # A little late, the request goes and counts from then; much later, it takes another turn.
    for wait, late, turns in ((0.03, 1, 1), (0.2, 0, 2)):
        pacer.delays.clear()
        pacer.reserved.clear()
        async with OutreachClient(
            base_url=server.base_url, api_key=KEY, pacer=pacer, transport=SlowToConnect(wait)
        ) as client:
            await client.list_inboxes()
        assert (len(pacer.delays), len(pacer.reserved)) == (late, turns)


async def test_a_change_that_was_never_sent_is_unreachable_and_not_uncertain(
    server: ScriptedServer, pacer: RecordingPacer
) -> None:
    async with OutreachClient(
        base_url=server.base_url, api_key=KEY, pacer=pacer, transport=SlowToConnect(5.0), total_timeout=0.2
    ) as client:
        with pytest.raises(Unreachable):
            await client.create_webhook("https://x.io/hook", ["lead.replied"])
    assert server.asked == []


class SlowToConnect(httpx.AsyncHTTPTransport):
    """The network, with a handshake that takes its time."""

    def __init__(self, wait: float) -> None:
        super().__init__()
        self._wait = wait

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        text = request.extensions["trace"]

        async def trace(name: str, info: dict[str, Any]) -> None:
            if name.endswith("send_request_headers.started"):  # nothing is sent yet
                await asyncio.sleep(self._wait)
            await text(name, info)

        request.extensions["trace"] = trace
        return await super().handle_async_request(request)


async def test_a_silent_service_is_left_after_the_total_time(
    server: ScriptedServer, pacer: RecordingPacer
) -> None:
    async def drip(asked: RecordedRequest) -> Answer:
        await asyncio.sleep(30)
        return Answer()

    server.play = drip
    async with OutreachClient(
        base_url=server.base_url, api_key=KEY, pacer=pacer, total_timeout=0.5
    ) as client:
        started = time.monotonic()
        with pytest.raises(NoResponse):
            await client.list_inboxes()
        # Forty times the limit, for a busy machine; the answer would come after thirty seconds.
        assert time.monotonic() - started < 20
