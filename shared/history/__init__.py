"""The history of a workspace: samples, transitions and whole snapshots, shared by dashboard and bot.

`History` is the asynchronous face; each method runs one transaction of `store` in its own thread, one after another.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from typing import Self, TypeVar, Unpack

from sqlalchemy.engine import URL

from shared.domain.health import DEFAULT, Thresholds
from shared.domain.snapshot import ProblemStart, Snapshot
from shared.history import problems, reader, writer
from shared.history.engine import Act, HistoryUnavailable, Store
from shared.history.reader import About, Sample, SeriesQuery, Transition, Which
from shared.history.retention import Retention

__all__ = ["About", "History", "HistoryUnavailable", "Sample", "Transition"]

T = TypeVar("T")


class History:
    """The history in a SQLite file or in PostgreSQL. Every method raises `HistoryUnavailable`."""

    def __init__(self, url: URL, *, thresholds: Thresholds = DEFAULT) -> None:
        self._store = Store(url)
        self._writer = writer.Writer(thresholds)
        self._executor = ThreadPoolExecutor(1, thread_name_prefix="history")
        self._retention = Retention(self._read, self._write)

    @property
    def notice(self) -> str:
        return self._store.notice

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        await self._in_thread(self._store.close)
        self._executor.shutdown(wait=False)

    async def _in_thread(self, act: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._executor, act)

    async def _read(self, act: Act[T]) -> T:
        return await self._in_thread(lambda: self._store.run(act, reads=True))

    async def _write(self, act: Act[T]) -> T:
        return await self._in_thread(lambda: self._store.run(act))

    async def add(self, snapshot: Snapshot, *, now: datetime) -> tuple[Transition, ...]:
        """Keep what is new in a snapshot; the transitions that it showed. Some of what is old is thinned out."""
        changes = await self._write(lambda connection: self._writer.add(connection, snapshot, now=now))
        await self._retention.run(now=now)
        return changes

    async def series(self, workspace: str, *, key: str, **which: Unpack[Which]) -> tuple[Sample, ...]:
        """One value over time, at most `points` samples after that of the start; empty where nothing is known."""
        query = SeriesQuery(workspace=workspace, **which)
        return (await self._read(lambda connection: query.read(connection, key=key))).get(key, ())

    async def all_series(self, workspace: str, **which: Unpack[Which]) -> Mapping[str, tuple[Sample, ...]]:
        """The same value of every inbox, sequence or domain, by key."""
        return await self._read(SeriesQuery(workspace=workspace, **which).read)

    async def sparklines(self, workspace: str, **which: Unpack[Which]) -> Mapping[str, tuple[float, ...]]:
        """The same value of every inbox, sequence or domain at evenly spaced times, by key: sparklines for rows.

        Each sample holds until the next; there are fewer than `points` where nothing is known of the beginning.
        """
        return await self._read(SeriesQuery(workspace=workspace, **which).sparklines)

    async def transitions(
        self,
        workspace: str,
        *,
        start: datetime | None = None,
        end: datetime | None = None,
        about: About | None = None,
        limit: int = 50,
    ) -> tuple[Transition, ...]:
        """The transitions, newest first; `about` one thing only."""
        return await self._read(
            lambda c: reader.transitions_of(c, workspace, start=start, end=end, about=about, limit=limit)
        )

    async def snapshot_times(self, workspace: str, *, start: datetime, end: datetime) -> tuple[datetime, ...]:
        return await self._read(lambda c: reader.snapshot_times(c, workspace, start=start, end=end))

    async def snapshot_at(self, workspace: str, at: datetime) -> Snapshot | None:
        """The last snapshot that was kept until then."""
        snapshot = await self._read(lambda c: reader.snapshot_at(c, workspace, at=at))
        if snapshot:
            self._writer.mark_written(snapshot)
        return snapshot

    async def covered(self, workspace: str, *, end: datetime) -> tuple[tuple[datetime, datetime], ...]:
        """The times in which the dashboard or bot was reading; between them nothing is known."""
        return await self._read(lambda c: reader.covered_times(c, workspace, end=end))

    async def problems(self, workspace: str) -> tuple[ProblemStart, ...]:
        """The problems at the last look of any process, each with its start."""
        return await self._read(lambda c: problems.problems_of(c, workspace))

    async def follow_problems(
        self, workspace: str, present: Collection[ProblemStart], *, spared: str = "", now: datetime
    ) -> tuple[ProblemStart, ...]:
        """Remember what is wrong now, each with the start that any process saw first; nothing is learned of `spared` keys."""
        at = now.timestamp()
        return await self._write(
            lambda c: problems.follow_problems(c, workspace, present, spared=spared, now=at)
        )
