"""The client over real HTTP: what it sends, what it makes of any answer, what it repeats."""

from __future__ import annotations

import asyncio
import gzip
import logging
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, date, datetime
from typing import Any

import httpx
import pytest

from shared.api import (
    InvalidRequest,
    NotFound,
    OutreachClient,
    OutreachError,
    RateLimited,
    Refused,
    Unauthorized,
    Uncertain,
    Unreachable,
    Unreadable,
)
from shared.api.http.rate_limit import Priority
from tests.shared.api.conftest import KEY, Unhurried
from tests.shared.api.scripted_server import Answer, Asked, Stage

Call = Callable[[OutreachClient], Awaitable[Any]]

LEADS = {"data": [{"id": "ld_1", "email": "ada@x.io", "status": "active"}], "next_cursor": None}

EVERY_CALL: dict[str, Call] = {
    "GET /leads": lambda client: client.list_leads(),
    "POST /leads": lambda client: client.add_leads("sq_1", [{"email": "ada@x.io"}]),
    "DELETE /leads/{id}": lambda client: client.remove_lead("ld_1"),
    "GET /sequences": lambda client: client.list_sequences(),
    "PATCH /sequences/{id}": lambda client: client.pause_sequence("sq_1"),
    "GET /inboxes": lambda client: client.list_inboxes(),
    "GET /stats": lambda client: client.stats(),
    "POST /webhooks": lambda client: client.create_webhook("https://x.io/hook", ["lead.replied"]),
}
CHANGES = [name for name in EVERY_CALL if not name.startswith("GET")]
every_call = pytest.mark.parametrize("endpoint", EVERY_CALL)


def cause_of(endpoint: str) -> Call:
    return EVERY_CALL[endpoint]


async def test_every_request_is_to_the_letter_of_the_document(client: OutreachClient, stage: Stage) -> None:
    stage.play = lambda _: Answer(body={"data": [], "added": 1, "id": "wh_1", "secret": "s"})
    await client.list_leads(sequence_id="sq_1", status="replied", limit=7, cursor="a b")
    await client.add_leads("sq_1", [{"email": "ada@x.io", "first_name": "Ada", "shoe": 38}])
    await client.remove_lead("ld/1?x")
    await client.list_sequences()
    await client.pause_sequence("sq 1")
    await client.resume_sequence("sq_1")
    await client.list_inboxes()
    await client.stats(group_by="step", start=date(2026, 1, 2), end=date(2026, 1, 3))
    await client.create_webhook("https://x.io/hook", ["lead.replied"])
    assert [(asked.method, asked.target, asked.body.decode()) for asked in stage.asked] == [
        ("GET", "/v1/leads?sequence_id=sq_1&status=replied&limit=7&cursor=a+b", ""),
        (
            "POST",
            "/v1/leads",
            '{"sequence_id":"sq_1","leads":[{"email":"ada@x.io","first_name":"Ada","shoe":38}]}',
        ),
        ("DELETE", "/v1/leads/ld%2F1%3Fx", ""),
        ("GET", "/v1/sequences", ""),
        ("PATCH", "/v1/sequences/sq%201", '{"status":"paused"}'),
        ("PATCH", "/v1/sequences/sq_1", '{"status":"active"}'),
        ("GET", "/v1/inboxes", ""),
        ("GET", "/v1/stats?group_by=step&from=2026-01-02&to=2026-01-03", ""),
        ("POST", "/v1/webhooks", '{"url":"https://x.io/hook","events":["lead.replied"]}'),
    ]
    assert {asked.headers["authorization"] for asked in stage.asked} == {f"Bearer {KEY}"}
    assert all(asked.headers.get("content-type") == "application/json" for asked in stage.asked if asked.body)


@pytest.mark.parametrize(
    ("call", "field"),
    [
        (lambda client: client.list_leads(limit=0), "limit"),
        (lambda client: client.list_leads(limit=101), "limit"),
        (lambda client: client.list_leads(status="snoozed"), "status"),
        (lambda client: client.add_leads("sq_1", []), "leads"),
        (lambda client: client.add_leads("sq_1", [{"email": "a@x.io"}] * 1001), "leads"),
        (lambda client: client.add_leads("sq_1", [{"email": "a@x.io"}, {"name": "Ada"}]), "leads[1].email"),
        (lambda client: client.stats(group_by="moon"), "group_by"),
        (lambda client: client.stats(start=date(2026, 1, 1)), "to"),
        (lambda client: client.stats(end=date(2026, 1, 1)), "from"),
        (lambda client: client.stats(start=date(2026, 1, 2), end=date(2026, 1, 1)), "to"),
        (lambda client: client.remove_lead(".."), "id"),
        (lambda client: client.pause_sequence(""), "id"),
        (lambda client: client.create_webhook("https://x.io", []), "events"),
        (lambda client: client.create_webhook("https://x.io", ["lead.sneezed"]), "events"),
        (lambda client: client.create_webhook("ftp://x.io", ["lead.replied"]), "url"),
        (lambda client: client.create_webhook("http://[", ["lead.replied"]), "url"),
    ],
)
async def test_what_the_document_forbids_is_refused_before_it_costs_a_request(
    client: OutreachClient, stage: Stage, call: Call, field: str
) -> None:
    with pytest.raises(InvalidRequest) as caught:
        await call(client)
    assert caught.value.field == field
    assert stage.asked == []


