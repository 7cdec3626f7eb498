"""The server of both halves, and the faults of its answers."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from sandbox.asgi_server import bind, serving


async def _client(request: Request) -> Response:
    assert request.client is not None
    return PlainTextResponse(request.client.host)


async def _forever(request: Request) -> Response:
    await asyncio.Event().wait()
    return Response()


@pytest.fixture
async def origin() -> AsyncIterator[str]:
    routes = [
        Route("/client", _client),
        Route("/forever", _forever),
    ]
    async with serving(Starlette(routes=routes), bind(0), name="test") as origin:
        yield origin


async def test_answers_have_the_real_date_and_forwarded_addresses_are_not_believed(origin: str) -> None:
    async with httpx.AsyncClient(verify=False) as client:
        answer = await client.get(f"{origin}/client", headers={"X-Forwarded-For": "203.0.113.9"})
    assert answer.text == "127.0.0.1"
    assert answer.headers["date"].endswith("GMT")


async def test_ends_although_a_request_never_does() -> None:
    app = Starlette(routes=[Route("/forever", _forever)])
    async with httpx.AsyncClient(verify=False) as client:
        async with serving(app, bind(0), name="test") as origin:
            pending = asyncio.create_task(client.get(f"{origin}/forever"))
            # The request has to be under way, or the server would have nothing that never ends.
            await asyncio.sleep(0.05)
            began = time.monotonic()
        assert time.monotonic() - began < 10.0
        with pytest.raises(httpx.TransportError):
            await pending
