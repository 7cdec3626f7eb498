"""Responses beside results, headers of one's own, and requests that have no method."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator

import httpx
import pytest

from shared.api import (
    InvalidRequest,
    NotFound,
    OutreachClient,
    RawResponse,
    ServiceBroken,
    SyncOutreachClient,
    Uncertain,
    __version__,
)
from tests.shared.api.conftest import KEY, RecordingPacer
from tests.shared.api.scripted_server import Answer, ScriptedServer
from tests.shared.api.sync_face import FACES, open_client


@pytest.fixture(params=FACES)
async def client(
    request: pytest.FixtureRequest, server: ScriptedServer, pacer: RecordingPacer
) -> AsyncIterator[OutreachClient]:
    async with open_client(
        request.param, base_url=server.base_url, api_key=KEY, pacer=pacer, jitter=lambda: 0.0
    ) as made:
        yield made


async def test_a_raw_response_has_the_result_and_what_came(server: ScriptedServer) -> None:
    server.play = lambda _: Answer(body={"data": [{"id": "sq_1"}]}, headers={"X-Request-Id": "r1"})
    async with OutreachClient(base_url=server.base_url, api_key=KEY) as client:
        response = await client.with_raw_response.list_sequences()
        assert response.value[0].id == "sq_1"
        assert (response.status, response.headers["x-request-id"]) == (200, "r1")
        assert response.body == b'{"data": [{"id": "sq_1"}]}'
        assert isinstance(await client.list_sequences(), tuple)


def test_a_raw_response_without_an_event_loop() -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, json={"data": []}, headers={"X-Path": request.url.path})

    options = {"base_url": "https://api.x.io/v1", "api_key": KEY, "transport": httpx.MockTransport(answer)}
    with SyncOutreachClient(**options) as client:
        response = client.with_raw_response.list_leads(limit=5)
        assert isinstance(response, RawResponse)
        assert (response.headers["x-path"], response.value.items) == ("/v1/leads", ())
        assert client.with_raw_response.get("/anything").headers["x-path"] == "/v1/anything"


async def test_a_raw_response_of_an_uncertain_deletion_is_the_last(server: ScriptedServer) -> None:
    server.script = [Answer(cut=True), Answer(status=404, body={"error": {"code": "not_found"}})]
    async with OutreachClient(base_url=server.base_url, api_key=KEY, jitter=lambda: 0.0) as client:
        response = await client.with_raw_response.remove_lead("ld_1")
    assert (response.status, b"not_found" in response.body) == (404, True)


async def test_the_key_is_not_in_a_raw_response(server: ScriptedServer) -> None:
    server.play = lambda _: Answer(body=[{"id": KEY}], headers={"X-Key": KEY})
    async with OutreachClient(base_url=server.base_url, api_key=KEY) as client:
        response = await client.with_raw_response.get("/echo")
    assert (response.headers["x-key"], KEY.encode() in response.body) == ("[key]", False)


async def test_any_path_is_requested_with_the_key_and_errors_of_the_client(
    client: OutreachClient, server: ScriptedServer
) -> None:
    server.play = lambda asked: Answer(body={"method": asked.method})
    assert await client.get("/tags/a%2Fb", query={"limit": 5, "q": "a b"}) == {"method": "GET"}
    assert await client.post("/tags", {"name": "x"}) == {"method": "POST"}
    assert await client.patch("/tags/1", {"name": "y"}) == {"method": "PATCH"}
    got, posted, patched = server.asked
    assert (got.path, got.query) == ("/v1/tags/a%2Fb", {"limit": "5", "q": "a b"})
    assert (posted.json, patched.json) == ({"name": "x"}, {"name": "y"})
    assert {asked.headers["authorization"] for asked in server.asked} == {f"Bearer {KEY}"}
    server.play = lambda _: Answer(status=404)
    with pytest.raises(NotFound) as caught:
        await client.get("/tags/2")
    assert (caught.value.endpoint, bool(caught.value.hint)) == ("GET /tags/2", True)
    assert client.shapes == {}  # paths of one's own have ids, and could be endless


@pytest.mark.parametrize(
    "path",
    ["", "tags", "//x.io/../y", "/a/../b", "/a?b=1", "/a#b", "/a b", "/ä", "/a\r\nX: 1", "https://x.io/v1"],
)
async def test_a_path_that_would_lead_elsewhere_is_not_sent(
    client: OutreachClient, server: ScriptedServer, path: str
) -> None:
    with pytest.raises(InvalidRequest, match="path must start with /"):
        await client.get(path)
    assert server.asked == []


async def test_a_post_is_repeated_only_where_its_caller_says_so(
    client: OutreachClient, server: ScriptedServer
) -> None:
    server.script = [Answer(cut=True)] * 2
    server.play = lambda _: Answer(body={})
    with pytest.raises(Uncertain):
        await client.post("/tags", {})
    assert await client.post("/tags", {}, repeat=True) == {}
    assert len(server.asked) == 3


async def test_headers_go_with_every_request_and_more_with_some(server: ScriptedServer) -> None:
    server.play = lambda _: Answer(body=[])
    async with OutreachClient(base_url=server.base_url, api_key=KEY, headers={"X-Team": "sales"}) as client:
        await client.list_inboxes()
        await client.with_options(headers={"X-Team": "ops", "User-Agent": "report/2"}).list_inboxes()
        await client.list_inboxes()
    agents = [asked.headers["user-agent"] for asked in server.asked]
    assert [asked.headers["x-team"] for asked in server.asked] == ["sales", "ops", "sales"]
    assert agents[0].startswith(f"outreach-client/{__version__} python/")
    assert agents[1:] == ["report/2", agents[0]]


@pytest.mark.parametrize(
    "headers",
    [
        {"Authorization": "Bearer secret"}, {"content-type": "secret"}, {"Cookie": "secret"}, {"X Y": "secret"},
        {"X": "secret\r\nY: 1"}, {"X": "secré"}, {"": "secret"}, {"X": " secret"},
    ],
)  # fmt: skip
def test_a_header_that_cannot_be_sent_is_refused_without_its_value(headers: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="header") as caught:
        OutreachClient(base_url="https://api.x.io/v1", api_key=KEY, headers=headers)
    assert "secr" not in str(caught.value)


async def test_the_log_tells_endpoints_statuses_and_repetitions_and_nothing_that_was_sent(
    client: OutreachClient, server: ScriptedServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, logger="outreach_client")
    server.script = [Answer(status=503)]
    server.play = lambda _: Answer(body={"data": []})
    await client.list_leads(cursor="secret-cursor", sequence_id="secret-sequence")
    server.play = lambda _: Answer(status=500)
    with pytest.raises(ServiceBroken):
        await client.with_options(retries=0).get("/inboxes", query={"q": "secret-query"})
    lines = [record.getMessage() for record in caplog.records if record.name == "outreach_client"]
    assert [line.partition(",")[0] for line in lines] == [
        "GET /leads: 503", "GET /leads: ServiceBroken 503", "GET /leads: 200", "GET /inboxes: 500",
    ]  # fmt: skip
    assert not [line for line in lines if "secret" in line or KEY in line]