@pytest.mark.parametrize(
    ("address", "cure"),
    [
        ("https://api.x.io", "https://api.x.io/v1"),
        ("https://api.x.io/v2", "https://api.x.io/v1"),
        ("api.x.io/v1", "web address"),
        ("ftp://api.x.io/v1", "web address"),
        ("https://user:word@api.x.io/v1", "no user"),
        ("https://api.x.io/v1?x=1", "query"),
        ("", "web address"),
    ],
)
def test_an_address_that_cannot_be_one_is_refused_with_the_cure(address: str, cure: str) -> None:
    with pytest.raises(ValueError, match=r"base URL") as caught:
        OutreachClient(base_url=address, api_key=KEY)
    assert cure in str(caught.value)


@pytest.mark.parametrize("key", ["", " ", "ok_live\n", "ok live", "ok_lïve", "ok\r\nX-Evil: 1"])
def test_a_key_that_cannot_stand_in_a_header_is_refused_and_not_quoted(key: str) -> None:
    with pytest.raises(ValueError, match=r"API key") as caught:
        OutreachClient(base_url="https://api.x.io/v1", api_key=key)
    assert not key.strip() or key not in str(caught.value)


@every_call
@pytest.mark.parametrize("status", [200, 201, 204])
async def test_a_success_without_a_body_is_a_success_where_nothing_must_be_read(
    client: OutreachClient, stage: Stage, endpoint: str, status: int
) -> None:
    stage.play = lambda _: Answer(raw=f"HTTP/1.1 {status} Fine\r\nContent-Length: 0\r\n\r\n".encode())
    if endpoint in {"PATCH /sequences/{id}", "DELETE /leads/{id}"}:
        assert await cause_of(endpoint)(client) is None
    elif endpoint == "POST /leads":
        assert (await cause_of(endpoint)(client)).added is None
    else:
        with pytest.raises(Unreadable, match=r"\[fields\."):
            await cause_of(endpoint)(client)


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (400, InvalidRequest),
        (401, Unauthorized),
        (403, Refused),
        (404, NotFound),
        (409, Refused),
        (422, InvalidRequest),
    ],
)
@pytest.mark.parametrize(
    "shape",
    [
        {"error": {"code": "oops", "field": "url", "message": "Mend it."}},
        {"error": "oops", "field": "url", "message": "Mend it."},
        {"errors": [{"code": "oops", "param": "url", "detail": "Mend it."}]},
    ],
)
async def test_a_refusal_tells_what_the_service_told(
    client: OutreachClient, stage: Stage, status: int, error: type[OutreachError], *, shape: Any
) -> None:
    stage.play = lambda _: Answer(status=status, body=shape)
    with pytest.raises(error) as caught:
        await client.create_webhook("https://x.io/hook", ["lead.replied"])
    assert (caught.value.status, caught.value.code, caught.value.endpoint) == (
        status,
        "oops",
        "POST /webhooks",
    )
    assert getattr(caught.value, "field", "url") == "url"
    assert len(stage.asked) == 1
    assert status == 401 or "Mend it." in str(caught.value)


@every_call
async def test_a_429_is_waited_out_and_everybody_is_told(
    client: OutreachClient, stage: Stage, pacer: Unhurried, endpoint: str
) -> None:
    stage.play = lambda _: Answer(body={"data": [], "id": "wh_1", "secret": "s"})
    stage.script = [
        Answer(status=429, headers={"Retry-After": "0.06"}, body={"error": {"code": "rate_limited"}})
    ]
    started = time.monotonic()
    await cause_of(endpoint)(client)
    assert time.monotonic() - started >= 0.06
    assert (len(stage.asked), pacer.stops, pacer.clean) == (2, [0.06], 1)
    assert (client.counts.requests, client.counts.throttled, client.counts.retried) == (2, 1, 1)


