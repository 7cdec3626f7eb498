"""What stands before every endpoint of `/v1`: the key, the rate limit, faults, and the counts of requests."""

from __future__ import annotations

import asyncio
import time
from collections import Counter, defaultdict, deque
from collections.abc import Callable
from typing import Any, NamedTuple

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sandbox.faults import Faults, HttpFault
from sandbox.service.account import Account
from sandbox.service.errors import CODES, ApiError, Json, RateLimited, Unauthorized

RATE = 10


class Caller(NamedTuple):
    """Who asks: the key's workspace in the account as it is now."""

    service: Any
    account: Account
    workspace: int


class ApiFault(HttpFault):
    """What goes wrong with matching requests to `/v1`."""

    endpoint: str = "*"
    """`GET /leads`, `PATCH /sequences/{id}`, a path alone, or `*`."""

    def matches(self, endpoint: str) -> bool:
        """True where an endpoint like `GET /leads` is meant."""
        return self.endpoint in {"*", endpoint, endpoint.partition(" ")[2]}


class RequestCounts:
    """Counts requests to `/v1` as they come in and are answered."""

    def __init__(self) -> None:
        self._answers: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self._recent: defaultdict[str, deque[float]] = defaultdict(deque)
        self._worst = Counter[str]()

    def arrived(self, workspace: str, *, now: float) -> None:
        """Count a request with the workspace's key."""
        self._worst[workspace] = max(self._worst[workspace], _count(self._recent[workspace], now))

    def answered(self, endpoint: str, status: int) -> None:
        """Count an answer; status 0 is a dropped connection."""
        self._answers[endpoint][str(status)] += 1

    def summary(self) -> dict[str, Any]:
        """Requests, refusals for rate, each endpoint's answers by status, each workspace's busiest second."""
        by_endpoint = self._answers.values()
        return {
            "requests": sum(answers.total() for answers in by_endpoint),
            "rate_limited": sum(answers["429"] for answers in by_endpoint),
            "endpoints": {name: dict(answers) for name, answers in sorted(self._answers.items())},
            "worst_second": dict(self._worst),
        }


def _count(recent: deque[float], now: float) -> int:
    """Add this moment to those of the last second; how many there are."""
    recent.append(now)
    while recent[0] <= now - 1:
        recent.popleft()
    return len(recent)


class Guard:
    """An ASGI application around that of `/v1`.

    Args:
        app: gets requests with `scope["caller"]`.
        caller: who has this key; None for any other text.
    """

    def __init__(self, app: ASGIApp, *, caller: Callable[[str], Caller | None]) -> None:
        self._app = app
        self._caller = caller
        self.reset()

    def reset(self) -> None:
        """No faults, counts at zero, and the limit."""
        self.limited = True
        self.faults = Faults[ApiFault]()
        self.counts = RequestCounts()
        self._admitted: defaultdict[str, deque[float]] = defaultdict(deque)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        endpoint = endpoint_of(scope)

        async def metered(message: Message) -> None:
            if message["type"] == "http.response.start":
                self.counts.answered(endpoint, message["status"])
            await send(message)

        try:
            scope["caller"] = self._admit(scope)
        except ApiError as error:
            await error.response()(scope, receive, metered)
            return
        # After the limit: a request over it reaches no server that could fail.
        fault = self.faults.take(lambda one: one.matches(endpoint))
        if fault is None:
            await self._app(scope, receive, metered)
            return
        await asyncio.sleep(fault.delay)
        if fault.runs_request:
            await self._app(scope, receive, _discard if fault.replaces_answer else metered)
        if fault.cut:
            self.counts.answered(endpoint, 0)
        if fault.replaces_answer:
            await fault.answer(_error_body)(scope, receive, metered)

    def _admit(self, scope: Scope) -> Caller:
        caller = self._caller(_key(scope))
        if caller is None:
            raise Unauthorized(WWW_Authenticate="Bearer")
        now, workspace = time.time(), caller.account.workspaces[caller.workspace].name
        # Counted before the limit, so that the busiest second shows what a client tried.
        self.counts.arrived(workspace, now=now)
        admitted = self._admitted[workspace]
        if self.limited and _count(admitted, now) > RATE:
            admitted.pop()  # what is refused doesn't count
            # In whole seconds (document: Limits), and every second of the window is over by then.
            raise RateLimited(Retry_After="1")
        return caller


def endpoint_of(scope: Scope) -> str:
    """`PATCH /sequences/{id}` for a request to `/v1/sequences/sq_…`."""
    head, slash, _ = scope["path"].removeprefix("/v1").removeprefix("/").partition("/")
    return f"{scope['method']} /{head}{'/{id}' if slash else ''}"


def _key(scope: Scope) -> str:
    """The bearer key of a request; empty without one."""
    scheme, _, key = Headers(scope=scope).get("authorization", "").partition(" ")
    return key.strip() if scheme.lower() == "bearer" else ""


def _error_body(status: int) -> bytes:
    error = {"code": CODES.get(status, "server_error"), "message": "A fault was set for this endpoint."}
    return bytes(Json({"error": error}).body)


async def _discard(message: Message) -> None:
    """Send nothing."""
