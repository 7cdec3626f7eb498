"""What stands before every endpoint of `/v1`: the key, the rate limit, faults, and the counts of requests."""

from __future__ import annotations

import asyncio
import math
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


def fixed(spent: list[float], now: float) -> float:
    """So many in each second of the clock."""
    spent[:] = [moment for moment in spent if math.floor(moment) == math.floor(now)]
    return _spend(spent, now, again=math.floor(now) + 1)


def sliding(spent: list[float], now: float) -> float:
    """So many in any second."""
    spent[:] = [moment for moment in spent if now - 1 < moment <= now]
    return _spend(spent, now, again=spent[0] + 1 if spent else now)


def _spend(spent: list[float], now: float, *, again: float) -> float:
    if len(spent) >= RATE:
        return again - now
    spent.append(now)
    return 0.0


def bucket(spent: list[float], now: float) -> float:
    """A bucket of so many tokens, refilled steadily; `spent` has the moment at which it is full again."""
    full_at = max([now, *spent])
    # A little less than a whole token will do: who waits as long as told must not fail by a rounding.
    if full_at - now > 1 - 0.999 / RATE:
        return full_at - now - 1 + 1 / RATE
    spent[:] = [full_at + 1 / RATE]
    return 0.0


def off(_spent: list[float], _now: float) -> float:
    """Any number."""
    return 0.0


FORMS = {"fixed": fixed, "sliding": sliding, "bucket": bucket, "off": off}
"""The document doesn't say how requests are counted: these are the ways of real services."""


class Limiter:
    """Admits requests by key, as one of `FORMS` does."""

    def __init__(self, form: str = "sliding") -> None:
        self.change(form)

    def change(self, form: str) -> None:
        self.form = form
        self._spent: defaultdict[str, list[float]] = defaultdict(list)

    def admit(self, key: str, *, now: float) -> float:
        """Spend one request; 0 when it is admitted, else the seconds to wait."""
        return FORMS[self.form](self._spent[key], now)


class RequestCounts:
    """Counts requests to `/v1` as they come in and are answered."""

    def __init__(self) -> None:
        self._answers: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self._recent: defaultdict[str, deque[float]] = defaultdict(deque)
        self._worst = Counter[str]()

    def arrived(self, key: str, *, now: float) -> None:
        """A request with a live key has come in."""
        recent = self._recent[key]
        recent.append(now)
        while recent[0] <= now - 1:
            recent.popleft()
        self._worst[key] = max(self._worst[key], len(recent))

    def answered(self, endpoint: str, status: int) -> None:
        """A request was answered; status 0 is a dropped connection."""
        self._answers[endpoint][str(status)] += 1

    def summary(self, names: dict[str, str]) -> dict[str, Any]:
        """Requests, refusals for rate, each endpoint's answers by status, each workspace's busiest second.

        `names` has the workspace of each key; of a workspace's keys the busiest counts.
        """
        worst = Counter[str]()
        for key, count in self._worst.items():
            worst[names[key]] = max(count, worst[names[key]])
        by_endpoint = self._answers.values()
        return {
            "requests": sum(answers.total() for answers in by_endpoint),
            "rate_limited": sum(answers["429"] for answers in by_endpoint),
            "endpoints": {name: dict(answers) for name, answers in sorted(self._answers.items())},
            "worst_second": dict(worst),
        }


class Guard:
    """An ASGI application around that of `/v1`.

    Args:
        app: gets requests with `scope["caller"]`.
        caller: who has a live key; None for any other text.
    """

    def __init__(self, app: ASGIApp, *, caller: Callable[[str], Caller | None]) -> None:
        self._app = app
        self._caller = caller
        self.reset()

    def reset(self) -> None:
        """No faults, counts at zero, the usual limiter."""
        self.limiter = Limiter()
        self.faults = Faults[ApiFault]()
        self.counts = RequestCounts()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        endpoint = endpoint_of(scope)

        async def metered(message: Message) -> None:
            if message["type"] == "http.response.start":
                self.counts.answered(endpoint, message["status"])
            await send(message)

        try:
            scope["caller"] = self._admitted(scope)
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

    def _admitted(self, scope: Scope) -> Caller:
        key = _key(scope)
        caller = self._caller(key)
        if caller is None:
            raise Unauthorized(WWW_Authenticate="Bearer")
        now = time.time()
        # Counted before the limit, so that the busiest second shows what a client tried.
        self.counts.arrived(key, now=now)
        wait = self.limiter.admit(key, now=now)
        if wait > 0:
            # Whole seconds, never too few (document: Limits).
            raise RateLimited(Retry_After=str(max(1, math.ceil(wait))))
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
