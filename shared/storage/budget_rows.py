"""Storage for the shared row of a request budget: a SQLite file, PostgreSQL, or a temporary file.

Uses the drivers directly, because the row is one text, and shell commands should start fast.
"""

from __future__ import annotations

import contextlib
import json
import logging
import math
import os
import sqlite3
import stat
import tempfile
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Protocol, TypeVar

from shared.api.http.rate_limit import Pace, close_for_a_span
from shared.api.http.rate_wait import Act, boot_time
from shared.storage.private_file import create_private_file, make_private_folder

T = TypeVar("T")

log = logging.getLogger(__name__)

BUSY_SECONDS = 2.0
HANGS_SECONDS = 3.0
"""A database that gives no answer for so long is unusable."""
FALLBACK_SECONDS = 10.0
"""After the row was last found unusable, so long all processes of the machine use the fallback."""
RETRY_SECONDS = 5.0
"""A process that found the row unusable looks at it again after so long."""
STEP_SECONDS = 1.0
"""A database's clock that gains more than this on the machine's has been set."""

DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
TABLE_LOCK = 0x6F757472
TABLE = "CREATE TABLE IF NOT EXISTS request_budget (key TEXT PRIMARY KEY, pace TEXT NOT NULL)"
BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


class RowUnusable(Exception):
    """The row can be neither read nor written."""


class Row(Protocol):
    """Keeps the row. Synchronous; used by one thread alone."""

    def change(self, act: Act[T]) -> tuple[Pace, float, T]:
        """One atomic change: the row after it, the row's clock, the result. Connects when it must.

        Raises `RowUnusable`.
        """

    def close(self) -> None:
        """Let go of the database."""


def closed_first(act: Act[T]) -> Act[T]:
    """The same act on a row of whose last second this process cannot be sure."""
    return lambda pace, now: act(close_for_a_span(pace, now), now)


def fallback_folder() -> Path:
    return Path(tempfile.gettempdir()) / f"outreach-ops-{os.getuid()}"


class RowWithFallback:
    """A row, and another on this machine for while it cannot be used.

    The first process that finds the row unusable leaves a mark in the temporary folder; while the mark is fresh,
    every process uses the fallback, also those that could still use the row. So all share one row at any time.
    """

    def __init__(self, row: Row, *, name: str, fresh: Pace) -> None:
        folder = fallback_folder()
        self._row = row
        self._fallback = SQLiteRow(folder / f"{name}.db", key="", fresh=fresh, private=True)
        self._mark = folder / f"{name}.mark"
        self._last: Row | None = None
        self._retry_at = math.inf

    def change(self, act: Act[T]) -> tuple[Pace, float, T]:
        """See `Row`."""
        if not self._marked():
            try:
                return self._change(self._row, act)
            except RowUnusable as error:
                self._leave_mark(error)
                self._last = self._row  # what others sent by it in the last second is not known
        elif boot_time() >= self._retry_at:
            try:
                self._row.change(lambda pace, _now: (pace, None))
                self._retry_at = math.inf
            except RowUnusable as error:
                self._leave_mark(error)
        return self._change(self._fallback, act)

    def close(self) -> None:
        """See `Row`."""
        self._row.close()
        self._fallback.close()

    def _change(self, row: Row, act: Act[T]) -> tuple[Pace, float, T]:
        same = self._last in {None, row}
        result = row.change(act if same else closed_first(act))
        self._last = row
        return result

    def _marked(self) -> bool:
        try:
            boot, _, at = self._mark.read_text().partition(" ")
            return boot == _boot_id() and 0 <= boot_time() - float(at) < FALLBACK_SECONDS
        except (OSError, ValueError):
            return False

    def _leave_mark(self, error: RowUnusable) -> None:
        log.warning("the shared rate limit can't be used. Continuing at half the rate: %s", error)
        self._retry_at = boot_time() + RETRY_SECONDS
        with contextlib.suppress(OSError):
            _check_private(self._mark.parent)
            aside = self._mark.with_suffix(f".{os.getpid()}")
            aside.write_text(f"{_boot_id()} {boot_time()}")
            aside.replace(self._mark)


def _boot_id() -> str:
    """Of this run of the machine; "" where the system has none."""
    try:
        return BOOT_ID.read_text().strip()
    except OSError:
        return ""


def _check_private(folder: Path) -> None:
    """Anybody may write to the temporary folder. Raises OSError where the folder is not this user's own."""
    folder.mkdir(mode=0o700, exist_ok=True)
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o077:
        raise PermissionError(f"{folder} is not a private folder of this user")


def _packed(pace: Pace, *, boot: str = "") -> str:
    return json.dumps({"boot": boot, **asdict(pace)}, separators=(",", ":"))


def _unpacked(text: str | None, *, fresh: Pace, boot: str = "") -> Pace:
    """The row as it was kept; a fresh one where another version wrote it, or another run of the machine."""
    try:
        kept = json.loads(text or "")
        pace = Pace(**{**kept, "sent": tuple(kept["sent"])}) if kept.pop("boot", "") == boot else fresh
    except (ValueError, TypeError, KeyError, AttributeError):
        return fresh
    return replace(pace, interval=max(pace.interval, fresh.interval))


