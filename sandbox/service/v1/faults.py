"""Faults of endpoints: slow, failing, invalid responses, or dropped connections before or after execution."""

from __future__ import annotations

import asyncio
from typing import Annotated, Literal

from pydantic import ConfigDict, Field
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sandbox.service.base.errors import Json
from sandbox.service.base.faults import LimitedFault

NONSENSE: dict[str, tuple[str, bytes]] = {
    "garbage": ("application/octet-stream", bytes(range(255, -1, -1))),
    "html": ("text/html", b"<!doctype html><title>502 Bad Gateway</title><h1>Bad Gateway</h1>"),
    "half": ("application/json", b'{"data": [{"id": "ld_'),
    "empty": ("application/json", b""),
}
_CODES = {400: "bad_request", 401: "unauthorized", 404: "not_found", 429: "rate_limited"}


Header = Annotated[str, Field(max_length=64, pattern="^[ -~]*$")]
Seconds = (
    Annotated[int, Field(strict=True, ge=0, le=1_000_000)]
    | Annotated[float, Field(strict=True, ge=0.0, le=1_000_000.0)]
)


class Fault(LimitedFault):
    """What goes wrong with matching requests."""

    model_config = ConfigDict(extra="forbid", strict=True)

    endpoint: str = Field(
        default="*", description="`GET /leads`, `PATCH /sequences/{id}`, a path alone, or `*`."
    )
    times: int | None = Field(
        default=1, ge=1, le=1_000_000, description="How often; null until the faults are cleared."
    )
    delay: float = Field(default=0.0, ge=0.0, le=600.0, description="Seconds to wait first.")
    status: int | None = Field(
        default=None, ge=400, le=599, description="Answer with this status and an error body."
    )
    retry_after: Seconds | Header | None = Field(
        default=None, description="A `Retry-After` header for it: seconds, or any text."
    )
    body: Literal["garbage", "html", "half", "empty"] | None = Field(
        default=None, description="Answer with an invalid body."
    )
    cut: bool = Field(default=False, description="Close the connection instead of answering.")
    executed: bool = Field(default=False, description="Execute the request before the fault.")

    def matches(self, endpoint: str) -> bool:
        """Whether an endpoint like `GET /leads` is meant."""
        return self.endpoint in {"*", endpoint, endpoint.partition(" ")[2]}


async def respond_with_fault(fault: Fault, app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
    """Serve one request with a fault."""
    await asyncio.sleep(fault.delay)
    harmless = fault.status is None and fault.body is None and not fault.cut
    if harmless:
        await app(scope, receive, send)
        return
    if fault.executed:
        await app(scope, receive, _discard)
    if fault.cut:
        await cut(receive, send)
    else:
        await _answer(fault)(scope, receive, send)


def _answer(fault: Fault) -> Response:
    headers = {} if fault.retry_after is None else {"Retry-After": str(fault.retry_after)}
    status = fault.status or 200
    if fault.body is not None:
        media_type, content = NONSENSE[fault.body]
        return Response(content, status_code=status, media_type=media_type, headers=headers)
    code, message = _CODES.get(status, "server_error"), "A fault was set for this endpoint."
    return Json({"error": {"code": code, "message": message}}, status_code=status, headers=headers)


async def _discard(message: Message) -> None:
    """A response that is never sent."""


async def cut(receive: Receive, send: Send) -> None:
    """Drop the connection: ASGI knows no word for it, but the server's own `send` belongs to a transport."""
    transport = getattr(getattr(send, "__self__", None), "transport", None)
    if transport is None:
        raise ConnectionAbortedError("The connection was dropped by a fault.")
    transport.abort()
    while (await receive())["type"] != "http.disconnect":
        pass
