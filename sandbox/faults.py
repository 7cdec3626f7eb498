"""Faults on demand, for the service, its resolvers and the Slack stand-in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from sandbox.asgi_server import transport


class Fault(BaseModel):
    """A fault that happens `times` times. What it matches and what it does is its subclass's."""

    model_config = ConfigDict(extra="forbid", strict=True, use_attribute_docstrings=True)

    times: int | None = Field(default=1, ge=1, le=1_000_000)
    """How often; null until the faults are cleared."""
    delay: float = Field(default=0.0, ge=0.0, le=600.0)
    """Seconds to wait first."""


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
