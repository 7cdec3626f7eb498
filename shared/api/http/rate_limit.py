"""The rate limit of ten requests a second, for all processes that share a key. Pure: `now` is an argument.

Waiting has two parts. In the *line* every newcomer takes the next place, one interval after the last, so the
order is first come, first served, whichever process asks. At the *gate* each request is let through in its
turn, never closer than one interval to the one before, counted from when that really went: who comes late
moves the gate, and so no late bunch forms. An INTERACTIVE request takes no place in the line: it stands at
the gate and moves the whole line back by one interval, which makes its wait two intervals at most.
Where the key was quiet, it need not even wait for the gate: up to BURST go at once, *early*, each moving the
gate and the line as if it had waited, so that those who follow pay the time back.
A 429 stops all callers until its Retry-After, widens the interval and ends bursts for a while.

With interval T, slack S and n = ⌈1/T⌉, any n + 1 requests span at least n·T - S. One that waits for the gate
does: the gate went on by T for each of the n before it, and none of them went after its own place there. One
that goes early does, because the log of what was sent says so. At 9.5 a second that is 1.047 s, so that even
40 ms of difference in travelling time leave at most ten in any one second, however a service counts them; a
bunch, which may be held up as one, is given 100 ms more.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from math import ceil
from typing import Protocol

SLACK = 0.005
"""Seconds of lateness that are compensated, so that a busy event loop doesn't lower the rate."""
LIMIT = 10
"""Requests that the service allows in any second."""
TRAVEL = 0.045
"""Seconds of network jitter between two requests."""
SHORTEST = (1 + TRAVEL + SLACK) / LIMIT
"""The shortest interval: with 0.1 s, a service would sometimes count eleven in a second."""
SLOWEST_RATE = 5.0
SLOWER = 1.25
FASTER = 0.98
CLEAN_ANSWERS = 50
"""The number of successful responses for one step back to the full rate."""
LONGEST_STOP = 60.0
"""Seconds; after a longer Retry-After, which may be a mistake, the next request is tried."""
LONGEST_LINE = 300.0
BURST = 5
"""The number of a person's requests sent at once after a quiet time: the reads of one command."""
EARLY_PRICE = 0.02
"""Extra seconds that each of them costs, because they travel together and may be delayed together."""
CALM_SECONDS = 60.0
"""Seconds without bursts after a 429, because another program may use the key."""


class Priority(StrEnum):
    """For whom: a person (INTERACTIVE, waits two slots at most), a screen or timer (NORMAL), or a bulk job (BULK)."""

    INTERACTIVE = "interactive"
    NORMAL = "normal"
    BULK = "bulk"


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetState:
    """The state of a key's budget; `rate` in requests a second, `resumes_at` in Unix seconds."""

    rate: float
    used_last_second: int = 0
    waiting: int = 0
    resumes_at: float | None = None
    throttled_count: int = 0


class Pacer(Protocol):
    """The interface of a budget. `deadline` is a value of `time.monotonic()`."""

    async def reserve(self, *, priority: Priority, deadline: float | None) -> None:
        """Wait for this request's turn; raises RateLimited if that is after the deadline."""

    async def late(self, seconds: float) -> None:
        """Report that the request is sent so many seconds after its turn, and delay those behind it."""

    async def throttled(self, retry_after: float) -> None:
        """Stop all callers for so many seconds, after a 429."""

    async def answered(self) -> None:
        """Report a successful response."""

    def state(self) -> BudgetState:
        """The last known state; never waits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """The row that all processes of a key share. Times are seconds of one clock, the row's own."""

    interval: float
    gate: float = 0.0
    """No request goes before."""
    line: float = 0.0
    """The place that the next newcomer gets."""
    shift: float = 0.0
    """By how much the line has been moved back, ever."""
    held: float = 0.0
    """Until then the gate is kept for a person who waits at it."""
    bursts_from: float = 0.0
    """Nobody goes early before."""
    resumes_at: float = 0.0
    slowed_at: float = 0.0
    clean: int = 0
    throttled: int = 0
    sent: tuple[float, ...] = ()
    """When the last requests went, at most twelve, in order."""

    @property
    def in_a_second(self) -> int:
        """So many requests at most go in `span` seconds, which is a little more than one."""
        return ceil(1 / self.interval - 1e-9)

    @property
    def span(self) -> float:
        """Seconds that one request more than `in_a_second` takes at least."""
        return self.in_a_second * self.interval - SLACK


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """A place in the line, as things stood when it was taken."""

    place: float
    shift: float
    priority: Priority


def interval_of(rate: float) -> float:
    """Seconds between two requests at so many a second."""
    return max(1 / rate, SHORTEST)


def settle(pace: Pace, now: float) -> Pace:
    """Undo what no wait explains: a clock that stepped back."""
    # A burst, or a gate that was closed for a whole span, explains a wait as long as this.
    longest = max((BURST + 2) * pace.interval, pace.span)
    if pace.gate <= max(now, pace.resumes_at) + longest and (
        pace.resumes_at <= now + LONGEST_STOP and pace.line <= max(pace.gate, now) + LONGEST_LINE
    ):
        return pace
    gate = now + pace.interval
    return replace(
        pace,
        gate=gate,
        line=gate,
        held=0.0,
        bursts_from=now + pace.span,
        resumes_at=min(pace.resumes_at, now),
        slowed_at=0.0,
        sent=(),
    )