async def test_a_wait_beyond_the_time_allowed_is_not_begun(client: OutreachClient, stage: Stage) -> None:
    stage.play = lambda _: Answer(status=429, headers={"Retry-After": "3600"})
    with pytest.raises(RateLimited) as caught:
        await client.list_inboxes()
    assert (caught.value.retry_after, len(stage.asked)) == (3600.0, 1)


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
async def test_what_is_safe_to_repeat_is_repeated_and_a_webhook_is_not(
    client: OutreachClient, stage: Stage, broken: Answer, endpoint: str
) -> None:
    stage.play = lambda _: Answer(body={"data": [], "added": 0, "skipped": [], "id": "wh_1", "secret": "s"})
    stage.script = [broken]
    if endpoint == "POST /webhooks":
        with pytest.raises(Uncertain):
            await cause_of(endpoint)(client)
        assert len(stage.asked) == 1
    else:
        result = await cause_of(endpoint)(client)
        assert len(stage.asked) == 2
        assert endpoint != "POST /leads" or result.repeated


@pytest.mark.parametrize("body", [b'{"data": [{"id', b"nonsense", b"\xff\xfe", b"[" * 200_000, b""])
async def test_half_a_json_is_read_again_and_then_an_error(
    client: OutreachClient, stage: Stage, body: bytes
) -> None:
    stage.play = lambda _: Answer(body=LEADS)
    stage.script = [Answer(body=body)]
    if body:
        assert (await client.list_leads()).items[0].id == "ld_1"
    else:
        with pytest.raises(Unreadable, match=r"GET /leads.*\[fields\.lead\]"):
            await client.list_leads()


async def test_a_404_after_an_uncertain_removal_is_the_removal(client: OutreachClient, stage: Stage) -> None:
    stage.script = [Answer(cut=True), Answer(status=404, body={"error": {"code": "not_found"}})]
    await client.remove_lead("ld_1")
    assert len(stage.asked) == 2


async def test_a_404_at_once_is_an_error(client: OutreachClient, stage: Stage) -> None:
    with pytest.raises(NotFound):
        await client.remove_lead("ld_1")
    stage.script = [Answer(status=503, body={}), Answer(status=404, body={})]
    with pytest.raises(NotFound):
        await client.remove_lead("ld_1")


@pytest.mark.parametrize("endpoint", CHANGES)
async def test_a_change_that_never_gets_an_answer_is_uncertain(stage: Stage, endpoint: str) -> None:
    stage.play = lambda _: Answer(cut=True)
    async with OutreachClient(
        base_url=stage.base_url, api_key=KEY, pacer=Unhurried(), total_timeout=0.3, jitter=lambda: 0.05
    ) as client:
        with pytest.raises(Uncertain) as caught:
            await cause_of(endpoint)(client)
    assert caught.value.endpoint == endpoint


async def test_an_attempt_that_may_have_worked_is_not_forgotten_when_the_next_cannot_connect(
    client: OutreachClient, stage: Stage
) -> None:
    stage.script = [Answer(cut=True), Answer(status=429, headers={"Retry-After": "3600"})]
    with pytest.raises(Uncertain, match="Too many requests"):
        await client.pause_sequence("sq_1")
    assert len(stage.asked) == 2


async def test_a_connection_that_opens_slowly_moves_those_behind_it(stage: Stage, pacer: Unhurried) -> None:
    stage.play = lambda _: Answer(body=[])
    for wait, late, turns in ((0.03, 1, 1), (0.2, 0, 2)):
        pacer.delays.clear()
        pacer.reserved.clear()
        async with OutreachClient(
            base_url=stage.base_url, api_key=KEY, pacer=pacer, transport=SlowToConnect(wait)
        ) as client:
            await client.list_inboxes()
        assert (len(pacer.delays), len(pacer.reserved)) == (late, turns)


async def test_a_change_that_was_never_sent_is_unreachable_and_not_uncertain(
    stage: Stage, pacer: Unhurried
) -> None:
    async with OutreachClient(
        base_url=stage.base_url, api_key=KEY, pacer=pacer, transport=SlowToConnect(5.0), total_timeout=0.2
    ) as client:
        with pytest.raises(Unreachable):
            await client.create_webhook("https://x.io/hook", ["lead.replied"])
    assert stage.asked == []


class SlowToConnect(httpx.AsyncHTTPTransport):
    """The network, with a handshake that takes its time."""

    def __init__(self, wait: float) -> None:
        super().__init__()
        self._wait = wait

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        told = request.extensions["trace"]

        async def trace(name: str, info: dict[str, Any]) -> None:
            if name.endswith("send_request_headers.started"):  # nothing is sent yet
                await asyncio.sleep(self._wait)
            await told(name, info)

        request.extensions["trace"] = trace
        return await super().handle_async_request(request)


async def test_nobody_there_is_unreachable_for_every_request(pacer: Unhurried) -> None:
    async with OutreachClient(
        base_url="http://127.0.0.1:9/v1", api_key=KEY, pacer=pacer, total_timeout=0.1, jitter=lambda: 0.05
    ) as client:
        for endpoint, call in EVERY_CALL.items():
            with pytest.raises(Unreachable) as caught:
                await call(client)
            assert caught.value.endpoint == endpoint


