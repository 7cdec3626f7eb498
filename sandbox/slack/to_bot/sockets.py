"""Socket Mode as Slack serves it: tickets, hello, envelopes, acknowledgements, disconnects.

docs.slack.dev/apis/events-api/using-socket-mode: up to ten connections, a payload goes to any one of them.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import secrets
from dataclasses import dataclass, field
from typing import Any

from aiohttp import WSMsgType, web

from sandbox.slack.state.errors import SlackError
from sandbox.slack.state.feed import Feed
from sandbox.slack.state.model import trim
from sandbox.slack.state.settings import Clock

MAX_CONNECTIONS = 10
TICKET_SECONDS = 30.0
_MAX_TICKETS = 100


class NoConnectionError(Exception):
    """No Socket Mode connection is open."""


@dataclass(slots=True, kw_only=True, eq=False)
class Connection:
    """One connection; `leaving` once it was told to disconnect, so nothing more is sent there."""

    number: int
    socket: web.WebSocketResponse
    request: web.Request
    leaving: bool = False
    unanswered: int = 0


@dataclass(slots=True, kw_only=True)
class Sockets:
    """All connections of an app, and the envelopes that wait for their acknowledgement."""

    app_id: str
    clock: Clock
    feed: Feed
    connections: list[Connection] = field(default_factory=list)
    silent: bool = False
    disabled: bool = False
    opened: int = 0
    _tickets: dict[str, float] = field(default_factory=dict)
    _waiting: dict[str, asyncio.Future[Any]] = field(default_factory=dict)
    _next: itertools.count[int] = field(default_factory=itertools.count)

    def ticket(self) -> str:
        name = secrets.token_urlsafe(24)
        self._tickets[name] = self.clock.now()
        trim(self._tickets, size=_MAX_TICKETS)
        return name

    def knows(self, ticket: str) -> bool:
        return ticket in self._tickets

    @property
    def ready(self) -> list[Connection]:
        return [connection for connection in self.connections if not connection.leaving]

    async def serve(self, request: web.Request) -> web.StreamResponse:
        """The websocket endpoint."""
        issued = self._tickets.pop(request.query.get("ticket", ""), None)
        if issued is None or self.clock.now() - issued > TICKET_SECONDS:
            return web.json_response(SlackError("invalid_ticket").body(), status=404)
        # Pings are answered here and not by aiohttp, so that a silent Slack can be played.
        socket = web.WebSocketResponse(autoping=False, max_msg_size=4 * 1024 * 1024, timeout=1.0)
        await socket.prepare(request)
        self.opened += 1
        connection = Connection(number=self.opened, socket=socket, request=request)
        if len(self.connections) >= MAX_CONNECTIONS:
            await self._send_disconnect(connection, "too_many_websockets")
            await socket.close()
            return socket
        await self._run(connection)
        return socket

    async def _run(self, connection: Connection) -> None:
        self.connections.append(connection)
        await self._send_hello(connection)
        self._announce()
        try:
            async for frame in connection.socket:
                if frame.type is WSMsgType.PING and not self.silent:
                    await connection.socket.pong(frame.data)
                elif frame.type is WSMsgType.TEXT and not self.silent:
                    self._receive(frame.data)
        finally:
            self.connections.remove(connection)
            self._announce()

    async def _send_hello(self, connection: Connection) -> None:
        await connection.socket.send_json(
            {
                "type": "hello",
                "num_connections": len(self.connections),
                "debug_info": {"host": "sandbox", "build_number": 1, "approximate_connection_time": 18060},
                "connection_info": {"app_id": self.app_id},
            }
        )
        for other in list(self.connections):
            await self._close_if_done(other)

    async def _close_if_done(self, connection: Connection) -> None:
        """Close a connection that has to go, when another is there and it owes no acknowledgement any more."""
        if connection.leaving and not connection.unanswered and self.ready:
            await connection.socket.close()

    def _receive(self, data: str) -> None:
        try:
            frame = json.loads(data)
        except ValueError:
            return
        waiting = self._waiting.get(frame.get("envelope_id", "")) if isinstance(frame, dict) else None
        if waiting is not None and not waiting.done():
            waiting.set_result(frame.get("payload"))

    async def deliver(
        self, kind: str, payload: Any, *, seconds: float, attempt: int, reason: str | None
    ) -> Any:
        """Send an envelope and wait for its acknowledgement; answers the acknowledgement's payload.

        Raises `NoConnectionError`, or `TimeoutError` when nothing came back in time.
        """
        ready = self.ready
        if not ready:
            raise NoConnectionError
        envelope: dict[str, Any] = {
            "envelope_id": secrets.token_hex(16),
            "type": kind,
            "payload": payload,
            "accepts_response_payload": kind != "events_api",
        }
        if kind == "events_api":
            envelope |= {"retry_attempt": attempt, "retry_reason": reason or ""}
        return await self._exchange(ready[next(self._next) % len(ready)], envelope, seconds=seconds)

    async def _exchange(self, connection: Connection, envelope: dict[str, Any], *, seconds: float) -> Any:
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting[envelope["envelope_id"]] = future
        connection.unanswered += 1
        try:
            if not self.silent:
                await connection.socket.send_json(envelope)
            return await asyncio.wait_for(future, seconds)
        except (ConnectionError, RuntimeError) as error:
            raise NoConnectionError from error
        finally:
            del self._waiting[envelope["envelope_id"]]
            connection.unanswered -= 1
            await self._close_if_done(connection)

    async def _send_disconnect(self, connection: Connection, reason: str) -> None:
        await connection.socket.send_json(
            {"type": "disconnect", "reason": reason, "debug_info": {"host": "sandbox"}}
        )

    async def disconnect(self, reason: str) -> int:
        """Tell every connection to go, as Slack does to refresh them; answers how many there were."""
        connections = self.ready
        for connection in connections:
            # A warning only announces the disconnect; anything else means it.
            connection.leaving = reason != "warning"
            await self._send_disconnect(connection, reason)
        self._announce()
        return len(connections)

    def cut(self) -> int:
        """Break every connection without a word; answers how many there were."""
        connections = list(self.connections)
        for connection in connections:
            connection.leaving = True
            if connection.request.transport is not None:
                connection.request.transport.abort()
        return len(connections)

    async def close(self) -> None:
        for connection in list(self.connections):
            await connection.socket.close()

    def _announce(self) -> None:
        self.feed.publish("sockets", {"open": len(self.ready)})
