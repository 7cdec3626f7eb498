"""Guards every endpoint of `/v1`: it checks the key and the rate limit, applies faults, and counts requests."""

from __future__ import annotations

import asyncio
import time
from collections import Counter, defaultdict, deque
from collections.abc import Callable
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import Field
from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sandbox.faults import Cut, Fault, Faults
from sandbox.service.account import Account
from sandbox.service.errors import CODES, ApiError, Json, RateLimited, Unauthorized

RATE = 10


class Caller(NamedTuple):
    """The key's workspace, in the account as it is now."""

    service: Any
    account: Account
    workspace: int


_INVALID: dict[str, tuple[str, bytes]] = {
    "garbage": ("application/octet-stream", bytes(range(255, -1, -1))),
    "html": ("text/html", b"<!doctype html><title>502 Bad Gateway</title><h1>Bad Gateway</h1>"),
    "half": ("application/json", b'{"data": [{"id": "ld_'),
    "empty": ("application/json", b""),
}
_HeaderText = Annotated[str, Field(max_length=64, pattern="^[ -~]*$")]
_Seconds = (
    Annotated[int, Field(strict=True, ge=0, le=1_000_000)]
    | Annotated[float, Field(strict=True, ge=0.0, le=1_000_000.0)]
)


class ApiFault(Fault):
    """A fault of matching requests. With `delay` alone they are carried out and answered as usual, only later."""

    endpoint: str = "*"
    """`GET /leads`, `PATCH /sequences/{id}`, a path alone, or `*`."""
    status: int | None = Field(default=None, ge=400, le=599)
    """Answer with this status and an error body."""
    retry_after: _Seconds | _HeaderText | None = None
    """A `Retry-After` header for it: seconds, or any text."""
    body: Literal["garbage", "html", "half", "empty"] | None = None
    """Answer with an invalid body."""
    cut: bool = False
    """Close the connection instead of answering."""
    executed: bool = False
    """Execute the request before the fault."""

    @property
    def replaces_answer(self) -> bool:
        """Return False where the request is only delayed."""
        return self.cut or self.status is not None or self.body is not None

    @property
    def runs_request(self) -> bool:
        """Return True where the request takes effect, whatever is answered."""
        return self.executed or not self.replaces_answer

    def answer(self) -> Response:
        """Return what is sent instead of the answer."""
        if self.cut:
            return Cut()
        status = self.status or 200
        if self.body is None:
            media_type, content = "application/json", _error_body(status)
        else:
            media_type, content = _INVALID[self.body]
        headers = {} if self.retry_after is None else {"Retry-After": str(self.retry_after)}
        return Response(content, status_code=status, media_type=media_type, headers=headers)

    def matches(self, endpoint: str) -> bool:
        """Return True where the fault is for an endpoint like `GET /leads`."""
        return self.endpoint in {"*", endpoint, endpoint.partition(" ")[2]}


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
        self._admitted: defaultdict[str, deque[float]] = defaultdict(deque)
        self._tried: defaultdict[str, deque[float]] = defaultdict(deque)
        self._busiest = Counter[str]()
        self._answers: defaultdict[str, Counter[str]] = defaultdict(Counter)

    def summary(self) -> dict[str, Any]:
        """Return requests, refusals for rate, each endpoint's answers by status, each workspace's busiest second.

        Status 0 is a dropped connection.
        """
        by_endpoint = self._answers.values()
        return {
            "requests": sum(answers.total() for answers in by_endpoint),
            "rate_limited": sum(answers["429"] for answers in by_endpoint),
            "endpoints": {name: dict(answers) for name, answers in sorted(self._answers.items())},
            "worst_second": dict(self._busiest),
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        endpoint = endpoint_of(scope)

        async def metered(message: Message) -> None:
            if message["type"] == "http.response.start":
                self._answers[endpoint][str(message["status"])] += 1
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
            self._answers[endpoint]["0"] += 1
        if fault.replaces_answer:
            await fault.answer()(scope, receive, metered)

    def _admit(self, scope: Scope) -> Caller:
        caller = self._caller(_key(scope))
        if caller is None:
            raise Unauthorized(WWW_Authenticate="Bearer")
        now, workspace = time.time(), caller.account.workspaces[caller.workspace].name
        # Counted before the limit, so that the busiest second shows what a client tried.
        self._busiest[workspace] = max(self._busiest[workspace], _count(self._tried[workspace], now))
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
