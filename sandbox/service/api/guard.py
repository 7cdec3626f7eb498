"""What stands before every endpoint of `/v1`: the key, the rate limit, faults, and the counts of requests."""

from __future__ import annotations

import asyncio
import math
import time
from collections import Counter, deque
from collections.abc import Callable
from typing import Any, NamedTuple

from pydantic import Field
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sandbox.faults import Faults, HttpFault
from sandbox.service.account import Account
from sandbox.service.errors import (
    CODES,
    ApiError,
    RateLimited,
    Unauthorized,
    error_response,
    response_of,
)

RATE = 10
WINDOW = 1.0

Spent = tuple[float, ...]
Verdict = tuple[Spent, float | None]
"""What a key has spent then, and the seconds to wait; None where the request is admitted."""


class Caller(NamedTuple):
    """Who asks: the key's workspace in the account as it is now."""

    service: Any
    account: Account
    workspace: int


class ApiFault(HttpFault):
    """What goes wrong with matching requests to `/v1`."""

    endpoint: str = Field(
        default="*", description="`GET /leads`, `PATCH /sequences/{id}`, a path alone, or `*`."
    )

    def matches(self, endpoint: str) -> bool:
        """True where an endpoint like `GET /leads` is meant."""
        return self.endpoint in {"*", endpoint, endpoint.partition(" ")[2]}


def fixed(spent: Spent, now: float) -> Verdict:
    """So many in each second of the clock; `spent` is (window, count)."""
    window = math.floor(now)
    count = spent[1] if len(spent) == 2 and spent[0] == window else 0.0
    if count >= RATE:
        return (window, count), window + WINDOW - now
    return (window, count + 1), None


def sliding(spent: Spent, now: float) -> Verdict:
    """So many in any second; `spent` are the moments of the last ones admitted."""
    recent = tuple(moment for moment in spent if now - WINDOW < moment <= now)
    if len(recent) >= RATE:
        return recent, recent[-RATE] + WINDOW - now
    return (*recent, now), None


def bucket(spent: Spent, now: float) -> Verdict:
    """A bucket of so many tokens, refilled steadily; `spent` is (tokens left, when)."""
    tokens, when = spent if len(spent) == 2 else (float(RATE), now)
    tokens = min(float(RATE), tokens + max(0.0, now - when) * RATE / WINDOW)
    if tokens < 1.0:
        return (tokens, now), (1.0 - tokens) * WINDOW / RATE
    return (tokens - 1.0, now), None


FORMS: dict[str, Callable[[Spent, float], Verdict]] = {"fixed": fixed, "sliding": sliding, "bucket": bucket}
"""The document doesn't say how requests are counted: these are the ways of real services."""


class Limiter:
    """Admits requests by key; `form` is one of `FORMS`, or `off`."""

    def __init__(self) -> None:
        self.change("sliding")

    def change(self, form: str) -> None:
        self.form = form
        self._spent: dict[str, Spent] = {}

    def admit(self, key: str, *, now: float) -> float | None:
        """Spend one request; None when it is admitted, else the seconds to wait."""
        rule = FORMS.get(self.form)
        if rule is None:
            return None
        self._spent[key], wait = rule(self._spent.get(key, ()), now)
        return wait


def retry_after(wait: float) -> int:
    """Whole seconds for the header, never too few (document: Limits)."""
    return max(1, math.ceil(wait))


class RequestCounts:
    """Counts requests to `/v1` as they come in and are answered."""

    def __init__(self) -> None:
        self._answers = Counter[tuple[str, int]]()
        self._recent: dict[str, deque[float]] = {}
        self._worst: dict[str, int] = {}

    def arrived(self, key: str, *, now: float) -> None:
        """A request with a live key has come in."""
        recent = self._recent.setdefault(key, deque())
        recent.append(now)
        while recent[0] <= now - WINDOW:
            recent.popleft()
        self._worst[key] = max(self._worst.get(key, 0), len(recent))

    def answered(self, endpoint: str, status: int) -> None:
        """A request was answered; status 0 is a dropped connection."""
        self._answers[endpoint, status] += 1

    def summary(self, names: dict[str, str]) -> dict[str, Any]:
        """Requests, refusals for rate, each endpoint's answers by status, each workspace's busiest second.

        `names` has the workspace of each key; of a workspace's keys the busiest counts.
        """
        endpoints: dict[str, dict[str, int]] = {}
        for (endpoint, status), count in sorted(self._answers.items()):
            endpoints.setdefault(endpoint, {})[str(status)] = count
        worst: dict[str, int] = {}
        for key, count in sorted(self._worst.items()):
            name = names.get(key, "?")
            worst[name] = max(count, worst.get(name, 0))
        return {
            "requests": self._answers.total(),
            "rate_limited": sum(count for (_, status), count in self._answers.items() if status == 429),
            "endpoints": endpoints,
            "worst_second": worst,
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
            await response_of(error)(scope, receive, metered)
            return
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
            raise Unauthorized
        now = time.time()
        self.counts.arrived(key, now=now)
        wait = self.limiter.admit(key, now=now)
        if wait is not None:
            raise RateLimited(retry_after=retry_after(wait))
        return caller


def endpoint_of(scope: Scope) -> str:
    """`PATCH /sequences/{id}` for a request to `/v1/sequences/sq_…`."""
    head, slash, _ = scope["path"].removeprefix("/v1").removeprefix("/").partition("/")
    return f"{scope['method']} /{head}{'/{id}' if slash else ''}"


def _key(scope: Scope) -> str:
    """The bearer key of a request; empty without one."""
    for name, value in scope["headers"]:
        if name == b"authorization":
            scheme, _, key = value.decode("latin-1").partition(" ")
            return key.strip() if scheme.lower() == "bearer" else ""
    return ""


def _error_body(status: int) -> bytes:
    code = CODES.get(status, "server_error")
    response = error_response(status, code=code, message="A fault was set for this endpoint.")
    return bytes(response.body)


async def _discard(message: Message) -> None:
    """Send nothing."""
