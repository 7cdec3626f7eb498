"""The bot's database: runs functions of a transaction outside of the event loop.

SQLite has one writer, so one thread runs the work in order, and intake and delivery never wait for each other's busy
handler. PostgreSQL has a few threads with one connection each, and its own clock for leases.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Coroutine, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import wraps
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

import sqlalchemy as sa
from sqlalchemy.engine import URL

from shared.records import RecordsUnavailable
from shared.storage import database
from shared.store.db import migrate

P = ParamSpec("P")
R = TypeVar("R", bound="Repository")
T = TypeVar("T")
AT_ONCE = 500
"""Rows that one transaction changes where there may be many: a running bot waits for each."""
CONTENDED = {"40P01", "23505"}
"""A deadlock, or a hash that is there: another process was first, and the work is to see what that has left."""
TRIES = 5
READ_ONLY = "25006"
"""The SQLSTATE of a write to a standby (https://www.postgresql.org/docs/current/errcodes-appendix.html)."""
PRIMARY_CODE = 0xFF
"""The bits of a SQLite code that are its primary one (https://sqlite.org/rescode.html)."""
WRITABLE = "Make the file and its folder writable for the user that runs the bot"
PRIMARY = "Name the primary server in OUTREACH_DATABASE_URL, or add target_session_attrs=read-write to several hosts"
REFUSED_CLASSES = {"22", "23", "54"}
"""SQLSTATE classes that blame the values: data exception, integrity violation, program limit exceeded."""


class ValuesRefused(RecordsUnavailable):
    """The database works, and refuses what it was given; the same work fails again."""


class DatabaseReplaced(RecordsUnavailable):
    """The file was deleted or replaced under the running program; what was written just now may be in no file."""


def blames_values(error: Exception) -> bool:
    """True where the values of a statement made it fail, and not the connection, the disk or the schema."""
    if isinstance(error, UnicodeError | OverflowError):  # the driver cannot encode a value
        return True
    if not isinstance(error, sa.exc.DBAPIError) or error.connection_invalidated:
        return False
    state = getattr(error.orig, "sqlstate", None)
    if state is None:  # SQLite, or psycopg before it sends anything
        return isinstance(error, sa.exc.DataError | sa.exc.IntegrityError)
    return state[:2] in REFUSED_CLASSES and state not in CONTENDED


def unreachable(url: URL) -> str:
    """The reason why the database cannot be connected to; empty when it can."""
    try:
        with database.temporary_engine(url) as engine, engine.connect():
            return ""
    except (RecordsUnavailable, OSError) as error:
        return str(error)
    except sa.exc.SQLAlchemyError as error:
        return str(getattr(error, "orig", None) or error).strip().partition("\n")[0]


@contextlib.contextmanager
def sole_owner(url: URL) -> Iterator[bool]:
    """Hold the lock beside the database while the block runs; False when another bot holds it, or on PostgreSQL.

    The leases of a dead bot can be taken over at once: the kernel drops the lock when its process dies, however it dies.
    """
    if url.get_backend_name() != "sqlite" or not url.database or url.database == ":memory:":
        yield False
        return
    descriptor = os.open(Path(f"{url.database}.lock"), os.O_CREAT | os.O_RDWR, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            is_ours = True
        except OSError:
            is_ours = False
        yield is_ours
    finally:
        os.close(descriptor)


def _reason(error: Exception) -> str:
    """The reason of a failure, without a statement or its values, and what to do where it takes no writes."""
    if blames_values(error):
        return "refuses a value"
    if isinstance(error, sa.exc.TimeoutError):
        return "no response"
    original = getattr(error, "orig", None)
    said = str(original).strip().partition("\n")[0].rstrip(".")
    code = getattr(original, "sqlite_errorcode", 0) & PRIMARY_CODE
    if code == sqlite3.SQLITE_READONLY:
        return f"is read-only: {said}. {WRITABLE}"
    if code == sqlite3.SQLITE_CANTOPEN:
        return f"can't be opened: {said}. {WRITABLE}"
    if getattr(original, "sqlstate", "") == READ_ONLY:
        return f"is read-only: {said}. {PRIMARY}"
    return f"can't be used: {said}" if isinstance(error, sa.exc.OperationalError) else "can't be used"


Transaction = database.Transaction
Work = Callable[[Transaction], T]


class SteadyClock:
    """Unix seconds; a step backwards of the clock beneath is added up and undone, a step forwards is taken."""

    def __init__(self, wall: Callable[[], float] = time.time) -> None:
        self._wall = wall
        self._last = wall()
        self._undone = 0.0
        self._lock = threading.Lock()

    def __call__(self) -> float:
        with self._lock:
            wall = self._wall()
            self._undone += max(0.0, self._last - wall)
            self._last = wall
            return wall + self._undone


class Database:
    """The engine, its threads and the clock that all rows are stamped with."""

    def __init__(self, url: URL, *, clock: Callable[[], float] | None = None) -> None:
        self.is_sqlite = url.get_backend_name() == "sqlite"
        self._url = url
        self._file: database.OpenFile | None = None
        self.replaced = asyncio.Event()
        """The file was deleted or replaced: the database must be opened again."""
        self.engine = database.open_engine(url)
        self._read_only = self.engine.execution_options(read_only=True)
        self.clock = clock or SteadyClock()
        self._ask_database = clock is None and not self.is_sqlite
        # Readings run beside the writers. What reads all of a time is a report, so that buttons and cards don't wait
        # for it, and health, metrics and webhook secrets wait for no other reading.
        sizes = {"write": 1 if self.is_sqlite else 4, "read": 1, "report": 1, "probe": 1}
        self._pools = {
            name: ThreadPoolExecutor(size, thread_name_prefix=f"store-{name}") for name, size in sizes.items()
        }

    async def write(self, work: Work[T]) -> T:
        """Run the work in one transaction. Raises `RecordsUnavailable` when the database refuses."""
        return await self._run("write", lambda: self._checked(lambda: self._write(work)))

    async def drain(self, work: Work[int]) -> None:
        """Write portions until one isn't full, with the writes of others between them."""
        while await self.write(work) == AT_ONCE:
            pass

    async def read(self, work: Work[T], *, pool: str = "read") -> T:
        """Run reading work, beside the writers and the readings of other pools. Raises `RecordsUnavailable`."""
        return await self._run(pool, lambda: self._transact(self._read_only, work))

    async def _run(self, pool: str, job: Callable[[], T]) -> T:
        try:
            return await asyncio.get_running_loop().run_in_executor(self._pools[pool], job)
        except DatabaseReplaced:
            self.replaced.set()
            raise
        except (sa.exc.SQLAlchemyError, OSError, UnicodeError, OverflowError) as error:
            kind = ValuesRefused if blames_values(error) else RecordsUnavailable
            # The statement and its values stay out of the message: they may hold a lead's words.
            raise kind(f"The bot's database {_reason(error)}.") from error

    def _checked(self, job: Callable[[], T]) -> T:
        """Run the job, and then see where it wrote: before that, a file could still be replaced unseen."""
        try:
            return job()
        finally:
            if self._file is not None and self._file.is_replaced():
                raise DatabaseReplaced("The file of the bot's database was deleted or replaced.")

    def _write(self, work: Work[T]) -> T:
        for _ in range(TRIES - 1):
            try:
                return self._transact(self.engine, work)
            except sa.exc.DBAPIError as error:
                if getattr(error.orig, "sqlstate", "") not in CONTENDED:
                    raise
        return self._transact(self.engine, work)

    def _transact(self, engine: sa.Engine, work: Work[T]) -> T:
        with engine.begin() as connection:
            return work(Transaction(connection, self._now))

    def _now(self, connection: sa.Connection) -> float:
        if not self._ask_database:
            return self.clock()
        return float(connection.scalar(sa.text("SELECT extract(epoch FROM clock_timestamp())")))

    @classmethod
    async def opened(cls, url: URL, *, clock: Callable[[], float] | None = None) -> Database:
        """A database whose schema is up to date. Raises `RecordsUnavailable`."""
        try:
            opened = await asyncio.to_thread(cls, url, clock=clock)
        except OSError as error:
            raise RecordsUnavailable(
                f"The bot's database {error.filename} can't be opened: {error.strerror}. {WRITABLE}."
            ) from error
        try:
            await opened.migrate()
        except RecordsUnavailable:
            await opened.aclose()
            raise
        return opened

    async def migrate(self) -> None:
        """Bring the schema up to date. Raises `RecordsUnavailable`."""
        await self._run("write", self._migrate)

    def _migrate(self) -> None:
        migrate.upgrade(self.engine)
        if self.is_sqlite:
            self._file = database.OpenFile(self._url)

    async def aclose(self) -> None:
        for pool in self._pools.values():
            await asyncio.to_thread(pool.shutdown)
        self.engine.dispose()
        if self._file is not None:
            self._file.remove_stale_journal()


class Repository:
    """The SQL of one subject. Each of its methods is one transaction and raises `RecordsUnavailable`."""

    def __init__(self, database: Database) -> None:
        self.database = database


def portions(values: Sequence[T]) -> Sequence[Sequence[T]]:
    """Cut what a statement names into parts: engines limit its length, and a running bot waits for each."""
    return [values[at : at + AT_ONCE] for at in range(0, len(values), AT_ONCE)]


Method = Callable[Concatenate[R, Transaction, P], T]
Awaited = Callable[Concatenate[R, P], Coroutine[Any, Any, T]]


def method(work: Callable[Concatenate[Transaction, P], T]) -> Callable[Concatenate[Any, Transaction, P], T]:
    """Make a method of a function of a transaction, which others call within theirs."""

    def run(_self: Any, tx: Transaction, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return work(tx, *args, **kwargs)

    return run


def _in(pool: str) -> Callable[[Method[R, P, T]], Awaited[R, P, T]]:
    """Make a decorator that runs a method of a repository in a transaction of its own."""

    def decorate(method: Method[R, P, T]) -> Awaited[R, P, T]:
        @wraps(method)
        async def run(self: R, /, *args: P.args, **kwargs: P.kwargs) -> T:
            def work(tx: Transaction) -> T:
                return method(self, tx, *args, **kwargs)

            if pool == "write":
                return await self.database.write(work)
            return await self.database.read(work, pool=pool)

        return run

    return decorate


writes, reads = _in("write"), _in("read")
reports, probes = _in("report"), _in("probe")
