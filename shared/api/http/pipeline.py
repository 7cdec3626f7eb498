"""From a request to what it came to: retrying -> paced -> deciphered, each step with one concern.

The exchange over HTTP is handed in by `client`; nothing here knows how bytes travel.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from ..errors import NotFound, OutreachError, RateLimited, Unavailable, Uncertain
from . import requests as wire
from . import responses, retry
from .rate_limit import Pacer, Priority

TOO_LATE = 0.08
"""Seconds after its turn at which a request takes another one; less than the interval between two."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestCounts:
    """Since the client was made: requests sent, 429s among them, and how many were repetitions."""

    requests: int = 0
    throttled: int = 0
    retried: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a request came to; `repeated`: it was sent again after an uncertain outcome."""

    value: Any
    repeated: bool = False


class Exchange(Protocol):
    """One exchange over HTTP: an answer, whatever its status, or what became of it.

    `deadline` is a reading of `time.monotonic()`; `late` is awaited, with the seconds since the turn, when
    the request is about to go later than at once.
    """

    async def __call__(
        self, request: wire.Request, *, deadline: float, late: Callable[[float], Awaitable[None]]
    ) -> wire.Reply:
        """Send, and read the answer."""


class Staircase:
    """Carries requests out; `total` seconds for each with its waiting and its repetitions."""

    def __init__(
        self, exchange: Exchange, *, pacer: Pacer, total: float, jitter: Callable[[], float]
    ) -> None:
        self._exchange = exchange
        self._pacer = pacer
        self._total = total
        self._jitter = jitter
        self._requests = self._throttled = self._retried = 0
        self.service_time: datetime | None = None

    @property
    def counts(self) -> RequestCounts:
        """What was sent so far."""
        return RequestCounts(requests=self._requests, throttled=self._throttled, retried=self._retried)

    async def carry_out(self, request: wire.Request, *, priority: Priority) -> Answer:
        """Send until there is an answer or no sense in another attempt."""
        started, attempt, uncertain = time.monotonic(), 0, False
        while True:
            attempt += 1
            try:
                value = await self._paced(request, priority=priority, deadline=started + self._total)
                return Answer(value=value, repeated=uncertain)
            except NotFound:
                if uncertain and request.method == "DELETE":
                    return Answer(value=None, repeated=True)
                raise
            except OutreachError as error:
                uncertain = uncertain or isinstance(error, Uncertain)
                delay = retry.decide(
                    error,
                    attempt,
                    safe_to_repeat=request.safe_to_repeat,
                    elapsed=time.monotonic() - started,
                    total=self._total,
                    jitter=self._jitter(),
                    for_person=priority is Priority.INTERACTIVE,
                )
                if delay is None:
                    raise _honest(error, uncertain=uncertain) from error.__cause__
            self._retried += 1
            await asyncio.sleep(delay)

    async def _paced(self, request: wire.Request, *, priority: Priority, deadline: float) -> Any:
        async def turn() -> None:
            try:
                await self._pacer.reserve(priority=priority, deadline=deadline)
            except RateLimited as error:
                error.endpoint = request.endpoint
                raise

        async def late(seconds: float) -> None:
            # Beyond that, others have gone in the meantime, and only a turn of its own is safe.
            await (self._pacer.late(seconds) if seconds < TOO_LATE else turn())

        await turn()
        self._requests += 1
        return await self._deciphered(await self._exchange(request, deadline=deadline, late=late), request)

    async def _deciphered(self, reply: wire.Reply, request: wire.Request) -> Any:
        self.service_time = wire.read_date(reply.headers.get("date", "")) or self.service_time
        try:
            value = responses.decipher(reply, request)
        except RateLimited as error:
            self._throttled += 1
            await self._pacer.throttled(error.retry_after)
            raise
        await self._pacer.answered()
        return value


def _honest(error: OutreachError, *, uncertain: bool) -> OutreachError:
    """What failed at last did nothing, but an attempt before it may have."""
    if uncertain and isinstance(error, (RateLimited, Unavailable)):
        return Uncertain(endpoint=error.endpoint, status=error.status, hint=f"(At last: {error.message})")
    return error
