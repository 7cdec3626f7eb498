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

from sandbox.slack.state import seed
from sandbox.slack.state.clock import Clock
from sandbox.slack.state.errors import Refusal
from sandbox.slack.state.feed import Feed

MOST_CONNECTIONS = 10
TICKET_SECONDS = 30.0


class NoConnectionError(Exception):
    """No Socket Mode connection is open."""


@dataclass(slots=True, kw_only=True, eq=False)
class Link:
    """One connection; `leaving` since it was told to disconnect, so nothing more is sent there."""

    number: int
    socket: web.WebSocketResponse
    request: web.Request
    leaving: bool = False


@dataclass(slots=True, kw_only=True)
class Sockets:
    """All connections of the app, and the envelopes that wait for their acknowledgement."""

    clock: Clock
    feed: Feed
    links: list[Link] = field(default_factory=list)
    silent: bool = False
    disabled: bool = False
    opened: int = 0
    _tickets: dict[str, float] = field(default_factory=dict)
    _waiting: dict[str, asyncio.Future[Any]] = field(default_factory=dict)
    _turn: itertools.count[int] = field(default_factory=itertools.count)

    def ticket(self) -> str:
        name = secrets.token_urlsafe(24)
        self._tickets[name] = self.clock.now()
        return name

    @property
    def ready(self) -> list[Link]:
        return [link for link in self.links if not link.leaving]

    async def serve(self, request: web.Request) -> web.StreamResponse:
        """The websocket endpoint."""
        issued = self._tickets.pop(request.query.get("ticket", ""), None)
        if issued is None or self.clock.now() - issued > TICKET_SECONDS:
            return web.json_response(Refusal("invalid_ticket").body(), status=404)
        # Pings are answered here and not by aiohttp, so that a silent Slack can be played.
        socket = web.WebSocketResponse(autoping=False, max_msg_size=4 * 1024 * 1024, timeout=1.0)
        await socket.prepare(request)
        self.opened += 1
        link = Link(number=self.opened, socket=socket, request=request)
        if len(self.links) >= MOST_CONNECTIONS:
            await self._farewell(link, "too_many_websockets")
            await socket.close()
            return socket
        await self._converse(link)
        return socket

    async def _converse(self, link: Link) -> None:
        self.links.append(link)
        await self._greet(link)
        self._announce()
        try:
            async for frame in link.socket:
                if frame.type is WSMsgType.PING and not self.silent:
                    await link.socket.pong(frame.data)
                elif frame.type is WSMsgType.TEXT and not self.silent:
                    self._receive(frame.data)
        finally:
            self.links.remove(link)
            self._announce()

    async def _greet(self, link: Link) -> None:
        await link.socket.send_json(
            {
                "type": "hello",
                "num_connections": len(self.links),
                "debug_info": {"host": "sandbox", "build_number": 1, "approximate_connection_time": 18060},
                "connection_info": {"app_id": seed.TEAM.app_id},
            }
        )
        for other in self.links:
            if other.leaving:
                await other.socket.close()

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
        return await self._exchange(ready[next(self._turn) % len(ready)], envelope, seconds=seconds)

    async def _exchange(self, link: Link, envelope: dict[str, Any], *, seconds: float) -> Any:
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting[envelope["envelope_id"]] = future
        try:
            if not self.silent:
                await link.socket.send_json(envelope)
            return await asyncio.wait_for(future, seconds)
        except (ConnectionError, RuntimeError) as error:
            raise NoConnectionError from error
        finally:
            del self._waiting[envelope["envelope_id"]]

    async def _farewell(self, link: Link, reason: str) -> None:
        await link.socket.send_json(
            {"type": "disconnect", "reason": reason, "debug_info": {"host": "sandbox"}}
        )

    async def disconnect(self, reason: str) -> int:
        """Tell every connection to go, as Slack does to refresh them; answers how many there were."""
        links = self.ready
        for link in links:
            # A warning only announces the disconnect; anything else means it.
            link.leaving = reason != "warning"
            await self._farewell(link, reason)
        self._announce()
        return len(links)

    def cut(self) -> int:
        """Break every connection without a word; answers how many there were."""
        links = list(self.links)
        for link in links:
            link.leaving = True
            if link.request.transport is not None:
                link.request.transport.abort()
        return len(links)

    async def close(self) -> None:
        for link in list(self.links):
            await link.socket.close()

    def _announce(self) -> None:
        self.feed.publish("sockets", {"open": len(self.ready)})
