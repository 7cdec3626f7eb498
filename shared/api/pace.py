"""The rate of a key: at most ten requests in any second, over all processes that share its row, a person first.

The row keeps when the last requests went. A request goes when so many of them are long enough ago, and asks under
the row's lock at the moment when it goes: nothing is reserved ahead, so a process that dies or sleeps holds up nobody.

With interval T and n = ⌈1/T⌉, any n + 1 requests span at least n·T: at 9.5 a second that is 1.05 s, so that even 40 ms
of difference in travelling time leave at most ten in any one second, however a service counts them. Requests of the
background go one interval apart. A person's go at once, up to BURST together, where the last seconds have room: such a
bunch may be held up as one on its way, and counts as a little later. A person who has to wait keeps the others back.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import hashlib
import json
import logging
import os
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, Self

from .errors import RateLimited

if TYPE_CHECKING:
    from sqlalchemy.engine import URL

log = logging.getLogger("outreach_ops")

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
LOCK_SECONDS = 2.0
HANGS_SECONDS = 3
ALONE_SECONDS = 5.0
"""After the row could not be used, so long until it is tried again."""
ALONE_SHARE = 5
"""A process that can't use the row takes this part of the rate, since it may be one of several.

The others can't tell it from one that is idle, and go on at the full rate: while it is alone, the sum can exceed ten a
second, and the first 429 halves the rate of all. The alternative would be to send nothing, and a dashboard would go blind
wherever a disk is full.
"""
IDLE_SECONDS = 0.5
"""A row that is not used for so long lets go of its connection: a bot may have a thousand keys."""

_BOOT_CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
_THREADS = ThreadPoolExecutor(8, thread_name_prefix="pace")


def boot_time() -> float:
    """Seconds since the machine started, suspended time included: the same in all its processes, never set."""
    return time.clock_gettime(_BOOT_CLOCK)


class Priority(StrEnum):
    """The one who waits: a person (INTERACTIVE), a screen or timer (NORMAL), or a bulk job (BULK)."""

    INTERACTIVE = "interactive"
    NORMAL = "normal"
    BULK = "bulk"


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetState:
    """The state of a key's budget; `rate` in requests a second, `resumes_at` in Unix seconds.

    `waiting` counts those of this process.
    """

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
        """Report that the request is sent so many seconds after its turn."""

    async def throttled(self, retry_after: float) -> None:
        """Stop all callers for so many seconds, after a 429."""

    def state(self) -> BudgetState:
        """The last known state; never waits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """The row. Times are seconds of one clock, the row's own."""

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


Act = Callable[[Pace, float], tuple[Pace, float]]
"""(row, now) -> (row, seconds to wait): one atomic change of the row, `now` being the row's own clock."""


class LocalBudget:
    """The budget of one process alone, and the waiting of all. Implements `Pacer`."""

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
        self._seen, wait = act(self._seen, self.now())
        return wait

    def now(self) -> float:
        """The row's clock, as near as this process knows it."""
        return boot_time()

    def close_first(self) -> None:
        """Wait a second: nothing is known of what others sent just now."""
        self._seen = closed(Pace(), self.now())

    async def reserve(self, *, priority: Priority, deadline: float | None) -> None:
        """Implements `Pacer`."""
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
                await self._wait(priority, deadline)
            finally:
                line.release()
        finally:
            self._waiting -= 1

    async def _wait(self, priority: Priority, deadline: float | None) -> None:
        while wait := await self.change(lambda pace, now: take(pace, now, priority, interval=self._interval)):
            if deadline is not None and time.monotonic() + wait > deadline:
                raise no_turn(wait)
            await asyncio.sleep(wait)

    async def late(self, seconds: float) -> None:
        """Implements `Pacer`."""
        await self.change(lambda pace, now: (late(pace, now, seconds), 0.0))

    async def throttled(self, retry_after: float) -> None:
        """Implements `Pacer`."""
        await self.change(lambda pace, now: (stop(pace, now, retry_after, interval=self._interval), 0.0))

    def state(self) -> BudgetState:
        """Implements `Pacer`."""
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


def budget_key(api_key: str) -> str:
    """The row's name. The key alone: one address can be written in many ways."""
    return hashlib.sha256(api_key.encode()).hexdigest()[:16]


class RowUnusable(Exception):
    """The row can be neither read nor written."""


class SharedBudget(LocalBudget):
    """The budget of a key in a state folder (a file beside the SQLite address), or in a PostgreSQL database."""

    def __init__(self, url: URL, *, key: str, rate: float = DEFAULT_RATE) -> None:
        super().__init__(rate)
        self._row = row_at(url, key)
        self._alone = LocalBudget(rate / ALONE_SHARE)
        self._alone_until: float | None = None
        self._clock_ahead = 0.0
        self._idle: asyncio.TimerHandle | None = None

    async def __aenter__(self) -> Self:
        """Read the row once, so that `state()` is current."""
        await self.change(lambda pace, _now: (pace, 0.0))
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        if self._idle is not None:
            self._idle.cancel()
        await asyncio.get_running_loop().run_in_executor(_THREADS, self._row.close)

    def now(self) -> float:
        return boot_time() + self._clock_ahead

    def state(self) -> BudgetState:
        """Implements `Pacer`; alone, it is the state of this process."""
        if self._alone_until is None:
            return super().state()
        return replace(self._alone.state(), waiting=self._waiting)

    async def change(self, act: Act) -> float:
        """Change the shared row, or the process's own while that can't be used."""
        if self._alone_until is not None and time.monotonic() < self._alone_until:
            return await self._alone.change(act)
        loop = asyncio.get_running_loop()
        # What this process sent alone is not in the row.
        shared = act if self._alone_until is None else lambda pace, now: act(closed(pace, now), now)
        try:
            self._seen, now, wait = await loop.run_in_executor(_THREADS, self._row.change, shared)
        except RowUnusable as error:
            log.warning("no shared rate limit available. Continuing alone at a fifth of the rate: %s", error)
            if self._alone_until is None:
                self._alone.close_first()
            self._alone_until = time.monotonic() + ALONE_SECONDS
            return await self._alone.change(act)
        self._alone_until = None
        self._clock_ahead = now - boot_time()
        if self._idle is not None:
            self._idle.cancel()
        self._idle = loop.call_later(IDLE_SECONDS, lambda: loop.run_in_executor(_THREADS, self._row.close))
        return wait


