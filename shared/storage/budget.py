"""The rate of a key over all processes: its row in a file of the state folder, or in a PostgreSQL database."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import hashlib
import logging
import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Self

import sqlalchemy as sa
from pydantic import TypeAdapter
from sqlalchemy.engine import URL

from shared.api.pace import DEFAULT_RATE, Act, LocalBudget, Pace, boot_time, closed
from shared.storage.database import long_statements, open_engine

log = logging.getLogger("outreach_ops")

LOCK_SECONDS = 2.0
ALONE_SECONDS = 5.0
"""After the row could not be used, so long until it is tried again."""
ALONE_SHARE = 5
"""A process that can't use the row takes this part of the rate, since it may be one of several.

The others can't tell it from one that is idle, and go on at the full rate: while it is alone, the sum can exceed ten a
second, and the first 429 halves the rate of all. The alternative would be to send nothing, and a dashboard would go blind
wherever a disk is full.
"""
THREADS = 8
_THREADS = ThreadPoolExecutor(THREADS, thread_name_prefix="pace")


def budget_key(api_key: str) -> str:
    """The row's name. The key alone: one address can be written in many ways."""
    return hashlib.sha256(api_key.encode()).hexdigest()[:16]


class RowUnusable(Exception):
    """The row can be neither read nor written."""


class SharedBudget(LocalBudget):
    """The budget of a key in a state folder (a file beside the SQLite address), or in a PostgreSQL database."""

    def __init__(self, url: URL, *, key: str, rate: float = DEFAULT_RATE) -> None:
        super().__init__(rate)
        is_file = url.get_backend_name() == "sqlite"
        self._row = FileRow(url, key) if is_file else PostgreSQLRow(url, key)
        self._usual_interval = self._interval
        self._alone_until = 0.0
        self._clock_ahead = 0.0

    async def __aenter__(self) -> Self:
        """Read the row once, so that `state()` is current."""
        await self.change(lambda row, _now, _gap: (row, 0.0))
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        await asyncio.get_running_loop().run_in_executor(_THREADS, self._row.close)

    def now(self) -> float:
        return boot_time() + self._clock_ahead

    async def change(self, act: Act) -> float:
        """Change the shared row, or what is known of it, at the interval of a share, while that can't be used."""
        if time.monotonic() < self._alone_until:
            return await super().change(act)
        was_alone = self._interval != self._usual_interval

        def shared(row: Pace, now: float) -> tuple[Pace, float]:
            # What this process sent alone is not in the row.
            return act(closed(row, now) if was_alone else row, now, self._usual_interval)

        try:
            loop = asyncio.get_running_loop()
            self._seen, now, wait = await loop.run_in_executor(_THREADS, self._row.change, shared)
        except RowUnusable as error:
            log.warning("no shared rate limit available. Continuing alone at a fifth of the rate: %s", error)
            if not was_alone:  # nothing is known of what others sent just now
                self._seen = closed(Pace(), self.now())
            self._interval = ALONE_SHARE * self._usual_interval
            self._alone_until = time.monotonic() + ALONE_SECONDS
            return await super().change(act)
        self._interval, self._alone_until = self._usual_interval, 0.0
        self._clock_ahead = now - boot_time()
        return wait


RowAct = Callable[[Pace, float], tuple[Pace, float]]
"""(row, now) -> (row, seconds to wait)."""


_PACE = TypeAdapter(Pace)


def _unpacked(text: str, now: float) -> Pace:
    """The row as it was kept; one of another version begins again."""
    try:
        return _PACE.validate_json(text)
    except ValueError:
        return closed(Pace(), now) if text else Pace()


class FileRow:
    """The row in a file of its own, for its owner alone, by the machine's clock, which nobody sets.

    A lock on the file ends with the process that holds it. It is not synced: what a power cut may cost is worth a
    second of waiting.
    """

    def __init__(self, url: URL, key: str) -> None:
        self._path = Path(url.database or "").resolve().parent / f"budget-{key}.json"

    def change(self, act: RowAct) -> tuple[Pace, float, float]:
        """One atomic change: the row after it, the row's clock, the seconds to wait. Raises `RowUnusable`."""
        try:
            with self._locked() as descriptor:
                now = boot_time()  # read under the lock: processes may have waited for one another
                text = os.pread(descriptor, 65_536, 0).decode("utf-8", "replace")
                pace, wait = act(_unpacked(text, now), now)
                packed = _PACE.dump_json(pace)
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


_engines: dict[URL, sa.Engine] = {}
_users: Counter[URL] = Counter()
_counting = threading.Lock()
"""One pool for all keys of a process, of which a bot may have a thousand; the last one closes it."""


class PostgreSQLRow:
    """The row in the database that the bots share; the database's clock counts."""

    def __init__(self, url: URL, key: str) -> None:
        self._url = url.set(drivername="postgresql+psycopg")
        self._key = key
        self._is_made = False
        with _counting:
            _users[self._url] += 1
            if self._url not in _engines:
                _engines[self._url] = open_engine(self._url, pool_size=THREADS)

    def change(self, act: RowAct) -> tuple[Pace, float, float]:
        """Do the same as `FileRow`."""
        about = {"key": self._key}
        try:
            with _engines[self._url].begin() as connection, long_statements(connection, LOCK_SECONDS):
                execute = connection.execute
                if not self._is_made:
                    # Two processes that create the table at once would hinder each other, IF NOT EXISTS or not.
                    execute(sa.text("SELECT pg_advisory_xact_lock(hashtext('request_budget'))"))
                    table = "request_budget (key TEXT PRIMARY KEY, pace TEXT NOT NULL)"
                    execute(sa.text(f"CREATE TABLE IF NOT EXISTS {table}"))
                    row = "INSERT INTO request_budget VALUES (:key, '') ON CONFLICT (key) DO NOTHING"
                    execute(sa.text(row), about)
                query = "SELECT pace FROM request_budget WHERE key = :key FOR UPDATE"
                text = execute(sa.text(query), about).scalar_one()
                # Asked under the lock, in its own statement: beside FOR UPDATE it would be read before the wait.
                clock = "SELECT extract(epoch FROM clock_timestamp())::float8"
                now: float = execute(sa.text(clock)).scalar_one()
                pace, wait = act(_unpacked(text, now), now)
                change = "UPDATE request_budget SET pace = :pace WHERE key = :key"
                execute(sa.text(change), {**about, "pace": _PACE.dump_json(pace).decode()})
        except (sa.exc.SQLAlchemyError, OSError) as error:
            self._is_made = False
            raise RowUnusable("the database can't be reached") from error
        self._is_made = True
        return pace, now, wait

    def close(self) -> None:
        with _counting:
            _users[self._url] -= 1
            if not _users[self._url]:
                _engines.pop(self._url).dispose()
