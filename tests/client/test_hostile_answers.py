"""Whatever the service answers, the client returns a value or raises its own error."""

from __future__ import annotations

import asyncio
import gzip
import tracemalloc
import zlib
from functools import cache
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from shared.api import LocalBudget, OutreachClient, OutreachError, ServiceBroken, Unreadable
from tests.client.conftest import KEY
from tests.client.endpoint_calls import EVERY_CALL
from tests.client.scripted_server import Answer, ScriptedServer, open_scripted_server

# In UTC these are beyond the calendar's last and first day, where `datetime` overflows.
AHEAD = "Fri, 31 Dec 9999 23:59:59 -0100"
BEHIND = "Mon, 01 Jan 0001 00:00:00 +0100"
NUMBERS = [
    "-1",
    "1e999",
    "nan",
    "inf",
    "9" * 5000,
    "0x10",
    "1_000",
    # Digits to Python, of which `float` even reads the first, and none in HTTP.
    "٣",
    "²",
    "",
    " ",
    "\t",
    "1,2",
    "999999999",
    AHEAD,
]

HEADERS: dict[str, list[str]] = {
    "Date": [AHEAD, BEHIND, "Thu, 99 Foo 99999999999 99:99:99 GMT", "0", ",", "Fri, 31 Dec 9999 23:59:59 -9999", *NUMBERS],
    "Retry-After": [AHEAD, BEHIND, *NUMBERS],
    "Content-Type": ["", ";", "text/html; charset=\xff", "application/json; charset=rot13", "a" * 9000, "; boundary="],
    "Content-Encoding": ["gzip", "deflate", "br", "zstd", "gzip, gzip", "gzip," * 200, "identity", "utf-16", "\xff", ","],
    "Content-Length": ["-1", "99", "9" * 19, "9" * 400, "0", "1, 2", "x"],
    "Transfer-Encoding": ["chunked", "gzip", "identity", "chunked, chunked"],
    "Location": ["http://[::1", "//", "https://\xff/", "http://a:99999999", "javascript:x", "http://" + "a" * 300, "\x7f"],
    "Set-Cookie": ["a=b; expires=" + AHEAD, "a=b; max-age=" + "9" * 400, "=;;=;", "a=b; domain=.\xff", "a" * 9000],
    "Link": ["<", "\xff"],
    "Connection": ["close", "upgrade", "\xff"],
}  # fmt: skip
# Python converts 4,300 digits at most, and refuses more with an error that is none of JSON's.
DIGITS = b"9" * 5000
BODIES: list[bytes] = [
    *(b"", b" ", b"null", b"7", b'"x"', b"NaN", b"[NaN]", b"-Infinity", b"\xff\xfe{", b"\xef\xbb\xbf[]", b"<html>"),
    *(DIGITS, b'{"data":[{"id":' + DIGITS + b',"email":NaN}]}', b"[1e400]", b'{"added":1e400,"skipped":-Infinity}'),
    *(b"[" * 100_000, b'{"a":' * 100_000, b"[" * 900 + b"]" * 900, b'{"data":' * 900 + b"[]" + b"}" * 900),
    *(b'{"data":[{"id":"\\ud800","email":"\\udfff@x.io"}],"next_cursor":"\\ud800"}', b'{"\\ud800":[{"\\udfff":1}]}'),
    *(b'{"error":{"code":"\\ud800","field":' + DIGITS + b',"message":[[[]]]}}', b'{"errors":[[]]}', b'{"errors":[7]}'),
    *(b'{"id":NaN,"secret":Infinity}', b'{"id":"wh_1","secret":"s"}', b'{"data":[],"next_cursor":' + DIGITS + b"}"),
    *(gzip.compress(b"[]"), gzip.compress(gzip.compress(b"[]")), gzip.compress(b"[]")[:-4], zlib.compress(b"{}")),
]  # fmt: skip
STATUSES = [200, 201, 204, 206, 302, 304, 308, 400, 401, 404, 408, 418, 422, 429, 500, 503, 599, 999]

