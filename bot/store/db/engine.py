"""One door to the database: work is a function of a connection, run in one transaction off the event loop.

SQLite has one writer, so one thread takes the work in the order it came: intake and courier never wait for each
other's busy handler. PostgreSQL gets a few threads with a connection each, and its own clock for leases.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import sqlalchemy as sa
from sqlalchemy.engine import URL

from bot.store.db import migrate
from bot.store.db.clock import SteadyClock
from shared.domain.records import RecordsUnavailable
from shared.storage import database

S = TypeVar("S")
T = TypeVar("T")
Work = Callable[[sa.Connection], T]
CONTENDED = {"40P01", "23505"}
"""A deadlock, or a hash that is there: another process was first, and the work is to see what that has left."""
TRIES = 5
REFUSED_CLASSES = {"22", "23", "54"}
"""SQLSTATE classes that blame the values: data exception, integrity violation, program limit exceeded."""


class ValuesRefused(RecordsUnavailable):
    """The database works, and refuses what it was given; the same work fails again."""


def blames_values(error: Exception) -> bool:
    """Whether the values of a statement made it fail, and not the connection, the disk or the schema."""
    if isinstance(error, UnicodeError | OverflowError):  # the driver cannot encode a value
        return True
    if not isinstance(error, sa.exc.DBAPIError) or error.connection_invalidated:
        return False
    state = getattr(error.orig, "sqlstate", None)
    if state is None:  # SQLite, or psycopg before it sends anything
        return isinstance(error, sa.exc.DataError | sa.exc.IntegrityError)
    return state[:2] in REFUSED_CLASSES and state not in CONTENDED


class Store:
    """The engine, its threads and the clock that all rows are stamped with."""

    def __init__(self, url: URL, *, clock: Callable[[], float] | None = None) -> None:
        self.is_sqlite = url.get_backend_name() == "sqlite"
        self.engine = database.open_engine(url)
        self._alone = database.autocommit(self.engine)
        self.clock = clock or SteadyClock()
        self._ask_database = clock is None and not self.is_sqlite
        self._writers = ThreadPoolExecutor(1 if self.is_sqlite else 4, thread_name_prefix="ledger")
        self._readers = ThreadPoolExecutor(1, thread_name_prefix="ledger-read")

    def now(self, connection: sa.Connection) -> float:
        """The time by which leases are judged: this process's clock, or the one that all processes share."""
        if not self._ask_database:
            return self.clock()
        return float(connection.scalar(sa.text("SELECT extract(epoch FROM clock_timestamp())")))

    async def write(self, work: Work[T]) -> T:
        """Run the work in one transaction. Raises `RecordsUnavailable` when the database refuses."""
        return await self._run(self._writers, self._write, work)

    async def append(self, work: Work[T]) -> T:
        """Run work of one statement, which is its own transaction. Raises `RecordsUnavailable`."""
        return await self._run(self._writers, self._append, work)

    async def read(self, work: Work[T]) -> T:
        """Run reading work, beside the writers. Raises `RecordsUnavailable`."""
        return await self._run(self._readers, self._read, work)

    async def _run(self, pool: ThreadPoolExecutor, how: Callable[[S], T], subject: S) -> T:
        try:
            return await asyncio.get_running_loop().run_in_executor(pool, how, subject)
        except (sa.exc.SQLAlchemyError, OSError, UnicodeError, OverflowError) as error:
            kind = ValuesRefused if blames_values(error) else RecordsUnavailable
            # The statement and its values stay out of the message: they may hold a lead's words.
            raise kind(f"the bot's database: {type(error).__name__}") from error

    def _write(self, work: Work[T]) -> T:
        for _ in range(TRIES - 1):
            try:
                return self._transact(work)
            except sa.exc.DBAPIError as error:
                if getattr(error.orig, "sqlstate", "") not in CONTENDED:
                    raise
        return self._transact(work)

    def _transact(self, work: Work[T]) -> T:
        with self.engine.begin() as connection:
            return work(connection)

    def _append(self, work: Work[T]) -> T:
        with self._alone.begin() as connection:
            return work(connection)

    def _read(self, work: Work[T]) -> T:
        with self.engine.connect().execution_options(read_only=True) as connection, connection.begin():
            return work(connection)

    @classmethod
    async def opened(cls, url: URL, *, clock: Callable[[], float] | None = None) -> Store:
        """A store whose schema is up to date. Raises `RecordsUnavailable`."""
        store = await asyncio.to_thread(cls, url, clock=clock)
        try:
            await store.migrate()
        except RecordsUnavailable:
            await store.aclose()
            raise
        return store

    async def migrate(self) -> None:
        """Bring the schema up to date. Raises `RecordsUnavailable`."""
        await self._run(self._writers, migrate.upgrade, self.engine)

    async def aclose(self) -> None:
        """Let the work under way finish, then close every connection."""
        for pool in (self._writers, self._readers):
            await asyncio.to_thread(pool.shutdown)
        self.engine.dispose()
