"""One budget of requests for all processes that use a key: one row, in a small SQLite file or in PostgreSQL.

The row is named by a digest of key and address; the key itself is stored nowhere. Each change is one short
transaction in a thread of its own, so that the event loop waits for no lock. While the database fails, this
process goes on alone at half the rate, and any 429 corrects it.

The drivers are used directly: the row is one text, and the shell's commands start without a larger library.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import os
import sqlite3
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeVar

from shared.api.http.rate_limit import Pace
from shared.api.http.rate_wait import DEFAULT_RATE, Act, LocalBudget, Turns

if TYPE_CHECKING:
    from sqlalchemy.engine import URL

__all__ = ["LocalBudget", "SharedBudget", "budget_key"]

T = TypeVar("T")

log = logging.getLogger(__name__)

BUSY_SECONDS = 5.0
ALONE_SECONDS = 5.0
"""After a failure of the database, so long until it is tried again."""

DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
TABLE_LOCK = 0x6F757472
TABLE = "CREATE TABLE IF NOT EXISTS request_budget (key TEXT PRIMARY KEY, pace TEXT NOT NULL)"


def budget_key(api_key: str, base_url: str) -> str:
    return hashlib.sha256(f"{api_key}\0{base_url}".encode()).hexdigest()[:16]


class Row(Protocol):
    """Keeps the row. Synchronous; used by one thread alone."""

    def change(self, act: Act[T]) -> tuple[Pace, float, T]:
        """One atomic change: the row after it, the row's clock, the result. Connects when it must."""

    def close(self) -> None:
        """Let go of the database."""


class SharedBudget(Turns):
    """The budget of a key on this machine (SQLite) or of its database (PostgreSQL). Implements `Pacer`.

    `key` names the row (see `budget_key`), `rate` is in requests a second.
    """

    def __init__(self, url: URL, *, key: str, rate: float = DEFAULT_RATE) -> None:
        super().__init__(rate)
        self._row = _row_at(url, key=key, fresh=Pace(interval=self._base))
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="budget")
        self._alone = LocalBudget(rate / 2, bursts=False)  # what the others sent is not known
        self._alone_until = 0.0
        self._clock_ahead = 0.0

    async def open(self) -> Self:
        """Look at the row once, so that `state()` tells how things stand."""
        await self.change(lambda pace, _now: (pace, None))
        return self

    async def aclose(self) -> None:
        await asyncio.get_running_loop().run_in_executor(self._thread, self._row.close)
        self._thread.shutdown(wait=False)

    async def __aenter__(self) -> Self:
        return await self.open()

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def now(self) -> float:
        return time.time() + self._clock_ahead

    async def change(self, act: Act[T]) -> T:
        """In the row, or alone while the database fails."""
        if time.monotonic() < self._alone_until:
            return await self._change_alone(act)
        loop = asyncio.get_running_loop()
        try:
            self._seen, now, result = await loop.run_in_executor(self._thread, self._row.change, act)
        except (OSError, ValueError, RowUnusable) as error:
            log.warning("the shared budget cannot be used; going on alone at half the rate: %s", error)
            self._alone_until = time.monotonic() + ALONE_SECONDS
            return await self._change_alone(act)
        self._clock_ahead = now - time.time()
        return result

    async def _change_alone(self, act: Act[T]) -> T:
        result = await self._alone.change(act)
        self._seen = self._alone._seen  # noqa: SLF001 # the same class keeps it
        return result


class RowUnusable(Exception):
    """The database of the budget does not answer."""


def _row_at(url: URL, *, key: str, fresh: Pace) -> Row:
    if url.get_backend_name() == "sqlite":
        return SQLiteRow(url.database or ":memory:", key=key, fresh=fresh)
    address = url.set(drivername="postgresql").render_as_string(hide_password=False)
    return PostgreSQLRow(address, key=key, fresh=fresh)


def _packed(pace: Pace) -> str:
    return json.dumps(asdict(pace), separators=(",", ":"))


