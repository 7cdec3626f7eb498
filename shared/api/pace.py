"""The rate of a key: at most ten requests in any second, over all processes that share its row, a person first.

Here is the rule, and the budget of a process alone; `shared.storage.budget` keeps the row that processes share.

The row keeps when the last requests went. A request goes when so many of them are long enough ago, and asks under
the row's lock at the moment when it goes: nothing is reserved ahead, so a process that dies or sleeps holds up nobody.

With interval T and n = ⌈1/T⌉, any n + 1 requests span at least n·T: at 9.5 a second that is 1.05 s, so that even 40 ms
of difference in travelling time leave at most ten in any one second, however a service counts them. Requests of the
background go one interval apart. A person's go at once, up to BURST together, where the last seconds have room: such a
bunch may be held up as one on its way, and counts as a little later. A person who has to wait keeps the others back.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import replace
from enum import StrEnum
from math import ceil

from ..frozen import frozen
from .errors import RateLimited

DEFAULT_RATE = 9.5
LIMIT = 10
"""Requests that the service allows in any second."""
SHORTEST_SECONDS = 0.105
"""The shortest interval: with 0.1 s, a service would sometimes count eleven in a second."""
SLACK_SECONDS = 0.005
"""Lateness that is made up for, so that a busy event loop doesn't lower the rate."""
BURST = 5
"""A person's requests that go together: the reads of one command. Fewer at a rate below it."""
KEPT = 12
"""The last requests that a row remembers: more than go in any second."""
EARLY_SECONDS = 0.02
"""Each of them counts as so much later than it went."""
LONGEST_STOP_SECONDS = 60.0
"""After a longer Retry-After, which may be a mistake, the next request is tried."""
CALM_SECONDS = 60.0
"""After a 429 another program may use the key: for so long, half the rate and no bursts."""

_BOOT_CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


def boot_time() -> float:
    """Seconds since the machine started, suspended time included: the same in all its processes, never set."""
    return time.clock_gettime(_BOOT_CLOCK)


class Priority(StrEnum):
    """The one who waits: a person (INTERACTIVE), a screen or timer (NORMAL), or a bulk job (BULK)."""

    INTERACTIVE = "interactive"
    NORMAL = "normal"
    BULK = "bulk"


@frozen
class BudgetState:
    """The state of a key's budget; `rate` in requests a second, `resumes_at` in Unix seconds.

    `waiting` counts those of this process.
    """

    rate: float
    used_last_second: int = 0
    waiting: int = 0
    resumes_at: float | None = None
    throttled_count: int = 0


@frozen
class Pace:
    """The row. Times are seconds of one clock, the row's own."""

    # One with other fields is of another version, and begins again.
    __pydantic_config__ = {"extra": "forbid"}  # noqa: RUF012 # no field
    sent: tuple[float, ...] = ()
    """The times of the last requests, in order."""
    held: float = 0.0
    """The time until which the next turn is kept for a person who waits."""
    resumes_at: float = 0.0
    calm_until: float = 0.0
    throttled: int = 0


def interval_of(rate: float) -> float:
    """Seconds between two requests at so many a second."""
    return max(1 / rate, SHORTEST_SECONDS)


def closed(pace: Pace, now: float) -> Pace:
    """Wait out whatever may have gone unseen: nothing goes for a little more than a second."""
    return replace(pace, sent=(now,) * KEPT, held=0.0)


def settled(pace: Pace, now: float) -> Pace:
    """Undo what no wait explains: a clock that was set back, or that started again with the machine."""
    is_sane = (
        max(pace.sent, default=now) <= now + 1.0
        and pace.resumes_at <= now + LONGEST_STOP_SECONDS
        and pace.calm_until <= now + LONGEST_STOP_SECONDS + CALM_SECONDS
    )
    return pace if is_sane else closed(Pace(throttled=pace.throttled), now)


def turn_at(pace: Pace, now: float, priority: Priority, *, interval: float) -> float:
    """Return the earliest time at which the request may go, as things stand."""
    is_calm = now < pace.calm_until
    interval *= 2 if is_calm else 1

    def after(count: int) -> float:
        """The time at which so many requests together keep to the interval."""
        return pace.sent[-count] + count * interval if len(pace.sent) >= count else 0.0

    at = max(pace.resumes_at, after(ceil(1 / interval - 1e-9)))
    is_person = priority is Priority.INTERACTIVE
    burst = min(BURST, int(1 / interval)) if is_person and not is_calm else 1
    at = max(at, after(burst) if burst > 1 else after(1) - SLACK_SECONDS)
    return at if is_person else max(at, pace.held)


