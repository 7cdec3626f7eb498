"""When a request is sent again, and where its answer is decoded."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar
from dataclasses import dataclass, field
from math import inf
from typing import TypeVar

from .errors import OutreachError, RateLimited, Uncertain

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


@dataclass(slots=True)
class Attempts:
    """The failures of attempts, also of those that are being repeated; and how long each call may take."""

    patience: float = inf
    """Seconds that a call with its waiting and its repetitions may take, where that is less than the client's total."""
    failures: list[OutreachError] = field(default_factory=list)
    silent: str = ""
    """The endpoint of a call that the service didn't answer in that time."""
    is_uncertain: bool = False
    """The service may carry out one of them, also where a later one failed for sure, or was answered."""


_attempts: ContextVar[Attempts] = ContextVar("failed_attempts")


@contextlib.contextmanager
def failed_attempts(*, patience: float = inf) -> Iterator[Attempts]:
    """The attempts within the block."""
    made = Attempts(patience)
    token = _attempts.set(made)
    try:
        yield made
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
    if not uncertain or isinstance(error, Uncertain) or not error.may_pass:
        return error
    final = Uncertain(endpoint=error.endpoint, status=error.status, cause=f"Last error: {error.message}")
    final.headers, final.body = error.headers, error.body
    return final


def retry_delay(error: OutreachError, *, attempt: int, jitter: float) -> float:
    """Seconds to wait before the next attempt, after so many; `jitter` in 0-1 scales the whole delay (full jitter)."""
    if isinstance(error, RateLimited):
        return error.retry_after
    return jitter * min(LONGEST_DELAY_SECONDS, FIRST_DELAY_SECONDS * 2.0 ** min(attempt - 1, 10))
