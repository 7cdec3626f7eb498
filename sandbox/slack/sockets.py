"""Socket Mode as Slack serves it: tickets, hello, envelopes, acknowledgements and disconnects.

An app has up to ten connections, and a payload goes to any one of them
(https://docs.slack.dev/apis/events-api/using-socket-mode).
"""

from __future__ import annotations

import asyncio
import itertools
import json
import secrets
from dataclasses import dataclass
from typing import Any

from starlette.responses import JSONResponse
from starlette.websockets import WebSocket, WebSocketDisconnect

from sandbox.asgi_server import transport
from sandbox.clock import Clock
from sandbox.slack import seed
from sandbox.slack.errors import SlackError
from sandbox.slack.feed import Feed
from sandbox.slack.model import Json

TICKET_SECONDS = 30.0


class NoConnectionError(Exception):
    """No Socket Mode connection is open."""


@dataclass(slots=True, kw_only=True, eq=False)
class Connection:
    """One connection; while it is `leaving` nothing more is sent there."""

    websocket: WebSocket
    transport: asyncio.Transport
    leaving: bool = False
    unanswered: int = 0


class Sockets:
    """The app's connections, and the envelopes that wait for their acknowledgement."""

    def __init__(self, clock: Clock, feed: Feed) -> None:
        self._clock = clock
        self._feed = feed
        self.connections: list[Connection] = []
        self.silent = False
        self.disabled = False
        self._tickets: dict[str, float] = {}
        self._waiting: dict[str, asyncio.Future[Any]] = {}
        self._next = itertools.count()

    def ticket(self) -> str:
        """Issue a ticket that opens one connection within half a minute."""
        now = self._clock.now()
        valid = {name: at for name, at in self._tickets.items() if now - at <= TICKET_SECONDS}
        name = secrets.token_urlsafe(24)
        self._tickets = {**valid, name: now}
        return name

    @property
    def ready(self) -> list[Connection]:
        return [connection for connection in self.connections if not connection.leaving]

    def state(self) -> dict[str, int]:
        return {"open": len(self.ready)}

    async def serve(self, websocket: WebSocket) -> None:
        """Serve a connection until it ends."""
        issued = self._tickets.pop(websocket.query_params.get("ticket", ""), None)
        if issued is None or self._clock.now() - issued > TICKET_SECONDS:
            refusal = JSONResponse(SlackError("invalid_ticket").body(), status_code=404)
            await websocket.send_denial_response(refusal)
            return
        await websocket.accept()
        connection = Connection(websocket=websocket, transport=transport(websocket.scope))
        self.connections.append(connection)
        try:
            await self._send_hello(connection)
            self._announce()
            await self._receive(connection)
        except (WebSocketDisconnect, RuntimeError, OSError):
            pass  # the bot is gone
        finally:
            self.connections.remove(connection)
            self._announce()

    async def _send_hello(self, connection: Connection) -> None:
        await connection.websocket.send_json(
            {
                "type": "hello",
                "num_connections": len(self.connections),
                "connection_info": {"app_id": seed.APP.id},
            }
        )
        for other in list(self.connections):
            await self._close_if_done(other)

    async def _receive(self, connection: Connection) -> None:
        while True:
            if self.silent:
                # The server resumes reading with each frame that is taken.
                connection.transport.pause_reading()
            text = await connection.websocket.receive_text()
            try:
                frame = json.loads(text)
            except ValueError:
                continue
            name = frame.get("envelope_id") if isinstance(frame, dict) else None
            waiting = self._waiting.get(str(name))
            if waiting is not None and not waiting.done() and not self.silent:
                waiting.set_result(frame.get("payload"))

    async def _close_if_done(self, connection: Connection) -> None:
        """Close a connection that has to go, once another is there and nothing is owed to it."""
        if connection.leaving and not connection.unanswered and self.ready:
            await connection.websocket.close()

    async def deliver(self, kind: str, payload: Json, extra: Json, *, seconds: float) -> Any:
        """Send an envelope and return the payload of its acknowledgement.

        `extra` are the fields that only events have. Raises `NoConnectionError`, or `TimeoutError`
        where nothing came back in time.
        """
        ready = self.ready
        if not ready:
            raise NoConnectionError
        is_event = kind == "events_api"
        envelope: Json = {
            "envelope_id": secrets.token_hex(16),
            "type": kind,
            "payload": payload,
            "accepts_response_payload": not is_event,
            **(extra if is_event else {}),
        }
        # In turn: an app with several connections gets a payload on any one of them.
        connection = ready[next(self._next) % len(ready)]
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting[envelope["envelope_id"]] = future
        connection.unanswered += 1
        try:
            if not self.silent:
                await connection.websocket.send_json(envelope)
            async with asyncio.timeout(seconds):
                return await future
        except (WebSocketDisconnect, RuntimeError, ConnectionError) as error:
            raise NoConnectionError from error
        finally:
            del self._waiting[envelope["envelope_id"]]
            connection.unanswered -= 1
            await self._close_if_done(connection)

    async def disconnect(self, reason: str) -> int:
        """Tell every connection to go; returns how many there were."""
        connections = self.ready
        for connection in connections:
            connection.leaving = True
            await _send_disconnect(connection, reason)
        self._announce()
        return len(connections)

    def cut(self) -> int:
        """Break every connection without a word; returns how many there were."""
        connections = list(self.connections)
        for connection in connections:
            connection.leaving = True
            connection.transport.abort()
        return len(connections)

    def silence(self, *, silent: bool) -> None:
        """Send nothing and hear nothing, pings included, or be as usual again."""
        self.silent = silent
        for connection in self.connections:
            if silent:
                connection.transport.pause_reading()
            else:
                connection.transport.resume_reading()

    async def close(self) -> None:
        for connection in list(self.connections):
            await connection.websocket.close()

    def _announce(self) -> None:
        self._feed.publish("sockets", {"open": len(self.ready)})


async def _send_disconnect(connection: Connection, reason: str) -> None:
    await connection.websocket.send_json({"type": "disconnect", "reason": reason})