def take(pace: Pace, now: float, priority: Priority, *, interval: float) -> tuple[Pace, float]:
    """Go now (wait 0), or be told how many seconds to wait before asking again."""
    pace = settled(pace, now)
    at = turn_at(pace, now, priority, interval=interval)
    if at > now:
        held = max(pace.held, at + interval / 2) if priority is Priority.INTERACTIVE else pace.held
        return replace(pace, held=held), at - now
    is_early = bool(pace.sent) and now < pace.sent[-1] + interval - SLACK_SECONDS
    counts_from = max(now, pace.sent[-1]) + EARLY_SECONDS if is_early else now
    return replace(pace, sent=(*pace.sent[1 - KEPT :], counts_from)), 0.0


def late(pace: Pace, now: float, seconds: float) -> Pace:
    """A request that had its turn goes only now: it counts from now."""
    pace = settled(pace, now)
    own, *others = sorted(pace.sent, key=lambda at: abs(at - (now - seconds))) or [now]
    return replace(pace, sent=tuple(sorted((*others, max(now, own)))))


def stop(pace: Pace, now: float, retry_after: float, *, interval: float) -> Pace:
    """A 429: nobody goes before its Retry-After, and slower for a while."""
    pace = settled(pace, now)
    until = now + min(max(retry_after, interval), LONGEST_STOP_SECONDS)
    return replace(
        pace,
        resumes_at=max(pace.resumes_at, until),
        calm_until=max(pace.calm_until, until + CALM_SECONDS),
        throttled=pace.throttled + 1,
    )


Act = Callable[[Pace, float, float], tuple[Pace, float]]
"""(row, now, interval) -> (row, seconds to wait): one atomic change of the row, by the row's own clock."""


class LocalBudget:
    """The budget of one process alone, and the waiting of all."""

    def __init__(self, rate: float = DEFAULT_RATE) -> None:
        if not 0 < rate <= LIMIT:
            raise ValueError("The rate must be above 0 and at most 10 requests a second")
        self._interval = interval_of(rate)
        self._seen = Pace()
        # One of each kind asks the row, the others of this process wait behind it, in order.
        self._lines = {priority: asyncio.Lock() for priority in Priority}
        self._waiting = 0

    async def change(self, act: Act) -> float:
        """Carry one change of the row out. No lock is needed here: nothing else runs in between."""
        self._seen, wait = act(self._seen, self.now(), self._interval)
        return wait

    def now(self) -> float:
        """The row's clock, as near as this process knows it."""
        return boot_time()

    async def reserve(self, *, priority: Priority, deadline: float | None) -> None:
        """Wait for this request's turn; raises RateLimited if that is after the deadline, by `time.monotonic()`."""
        line = self._lines[priority]
        left = None if deadline is None else max(0.0, deadline - time.monotonic())
        self._waiting += 1
        try:
            try:
                async with asyncio.timeout(left):
                    await line.acquire()
            except TimeoutError:
                raise no_turn(self._waiting * self._interval) from None
            try:
                while wait := await self.change(lambda row, now, gap: take(row, now, priority, interval=gap)):
                    if deadline is not None and time.monotonic() + wait > deadline:
                        raise no_turn(wait)
                    # Then it asks again: others may have gone meanwhile, or a 429 may have stopped all.
                    await asyncio.sleep(wait)
            finally:
                line.release()
        finally:
            self._waiting -= 1

    async def late(self, seconds: float) -> None:
        """Report that the request is sent so many seconds after its turn."""
        await self.change(lambda row, now, _gap: (late(row, now, seconds), 0.0))

    async def throttled(self, retry_after: float) -> None:
        """Stop all callers for so many seconds, after a 429."""
        await self.change(lambda row, now, gap: (stop(row, now, retry_after, interval=gap), 0.0))

    def state(self) -> BudgetState:
        """The last known state; never waits."""
        now, pace = self.now(), self._seen
        is_stopped = pace.resumes_at > now
        return BudgetState(
            rate=1 / self._interval / (2 if now < pace.calm_until else 1),
            used_last_second=sum(now - 1.0 < at for at in pace.sent),
            waiting=self._waiting,
            resumes_at=time.time() + pace.resumes_at - now if is_stopped else None,
            throttled_count=pace.throttled,
        )


def no_turn(wait: float) -> RateLimited:
    """The turn would come too late."""
    return RateLimited(
        f"The request would exceed the rate limit within its time allowed. The next free slot is in {wait:.1f} s.",
        retry_after=wait,
    )
