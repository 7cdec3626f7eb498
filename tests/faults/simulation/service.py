"""The outreach service, as far as the bot reads and changes it; it takes the place of httpx's connections."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable
from email.utils import formatdate

import httpx

from tests.faults.simulation.loop import SimulatedLoop
from tests.faults.simulation.network import Fault, Log, Network, NoConnection, Reply, Reset
from tests.faults.simulation.virtual_time import VirtualClock
from tests.kit.scripted import Request, ScriptedAccount, request_of

LATE = 0.3
"""Seconds by which a request is held up at most: a change that arrives after its sender has died, and long after others
were confirmed, would be carried out whatever the bots do."""


class SimulatedService(ScriptedAccount):
    """An account of a few sequences and inboxes, beyond a network."""

    def __init__(
        self, loop: SimulatedLoop, clock: VirtualClock, network: Network, log: Log, *, sequences: int
    ) -> None:
        counts = {"sends": 100, "replies": 1, "positive_replies": 0, "meetings": 0}
        super().__init__(
            inboxes=[
                {"email": f"sam{n}@mail{n % 2}.example", "health_score": 91, "daily_limit": 40}
                for n in range(4)
            ],
            stats=[{"group": f"Sequence {n}", **counts} for n in range(1, sequences + 1)],
        )
        for number in range(1, sequences + 1):
            self.add(f"Sequence {number}")
        self._loop, self._clock, self._network, self._log = loop, clock, network, log
        self.resumed: Callable[[str], None] = lambda _name: None
        """Called when a sequence that was paused becomes active."""
        self._recent: deque[float] = deque()
        self.most_in_a_second = 0

    async def call(self, request: Request) -> Reply:
        place = "service change" if request.method == "PATCH" else "service read"
        fault = self._network.fault(place if place in self._network.weather else "service")
        met = f", which will be {fault}" if fault is not Fault.NONE else ""
        self._log(f"sends {request.method} {request.path}{met}")
        if fault is not Fault.REFUSED:  # held up on its way, no budget could help it
            self._loop.later(self._network.travel(), self._count)
        return await self._network.carry(lambda fault: self._carry_out(request, fault), fault, late=LATE)

    def _carry_out(self, request: Request, fault: Fault) -> Reply:
        headers = {"Date": formatdate(self._clock.wall, usegmt=True), "Content-Type": "application/json"}
        self._log(f"service receives {request.method} {request.path}")
        if fault is Fault.LIMITED:
            error = {"error": {"code": "rate_limited", "message": "slower"}}
            return Reply(429, error, {**headers, "Retry-After": "2"})
        if fault is Fault.BROKEN:
            return Reply(500, {"error": {"code": "internal", "message": "broken"}}, headers)
        if request.status == "active" and self.sequence(request.row)["status"] == "paused":
            self.resumed(request.row)
        status, body = self.answer(request)
        if fault is Fault.BROKEN_AFTER:
            return Reply(500, {"error": {"code": "internal", "message": "broken"}}, headers)
        if fault is Fault.GARBAGE:
            return Reply(200, "<html>gateway</html>", {**headers, "Content-Type": "text/html"})
        return Reply(status, body, headers)

    def _count(self) -> None:
        now = self._clock.elapsed
        self._recent.append(now)
        while self._recent[0] <= now - 1.0:
            self._recent.popleft()
        self.most_in_a_second = max(self.most_in_a_second, len(self._recent))


class ServiceTransport(httpx.AsyncBaseTransport):
    """The way of one client to the service."""

    def __init__(self, service: SimulatedService) -> None:
        self._service = service

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        if trace := request.extensions.get("trace"):
            await trace("http11.send_request_headers.started", {})
        try:
            reply = await self._service.call(request_of(request))
        except NoConnection:
            raise httpx.ConnectError("refused", request=request) from None
        except Reset:
            raise httpx.ReadError("reset", request=request) from None
        body = reply.body if isinstance(reply.body, str) else json.dumps(reply.body)
        return httpx.Response(reply.status, headers=reply.headers, content=body.encode(), request=request)
