"""The client over real HTTP: what it sends, what it makes of any answer, what it repeats."""

from __future__ import annotations

import json
import logging
import socket
import threading
from datetime import date
from typing import Any

import pytest

from shared.api import (
    InvalidRequest,
    NotFound,
    OutreachClient,
    OutreachError,
    Refused,
    Sequence,
    Unauthorized,
    Unreadable,
    __version__,
    messages,
)
from shared.api.pace import Priority
from shared.api.transport import cause
from tests.client.conftest import KEY, RecordingPacer
from tests.client.endpoint_calls import EVERY_CALL, Call
from tests.client.scripted_server import Answer, ScriptedServer

every_call = pytest.mark.parametrize("endpoint", EVERY_CALL)


async def test_every_request_is_to_the_letter_of_the_document(
    client: OutreachClient, server: ScriptedServer
) -> None:
    server.play = lambda _: Answer(body={"data": [], "added": 1, "id": "wh_1", "secret": "s"})
    await client.list_leads(sequence_id="sq_1", status="replied", limit=7, cursor="a b")
    await client.add_leads("sq_1", [{"email": "ada@x.io", "first_name": "Ada", "shoe": 38}])
    # Ids are the service's: whatever is in one, it must stay one part of the path.
    await client.remove_lead("ld/1?x")
    await client.list_sequences()
    await client.pause_sequence("sq 1")
    await client.resume_sequence("sq_1")
    await client.list_inboxes()
    await client.stats(group_by="step", start=date(2026, 1, 2), end=date(2026, 1, 3))
    await client.create_webhook("https://x.io/hook", ["lead.replied"])
    assert [(asked.method, asked.target, asked.body.decode()) for asked in server.asked] == [
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
    assert {asked.headers["authorization"] for asked in server.asked} == {f"Bearer {KEY}"}
    assert server.asked[0].headers["user-agent"].startswith(f"outreach-ops/{__version__} python/")
    assert all(
        asked.headers.get("content-type") == "application/json" for asked in server.asked if asked.body
    )


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
        # As a part of the path it would lead to the folder above, and to another endpoint.
        (lambda client: client.remove_lead(".."), "id"),
        (lambda client: client.pause_sequence(""), "id"),
        (lambda client: client.create_webhook("https://x.io", []), "events"),
        (lambda client: client.create_webhook("https://x.io", ["lead.sneezed"]), "events"),
        (lambda client: client.create_webhook("ftp://x.io", ["lead.replied"]), "url"),
        (lambda client: client.create_webhook("http://[", ["lead.replied"]), "url"),
    ],
)
async def test_undocumented_requests_are_refused_before_sending(
    client: OutreachClient, server: ScriptedServer, call: Call, field: str
) -> None:
    with pytest.raises(InvalidRequest) as caught:
        await call(client)
    assert caught.value.field == field
    assert server.asked == []


@every_call
@pytest.mark.parametrize("status", [200, 201, 204])
async def test_a_success_without_a_body_is_a_success_where_nothing_must_be_read(
    client: OutreachClient, server: ScriptedServer, endpoint: str, status: int
) -> None:
    server.play = lambda _: Answer(raw=f"HTTP/1.1 {status} Fine\r\nContent-Length: 0\r\n\r\n".encode())
    # PATCH and DELETE say everything by their status; of the others something must be read.
    if endpoint == "DELETE /leads/{id}":
        assert await EVERY_CALL[endpoint](client) is None
    elif endpoint == "PATCH /sequences/{id}":
        assert await EVERY_CALL[endpoint](client) == Sequence(id="sq_1", status="paused")
    elif endpoint == "POST /leads":
        assert (await EVERY_CALL[endpoint](client)).added is None
    else:
        with pytest.raises(Unreadable, match=r"`fields`.*\[fields\."):
            await EVERY_CALL[endpoint](client)


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
        {"error": {"code": "oops", "field": "url", "message": "Fix it."}},
        {"error": "oops", "field": "url", "message": "Fix it."},
        {"errors": [{"code": "oops", "param": "url", "detail": "Fix it."}]},
    ],
)
async def test_a_refusal_has_the_services_message(
    client: OutreachClient, server: ScriptedServer, status: int, error: type[OutreachError], *, shape: Any
) -> None:
    server.play = lambda _: Answer(status=status, body=shape)
    with pytest.raises(error) as caught:
        await client.create_webhook("https://x.io/hook", ["lead.replied"])
    assert (caught.value.status, caught.value.code, caught.value.endpoint) == (
        status,
        "oops",
        "POST /webhooks",
    )
    assert getattr(caught.value, "field", "url") == "url"
    assert len(server.asked) == 1
    assert status == 401 or "Fix it." in str(caught.value)
    assert error is not InvalidRequest or "The field url is missing or invalid." in str(caught.value)