def row_at(url: URL, key: str) -> FileRow | PostgreSQLRow:
    """The row of a key: a file in the folder of a SQLite address, or in that PostgreSQL database."""
    if url.get_backend_name() == "sqlite":
        return FileRow(Path(url.database or "").resolve().parent / f"budget-{key}.json")
    return PostgreSQLRow(url.set(drivername="postgresql").render_as_string(hide_password=False), key)


def _unpacked(text: str, now: float) -> Pace:
    """The row as it was kept; one of another version begins again."""
    try:
        kept = json.loads(text)
        return Pace(**{**kept, "sent": tuple(map(float, kept["sent"]))})
    except (ValueError, TypeError, KeyError):
        return closed(Pace(), now) if text else Pace()


def _packed(pace: Pace) -> str:
    return json.dumps(asdict(pace), separators=(",", ":"))


class FileRow:
    """The row in a file of its own, for its owner alone, by the machine's clock, which nobody sets.

    A lock on the file ends with the process that holds it. It is not synced: what a power cut may cost is worth a
    second of waiting.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def change(self, act: Act) -> tuple[Pace, float, float]:
        """One atomic change: the row after it, the row's clock, the seconds to wait. Raises `RowUnusable`."""
        try:
            with self._locked() as descriptor:
                now = boot_time()  # read under the lock: processes may have waited for one another
                text = os.pread(descriptor, 65_536, 0).decode("utf-8", "replace")
                pace, wait = act(_unpacked(text, now), now)
                packed = _packed(pace).encode()
                os.pwrite(descriptor, packed, 0)
                os.ftruncate(descriptor, len(packed))
        except OSError as error:
            raise RowUnusable(str(error)) from error
        return pace, now, wait

    def close(self) -> None:
        """Nothing is open between two changes."""

    @contextlib.contextmanager
    def _locked(self) -> Iterator[int]:
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        descriptor = os.open(self._path, flags, 0o600)
        try:
            ends_at = time.monotonic() + LOCK_SECONDS
            while True:
                try:
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:  # a process that was stopped may hold it
                    if time.monotonic() > ends_at:
                        raise
                    time.sleep(0.002)
            yield descriptor
        finally:
            os.close(descriptor)


class PostgreSQLRow:
    """The row in the database that the bots share; the database's clock counts."""

    def __init__(self, address: str, key: str) -> None:
        self._address = address
        self._key = key
        self._connection: Any = None
        self._in_use = threading.Lock()  # of the connection: two threads on one would crash

    def change(self, act: Act) -> tuple[Pace, float, float]:
        """Do the same as `FileRow`."""
        import psycopg

        with self._in_use:
            try:
                self._connection = self._connection or self._connect(psycopg)
                with self._connection.transaction():
                    return self._changed(act)
            except (psycopg.Error, OSError) as error:
                self._close()
                raise RowUnusable("the database can't be reached") from error

    def close(self) -> None:
        """Let go of the connection, once nobody uses it."""
        with self._in_use:
            self._close()

    def _close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _changed(self, act: Act) -> tuple[Pace, float, float]:
        execute = self._connection.execute
        query = "SELECT pace FROM request_budget WHERE key = %s FOR UPDATE"
        (text,) = execute(query, (self._key,)).fetchone()
        # Asked under the lock, in its own statement: beside FOR UPDATE it would be read before the wait.
        (now,) = execute("SELECT extract(epoch FROM clock_timestamp())::float8").fetchone()
        pace, wait = act(_unpacked(text, now), now)
        execute("UPDATE request_budget SET pace = %s WHERE key = %s", (_packed(pace), self._key))
        return pace, now, wait

    def _connect(self, psycopg: Any) -> Any:
        connection = _bounded(psycopg).connect(
            self._address,
            autocommit=True,
            connect_timeout=HANGS_SECONDS,
            options=f"-c lock_timeout={LOCK_SECONDS:.0f}s",
        )
        with connection.transaction():
            # Two processes that create the table at once would hinder each other, IF NOT EXISTS or not.
            connection.execute("SELECT pg_advisory_xact_lock(hashtext('request_budget'))")
            connection.execute(
                "CREATE TABLE IF NOT EXISTS request_budget (key TEXT PRIMARY KEY, pace TEXT NOT NULL)"
            )
            connection.execute(
                "INSERT INTO request_budget VALUES (%s, '') ON CONFLICT (key) DO NOTHING", (self._key,)
            )
        return connection


def _bounded(psycopg: Any) -> Any:
    """Connections that give up: a server that hangs accepts a statement and never answers."""

    class Bounded(psycopg.Connection):  # type: ignore[misc] # loaded only where there is PostgreSQL
        def wait(self, gen: Any, interval: float = 0.1, timeout: float | None = None) -> Any:
            try:
                return super().wait(gen, interval, HANGS_SECONDS if timeout is None else timeout)
            except psycopg.OperationalError:
                # Its transaction would wait once more for the rollback.
                self.close()
                raise

    return Bounded
