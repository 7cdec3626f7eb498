"""When a request is sent again, and where its answer is decoded."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TypeVar

from .errors import OutreachError, RateLimited, ServiceBroken, Unavailable, Uncertain, Unreachable

T = TypeVar("T")

FIRST_DELAY_SECONDS = 0.5
LONGEST_DELAY_SECONDS = 8.0
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
        self.answered = 0
        """The number of attempts that the service has answered."""


_attempts: ContextVar[Attempts] = ContextVar("failed_attempts")


@contextlib.contextmanager
def failed_attempts() -> Iterator[Attempts]:
    """The attempts within the block."""
    failures = Attempts()
    token = _attempts.set(failures)
    try:
        yield failures
    finally:
        _attempts.reset(token)


def attempts() -> Attempts:
    """Those of the block that runs; outside of one, nobody looks at them."""
    return _attempts.get(Attempts())


@dataclass(slots=True, kw_only=True)
class RequestCounts:
    """Counts since the client was made: requests sent, 429s among them, and repetitions."""

    requests: int = 0
    throttled: int = 0
    retried: int = 0


def final_error(error: OutreachError, *, uncertain: bool) -> OutreachError:
    """The last failure did nothing, but an attempt before it may have."""
    if not uncertain or not isinstance(error, (RateLimited, Unavailable)):
        return error
    final = Uncertain(endpoint=error.endpoint, status=error.status, cause=f"Last error: {error.message}")
    final.headers, final.body = error.headers, error.body
    return final


def retry_delay(
    error: OutreachError,
    *,
    attempt: int,
    is_safe_to_repeat: bool,
    left: float,
    jitter: float,
) -> float | None:
    """Seconds to wait before the next attempt, or None: give up.

    `attempt` counts the attempts made, `left` is the seconds within which the next must begin, `jitter` is a random
    number in 0-1 (full jitter: it scales the whole delay).
    """
    # After 429 and without a connection nothing was carried out; after anything else it may have been.
    nothing_done = isinstance(error, (RateLimited, Unreachable))
    is_repeatable = nothing_done or (is_safe_to_repeat and isinstance(error, (ServiceBroken, Uncertain)))
    if isinstance(error, RateLimited):
        wait = error.retry_after
    else:
        wait = jitter * min(LONGEST_DELAY_SECONDS, FIRST_DELAY_SECONDS * 2.0 ** min(attempt - 1, 10))
    return wait if is_repeatable and wait < left else None