async def test_an_endless_answer_is_refused_at_the_limit(
    client: OutreachClient, server: ScriptedServer
) -> None:
    # In chunks no length is announced: it has to be counted while it comes.
    chunk = b"100000\r\n" + b" " * 0x100000 + b"\r\n"
    server.script = [Answer(raw=b"HTTP/1.1 200 Fine\r\nTransfer-Encoding: chunked\r\n\r\n" + chunk * 40)]
    with pytest.raises(Unreadable, match="more than 10 MB"):
        await client.list_inboxes()


async def test_a_large_answer_is_parsed_beside_the_event_loop(
    client: OutreachClient, server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    parsed_in: list[str] = []

    def parse(body: bytes) -> Any:
        parsed_in.append(threading.current_thread().name)
        return json.loads(body)

    monkeypatch.setattr(messages, "parse_json", parse)
    for count in (1, 20_000):
        answer = Answer(body=[{"email": f"a{n}@x.io"} for n in range(count)])
        server.script = [answer]
        assert len(await client.list_inboxes()) == count
    # On the loop's own thread, a large answer would hold up every click of the bot.
    assert parsed_in == ["MainThread", "answers_0"]


async def test_the_key_is_in_no_error_repr_or_log_line(
    client: OutreachClient, server: ScriptedServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    words = f"Bearer {KEY} is no good"
    texts = [repr(client), repr(client._http._client), repr(vars(client))]
    for answer in (
        Answer(status=400, body={"error": {"message": words, "field": words, "code": words}}),
        Answer(status=401, body={"message": words}),
        Answer(status=302, headers={"Location": f"https://x.io/{KEY}"}),
        Answer(status=503, body={"message": words}),
        Answer(cut=True),
        Answer(body=b"<html>" + words.encode()),
    ):
        server.script = [answer] * 6
        with pytest.raises(OutreachError) as caught:
            await client.create_webhook("https://x.io/hook", ["lead.replied"])
        texts += [str(caught.value), repr(caught.value), repr(vars(caught.value))]
    # httpcore's is the host's: at DEBUG it writes the response's headers as they came, and nothing of the request.
    logged = [record.getMessage() for record in caplog.records if not record.name.startswith("httpcore")]
    assert any("POST /webhooks: 503" in line for line in logged)
    texts += logged
    assert not [text for text in texts if KEY in text]


async def test_a_person_is_served_before_a_bulk_job(
    client: OutreachClient, server: ScriptedServer, pacer: RecordingPacer
) -> None:
    server.play = lambda _: Answer(body={"data": [], "added": 1})
    await client.pause_sequence("sq_1")
    await client.list_leads()
    await client.add_leads("sq_1", [{"email": "a@x.io"}], priority=Priority.BULK)
    assert pacer.reserved == [Priority.INTERACTIVE, Priority.NORMAL, Priority.BULK]


async def test_an_error_has_the_headers_and_the_body_of_the_answer(
    client: OutreachClient, server: ScriptedServer
) -> None:
    for answer in (
        Answer(status=404, body=b'{"x": 1}', headers={"X-Request-Id": "r1"}),
        Answer(status=200, body=b'{"x": 1}', headers={"X-Request-Id": "r1"}),
    ):
        server.script = [answer]
        with pytest.raises(OutreachError) as caught:
            await client.list_inboxes()
        assert (caught.value.body, caught.value.headers["x-request-id"]) == (b'{"x": 1}', "r1")


@pytest.mark.parametrize(
    ("failed", "told"),
    [
        (socket.gaierror(-2, "Name or service not known"), "Cause: the host name can't be resolved."),
        (ConnectionRefusedError(111, "Connect call failed"), "Cause: connection refused."),
        (OSError("no route"), "Cause: All connection attempts failed."),
    ],
    ids=["name", "refused", "other"],
)
def test_a_failed_connection_is_described_in_words(failed: OSError, told: str) -> None:
    error = OSError("All connection attempts failed")
    error.__cause__ = failed
    assert cause(error) == told
