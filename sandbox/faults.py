"""Faults on demand, for the service, its resolvers and the Slack stand-in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Generic, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from sandbox.asgi_server import transport

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


class Fault(BaseModel):
    """A fault that happens `times` times. What it matches and what it does is its subclass's."""

    model_config = ConfigDict(extra="forbid", strict=True, use_attribute_docstrings=True)

    times: int | None = Field(default=1, ge=1, le=1_000_000)
    """How often; null until the faults are cleared."""
    delay: float = Field(default=0.0, ge=0.0, le=600.0)
    """Seconds to wait first."""


class HttpFault(Fault):
    """What goes wrong with a request. With `delay` alone it is carried out and answered as usual, only later."""

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
        """False where the request is only delayed."""
        return self.cut or self.status is not None or self.body is not None

    @property
    def runs_request(self) -> bool:
        """True where the request takes effect, whatever is answered."""
        return self.executed or not self.replaces_answer

    def answer(self, error_body: Callable[[int], bytes]) -> Response:
        """What is sent instead of the answer; `error_body` makes the JSON of a status that brings no body of its own."""
        if self.cut:
            return Cut()
        status = self.status or 200
        if self.body is None:
            media_type, content = "application/json", error_body(status)
        else:
            media_type, content = _INVALID[self.body]
        headers = {} if self.retry_after is None else {"Retry-After": str(self.retry_after)}
        return Response(content, status_code=status, media_type=media_type, headers=headers)


class Cut(Response):
    """A dropped connection in place of a response."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        transport(scope).abort()
        # An application that returns without an answer would be logged as broken.
        while (await receive())["type"] != "http.disconnect":
            pass


F = TypeVar("F", bound=Fault)


class Faults(Generic[F]):
    """The faults that are set; of several that match, the first one happens first."""

    def __init__(self) -> None:
        self._pending: list[F] = []

    def add(self, fault: F) -> None:
        # A copy, because counting down must not change what the caller holds.
        self._pending.append(fault.model_copy())

    def clear(self) -> None:
        self._pending.clear()

    def listed(self) -> list[dict[str, Any]]:
        return [fault.model_dump() for fault in self._pending]

    def take(self, matches: Callable[[F], bool]) -> F | None:
        """The fault that happens now, used up once; None if there is none."""
        for fault in self._pending:
            if not matches(fault):
                continue
            # Counted down here and not where it is carried out: two requests at once must not share the last time.
            if fault.times is not None:
                fault.times -= 1
                if fault.times == 0:
                    self._pending.remove(fault)
            return fault
        return None