headers = st.lists(
    st.sampled_from(sorted(HEADERS)).flatmap(
        lambda name: st.tuples(st.just(name), st.sampled_from(HEADERS[name]) | st.text(alphabet="\t 09Aa,;=\xff", max_size=9))
    ),
    max_size=3,
)  # fmt: skip
bodies = st.sampled_from(BODIES) | st.binary(max_size=20)
endpoints = st.sampled_from(sorted(EVERY_CALL))


def raw(status: int, lines: list[tuple[str, str]], body: bytes) -> bytes:
    """An answer as bytes, to the letter of what is asked; its length is told unless a header tells another."""
    given = {name for name, _ in lines} & {"Content-Length", "Transfer-Encoding"}
    every = lines if given else [*lines, ("Content-Length", str(len(body)))]
    head = [f"HTTP/1.1 {status} Said", *(f"{name}: {value}" for name, value in every)]
    return "\r\n".join(head).encode("latin-1", "replace") + b"\r\n\r\n" + body


async def ask(endpoint: str, answer: bytes) -> Any:
    """One call against a service that always answers these bytes."""
    async with open_scripted_server() as server:
        server.play = lambda _: Answer(raw=answer)
        client = OutreachClient(
            base_url=server.base_url, api_key=KEY, pacer=LocalBudget(10), timeout=1.0, total_timeout=0.15, jitter=lambda: 0.0
        )  # fmt: skip
        async with client:
            try:
                return await EVERY_CALL[endpoint](client)
            finally:
                assert client.budget.rate > 0
                assert client.counts.requests


def shown(endpoint: str, answer: bytes) -> str:
    """What a person would see of the answer: the value, or the words of the client's own error."""
    try:
        return repr(asyncio.run(ask(endpoint, answer)))
    except OutreachError as error:
        return str(error)


@given(endpoints, st.sampled_from(STATUSES), headers, bodies)
@example("GET /sequences", 200, [("Date", AHEAD)], b"[]")
@example("GET /sequences", 429, [("Retry-After", AHEAD), ("Date", AHEAD)], b"{}")
@example("GET /sequences", 200, [("Set-Cookie", "a=b; max-age=" + "9" * 400)], b"[]")
@example("GET /sequences", 200, [], b"[" + DIGITS + b"]")
def test_no_answer_raises_anything_but_the_clients_own_errors(
    endpoint: str, status: int, lines: list[tuple[str, str]], body: bytes
) -> None:
    assert shown(endpoint, raw(status, lines, body)).encode()


@given(endpoints, st.binary(max_size=60))
@example("GET /leads", b"HTTP/1.1 101 Switching\r\nUpgrade: x\r\n\r\n")
@example("GET /leads", b"HTTP/1.1 100 Continue\r\n\r\n" * 50)
@example("GET /leads", b"HTTP/0.9 20 \r\n\r\n")
def test_no_bytes_raise_anything_but_the_clients_own_errors(endpoint: str, answer: bytes) -> None:
    assert shown(endpoint, answer).encode()


@cache
def _bomb() -> bytes:
    return gzip.compress(gzip.compress(b" " * 200_000_000, 1), 9)


@pytest.mark.parametrize("encoding", ["gzip, gzip", "deflate", "identity, gzip", "br", "zstd"])
async def test_an_encoding_that_was_not_asked_for_is_refused_unread(
    client: OutreachClient, server: ScriptedServer, encoding: str
) -> None:
    bomb = _bomb()
    server.play = lambda _: Answer(body=bomb, headers={"Content-Encoding": encoding})
    tracemalloc.start()
    try:
        with pytest.raises((Unreadable, ServiceBroken)):
            await client.list_sequences()
        assert tracemalloc.get_traced_memory()[1] < 50_000_000
    finally:
        tracemalloc.stop()
    assert {asked.headers["accept-encoding"] for asked in server.asked} == {"gzip"}


async def test_cookies_are_not_sent_back(client: OutreachClient, server: ScriptedServer) -> None:
    # None is even read: some dates in cookies raise errors in Python's reader of them.
    server.play = lambda _: Answer(body=[], headers={"Set-Cookie": "session=1; Path=/"})
    await client.list_sequences()
    await client.list_sequences()
    assert [asked.headers.get("cookie") for asked in server.asked] == [None, None]