async def test_a_silent_service_is_left_after_the_total_time(stage: Stage, pacer: Unhurried) -> None:
    async def drip(asked: Asked) -> Answer:
        await asyncio.sleep(30)
        return Answer()

    stage.play = drip
    async with OutreachClient(base_url=stage.base_url, api_key=KEY, pacer=pacer, total_timeout=0.5) as client:
        started = time.monotonic()
        with pytest.raises(Unreachable):
            await client.list_inboxes()
        assert time.monotonic() - started < 2.0


async def test_a_redirect_is_not_followed_and_says_where(client: OutreachClient, stage: Stage) -> None:
    stage.play = lambda _: Answer(status=302, headers={"Location": "https://evil.example/v1/leads?key=1"})
    with pytest.raises(Refused, match=r"https://evil\.example/v1/leads;") as caught:
        await client.list_leads()
    assert "OUTREACH_BASE_URL" in caught.value.hint
    assert len(stage.asked) == 1


async def test_an_endless_answer_is_refused_at_the_limit(client: OutreachClient, stage: Stage) -> None:
    announced = Answer(raw=b"HTTP/1.1 200 Fine\r\nContent-Length: 524288000\r\n\r\n[")
    chunk = b"100000\r\n" + b" " * 0x100000 + b"\r\n"
    head = b"HTTP/1.1 200 Fine\r\nTransfer-Encoding: chunked\r\n\r\n"
    bomb = gzip.compress(b" " * 40 * 2**20)
    packed = Answer(body=bomb, headers={"Content-Encoding": "gzip"})
    for answer in (announced, Answer(raw=head + chunk * 40), packed):
        stage.script = [answer]
        with pytest.raises(Unreadable, match="32 MiB"):
            await client.list_inboxes()


async def test_the_key_is_in_no_error_repr_or_log_line(
    client: OutreachClient, stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    said = f"Bearer {KEY} is no good"
    told = [repr(client), repr(client._http._client), repr(vars(client))]
    for answer in (
        Answer(status=400, body={"error": {"message": said, "field": said, "code": said}}),
        Answer(status=401, body={"message": said}),
        Answer(status=302, headers={"Location": f"https://x.io/{KEY}"}),
        Answer(status=503, body={"message": said}),
        Answer(cut=True),
        Answer(body=b"<html>" + said.encode()),
    ):
        stage.script = [answer] * 6
        with pytest.raises(OutreachError) as caught:
            await client.create_webhook("https://x.io/hook", ["lead.replied"])
        told += [str(caught.value), repr(caught.value), repr(vars(caught.value))]
    told += [record.getMessage() for record in caplog.records] + [caplog.text]
    assert not [text for text in told if KEY in text]


async def test_the_clock_of_the_service_is_known_from_its_answers(
    client: OutreachClient, stage: Stage
) -> None:
    assert client.service_time is None
    stage.play = lambda _: Answer(body=[], headers={"Date": "Wed, 21 Oct 2026 07:28:00 GMT"})
    await client.list_inboxes()
    assert client.service_time == datetime(2026, 10, 21, 7, 28, tzinfo=UTC)


async def test_a_person_is_served_before_a_bulk_job(
    client: OutreachClient, stage: Stage, pacer: Unhurried
) -> None:
    stage.play = lambda _: Answer(body={"data": [], "added": 1})
    await client.pause_sequence("sq_1")
    await client.list_leads()
    await client.add_leads("sq_1", [{"email": "a@x.io"}], priority=Priority.BULK)
    assert pacer.reserved == [Priority.INTERACTIVE, Priority.NORMAL, Priority.BULK]


async def test_what_came_is_known_by_shape_and_never_by_value(client: OutreachClient, stage: Stage) -> None:
    stage.play = lambda _: Answer(body={"data": {"sq_9z": {"name": "Top secret", "steps": "4", "x": None}}})
    await client.list_sequences()
    assert client.shapes == {
        "GET /sequences": {
            ".: object",
            "data: object",
            "data.*: object",
            "data.*.name: string",
            "data.*.steps: string",
            "data.*.x: null",
        }
    }


async def test_a_cancelled_request_leaves_nothing_open(client: OutreachClient, stage: Stage) -> None:
    started = asyncio.Event()

    async def never(asked: Asked) -> Answer:
        started.set()
        await asyncio.sleep(30)
        return Answer()

    stage.play = never
    task = asyncio.create_task(client.list_inboxes())
    await asyncio.wait_for(started.wait(), 2.0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    stage.play = lambda _: Answer(body=[])
    assert await client.list_inboxes() == ()
