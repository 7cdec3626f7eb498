"""The request budget shared by all processes with a key: one row in a small SQLite file or in PostgreSQL.

The row is named by a digest of the key; the key isn't stored. Each change is one short transaction in its own thread, so
that the event loop waits for no lock. If the row can't be used, the processes of the machine share one in the temporary
folder at half the rate; if that fails too, each uses a fifth.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Self, TypeVar

from shared.api.http.rate_limit import Pace, interval_of
from shared.api.http.rate_wait import DEFAULT_RATE, Act, LocalBudget, Turns, boot_time
from shared.storage.budget_rows import (
    PostgreSQLRow,
    Row,
    RowUnusable,
    RowWithFallback,
    SQLiteRow,
    closed_first,
)

if TYPE_CHECKING:
    from sqlalchemy.engine import URL

__all__ = ["LocalBudget", "SharedBudget", "budget_key"]

T = TypeVar("T")
R = TypeVar("R")

log = logging.getLogger(__name__)

ALONE_SECONDS = 5.0
"""After a failure of both rows, so long until they are tried again."""
IDLE_SECONDS = 0.5
"""A row that is not used for so long lets go of its connection."""
FALLBACK_SHARE = 2
ALONE_SHARE = 5
"""Where nothing is shared, a process takes this part of the rate: it may be one of several."""

_THREADS = ThreadPoolExecutor(8, thread_name_prefix="budget")
"""For the budgets of all keys; each uses one of them at a time."""


def budget_key(api_key: str) -> str:
    """The row's name. The key alone: one address can be written in many ways."""
    return hashlib.sha256(api_key.encode()).hexdigest()[:16]


class SharedBudget(Turns):
    """The budget of a key on this machine (SQLite) or of its database (PostgreSQL). Implements `Pacer`.

    `key` names the row (see `budget_key`), `rate` is in requests a second.
    """

    def __init__(self, url: URL, *, key: str, rate: float = DEFAULT_RATE) -> None:
        super().__init__(rate)
        self._row = _row_at(url, key=key, rate=rate)
        self._turn = asyncio.Lock()
        self._in_use = threading.Lock()
        self._idle_check: asyncio.TimerHandle | None = None
        self._closing: asyncio.Task[None] | None = None
        self._alone = LocalBudget(rate / ALONE_SHARE, bursts=False)
        self._alone_until: float | None = None
        self._clock_ahead = 0.0
        self._used_at = 0.0

    async def open(self) -> Self:
        """Read the row once, so that `state()` is current."""
        await self.change(lambda pace, _now: (pace, None))
        return self

    async def aclose(self) -> None:
        if self._idle_check is not None:
            self._idle_check.cancel()
        await self._close_row()

    async def __aenter__(self) -> Self:
        return await self.open()

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def now(self) -> float:
        return boot_time() + self._clock_ahead

    async def change(self, act: Act[T]) -> T:
        """In the shared row, or alone while there is none."""
        if self._alone_until is not None and time.monotonic() < self._alone_until:
            return await self._change_alone(act)
        async with self._turn:
            return await self._change_row(act)

    async def _change_row(self, act: Act[T]) -> T:
        loop = asyncio.get_running_loop()
        shared_act = act if self._alone_until is None else closed_first(act)
        try:
            self._seen, now, result = await self._in_thread(lambda: self._row.change(shared_act))
        except (ValueError, RowUnusable) as error:
            log.warning("no shared rate limit available. Continuing alone at a fifth of the rate: %s", error)
            act = act if self._alone_until else closed_first(act)
            self._alone_until = time.monotonic() + ALONE_SECONDS
            return await self._change_alone(act)
        self._alone_until = None
        self._clock_ahead = now - boot_time()
        self._used_at = loop.time()
        if self._idle_check is None:
            self._close_when_idle()
        return result

    def _close_when_idle(self) -> None:
        """Close the connection of a budget that rests: a bot may have a thousand keys."""
        loop = asyncio.get_running_loop()
        rest = self._used_at + IDLE_SECONDS - loop.time()
        if rest > 0:
            self._idle_check = loop.call_later(rest, self._close_when_idle)
        else:
            self._idle_check = None
            self._closing = loop.create_task(self._close_row(), name="budget-idle")

    async def _close_row(self) -> None:
        async with self._turn:
            await self._in_thread(self._row.close)

    async def _in_thread(self, use: Callable[[], R]) -> R:
        """Use the row in a thread. One that is no longer waited for goes on: the next waits for it, or both crash."""

        def alone() -> R:
            with self._in_use:
                return use()

        return await asyncio.get_running_loop().run_in_executor(_THREADS, alone)

    async def _change_alone(self, act: Act[T]) -> T:
        self._clock_ahead = 0.0
        result = await self._alone.change(act)
        self._seen = self._alone._seen  # noqa: SLF001 # the same class keeps it
        return result


def _row_at(url: URL, *, key: str, rate: float) -> Row:
    fresh = Pace(interval=interval_of(rate))
    address = url.render_as_string(hide_password=False)
    row: Row
    if url.get_backend_name() == "sqlite":
        path = Path(url.database or "").resolve()
        address = str(path)
        row = SQLiteRow(path, key=key, fresh=fresh)
    else:
        row = PostgreSQLRow(
            url.set(drivername="postgresql").render_as_string(hide_password=False), key=key, fresh=fresh
        )
    name = hashlib.sha256(f"{key}\0{address}".encode()).hexdigest()[:16]
    return RowWithFallback(row, name=name, fresh=Pace(interval=interval_of(rate / FALLBACK_SHARE)))
