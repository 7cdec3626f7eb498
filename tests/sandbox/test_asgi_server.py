"""The server of both halves, and the faults of its answers."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator

import aiohttp
import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket

from sandbox.asgi_server import bind, serving, transport
from sandbox.faults import Faults, HttpFault


async def _faulty(request: Request) -> Response:
    fault = HttpFault.model_validate_json(await request.body())
    return fault.answer(lambda status: b'{"error": %d}' % status)


async def _client(request: Request) -> Response:
    assert request.client is not None
    return PlainTextResponse(request.client.host)


async def _forever(request: Request) -> Response:
    await asyncio.Event().wait()
    return Response()


async def _silent(websocket: WebSocket) -> None:
    await websocket.accept()
    transport(websocket.scope).pause_reading()
    await websocket.send_text("from now on nothing is read")
    await asyncio.sleep(0.3)
    transport(websocket.scope).abort()


@pytest.fixture
async def origin() -> AsyncIterator[str]:
    routes = [
        Route("/faulty", _faulty, methods=["POST"]),
        Route("/client", _client),
        Route("/forever", _forever),
        WebSocketRoute("/silent", _silent),
    ]
    async with serving(Starlette(routes=routes), bind(0), name="test") as origin:
        yield origin


async def test_answers_have_the_real_date_and_forwarded_addresses_are_not_believed(origin: str) -> None:
    async with httpx.AsyncClient(verify=False) as client:
        answer = await client.get(f"{origin}/client", headers={"X-Forwarded-For": "203.0.113.9"})
    assert answer.text == "127.0.0.1"
    assert answer.headers["date"].endswith("GMT")


@pytest.mark.parametrize(
    ("fault", "status", "content"),
    [
        ({"status": 503, "retry_after": 7}, 503, b'{"error": 503}'),
        ({"body": "half"}, 200, b'{"data": [{"id": "ld_'),
        ({"body": "html", "status": 502}, 502, b"<!doctype html>"),
        ({"body": "empty"}, 200, b""),
    ],
)
async def test_a_fault_answers_as_it_says(
    origin: str, fault: dict[str, object], status: int, content: bytes
) -> None:
    async with httpx.AsyncClient(verify=False) as client:
        answer = await client.post(f"{origin}/faulty", json=fault)
    assert answer.status_code == status
    assert answer.content.startswith(content)
    assert answer.headers.get("Retry-After") == ("7" if "retry_after" in fault else None)


async def test_a_cut_drops_the_connection_without_a_byte(origin: str) -> None:
    async with httpx.AsyncClient(verify=False) as client:
        with pytest.raises(httpx.TransportError):
            await client.post(f"{origin}/faulty", json={"cut": True})


async def test_a_websocket_can_fall_silent_and_be_dropped(origin: str) -> None:
    async with aiohttp.ClientSession() as session, session.ws_connect(f"{origin}/silent") as socket:
        await socket.receive_str()
        await socket.ping()
        assert (await socket.receive()).type is aiohttp.WSMsgType.CLOSED


async def test_ends_although_a_request_never_does() -> None:
    app = Starlette(routes=[Route("/forever", _forever)])
    async with httpx.AsyncClient(verify=False) as client:
        async with serving(app, bind(0), name="test") as origin:
            pending = asyncio.create_task(client.get(f"{origin}/forever"))
            await asyncio.sleep(0.05)
            began = time.monotonic()
        assert time.monotonic() - began < 10.0
        with pytest.raises(httpx.TransportError):
            await pending


def test_faults_happen_in_order_and_as_often_as_they_say() -> None:
    faults = Faults[HttpFault]()
    faults.add(HttpFault(status=500, times=2))
    faults.add(HttpFault(cut=True, times=None))
    taken = [faults.take(lambda _: True) for _ in range(4)]
    assert [one.status if one else None for one in taken] == [500, 500, None, None]
    assert [fault["cut"] for fault in faults.listed()] == [True]
    assert faults.take(lambda one: one.status == 500) is None
    faults.clear()
    assert faults.take(lambda _: True) is None


def test_a_delay_alone_lets_the_request_run() -> None:
    assert HttpFault(delay=1.0).runs_request
    assert not HttpFault(delay=1.0).replaces_answer
    assert HttpFault(cut=True, executed=True).runs_request
    assert not HttpFault(status=500).runs_request
