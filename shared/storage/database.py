"""Open one database, SQLite or PostgreSQL, the same way everywhere.

SQLite: WAL, synchronous=FULL, foreign keys, files 0600, and every write transaction begun IMMEDIATE: a read
that is upgraded later fails at once with SQLITE_BUSY_SNAPSHOT, whatever the busy timeout. PostgreSQL:
psycopg 3 and a small pool. All engines are synchronous; call them from a worker thread.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from functools import cache, cached_property
from pathlib import Path
from typing import Any, TypeVar

import sqlalchemy as sa
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError

from shared.storage.files import create_private_file, make_private_folder

T = TypeVar("T")
SYNCHRONOUS = "FULL"
"""SQLite waits for the disk at each commit: what was committed survives a power cut (https://sqlite.org/pragma.html)."""
BUSY_SECONDS = 5.0
IDLE_SECONDS = 10.0
"""Seconds until PostgreSQL ends a transaction in which nothing happens: a process that hangs holds what others wait for."""


class DatabaseUnusable(Exception):
    """The database cannot be opened."""


DATABASE_FIX = (
    "Check that the server runs, the name and password are right, the folder is writable and the disk isn't full. See "
    "OUTREACH_DATABASE_URL."
)


def parse_url(text: str) -> URL:
    """Read `sqlite:///PATH` or `postgresql://…`; raises `DatabaseUnusable` otherwise."""
    try:
        url = make_url(text)
    except ArgumentError:
        raise DatabaseUnusable(
            "not a database URL. Write sqlite:///PATH or postgresql://USER@HOST/NAME."
        ) from None
    if url.get_backend_name() == "sqlite":
        return url.set(drivername="sqlite")
    if url.get_backend_name() in {"postgresql", "postgres"}:
        return url.set(drivername="postgresql+psycopg")
    raise DatabaseUnusable(f"{url.get_backend_name()} is not supported. Use sqlite:///PATH or postgresql://…")


class OpenFile:
    """A SQLite file and its journal as they are at their paths while they are open; in memory there is none."""

    def __init__(self, url: URL) -> None:
        path = url.database or ":memory:"
        names = () if path == ":memory:" else (path, f"{path}-wal", f"{path}-shm")
        self._paths = tuple(map(Path, names))
        self._known = self._found()

    def is_replaced(self) -> bool:
        """Return True if one of the files was deleted or replaced: nobody will read what is written to it from now on.

        Another process that opens the path would see a database without the journal that is used here, and damage it
        (https://www.sqlite.org/howtocorrupt.html, 2.4).
        """
        present = self._found()
        self._known = tuple(
            new if old is None else old for old, new in zip(self._known, present, strict=True)
        )
        return present != self._known

    def remove_stale_journal(self) -> None:
        """After it is closed: the journal that a replaced file left behind would be read into the new one."""
        present = self._found()
        if not present or present[0] == self._known[0]:
            return
        for path, old, new in zip(self._paths[1:], self._known[1:], present[1:], strict=True):
            if old is not None and old == new:
                path.unlink(missing_ok=True)

    def _found(self) -> tuple[tuple[int, int] | None, ...]:
        return tuple(map(_identity, self._paths))


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        status = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    return status.st_dev, status.st_ino


def open_engine(url: URL, *, pool_size: int = 4) -> sa.Engine:
    """An engine with the settings above; the file and its folder are made when missing, for the owner alone."""
    if url.get_backend_name() != "sqlite":
        return _open_postgresql(url, pool_size=pool_size)
    _keep_private(url.database)
    engine = sa.create_engine(url, connect_args={"timeout": BUSY_SECONDS, "check_same_thread": False})
    sa.event.listen(engine, "connect", _set_up_sqlite)
    sa.event.listen(engine, "begin", _begin_immediate)
    return engine


@contextlib.contextmanager
def temporary_engine(url: URL) -> Iterator[sa.Engine]:
    """An engine for a look, disposed of with the block."""
    engine = open_engine(url, pool_size=1)
    try:
        yield engine
    finally:
        engine.dispose()


def _open_postgresql(url: URL, *, pool_size: int) -> sa.Engine:
    from shared.storage.postgresql import DEFAULTS, BoundedConnection, must_be_unicode

    engine = sa.create_engine(
        url.set(query={**DEFAULTS, **url.query}),
        pool_size=pool_size,
        max_overflow=3,
        pool_pre_ping=True,
        pool_timeout=BUSY_SECONDS,
    )

    @sa.event.listens_for(engine, "do_connect")
    def connect(_dialect: object, _record: object, arguments: Any, parameters: Any) -> BoundedConnection:
        connection = BoundedConnection.connect(*arguments, **parameters)
        must_be_unicode(connection)
        return connection

    sa.event.listen(engine, "connect", _set_up_postgresql)
    sa.event.listen(engine, "after_cursor_execute", _rearm_idle_timeout)
    return engine


@contextlib.contextmanager
def long_statements(connection: sa.Connection, seconds: float) -> Iterator[None]:
    """Allow each statement of the block so long, where a statement is bounded."""
    driver: Any = connection.connection.driver_connection
    if connection.dialect.name != "postgresql":
        yield
        return
    usual = driver.limit
    driver.limit = seconds
    connection.exec_driver_sql(f"SET LOCAL statement_timeout = {int(seconds * 1000)}")
    try:
        yield
    finally:
        driver.limit = usual


def _keep_private(path: str | None) -> None:
    if not path or path == ":memory:":
        return
    file = Path(path)
    make_private_folder(file.parent)
    # SQLite gives -wal and -shm the mode of the main file, so it must be right before the first write. A file that is
    # there isn't opened: closing it would drop the locks of this process (https://www.sqlite.org/howtocorrupt.html, 2.2).
    with contextlib.suppress(FileExistsError):
        os.close(create_private_file(file))
    file.chmod(0o600)


def _set_up_postgresql(connection: Any, _record: object) -> None:
    from shared.storage.postgresql import STATEMENT_SECONDS

    connection.execute(
        f"SET idle_in_transaction_session_timeout = {int(IDLE_SECONDS * 1000)};"
        f"SET statement_timeout = {int(STATEMENT_SECONDS * 1000)}"
    ).close()
    connection.commit()


def _rearm_idle_timeout(connection: sa.Connection, *about: Any) -> None:
    """Say something after statements that went out together, or the server never ends an idle transaction after them.

    psycopg ends a pipeline with a Sync and a Flush. After the Sync the server begins to count, with the Flush it stops, and
    only the answer to another statement begins anew. A process that hangs just then would hold its rows for ever.
    https://www.psycopg.org/psycopg3/docs/advanced/pipeline.html
    """
    *_, is_many = about
    if is_many:
        driver: Any = connection.connection.driver_connection
        driver.execute("SELECT").close()


def _set_up_sqlite(connection: Any, _record: object) -> None:
    connection.isolation_level = None  # the driver must not begin transactions by itself
    _use_wal(connection)
    for pragma in (
        f"synchronous={SYNCHRONOUS}",
        "foreign_keys=ON",
        f"busy_timeout={int(BUSY_SECONDS * 1000)}",
    ):
        connection.execute(f"PRAGMA {pragma}").close()


def _use_wal(connection: Any) -> None:
    """Set the mode of the journal. Of several who open a new file at once one succeeds; the others are refused at once."""
    ends = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode=WAL").close()
        except sqlite3.OperationalError:
            if time.monotonic() > ends:
                raise
            time.sleep(0.01)
        else:
            return


def _begin_immediate(connection: sa.Connection) -> None:
    reads = connection.get_execution_options().get("read_only", False)
    connection.exec_driver_sql("BEGIN" if reads else "BEGIN IMMEDIATE")


class Transaction:
    """A connection within its transaction, and the time that its rows are stamped with."""

    def __init__(
        self, connection: sa.Connection, clock: Callable[[sa.Connection], float] = lambda _: time.time()
    ) -> None:
        self.connection = connection
        self.is_postgresql = connection.dialect.name == "postgresql"
        # The own one alone: PostgreSQL's takes two megabytes, and the dashboard of a laptop needs none of them.
        self.dialect: Any = importlib.import_module(f"sqlalchemy.dialects.{connection.dialect.name}")
        self.execute, self.scalar, self.scalars = connection.execute, connection.scalar, connection.scalars
        self._clock = clock

    @cached_property
    def now(self) -> float:
        return self._clock(self.connection)

    def find(self, table: sa.Table, *, locked: bool = False, **key: Any) -> Any:
        """The row with this unique key, `locked` until the end of the transaction; None: there is none."""
        query = sa.select(table).where(_named(table, tuple(key)))
        return self.execute(query.with_for_update() if locked else query, key).one_or_none()

    def has(self, which: sa.ColumnElement[bool]) -> bool:
        """Return True if there are such rows."""
        return bool(self.scalar(sa.select(sa.exists().where(which))))

    def drop(self, table: sa.Table, **key: Any) -> bool:
        """Delete the row with this key; returns whether there was one."""
        return self.execute(sa.delete(table).where(_named(table, tuple(key))), key).rowcount > 0

    def delete(self, table: sa.Table, which: sa.ColumnElement[bool]) -> int:
        """Delete these rows; returns how many there were."""
        return self.execute(sa.delete(table).where(which)).rowcount

    def update(self, table: sa.Table, which: sa.ColumnElement[bool], **values: Any) -> int:
        """Set columns of these rows; returns how many there were."""
        return self.execute(sa.update(table).where(which).values(values)).rowcount

    def prune(self, table: sa.Table, old: sa.ColumnElement[bool], *, most: int, by: Any = None) -> int:
        """Delete some of the old rows, at most so many, those with the lowest `by`; returns how many."""
        keys = list(table.primary_key.columns)
        some = sa.select(*keys).where(old).order_by(by).limit(most)
        return self.delete(table, sa.tuple_(*keys).in_(some))

    def read(self, kind: Callable[..., T], query: sa.Select[Any], values: Any = None) -> list[T]:
        """The rows of a query, each as an object whose fields are its columns."""
        return [kind(**row._asdict()) for row in self.execute(query, values)]

    def insert(self, table: sa.Table) -> Any:
        return self.dialect.insert(table)

    def insert_once(self, table: sa.Table) -> Any:
        return self.insert(table).on_conflict_do_nothing()

    def upsert(self, table: sa.Table, *names: str) -> Any:
        """Insert a row, or set these columns of the one with the same primary key."""
        new = self.insert(table)
        keys, newest = table.primary_key.columns, {name: new.excluded[name] for name in names}
        return new.on_conflict_do_update(index_elements=keys, set_=newest)


@cache
def _named(table: sa.Table, names: tuple[str, ...]) -> sa.ColumnElement[bool]:
    return sa.and_(*(table.c[name] == sa.bindparam(name) for name in names))
