"""Reading the history: series thinned out in the database, transitions, snapshots of a moment.

Synchronous and within the caller's transaction.
"""

from __future__ import annotations

import math
import zlib
from collections import defaultdict
from collections.abc import Iterable
from datetime import datetime
from itertools import groupby
from operator import itemgetter
from sys import intern
from typing import NotRequired, TypedDict

import sqlalchemy as sa

from shared.domain.snapshot import Snapshot, from_text
from shared.domain.wall_clock import moment
from shared.frozen import frozen
from shared.history.engine import covered, samples, series, snapshots, transitions


@frozen
class Sample:
    """A value that held from `at` on; `low` and `high` are the extremes until the next sample."""

    at: datetime
    value: float | None
    low: float | None
    high: float | None


@frozen
class Transition:
    """A thing that went from one word to another: inbox a@x.com, status, active -> resting."""

    at: datetime
    kind: str
    key: str
    label: str
    field: str
    before: str
    after: str


def aware(seconds: int) -> datetime:
    """Unix seconds as an aware time in UTC."""
    return moment(seconds)


class Which(TypedDict):
    """The choice of values and of the time, and the largest number of points.

    Kinds and metrics: inbox and domain `health_score`; inbox `daily_limit`; sequence (the stats' group), total and
    today `sends`, `replies`, `positive_replies`, `meetings`. Total and today are their own keys.
    """

    kind: str
    metric: str
    start: datetime
    end: datetime
    points: NotRequired[int]


