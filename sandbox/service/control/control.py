"""What the control API changes, and how its requests reach it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends
from pydantic import BaseModel, ConfigDict
from starlette.requests import Request

from sandbox.service.base.clock import Clock
from sandbox.service.dns.account_zones import AccountZones
from sandbox.service.dns.resolvers import Resolvers
from sandbox.service.v1.state import ApiState
from sandbox.service.webhooks.sender import DeliverySender


@dataclass(frozen=True, slots=True, kw_only=True)
class Control:
    """What the control API changes."""

    state: ApiState
    zones: AccountZones
    resolvers: Resolvers
    sender: DeliverySender
    clock: Callable[[], Awaitable[Clock]]
    set_clock: Callable[[Clock], Awaitable[int]]
    start_over: Callable[[], Awaitable[None]]
    seed: int


class Body(BaseModel):
    """The JSON body of a request; members that don't exist are refused."""

    model_config = ConfigDict(extra="forbid", strict=True)


async def _control(request: Request) -> Control:
    control: Control = request.scope["control"]
    return control


Controlled = Annotated[Control, Depends(_control)]
