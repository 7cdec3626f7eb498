"""Runs a request: waits for the rate limit, sends, retries, and reads the response.

Only `transport` does I/O.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any

from ..errors import (
    NotFound,
    OutreachError,
    RateLimited,
    ServiceBroken,
    Unavailable,
    Uncertain,
    Unreachable,
)
from ..pace import Pacer, Priority
from . import requests, responses
from .decode_thread import LARGE_BODY, decode_in_thread

if TYPE_CHECKING:
    from .transport import Http

LOG = logging.getLogger("outreach_ops")
"""Endpoints, statuses and times at DEBUG; never an address, a header or a body."""
WORTH_LOGGING = 0.01
"""Seconds of waiting."""
TOO_LATE = 0.08
"""Seconds after its turn at which a request takes another one; less than the interval between two."""
ATTEMPTS = 6
FIRST_DELAY = 0.5
LONGEST_DELAY = 8.0
PATIENCE = 2.5
"""Seconds after which a person gets an error instead of waiting longer."""


_attempts: ContextVar[list[OutreachError] | None] = ContextVar("failed_attempts", default=None)


@contextlib.contextmanager
def failed_attempts() -> Iterator[list[OutreachError]]:
    """The failures of the attempts within the block, also of those that are still being repeated."""
    failures: list[OutreachError] = []
    token = _attempts.set(failures)
    try:
        yield failures
    finally:
        _attempts.reset(token)


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
    reply: requests.Reply
    repeated: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How long a call may take: seconds of silence, seconds altogether, and how often it is repeated at most."""

    timeout: float = 10.0
    total: float = 45.0
    retries: int = ATTEMPTS - 1

    def __post_init__(self) -> None:
        if self.timeout <= 0 or self.total <= 0 or self.retries < 0:
            raise ValueError("timeout and total_timeout must be above 0, and retries must not be negative")


class Pipeline:
    """Sends requests, each within its limits."""

    def __init__(self, http: Http, *, pacer: Pacer, jitter: Callable[[], float]) -> None:
        self._http = http
        self._pacer = pacer
        self._jitter = jitter
        self._requests = self._throttled = self._retried = 0
        self.service_time: datetime | None = None

    @property
    def counts(self) -> RequestCounts:
        """What was sent so far."""
        return RequestCounts(requests=self._requests, throttled=self._throttled, retried=self._retried)

    async def send(self, request: requests.Request, *, priority: Priority, limits: Limits) -> Answer:
        """Send until there is an answer or no sense in another attempt."""
        started, attempt, uncertain = time.monotonic(), 0, False
        while True:
            attempt += 1
            try:
                value, reply = await self._paced(
                    request, priority=priority, deadline=started + limits.total, timeout=limits.timeout
                )
                return Answer(value=value, repeated=uncertain, reply=reply)
            except NotFound as error:
                if uncertain and request.method == "DELETE":
                    reply = requests.Reply(status=404, headers=error.headers, body=error.body)
                    return Answer(value=None, repeated=True, reply=reply)
                raise
            except OutreachError as error:
                if (noted := _attempts.get()) is not None:
                    noted.append(error)
                failed = error
                uncertain = uncertain or isinstance(error, Uncertain)
                delay = retry_delay(
                    error,
                    attempt,
                    safe_to_repeat=request.safe_to_repeat,
                    elapsed=time.monotonic() - started,
                    total=limits.total,
                    attempts=limits.retries + 1,
                    jitter=self._jitter(),
                    for_person=priority is Priority.INTERACTIVE,
                )
                if delay is None:
                    raise _final(error, uncertain=uncertain) from error.__cause__
            self._retried += 1
            LOG.debug("%s: %s, repeated in %.2f s", request.endpoint, _named(failed), delay)
            await asyncio.sleep(delay)

    async def _paced(
        self,
        request: requests.Request,
        *,
        priority: Priority,
        deadline: float,
        timeout: float,  # noqa: ASYNC109 -- of a silence, which only httpx can see
    ) -> tuple[Any, requests.Reply]:
        async def turn() -> None:
            try:
                await self._pacer.reserve(priority=priority, deadline=deadline)
            except RateLimited as error:
                error.endpoint = request.endpoint
                raise

        async def late(seconds: float) -> None:
            # Beyond that, others have gone in the meantime, and only its own turn is safe.
            await (self._pacer.late(seconds) if seconds < TOO_LATE else turn())

        began = time.monotonic()
        await turn()
        waited, self._requests = time.monotonic() - began, self._requests + 1
        if waited > WORTH_LOGGING:
            LOG.debug("%s: waited %.2f s for the rate limit", request.endpoint, waited)
        reply = await self._http.exchange(request, deadline=deadline, timeout=timeout, late=late)
        took = time.monotonic() - began - waited
        LOG.debug("%s: %d, %d bytes in %.3f s", request.endpoint, reply.status, len(reply.body), took)
        self.service_time = requests.read_date(reply.headers.get("date", "")) or self.service_time
        try:
            value = await decode_in_thread(
                partial(responses.decipher, reply, request), is_large=len(reply.body) > LARGE_BODY
            )
        except OutreachError as error:
            shown = self._http.without_key(reply)
            error.headers, error.body = shown.headers, shown.body
            if isinstance(error, RateLimited):
                self._throttled += 1
                await self._pacer.throttled(error.retry_after)
            raise
        return value, reply


def _named(error: OutreachError) -> str:
    """An error for the log: without its message, which may quote what was sent."""
    return f"{type(error).__name__} {error.status}" if error.status else type(error).__name__


def _final(error: OutreachError, *, uncertain: bool) -> OutreachError:
    """What failed at last did nothing, but an attempt before it may have."""
    if uncertain and isinstance(error, (RateLimited, Unavailable)):
        final = Uncertain(endpoint=error.endpoint, status=error.status, cause=f"Last error: {error.message}")
        final.headers, final.body = error.headers, error.body
        return final
    return error


def retry_delay(
    error: OutreachError,
    attempt: int,
    *,
    safe_to_repeat: bool,
    elapsed: float,
    total: float,
    jitter: float,
    attempts: int = ATTEMPTS,
    for_person: bool = False,
) -> float | None:
    """Seconds to wait before the next attempt, or None: give up.

    `attempt` counts the attempts made, of `attempts` at most, `elapsed` and `total` are seconds since the first and altogether
    allowed, `jitter` is a random number in 0-1 (full jitter: it scales the whole delay). `for_person`: a person
    waits for the answer.
    """
    if for_person and isinstance(error, Unreachable):
        total = min(total, PATIENCE)
    if attempt >= attempts or not repeatable(error, safe_to_repeat=safe_to_repeat):
        return None
    wait = error.retry_after if isinstance(error, RateLimited) else backoff(attempt, jitter=jitter)
    return wait if elapsed + wait < total else None


def repeatable(error: OutreachError, *, safe_to_repeat: bool) -> bool:
    """After 429 and without a connection nothing was carried out; after all else it may have been."""
    if isinstance(error, (RateLimited, Unreachable)):
        return True
    return safe_to_repeat and isinstance(error, (ServiceBroken, Uncertain))


def backoff(attempt: int, *, jitter: float) -> float:
    """0.5·2ⁿ seconds, at most 8, scaled by `jitter`."""
    return jitter * min(LONGEST_DELAY, FIRST_DELAY * 2.0 ** min(attempt - 1, 10))
