"""Serve an ASGI application inside the running event loop, on loopback, with uvicorn as it comes."""

from __future__ import annotations

import abc
import asyncio
import contextlib
import json
import socket
from collections.abc import AsyncIterator
from typing import Any, Self
from urllib.parse import urlsplit

import uvicorn
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

_GRACE_SECONDS = 1.0
BODY_LIMIT = 8 * 1024 * 1024
_KEY = "sandbox.server_state"


def bind(port: int) -> socket.socket:
    """Take a loopback port now (0 takes a free one), so that its number is known before anything serves."""
    # asyncio switches Nagle off only for sockets that say TCP; with it on, small answers wait 40 ms.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(("127.0.0.1", port))
    except OSError:
        listener.close()
        raise
    listener.listen(1024)
    return listener


@contextlib.asynccontextmanager
async def serving(app: ASGIApp, listener: socket.socket, *, name: str) -> AsyncIterator[str]:
    """Serve `app` on `listener` while the block runs; yields the origin, `http://127.0.0.1:PORT`.

    `Server.serve` would take over the process's signals and leave up to 0.3 s after it was asked to.
    """

    async def with_connections(scope: Scope, receive: Receive, send: Send) -> None:
        scope[_KEY] = server.server_state
        await app(scope, receive, send)

    config = uvicorn.Config(
        with_connections,
        interface="asgi3",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        # Slack's stand-in decides itself when a connection is silent.
        ws_ping_interval=None,
        # A `X-Forwarded-For` must not make a stranger look like this machine.
        proxy_headers=False,
    )
    config.load()
    server = uvicorn.Server(config)
    server.lifespan = config.lifespan_class(config)
    await server.startup(sockets=[listener])
    ticking = asyncio.create_task(_tick(server), name=f"{name}-date")
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        ticking.cancel()
        await asyncio.gather(ticking, return_exceptions=True)
        await _stop(server)
        listener.close()


class Block(abc.ABC):
    """Something that runs while its `async with` block does."""

    @abc.abstractmethod
    async def open(self, exits: contextlib.AsyncExitStack) -> None:
        """Start it; `exits` ends it, also what had started when something after it failed."""

    async def __aenter__(self) -> Self:
        async with contextlib.AsyncExitStack() as exits:
            await self.open(exits)
            self._exits = exits.pop_all()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._exits.aclose()


class TooLarge(HTTPException):
    """A body is larger than `BODY_LIMIT`."""


async def body_of(request: Request) -> bytes:
    """Return the body of a request. Raises `TooLarge`."""
    chunks, size = [], 0
    # One that is too large is read to its end, since a sender who still writes reads no answer.
    async for chunk in request.stream():
        size += len(chunk)
        if size <= BODY_LIMIT:
            chunks.append(chunk)
    if size > BODY_LIMIT:
        raise TooLarge(413, "request_too_large")
    return b"".join(chunks)


async def json_of(request: Request) -> Any:
    """Return the JSON of a request, an empty object for an empty body. Raises `ValueError` and `TooLarge`."""
    try:
        return json.loads(await body_of(request) or b"{}")
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


class LocalOnly:
    """Serves `app` to this machine alone.

    Refused are other names of the host (a rebound one), and pages of other origins, which would reach it through
    someone's browser.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        app = self._app
        if not is_this_machine(f"http://{host}"):
            app = JSONResponse({"ok": False, "error": "wrong_host"}, status_code=421)
        elif headers.get("origin", f"http://{host}") != f"http://{host}":
            app = JSONResponse({"ok": False, "error": "wrong_origin"}, status_code=403)
        await app(scope, receive, send)


def is_this_machine(url: str) -> bool:
    """Return True for an http address of this machine. The host is compared as a whole: localhost.evil.example is another machine."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return parts.scheme == "http" and parts.hostname in {"127.0.0.1", "localhost", "::1"}


def transport(scope: Scope) -> asyncio.Transport:
    """The connection on which a request or a websocket came, to be dropped (`abort`) or left unread (`pause_reading`).

    ASGI has no word for either, so it is found among the server's connections by the client's port.
    """
    for connection in scope[_KEY].connections:
        if connection.client == tuple(scope["client"]):
            found: asyncio.Transport = connection.transport
            return found
    raise ConnectionAbortedError("The connection is closed already.")


async def _tick(server: uvicorn.Server) -> None:
    """Keep the `Date` header of the answers true."""
    while True:
        await server.on_tick(0)
        await asyncio.sleep(1.0)


async def _stop(server: uvicorn.Server) -> None:
    """Take no more connections, let what is under way end within `_GRACE_SECONDS`, and drop the rest."""
    for listening in server.servers:
        listening.close()
    state = server.server_state
    for connection in list(state.connections):
        connection.shutdown()
    if state.tasks:
        await asyncio.wait(list(state.tasks), timeout=_GRACE_SECONDS)
    # Dropped first: a request that is cancelled would still be answered, with 500.
    for connection in list(state.connections):
        connection.transport.abort()
    for task in list(state.tasks):
        task.cancel()
    # In the loop's next turn, transports say to their protocols that they are closed.
    await asyncio.sleep(0)