class SQLiteRow:
    """The row in a file for its owner alone, by the machine's own clock, which nobody sets.

    Not synced: what a power cut may cost is worth a second of waiting. `private`: in the temporary folder.
    """

    def __init__(self, path: Path, *, key: str, fresh: Pace, private: bool = False) -> None:
        self._path = path
        self._key = key
        self._fresh = fresh
        self._private = private
        self._boot = _boot_id()
        self._connection: sqlite3.Connection | None = None
        self._file: tuple[int, int] | None = None

    def change(self, act: Act[T]) -> tuple[Pace, float, T]:
        """See `Row`."""
        try:
            if self._connection is not None and self._inode() != self._file:
                self.close()  # deleted or replaced: the others use the new one
            with self._connection or self._connect() as connection:
                return self._changed(connection, act)
        except sqlite3.Error as error:
            self.close()
            if getattr(error, "sqlite_errorcode", 0) in DAMAGED:
                self._path.unlink(missing_ok=True)  # it held nothing that time does not heal
            raise RowUnusable(str(error)) from error
        except OSError as error:
            self.close()
            raise RowUnusable(str(error)) from error

    def close(self) -> None:
        """See `Row`."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _inode(self) -> tuple[int, int] | None:
        try:
            found = self._path.stat()
        except FileNotFoundError:
            return None
        return found.st_dev, found.st_ino

    def _changed(self, connection: sqlite3.Connection, act: Act[T]) -> tuple[Pace, float, T]:
        connection.execute("BEGIN IMMEDIATE")
        found = connection.execute("SELECT pace FROM request_budget WHERE key = ?", (self._key,)).fetchone()
        # Read under the lock: processes may have waited for one another.
        now = boot_time()
        pace, result = act(_unpacked(found and found[0], fresh=self._fresh, boot=self._boot), now)
        text = _packed(pace, boot=self._boot)
        connection.execute("REPLACE INTO request_budget VALUES (?, ?)", (self._key, text))
        return pace, now, result

    def _connect(self) -> sqlite3.Connection:
        if self._private:
            _check_private(self._path.parent)
        make_private_folder(self._path.parent)
        # One that is there isn't opened: closing it would drop this process's locks (sqlite.org/howtocorrupt.html, 2.2).
        with contextlib.suppress(FileExistsError):
            os.close(create_private_file(self._path))
        self._file = self._inode()
        self._connection = sqlite3.connect(
            self._path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
        )
        for statement in ("PRAGMA synchronous=OFF", "BEGIN IMMEDIATE", TABLE, "COMMIT"):
            self._connection.execute(statement).close()
        return self._connection


class PostgreSQLRow:
    """The row in the database that the bots share; the database's clock counts."""

    def __init__(
        self, address: str, *, key: str, fresh: Pace, clock: Callable[[], float] = boot_time
    ) -> None:
        self._address = address
        self._key = key
        self._fresh = fresh
        self._clock = clock
        self._ahead = math.inf
        self._connection: Any = None

    def change(self, act: Act[T]) -> tuple[Pace, float, T]:
        """See `Row`."""
        import psycopg

        try:
            if self._connection is None:
                self._connect()
            with self._connection.transaction():
                return self._changed(act)
        except (psycopg.Error, OSError) as error:
            self.close()
            raise RowUnusable("the database can't be reached") from error

    def close(self) -> None:
        """See `Row`."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _changed(self, act: Act[T]) -> tuple[Pace, float, T]:
        execute = self._connection.execute
        query = "SELECT pace FROM request_budget WHERE key = %s FOR UPDATE"
        (text,) = execute(query, (self._key,)).fetchone()
        # Asked under the lock, in its own statement: beside FOR UPDATE it would be read before the wait.
        (now,) = execute("SELECT extract(epoch FROM clock_timestamp())::float8").fetchone()
        ahead, before = now - self._clock(), self._ahead
        self._ahead = ahead
        if ahead > before + STEP_SECONDS:
            act = closed_first(act)  # by the clock that was set, what went just now went long ago
        pace, result = act(_unpacked(text, fresh=self._fresh), now)
        execute("UPDATE request_budget SET pace = %s WHERE key = %s", (_packed(pace), self._key))
        return pace, now, result

    def _connect(self) -> None:
        from shared.storage.postgresql import BoundedConnection

        self._connection = BoundedConnection.connect(
            self._address, autocommit=True, connect_timeout=int(BUSY_SECONDS)
        )
        self._connection.limit = HANGS_SECONDS
        self._connection.execute(f"SET lock_timeout = '{BUSY_SECONDS:.0f}s'")
        with self._connection.transaction():
            # Two processes that create the table at once would hinder each other, IF NOT EXISTS or not.
            self._connection.execute("SELECT pg_advisory_xact_lock(%s)", (TABLE_LOCK,))
            self._connection.execute(TABLE)
            self._connection.execute(
                "INSERT INTO request_budget VALUES (%s, %s) ON CONFLICT (key) DO NOTHING",
                (self._key, _packed(self._fresh)),
            )