def _unpacked(text: str | None, *, fresh: Pace) -> Pace:
    """The row as it was kept; a fresh one where another version wrote what this one cannot read."""
    try:
        kept = json.loads(text or "")
        return Pace(**{**kept, "sent": tuple(kept["sent"])})
    except (ValueError, TypeError, KeyError):
        return fresh


class SQLiteRow:
    """The row in a file for its owner alone. Not synced: what a power cut may cost is worth a second of waiting."""

    def __init__(self, path: str, *, key: str, fresh: Pace) -> None:
        self._path = path
        self._key = key
        self._fresh = fresh
        self._connection: sqlite3.Connection | None = None

    def change(self, act: Act[T]) -> tuple[Pace, float, T]:
        """See `Row`."""
        try:
            with self._connection or self._connect() as connection:
                return self._changed(connection, act)
        except sqlite3.Error as error:
            self.close()
            if getattr(error, "sqlite_errorcode", 0) in DAMAGED:
                Path(self._path).unlink(missing_ok=True)  # it held nothing that time does not heal
            raise RowUnusable(str(error)) from error

    def close(self) -> None:
        """See `Row`."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _changed(self, connection: sqlite3.Connection, act: Act[T]) -> tuple[Pace, float, T]:
        connection.execute("BEGIN IMMEDIATE")
        found = connection.execute("SELECT pace FROM request_budget WHERE key = ?", (self._key,)).fetchone()
        # Read under the lock: processes may have waited for one another.
        now = time.time()
        pace, result = act(_unpacked(found and found[0], fresh=self._fresh), now)
        connection.execute("REPLACE INTO request_budget VALUES (?, ?)", (self._key, _packed(pace)))
        return pace, now, result

    def _connect(self) -> sqlite3.Connection:
        if self._path != ":memory:":
            Path(self._path).parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            os.close(os.open(self._path, os.O_CREAT | os.O_RDWR, 0o600))
        self._connection = sqlite3.connect(
            self._path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
        )
        for statement in ("PRAGMA synchronous=OFF", "BEGIN IMMEDIATE", TABLE, "COMMIT"):
            self._connection.execute(statement).close()
        return self._connection


class PostgreSQLRow:
    """The row in the database that the bots share; the database's clock counts."""

    def __init__(self, address: str, *, key: str, fresh: Pace) -> None:
        self._address = address
        self._key = key
        self._fresh = fresh
        self._connection: Any = None

    def change(self, act: Act[T]) -> tuple[Pace, float, T]:
        """See `Row`."""
        import psycopg

        try:
            if self._connection is None:
                self._connection = self._opened()
            with self._connection.transaction():
                return self._changed(act)
        except psycopg.Error as error:
            self.close()
            raise RowUnusable(type(error).__name__) from error

    def close(self) -> None:
        """See `Row`."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _changed(self, act: Act[T]) -> tuple[Pace, float, T]:
        execute = self._connection.execute
        query = "SELECT pace FROM request_budget WHERE key = %s FOR UPDATE"
        (text,) = execute(query, (self._key,)).fetchone()
        # Asked under the lock, in a statement of its own: beside FOR UPDATE it would be read before the wait.
        (now,) = execute("SELECT extract(epoch FROM clock_timestamp())::float8").fetchone()
        pace, result = act(_unpacked(text, fresh=self._fresh), now)
        execute("UPDATE request_budget SET pace = %s WHERE key = %s", (_packed(pace), self._key))
        return pace, now, result

    def _opened(self) -> Any:
        import psycopg

        connection = psycopg.connect(self._address, autocommit=True, connect_timeout=int(BUSY_SECONDS))
        try:
            connection.execute("SET lock_timeout = '5s'")
            with connection.transaction():
                # Two processes that create the table at once would hinder each other, IF NOT EXISTS or not.
                connection.execute("SELECT pg_advisory_xact_lock(%s)", (TABLE_LOCK,))
                connection.execute(TABLE)
                connection.execute(
                    "INSERT INTO request_budget VALUES (%s, %s) ON CONFLICT (key) DO NOTHING",
                    (self._key, _packed(self._fresh)),
                )
        except psycopg.Error:
            connection.close()
            raise
        return connection
