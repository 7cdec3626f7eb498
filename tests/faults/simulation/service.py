"""The outreach service, as far as the bot reads and changes it; it takes the place of httpx's connections."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable
from email.utils import formatdate
from typing import Any

import httpx

from tests.faults.simulation.loop import SimulatedLoop
from tests.faults.simulation.network import Fault, Log, Network, NoConnection, Reply, Reset
from tests.faults.simulation.virtual_time import VirtualClock

LATE = 0.3
"""Seconds by which a request is held up at most: a change that arrives after its sender has died, and long after others
were confirmed, would be carried out whatever the bots do."""


class SimulatedService:
    """An account of a few sequences and inboxes."""

    def __init__(
        self, loop: SimulatedLoop, clock: VirtualClock, network: Network, log: Log, *, sequences: int
    ) -> None:
        self._loop, self._clock, self._network, self._log = loop, clock, network, log
        self.sequences = {
            f"sq_{n}": {"id": f"sq_{n}", "name": f"Sequence {n}", "status": "active", "steps": 3}
            for n in range(1, sequences + 1)
        }
        self.inboxes = [
            {"id": f"in_{n}", "email": f"sam{n}@mail{n % 2}.example", "health_score": 91, "daily_limit": 40}
            for n in range(4)
        ]
        self.resumed: Callable[[str], None] = lambda _name: None
        """Called when a sequence that was paused becomes active."""
        self._recent: deque[float] = deque()
        self.most_in_a_second = 0
        self.requests = 0

    async def call(self, request: httpx.Request) -> Reply:
        place = "service change" if request.method == "PATCH" else "service read"
        fault = self._network.fault(place if place in self._network.weather else "service")
        met = f", which will be {fault}" if fault is not Fault.NONE else ""
        self._log(f"sends {request.method} {request.url.path}{met}")
        if fault is not Fault.REFUSED:  # held up on its way, no budget could help it
            self._loop.later(self._network.travel(), self._count)
        return await self._network.carry(lambda fault: self._carry_out(request, fault), fault, late=LATE)

    def _carry_out(self, request: httpx.Request, fault: Fault) -> Reply:
        headers = {"Date": formatdate(self._clock.wall, usegmt=True), "Content-Type": "application/json"}
        self._log(f"service receives {request.method} {request.url.path}")
        if fault is Fault.LIMITED:
            error = {"error": {"code": "rate_limited", "message": "slower"}}
            return Reply(429, error, {**headers, "Retry-After": "2"})
        if fault is Fault.BROKEN:
            return Reply(500, {"error": {"code": "internal", "message": "broken"}}, headers)
        status, body = self._act(request)
        if fault is Fault.BROKEN_AFTER:
            return Reply(500, {"error": {"code": "internal", "message": "broken"}}, headers)
        if fault is Fault.GARBAGE:
            return Reply(200, "<html>gateway</html>", {**headers, "Content-Type": "text/html"})
        return Reply(status, body, headers)

    def _count(self) -> None:
        now = self._clock.elapsed
        self.requests += 1
        self._recent.append(now)
        while self._recent[0] <= now - 1.0:
            self._recent.popleft()
        self.most_in_a_second = max(self.most_in_a_second, len(self._recent))

    def _act(self, request: httpx.Request) -> tuple[int, Any]:
        path = request.url.path.removeprefix("/v1/")
        if request.method == "PATCH":
            return self._change(path.removeprefix("sequences/"), json.loads(request.content)["status"])
        rows = {
            "sequences": list(self.sequences.values()),
            "inboxes": self.inboxes,
            "stats": self._stats(),
            "leads": [],
        }
        if path not in rows:
            return 404, {"error": {"code": "not_found", "message": "no such thing"}}
        return 200, {"data": rows[path], "next_cursor": None}

    def _stats(self) -> list[dict[str, Any]]:
        counts = {"sends": 100, "replies": 1, "positive_replies": 0, "meetings": 0}
        return [{"group": one["name"], **counts} for one in self.sequences.values()]

    def _change(self, name: str, status: str) -> tuple[int, Any]:
        if name not in self.sequences:
            return 404, {"error": {"code": "not_found", "message": "no such sequence"}}
        self._log(f"service sets {name} {status}")
        if self.sequences[name]["status"] == "paused" and status == "active":
            self.resumed(name)
        self.sequences[name]["status"] = status
        return 200, self.sequences[name]


class ServiceTransport(httpx.AsyncBaseTransport):
    """The way of one client to the service."""

    def __init__(self, service: SimulatedService) -> None:
        self._service = service

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        if trace := request.extensions.get("trace"):
            await trace("http11.send_request_headers.started", {})
        try:
            reply = await self._service.call(request)
        except NoConnection:
            raise httpx.ConnectError("refused", request=request) from None
        except Reset:
            raise httpx.ReadError("reset", request=request) from None
        body = reply.body if isinstance(reply.body, str) else json.dumps(reply.body)
        return httpx.Response(reply.status, headers=reply.headers, content=body.encode(), request=request)