@frozen
class SeriesQuery:
    """A choice of values of one workspace over a time, in so many points at most."""

    workspace: str
    kind: str
    metric: str
    start: datetime
    end: datetime
    points: int = 120

    def read(self, connection: sa.Connection, *, key: str | None = None) -> dict[str, tuple[Sample, ...]]:
        """Samples by key: the value that held at the start, then one per bucket in which it moved."""
        by_key: defaultdict[str, list[Sample]] = defaultdict(list)
        for name, value in connection.execute(self._held(key)):
            by_key[name].append(Sample(at=self.start, value=value, low=value, high=value))
        for name, at, value, low, high in connection.execute(self._moved(key)):
            by_key[name].append(Sample(at=aware(at), value=value, low=low, high=high))
        return {name: tuple(values) for name, values in by_key.items()}

    def sparklines(self, connection: sa.Connection) -> dict[str, tuple[float, ...]]:
        """The value at evenly spaced times by key, row by row, equal ones kept once: there are a hundred thousand."""
        once: dict[float | None, float | None] = {}
        held = {
            row.key: once.setdefault(row.value, row.value) for row in connection.execute(self._held(None))
        }
        courses = {
            intern(name): self._course(
                held.pop(name, None), [(row.at, once.setdefault(row.value, row.value)) for row in rows]
            )
            for name, rows in groupby(connection.execute(self._moved(None)), key=itemgetter(0))
        }
        return courses | {intern(name): self._course(value, ()) for name, value in held.items()}

    def _course(self, held: float | None, moved: Iterable[tuple[int, float | None]]) -> tuple[float, ...]:
        start, step = self.start.timestamp(), (self.end - self.start).total_seconds() / self.points
        values = [held] * self.points
        for at, value in moved:
            first = max(0, math.ceil((at - start) / step) - 1)
            values[first:] = [value] * (self.points - first)
        return tuple(value for value in values if value is not None)

    def _which(self, key: str | None) -> sa.ColumnElement[bool]:
        c = series.c
        which = (c.workspace == self.workspace) & (c.kind == self.kind) & (c.metric == self.metric)
        return which & (c.key == key) if key is not None else which

    def _held(self, key: str | None) -> sa.Select[str, float]:
        """The last sample of each before the start."""
        before = samples.alias()
        last = sa.select(sa.func.max(before.c.at)).where(
            before.c.series_id == series.c.id, before.c.at < int(self.start.timestamp())
        )
        joined = sa.join(samples, series, samples.c.series_id == series.c.id)
        chosen = sa.select(series.c.key, samples.c.value).select_from(joined)
        return chosen.where(self._which(key), samples.c.at == last.scalar_subquery())

    def _moved(self, key: str | None) -> sa.Select[str, int, float, float, float]:
        start, end = int(self.start.timestamp()), int(self.end.timestamp())
        width = max((end - start) // max(self.points, 1), 1)
        bucket = (samples.c.at - start) // width
        per_bucket = (samples.c.series_id, bucket)
        ranked = (
            sa.select(
                series.c.key,
                samples.c.at,
                samples.c.value,
                sa.func.min(samples.c.value).over(partition_by=per_bucket).label("low"),
                sa.func.max(samples.c.value).over(partition_by=per_bucket).label("high"),
                sa.func.row_number()
                .over(partition_by=per_bucket, order_by=samples.c.at.desc())
                .label("rank"),
            )
            .select_from(sa.join(samples, series, samples.c.series_id == series.c.id))
            .where(self._which(key), samples.c.at >= start, samples.c.at <= end)
            .subquery()
        )
        columns = (ranked.c.key, ranked.c.at, ranked.c.value, ranked.c.low, ranked.c.high)
        return sa.select(*columns).where(ranked.c.rank == 1).order_by(ranked.c.key, ranked.c.at)


@frozen
class About:
    """A choice of changes: of one kind of things, one of them by its key, the inboxes of a domain, one field."""

    kind: str = ""
    key: str = ""
    domain: str = ""
    field: str = ""


def transitions_of(
    connection: sa.Connection,
    workspace: str,
    *,
    start: datetime | None,
    end: datetime | None = None,
    about: About | None = None,
    limit: int,
) -> tuple[Transition, ...]:
    """The transitions, the newest first."""
    c = transitions.c
    chosen = sa.select(c.at, c.kind, c.key, c.label, c.field, c.before, c.after).where(
        c.workspace == workspace
    )
    if start is not None:
        chosen = chosen.where(c.at >= int(start.timestamp()))
    if end is not None:
        chosen = chosen.where(c.at <= int(end.timestamp()))
    if about:
        chosen = chosen.where(c.kind == about.kind) if about.kind else chosen
        chosen = chosen.where(c.field == about.field) if about.field else chosen
        chosen = chosen.where(c.key == about.key) if about.key else chosen
        chosen = (
            chosen.where(c.key.iendswith(f"@{about.domain}", autoescape=True)) if about.domain else chosen
        )
    rows = connection.execute(chosen.order_by(c.at.desc(), c.id.desc()).limit(limit)).mappings()
    return tuple(Transition(**{**row, "at": aware(row["at"])}) for row in rows)


def snapshot_times(
    connection: sa.Connection, workspace: str, *, start: datetime, end: datetime
) -> tuple[datetime, ...]:
    """The times of the snapshots that were kept, the oldest first."""
    c = snapshots.c
    span = c.at.between(int(start.timestamp()), int(end.timestamp()))
    return tuple(
        map(aware, connection.scalars(sa.select(c.at).where(c.workspace == workspace, span).order_by(c.at)))
    )


def snapshot_at(connection: sa.Connection, workspace: str, *, at: datetime) -> Snapshot | None:
    """The last snapshot that was kept until then; None where there is none, or it cannot be read."""
    c = snapshots.c
    until = sa.select(c.body).where(c.workspace == workspace, c.at <= int(at.timestamp()))
    body = connection.scalar(until.order_by(c.at.desc()).limit(1))
    try:
        return from_text(zlib.decompress(body)) if body is not None else None
    except (ValueError, KeyError, TypeError, IndexError, zlib.error):
        return None


def covered_times(
    connection: sa.Connection, workspace: str, *, end: datetime
) -> tuple[tuple[datetime, datetime], ...]:
    """The times in which values were read, oldest first."""
    c = covered.c
    chosen = sa.select(c.start, c.end).where(c.workspace == workspace, c.start <= int(end.timestamp()))
    return tuple(
        (aware(start), aware(ended)) for start, ended in connection.execute(chosen.order_by(c.start))
    )
