"""Thins out and deletes what is old, a portion at a time, so that the history stays bounded and no other work is held up.

What was thinned is not read again: a row for each stage says until when it is done, for all processes.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from itertools import pairwise
from typing import Any, Protocol, TypeVar

import sqlalchemy as sa

from shared.history.engine import Act, covered, deltas, samples, series, snapshots, transitions

T = TypeVar("T")
EVERY = timedelta(hours=1)
MOST_PORTIONS = 50
"""Transactions at a time; what is left is done with the next poll."""
SERIES, READ, WRITTEN = 200, 5_000, 100
"""How many series are looked at together, and the most rows that a transaction reads or deletes."""
DAY = 86_400
SNAPSHOTS_THINNED, SNAPSHOT_SECONDS = timedelta(hours=6), 600
"""Older than this, single polls go, and one whole snapshot in so many seconds stays."""
KEPT_SNAPSHOTS = timedelta(hours=48)
KEPT_SAMPLES = timedelta(days=400)
KEPT_TRANSITIONS = timedelta(days=90)
MARK = {"workspace": "", "kind": "thinned", "metric": ""}
"""The series, of no workspace, whose `last_at` says until when a stage is done."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """Samples of this age keep one, the last, in so many seconds; with none, only the value that still holds."""

    name: str
    age: timedelta
    seconds: int | None = None


STAGES = (
    Stage(name="hour", age=timedelta(days=7), seconds=3600),
    Stage(name="day", age=timedelta(days=60), seconds=DAY),
    Stage(name="kept", age=KEPT_SAMPLES),
)


class Transact(Protocol):
    """One transaction in the history's thread."""

    async def __call__(self, act: Act[T]) -> T: ...


