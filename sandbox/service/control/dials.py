"""What the control API turns, and the bodies that turn it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from sandbox.service.base.clock import Clock
from sandbox.service.v1.faults import Faults
from sandbox.service.v1.gate import Keys
from sandbox.service.v1.rate_limits import Limiter
from sandbox.service.v1.request_counts import Meter
from sandbox.service.v1.routes import Ledger
from sandbox.service.v1.schemas import EventKind
from sandbox.service.webhooks.sender import Courier


@dataclass(frozen=True, slots=True, kw_only=True)
class Dials:
    """What the control API turns."""

    ledger: Ledger
    keys: Keys
    limiter: Limiter
    faults: Faults
    meter: Meter
    courier: Courier
    clock: Callable[[], Awaitable[Clock]]
    set_clock: Callable[[Clock], Awaitable[None]]
    seed: int


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid")


class TimeChange(_Body):
    """How the service's time goes on."""

    advance: float = Field(default=0.0, ge=0.0, le=400 * 86_400.0, description="Seconds to jump ahead.")
    speed: float | None = Field(
        default=None, ge=0.0, le=1_000_000.0, description="Service seconds per real second."
    )


class EventWish(_Body):
    """An event on demand."""

    workspace: str = "acme"
    kind: EventKind
    count: int = Field(default=1, ge=1, le=100_000)
    sequence: str | None = Field(default=None, description="Identifier of the sequence that it shall befall.")
    lead: str | None = Field(
        default=None, description="Identifier of the lead; it must be active and written to."
    )
    domain: str | None = Field(default=None, description="Name of the domain to pause.")
    reply: str | None = Field(default=None, max_length=1_000_000, description="The reply's text.")
    payload: dict[str, Any] = Field(
        default_factory=dict, description="Laid over the payload, member by member."
    )


class LimiterChange(_Body):
    """The form of the rate limit."""

    form: Literal["fixed", "sliding", "bucket", "off"]


class KeyChange(_Body):
    """A key to issue or to revoke."""

    workspace: str = "acme"
    revoke: str | None = Field(default=None, description="Revoke this key; without it a new one is issued.")
