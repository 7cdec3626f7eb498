"""The store: one SQLite connection on the event loop, or a pool of PostgreSQL ones in threads."""

from __future__ import annotations

import asyncio
import concurrent.futures
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, Concatenate, ParamSpec, TypeVar

from sqlalchemy import Connection, Engine, Table, create_engine, event
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, OperationalError
from sqlalchemy.pool import StaticPool

from sandbox.service.base import schema

P = ParamSpec("P")
T = TypeVar("T")
Work = Callable[Concatenate[Connection, P], T]
"""What is done in a transaction; `read` and the others hand on the arguments that it takes besides."""

_THREADS = 8
_CLOSED = "Another process uses this SQLite file. Use a postgresql:// database to share it among processes."


class Storage:
    """Runs whole transactions: at once on SQLite, whose statements take microseconds, in a thread on PostgreSQL.

    Args:
        database: None keeps everything in memory; `sqlite:///PATH` or `postgresql://…` keeps it.

    Raises:
        ValueError: the URL is none of those.
    """

    def __init__(self, database: str | None) -> None:
        self._engine = _engine(database)
        self.shared = self._engine.dialect.name == "postgresql"
        self._threads: concurrent.futures.ThreadPoolExecutor | None = None
        self._connection: Connection | None = None
        self._write_lock = asyncio.Lock()

    async def open(self) -> None:
        """Connect, and create the tables that are missing.

        Raises `ValueError`: the database cannot be opened, or another process has the file.
        """
        try:
            if self.shared:
                self._threads = concurrent.futures.ThreadPoolExecutor(
                    _THREADS, thread_name_prefix="sandbox-database"
                )
            else:
                self._connection = self._engine.connect()
            await self.write(schema.metadata.create_all)
        except OperationalError as error:
            reason = str(error.orig).strip().partition("\n")[0]
            message = _CLOSED if "locked" in reason else f"The database can't be opened: {reason}"
            raise ValueError(message) from error

    async def close(self) -> None:
        """Let go of every connection."""
        if self._threads is not None:
            await asyncio.to_thread(self._threads.shutdown)
        if self._connection is not None:
            self._connection.close()
        self._engine.dispose()

    def changes(self) -> int | None:
        """A number that every change makes another; None where other processes change the store, too."""
        return None if self._connection is None else changes_through(self._connection)

    async def read(self, work: Work[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        if self._connection is not None:
            return work(self._connection, *args, **kwargs)
        return await self._in_thread(work, *args, **kwargs)

    async def read_in_batches(
        self, work: Work[P, Iterator[list[T]]], *args: P.args, **kwargs: P.kwargs
    ) -> list[T]:
        """Read much: between two parts the loop serves others, but nothing is written, so that the parts are consistent."""
        if self._connection is None:
            return await self._in_thread(
                lambda connection: [row for part in work(connection, *args, **kwargs) for row in part]
            )
        found: list[T] = []
        async with self._write_lock:
            for part in work(self._connection, *args, **kwargs):
                if found:
                    await asyncio.sleep(0)
                found += part
        return found

    async def write(self, work: Work[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run statements as one transaction: all of them hold, or none does."""
        if self._connection is not None:
            async with self._write_lock:
                with _transaction(self._connection):
                    return work(self._connection, *args, **kwargs)
        return await self._in_thread(work, *args, **kwargs)

    async def write_in_thread(self, work: Work[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Write for seconds rather than microseconds, in a thread; nothing else may use the store meanwhile."""
        if self._connection is None:
            return await self._in_thread(work, *args, **kwargs)
        connection = self._connection

        def transaction() -> T:
            with _transaction(connection):
                return work(connection, *args, **kwargs)

        running = asyncio.create_task(asyncio.to_thread(transaction), name="sandbox-long-write")
        try:
            return await asyncio.shield(running)
        except asyncio.CancelledError:
            # The thread can't be stopped, so its connection must stay open.
            while not running.done():
                with suppress(asyncio.CancelledError):
                    await asyncio.wait([running])
            raise

    async def copy(self) -> sqlite3.Connection | None:
        """All that is stored, copied into memory; None for a PostgreSQL, which others change, too."""
        if self._connection is None:
            return None
        kept = sqlite3.connect(":memory:", check_same_thread=False)
        async with self._write_lock:
            driver_of(self._connection).backup(kept)
        return kept

    async def restore(self, kept: sqlite3.Connection) -> None:
        """Put everything back as it was copied."""
        assert self._connection is not None
        async with self._write_lock:
            kept.backup(driver_of(self._connection))

    async def _in_thread(self, work: Work[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        def transaction() -> T:
            with self._engine.begin() as connection:
                return work(connection, *args, **kwargs)

        return await asyncio.get_running_loop().run_in_executor(self._threads, transaction)


def changes_through(connection: Connection) -> int | None:
    """How many rows have been changed through a connection that alone changes the store; None if others do, too."""
    driver = connection.connection.driver_connection
    return driver.total_changes if isinstance(driver, sqlite3.Connection) else None


def driver_of(connection: Connection) -> sqlite3.Connection:
    driver = connection.connection.driver_connection
    assert isinstance(driver, sqlite3.Connection)
    return driver


def upsert(dialect: str, table: Table) -> Any:
    return postgresql.insert(table) if dialect == "postgresql" else sqlite.insert(table)


@contextmanager
def _transaction(connection: Connection) -> Iterator[None]:
    connection.exec_driver_sql("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        connection.exec_driver_sql("ROLLBACK")
        raise
    connection.exec_driver_sql("COMMIT")


def _engine(database: str | None) -> Engine:
    url = _url(database)
    if url.get_backend_name() == "postgresql":
        return create_engine(url.set(drivername="postgresql+psycopg"), pool_size=_THREADS, pool_pre_ping=True)
    engine = create_engine(
        url,
        poolclass=StaticPool,
        connect_args={"check_same_thread": False},
        isolation_level="AUTOCOMMIT",
    )
    event.listen(engine, "connect", _prepare_sqlite)
    return engine


def _url(database: str | None) -> URL:
    try:
        url = make_url(database or "sqlite://")
        backend = url.get_backend_name()
    except (ArgumentError, ValueError) as error:
        raise ValueError(_wanted("what was given")) from error
    if backend not in {"sqlite", "postgresql"} or (database and backend == "sqlite" and not url.database):
        raise ValueError(_wanted(f"{url.drivername}://"))
    return url


def _wanted(given: str) -> str:
    return f"The database must be sqlite:///PATH or postgresql://USER@HOST/NAME, not {given}."


def _prepare_sqlite(connection: sqlite3.Connection, record: object) -> None:
    # One process alone: rate limits and leases of deliveries are kept in memory beside such a file.
    for pragma in (
        "locking_mode=EXCLUSIVE",
        "busy_timeout=500",
        "journal_mode=WAL",
        "synchronous=NORMAL",
        "temp_store=MEMORY",
    ):
        connection.execute(f"PRAGMA {pragma}")