class Retention:
    """`run` with every poll; once an hour it begins a pass, which it ends over as many calls as it takes."""

    def __init__(self, read: Transact, write: Transact) -> None:
        self._read, self._write = read, write
        self._began_at: datetime | None = None
        self._jobs: list[Callable[[], Awaitable[None]]] = []
        """What the pass has left, the next at the end; each is a transaction or two, and may add others."""

    async def run(self, *, now: datetime) -> None:
        """Some portions of the pass under way. Raises `HistoryUnavailable`."""
        if not self._jobs:
            if self._began_at is not None and timedelta() <= now - self._began_at < EVERY:
                return
            self._began_at, self._jobs = now, [partial(self._small_tables, now)]
            self._jobs += [
                partial(self._begin, stage, _seconds(now - stage.age) // DAY * DAY) for stage in STAGES
            ]
        for _ in range(MOST_PORTIONS):
            if not self._jobs:
                return
            job = self._jobs.pop()
            try:
                await job()
            except BaseException:
                self._jobs = []  # it begins again with the next pass
                raise

    async def _begin(self, stage: Stage, end: int) -> None:
        """One stage over all series, of the days that came of age since it was done last."""
        start = await self._read(partial(_marked, stage))
        if start > end + DAY:
            start = 0  # a clock that was ahead has marked too much
        if start < end:
            self._jobs.append(partial(self._walk, stage, start, end, 0))

    async def _walk(self, stage: Stage, start: int, end: int, after: int) -> None:
        """The next series."""
        last_at = await self._read(partial(_series_after, after))
        if not last_at:
            await self._write(partial(_mark, stage, end))
            return
        self._jobs.append(partial(self._walk, stage, start, end, max(last_at)))
        self._jobs.append(partial(self._thin, stage, start, end, last_at))

    async def _thin(self, stage: Stage, start: int, end: int, last_at: Mapping[int, int]) -> None:
        """These series; where they have too many samples, first the one half, or of one the first samples."""
        ids, c = sorted(last_at), samples.c
        query = sa.select(c.series_id, c.at).where(c.series_id.in_(ids), c.at >= start, c.at < end)
        rows = await self._rows((query.order_by(c.at) if len(ids) == 1 else query).limit(READ + 1))
        if len(rows) > READ and len(ids) > 1:
            for half in (ids[len(ids) // 2 :], ids[: len(ids) // 2]):
                self._jobs.append(partial(self._thin, stage, start, end, {i: last_at[i] for i in half}))
            return
        if len(rows) > READ:  # its last row is the first of the rest, in which others of its bucket may be
            self._jobs.append(partial(self._thin, stage, rows[-1].at, end, last_at))
        if stage.seconds is None:
            self._delete_soon(samples, [row for row in rows if row.at != last_at[row.series_id]])
        else:
            self._delete_soon(samples, _superfluous(sorted(rows), stage.seconds))

    async def _small_tables(self, now: datetime) -> None:
        for workspace in await self._read(_workspaces):
            for table, at, age in _KEPT:
                old = (table.c.workspace == workspace) & (at < _seconds(now - age))
                self._jobs.append(
                    partial(self._forget, table, sa.select(*table.primary_key.columns).where(old))
                )
            self._jobs.append(partial(self._thin_snapshots, workspace, _seconds(now - SNAPSHOTS_THINNED)))

    async def _forget(self, table: sa.Table, old: sa.Select[Any]) -> None:
        rows = await self._rows(old.limit(WRITTEN))
        if len(rows) == WRITTEN:
            self._jobs.append(partial(self._forget, table, old))
        self._delete_soon(table, rows)

    async def _thin_snapshots(self, workspace: str, end: int) -> None:
        c = snapshots.c
        old = sa.select(c.workspace, c.at).where(c.workspace == workspace, c.at < end).order_by(c.at)
        self._delete_soon(snapshots, _superfluous(await self._rows(old), SNAPSHOT_SECONDS))

    async def _rows(self, query: sa.Select[Any]) -> Sequence[sa.Row[Any]]:
        return await self._read(lambda connection: connection.execute(query).all())

    def _delete_soon(self, table: sa.Table, rows: Sequence[sa.Row[Any]]) -> None:
        for place in range(0, len(rows), WRITTEN):
            self._jobs.append(partial(self._delete, table, rows[place : place + WRITTEN]))

    async def _delete(self, table: sa.Table, rows: Sequence[sa.Row[Any]]) -> None:
        keys = list(table.primary_key.columns)
        which = sa.and_(*(key == sa.bindparam(f"old_{key.name}") for key in keys))
        values = [{f"old_{key.name}": value for key, value in zip(keys, row, strict=True)} for row in rows]
        await self._write(lambda connection: connection.execute(sa.delete(table).where(which), values))


_KEPT: tuple[tuple[sa.Table, sa.ColumnElement[int], timedelta], ...] = (
    (transitions, transitions.c.at, KEPT_TRANSITIONS),
    (snapshots, snapshots.c.at, KEPT_SNAPSHOTS),
    (deltas, deltas.c.at, SNAPSHOTS_THINNED),
    (covered, covered.c.end, KEPT_SAMPLES),
)


def _superfluous(rows: Sequence[Any], seconds: int) -> list[Any]:
    """Those that a later one of the same owner follows within the same so many seconds; rows are sorted."""
    return [
        one
        for one, later in pairwise(rows)
        if one[0] == later[0] and one[1] // seconds == later[1] // seconds
    ]


def _workspaces(connection: sa.Connection) -> Sequence[str]:
    return connection.scalars(sa.select(covered.c.workspace).distinct()).all()


def _series_after(after: int, connection: sa.Connection) -> dict[int, int]:
    """The next series, and when each had its last sample."""
    query = sa.select(series.c.id, series.c.last_at).where(series.c.id > after).order_by(series.c.id)
    return {i: last for i, last in connection.execute(query.limit(SERIES))}  # noqa: C416 # rows are not pairs to mypy


def _marks(stage: Stage) -> sa.ColumnElement[bool]:
    return sa.and_(series.c.key == stage.name, *(series.c[name] == value for name, value in MARK.items()))


def _marked(stage: Stage, connection: sa.Connection) -> int:
    return connection.scalar(sa.select(series.c.last_at).where(_marks(stage))) or 0


def _mark(stage: Stage, at: int, connection: sa.Connection) -> None:
    if not connection.execute(sa.update(series).where(_marks(stage)).values(last_at=at)).rowcount:
        connection.execute(sa.insert(series).values(**MARK, key=stage.name, last_at=at))


def _seconds(at: datetime) -> int:
    return int(at.timestamp())