def join(pace: Pace, now: float, *, priority: Priority) -> tuple[Pace, Turn]:
    """Take a place: at the end of the line, or at the gate for a person."""
    pace = settle(pace, now)
    at_gate = max(pace.gate, now)
    if priority is Priority.INTERACTIVE:
        turn = Turn(place=at_gate, shift=pace.shift, priority=priority)
        held = max(pace.held, at_gate - pace.interval / 2) + pace.interval
        line = max(pace.line, at_gate) + pace.interval
        return replace(pace, line=line, shift=pace.shift + pace.interval, held=held), turn
    place = max(pace.line, at_gate)
    return replace(pace, line=place + pace.interval), Turn(place=place, shift=pace.shift, priority=priority)


def _moved_back(pace: Pace, seconds: float, now: float) -> Pace:
    """Every place by so many seconds; a line that ended long ago ends now, however late its last request came."""
    return replace(pace, shift=pace.shift + seconds, line=max(pace.line + seconds, pace.gate, now))


def wait_of(pace: Pace, now: float, turn: Turn) -> float:
    """Seconds until the turn, as things stand now; it may grow later."""
    if turn.priority is Priority.INTERACTIVE:
        return max(0.0, min(pace.gate, _early(pace)) - now)
    return max(0.0, _place(pace, turn) - now, pace.gate - now, pace.held - now)


def _early(pace: Pace) -> float:
    """From when on a person need not wait for the gate: few went early, and the last second has room."""
    full = len(pace.sent) >= pace.in_a_second
    room = pace.sent[-pace.in_a_second] + pace.span + BURST * EARLY_PRICE if full else 0.0
    ahead = (BURST - 1) * (pace.interval + EARLY_PRICE)
    return max(pace.bursts_from, pace.resumes_at, pace.gate - ahead, room)


def _place(pace: Pace, turn: Turn) -> float:
    if turn.priority is Priority.INTERACTIVE:
        return turn.place
    # No place is beyond the line's end, except by a clock that stepped back.
    return min(turn.place + pace.shift - turn.shift, max(pace.line - pace.interval, pace.gate))


def pass_gate(pace: Pace, now: float, turn: Turn) -> tuple[Pace, float]:
    """Go through the gate (wait 0), or be told how many seconds to wait before asking again."""
    pace = settle(pace, now)
    wait = wait_of(pace, now, turn)
    if wait > 0.0:
        return pace, wait
    late = now - SLACK - max(pace.gate, _place(pace, turn))
    if late > 0.0:
        pace = _moved_back(pace, late, now)
    price = EARLY_PRICE if now < pace.gate else 0.0
    gate = max(pace.gate, now - SLACK) + pace.interval + price
    return replace(pace, gate=gate, sent=(*pace.sent[-11:], now)), 0.0


def close_for_a_span(pace: Pace, now: float) -> Pace:
    """Wait out whatever went by another row: no request for a little more than a second, and no burst after it."""
    pace = settle(pace, now)
    gate = now + pace.span
    return replace(pace, gate=max(pace.gate, gate), bursts_from=max(pace.bursts_from, gate + pace.span))


def late(pace: Pace, now: float, seconds: float) -> Pace:
    """A request that passed the gate goes only now: the log tells it, and where it must, the gate moves with it."""
    pace = settle(pace, now)
    places = range(len(pace.sent))
    turn = min(places, key=lambda place: abs(pace.sent[place] - (now - seconds)), default=0)
    behind = max(1, len(pace.sent) - turn)
    gate = max(pace.gate, now - SLACK + behind * pace.interval)
    sent = (*pace.sent[:turn], *pace.sent[turn + 1 :], now)
    return replace(_moved_back(pace, gate - pace.gate, now), gate=gate, sent=sent)


def stop(pace: Pace, now: float, retry_after: float, *, base: float) -> Pace:
    """A 429: close the gate, move the line with it, go slower from now on (once for one bunch of 429s)."""
    pace = settle(pace, now)
    until = now + min(max(retry_after, pace.interval), LONGEST_STOP)
    back = max(0.0, until - max(pace.gate, now))
    pace = replace(
        pace,
        gate=max(pace.gate, until),
        line=max(pace.line, now) + back,
        shift=pace.shift + back,
        resumes_at=max(pace.resumes_at, until),
        bursts_from=max(pace.bursts_from, until + CALM_SECONDS),
        throttled=pace.throttled + 1,
        clean=0,
    )
    if now - pace.slowed_at < 1.0:
        return pace
    return replace(pace, interval=max(base, min(pace.interval * SLOWER, 1 / SLOWEST_RATE)), slowed_at=now)


def recover(pace: Pace, answers: int, *, base: float) -> Pace:
    """Clean answers came: step back towards the full rate, whose interval is `base` seconds."""
    if pace.interval <= base:
        return replace(pace, interval=base, clean=0)
    steps, clean = divmod(pace.clean + answers, CLEAN_ANSWERS)
    return replace(pace, interval=max(base, pace.interval * FASTER**steps), clean=clean)


def view(pace: Pace, now: float) -> BudgetState:
    """What people are shown."""
    return BudgetState(
        rate=1 / pace.interval,
        used_last_second=sum(1 for moment in pace.sent if 0 <= now - moment < 1.0),
        waiting=max(0, round((pace.line - max(pace.gate, now)) / pace.interval)),
        resumes_at=pace.resumes_at if pace.resumes_at > now else None,
        throttled_count=pace.throttled,
    )
