"""Runs a request: waits for the rate limit, sends, repeats, and reads the response.

Only `transport` does I/O.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from .errors import NotFound, OutreachError, RateLimited, ServiceBroken, Unavailable, Uncertain, Unreachable
from .messages import Reply, Request, decipher, read_date
from .pace import Pacer, Priority

if TYPE_CHECKING:
    from .transport import Http

T = TypeVar("T")

LOG = logging.getLogger("outreach_ops")
"""Endpoints, statuses and times at DEBUG; never an address, a header or a body."""
WORTH_LOGGING_SECONDS = 0.01
TOO_LATE_SECONDS = 0.08
"""After its turn, at which a request takes another one; less than the interval between two."""
ATTEMPTS = 6
FIRST_DELAY_SECONDS = 0.5
LONGEST_DELAY_SECONDS = 8.0
PATIENCE_SECONDS = 2.5
"""After which a person gets an error instead of waiting longer."""
LARGE_BODY_BYTES = 100_000
"""These take about a millisecond to parse."""
LARGE_LIST_ROWS = 500

# One thread beside the event loop, which ten thousand inboxes would hold up for 50 ms and more. Several would only wait
# for each other, each holding a large answer; and the loop's own are left to names that are slow to be looked up.
_THREAD = ThreadPoolExecutor(1, thread_name_prefix="answers")


async def decode_in_thread(decode: Callable[[], T], *, is_large: bool) -> T:
    """Decode here where that is quick, else in the thread, one answer after another."""
    if not is_large:
        return decode()
    return await asyncio.get_running_loop().run_in_executor(_THREAD, decode)


class Attempts(list[OutreachError]):
    """The failures of attempts, also of those that are being repeated; and what waits for an answer."""

    def __init__(self) -> None:
        super().__init__()
        self.waiting: list[str] = []
        """The endpoints."""


_attempts: ContextVar[Attempts | None] = ContextVar("failed_attempts", default=None)


@contextlib.contextmanager
def failed_attempts() -> Iterator[Attempts]:
    """The attempts within the block."""
    failures = Attempts()
    token = _attempts.set(failures)
    try:
        yield failures
    finally:
        _attempts.reset(token)


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestCounts:
    """Counts since the client was made: requests sent, 429s among them, and repetitions."""

    requests: int = 0
    throttled: int = 0
    retried: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The outcome of a request; `repeated`: it was sent again after an uncertain outcome."""

    value: Any
    reply: Reply
    repeated: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The bounds of a call: seconds of silence, seconds altogether, and the number of repetitions."""

    timeout: float = 10.0
    total: float = 45.0
    retries: int = ATTEMPTS - 1

    def __post_init__(self) -> None:
        if self.timeout <= 0 or self.total <= 0 or self.retries < 0:
            raise ValueError("timeout and total_timeout must be above 0, and retries must not be negative")


class Pipeline:
    """Sends requests, each within the limits."""

    def __init__(self, http: Http, *, pacer: Pacer, limits: Limits, jitter: Callable[[], float]) -> None:
        self._http = http
        self._pacer = pacer
        self._limits = limits
        self._jitter = jitter
        self.counts = RequestCounts()
        self.service_time: datetime | None = None

    async def send(self, request: Request, *, priority: Priority) -> Answer:
        """Send until there is an answer or no sense in another attempt."""
        started, attempt, uncertain = time.monotonic(), 0, False
        while True:
            attempt += 1
            try:
                answer = await self._attempt(request, priority, deadline=started + self._limits.total)
                return replace(answer, repeated=uncertain)
            except OutreachError as error:
                if uncertain and isinstance(error, NotFound) and request.method == "DELETE":
                    # The attempt whose outcome was unknown has removed it.
                    reply = Reply(status=404, headers=error.headers, body=error.body)
                    return Answer(value=None, repeated=True, reply=reply)
                if (noted := _attempts.get()) is not None:
                    noted.append(error)
                uncertain = uncertain or isinstance(error, Uncertain)
                delay = retry_delay(
                    error,
                    attempt,
                    limits=self._limits,
                    is_safe_to_repeat=request.is_safe_to_repeat,
                    elapsed=time.monotonic() - started,
                    jitter=self._jitter(),
                    for_person=priority is Priority.INTERACTIVE,
                )
                if delay is None:
                    raise _final(error, uncertain=uncertain) from error.__cause__
                # Without the message, which may quote what was sent.
                name = " ".join(filter(None, (type(error).__name__, str(error.status or ""))))
            self._count(retried=1)
            LOG.debug("%s: %s, repeated in %.2f s", request.endpoint, name, delay)
            await asyncio.sleep(delay)

    async def _attempt(self, request: Request, priority: Priority, *, deadline: float) -> Answer:
        async def turn() -> None:
            try:
                await self._pacer.reserve(priority=priority, deadline=deadline)
            except RateLimited as error:
                error.endpoint = request.endpoint
                raise

        async def late(seconds: float) -> None:
            # Beyond that, others have gone in the meantime, and only its own turn is safe.
            await (self._pacer.late(seconds) if seconds < TOO_LATE_SECONDS else turn())

        began = time.monotonic()
        await turn()
        self._count(requests=1)
        noted = _attempts.get()
        waiting = [] if noted is None else noted.waiting
        waiting.append(request.endpoint)
        waited = time.monotonic() - began
        if waited > WORTH_LOGGING_SECONDS:
            LOG.debug("%s: waited %.2f s for the rate limit", request.endpoint, waited)
        timeout = self._limits.timeout
        try:
            reply = await self._http.exchange(request, deadline=deadline, timeout=timeout, late=late)
        finally:
            waiting.remove(request.endpoint)
        took = time.monotonic() - began - waited
        LOG.debug("%s: %d, %d bytes in %.3f s", request.endpoint, reply.status, len(reply.body), took)
        self.service_time = read_date(reply.headers.get("date", "")) or self.service_time
        try:
            is_large = len(reply.body) > LARGE_BODY_BYTES
            value = await decode_in_thread(partial(decipher, reply, request), is_large=is_large)
        except OutreachError as error:
            self._http.show(reply, error)
            if isinstance(error, RateLimited):
                self._count(throttled=1)
                await self._pacer.throttled(error.retry_after)
            raise
        return Answer(value=value, reply=reply)

    def _count(self, **more: int) -> None:
        sums = {name: getattr(self.counts, name) + number for name, number in more.items()}
        self.counts = replace(self.counts, **sums)


def _final(error: OutreachError, *, uncertain: bool) -> OutreachError:
    """The last failure did nothing, but an attempt before it may have."""
    if not uncertain or not isinstance(error, (RateLimited, Unavailable)):
        return error
    final = Uncertain(endpoint=error.endpoint, status=error.status, cause=f"Last error: {error.message}")
    final.headers, final.body = error.headers, error.body
    return final


def retry_delay(
    error: OutreachError,
    attempt: int,
    *,
    is_safe_to_repeat: bool,
    elapsed: float,
    jitter: float,
    limits: Limits = Limits(),
    for_person: bool = False,
) -> float | None:
    """Seconds to wait before the next attempt, or None: give up.

    `attempt` counts the attempts made, `elapsed` is the seconds since the first, `jitter` is a random number in 0-1 (full
    jitter: it scales the whole delay). `for_person`: a person waits for the answer.
    """
    # After 429 and without a connection nothing was carried out; after anything else it may have been.
    nothing_done = isinstance(error, (RateLimited, Unreachable))
    is_repeatable = nothing_done or (is_safe_to_repeat and isinstance(error, (ServiceBroken, Uncertain)))
    if attempt > limits.retries or not is_repeatable:
        return None
    total = limits.total
    if for_person and isinstance(error, Unreachable):
        total = min(total, PATIENCE_SECONDS)
    wait = error.retry_after if isinstance(error, RateLimited) else backoff(attempt, jitter=jitter)
    return wait if elapsed + wait < total else None


def backoff(attempt: int, *, jitter: float) -> float:
    """0.5·2ⁿ seconds, at most 8, scaled by `jitter`."""
    return jitter * min(LONGEST_DELAY_SECONDS, FIRST_DELAY_SECONDS * 2.0 ** min(attempt - 1, 10))
