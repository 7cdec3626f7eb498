"""Thins out and deletes what is old, a portion at a time, so that the history stays bounded and no other work is held up.

What was thinned is not read again: a row for each stage says until when it is done, for all processes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from itertools import islice
from typing import NamedTuple, Protocol, TypeVar

import sqlalchemy as sa

from shared.history.engine import Act, covered, samples, series, snapshots, transitions

T = TypeVar("T")
EVERY = timedelta(hours=1)
MOST_PORTIONS = 50
"""Transactions at a time; what is left is done with the next poll."""
SERIES_TOGETHER = 200
"""A transaction thins so many series: of the day that came of age, since whoever writes thins as well."""
DAY_SECONDS = 86_400
SNAPSHOTS_THINNED, SNAPSHOT_SECONDS = timedelta(hours=6), 600
"""Older than this, one snapshot in so many seconds stays."""
KEPT_SNAPSHOTS = timedelta(hours=48)
KEPT_SAMPLES = timedelta(days=400)
KEPT_TRANSITIONS = timedelta(days=90)
MARK = {"workspace": "", "kind": "thinned", "metric": ""}
"""The series, of no workspace, whose `last_at` says until when a stage is done."""


class Stage(NamedTuple):
    """Samples of this age keep one, the last, in so many seconds; with none, only the value that still holds."""

    name: str
    age: timedelta
    seconds: int | None = None


STAGES = (
    Stage("hour", timedelta(days=7), 3600),
    Stage("day", timedelta(days=60), DAY_SECONDS),
    Stage("kept", KEPT_SAMPLES),
)


class Overview(NamedTuple):
    """The facts that a pass needs: until when each stage is done, and the newest series."""

    marks: Mapping[str, int]
    newest: int


class Transact(Protocol):
    """One transaction in the history's thread."""

    async def __call__(self, act: Act[T]) -> T: ...


class Retention:
    """`run` with every poll; once an hour it begins a pass, which it ends over as many calls as it takes."""

    def __init__(self, read: Transact, write: Transact) -> None:
        self._read, self._write = read, write
        self._began_at: datetime | None = None
        self._left: Iterator[sa.Executable] = iter(())
        self.is_under_way = False

    async def run(self, *, now: datetime) -> None:
        """Some portions of the pass under way, each in its transaction. Raises `HistoryUnavailable`."""
        if not self.is_under_way:
            if self._began_at is not None and timedelta() <= now - self._began_at < EVERY:
                return
            self._began_at, self._left = (
                now,
                _portions(await self._read(_overview), now=now),
            )
        portions = list(islice(self._left, MOST_PORTIONS))
        self.is_under_way = False  # where one fails, it begins again with the next pass
        for portion in portions:
            await self._write(lambda connection, portion=portion: connection.execute(portion))  # type: ignore[misc]
        self.is_under_way = len(portions) == MOST_PORTIONS


def _portions(overview: Overview, *, now: datetime) -> Iterator[sa.Executable]:
    """The statements of a pass, in order: a stage is marked as done after its last one."""
    for table, at, age in _KEPT:
        yield sa.delete(table).where(_is_there(table), at < _seconds(now - age))
    c = snapshots.c
    same = _later_in_bucket(snapshots, c.workspace, c.at, SNAPSHOT_SECONDS)
    yield sa.delete(snapshots).where(_is_there(snapshots), c.at < _seconds(now - SNAPSHOTS_THINNED), same)
    s = samples.c
    for stage in STAGES:
        end = _seconds(now - stage.age) // DAY_SECONDS * DAY_SECONDS
        done = overview.marks.get(stage.name, 0)
        if done > end + DAY_SECONDS:
            done = 0  # a clock that was ahead has marked too much
        if done >= end:
            continue
        superfluous = _later_in_bucket(samples, s.series_id, s.at, stage.seconds)
        of_age = (s.at >= done) & (s.at < end)
        for first in range(1, overview.newest + 1, SERIES_TOGETHER):
            # By their ids, so that the index leads to the days of each.
            some = series.c.id.between(first, first + SERIES_TOGETHER - 1)
            together = s.series_id.in_(sa.select(series.c.id).where(some))
            yield sa.delete(samples).where(together, of_age, superfluous)
        yield sa.delete(series).where(_marks(stage))
        yield sa.insert(series).values(**MARK, key=stage.name, last_at=end)


_KEPT: tuple[tuple[sa.Table, sa.ColumnElement[int], timedelta], ...] = (
    (transitions, transitions.c.at, KEPT_TRANSITIONS),
    (snapshots, snapshots.c.at, KEPT_SNAPSHOTS),
    (covered, covered.c.end, KEPT_SAMPLES),
)


def _is_there(table: sa.Table) -> sa.ColumnElement[bool]:
    """Every workspace, named so that the tables' indexes, which begin with it, are used."""
    return table.c.workspace.in_(sa.select(covered.alias().c.workspace).distinct())


def _later_in_bucket(
    table: sa.Table, owner: sa.Column[int] | sa.Column[str], at: sa.Column[int], seconds: int | None
) -> sa.ColumnElement[bool]:
    """True of a row that a later one of the same owner follows, within the same so many seconds."""
    later = table.alias()
    follows = [later.c[owner.name] == owner, later.c[at.name] > at]
    if seconds is not None:
        follows.append(later.c[at.name] < (at // seconds + 1) * seconds)
    return sa.exists().where(*follows)


def _overview(connection: sa.Connection) -> Overview:
    c = series.c
    marked = sa.select(c.key, c.last_at).where(*(c[name] == value for name, value in MARK.items()))
    marks = {key: last_at for key, last_at in connection.execute(marked)}  # noqa: C416 # rows are not pairs to mypy
    newest = connection.scalar(sa.select(sa.func.max(c.id)))
    return Overview(marks, newest or 0)


def _marks(stage: Stage) -> sa.ColumnElement[bool]:
    return sa.and_(series.c.key == stage.name, *(series.c[name] == value for name, value in MARK.items()))


def _seconds(at: datetime) -> int:
    return int(at.timestamp())
