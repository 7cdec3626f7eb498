"""The counts of complete days, of the workspace and of each sequence: read once from the service, then kept.

Synchronous and within the caller's transaction.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, date, datetime
from typing import Any

import sqlalchemy as sa

from shared.api.models import StatsRow
from shared.api.words import COUNTS
from shared.domain.totals import totals
from shared.history.engine import samples, series
from shared.history.measurements import SeriesKey, storable

KIND = "day"
GROUPED = "day_by_sequence"
"""Marks a day whose counts were kept by sequence too."""
SEQUENCE = "sequence_day"
"""A series of each sequence, with a sample a day: it is thinned out and ends as all samples do."""
KINDS = (KIND, GROUPED, SEQUENCE)


def days_of(connection: sa.Connection, workspace: str, *, start: date) -> dict[date, StatsRow]:
    """The days from `start` on that are known."""
    c = series.c
    which = (c.workspace == workspace) & (c.kind == KIND) & (c.key >= start.isoformat())
    found: dict[str, dict[str, Any]] = {}
    for key, metric, value in connection.execute(sa.select(c.key, c.metric, c.last_value).where(which)):
        found.setdefault(key, {})[metric] = _count(value)
    return {date.fromisoformat(key): StatsRow(group=key, **counts) for key, counts in sorted(found.items())}


def grouped_days(connection: sa.Connection, workspace: str, *, start: date) -> frozenset[date]:
    """The days from `start` on whose counts are known by sequence."""
    c = series.c
    which = (c.workspace == workspace) & (c.kind == GROUPED) & (c.key >= start.isoformat())
    return frozenset(map(date.fromisoformat, connection.scalars(sa.select(c.key).where(which))))


def days_of_sequence(
    connection: sa.Connection, workspace: str, *, keys: Sequence[str], start: date
) -> dict[date, StatsRow]:
    """The days from `start` on of the first of these keys that has any; a day on which it is left out has no sends."""
    c = series.c
    which = (c.workspace == workspace) & (c.kind == SEQUENCE) & c.key.in_(map(storable, keys))
    joined = sa.join(samples, series, samples.c.series_id == c.id)
    chosen = sa.select(c.key, c.metric, samples.c.at, samples.c.value).select_from(joined)
    found: defaultdict[str, defaultdict[date, dict[str, Any]]] = defaultdict(lambda: defaultdict(dict))
    for key, metric, at, value in connection.execute(chosen.where(which, samples.c.at >= _midnight(start))):
        found[key][datetime.fromtimestamp(at, UTC).date()][metric] = _count(value)
    counts = next((found[key] for key in map(storable, keys) if key in found), None)
    if counts is None:
        return {}
    nothing = dict.fromkeys(COUNTS, 0)
    days = sorted(grouped_days(connection, workspace, start=max(start, min(counts))))
    return {day: StatsRow(group=day.isoformat(), **counts.get(day, nothing)) for day in days}


def keep_days(connection: sa.Connection, workspace: str, days: Mapping[date, Sequence[StatsRow]]) -> None:
    """Keep the counts of days by sequence, in place of what was kept of them."""
    c = series.c
    keys = [day.isoformat() for day in days]
    which = (c.workspace == workspace) & c.kind.in_((KIND, GROUPED)) & c.key.in_(keys)
    connection.execute(sa.delete(series).where(which))
    marks = [
        _series(workspace, (GROUPED, day.isoformat(), "sequences"), day, len(rows))
        for day, rows in days.items()
    ]
    whole = [
        _series(workspace, (KIND, day.isoformat(), name), day, getattr(totals(rows, group=""), name))
        for day, rows in days.items()
        for name in COUNTS
    ]
    if days:
        connection.execute(sa.insert(series), [*marks, *whole])
    for day, rows in days.items():
        _keep_samples(connection, workspace, day, rows)


def _keep_samples(connection: sa.Connection, workspace: str, day: date, rows: Iterable[StatsRow]) -> None:
    values = {(storable(row.group), name): getattr(row, name) for row in rows for name in COUNTS}
    ids = _sequence_series(connection, workspace)
    if added := [place for place in values if place not in ids]:
        made = [_series(workspace, (SEQUENCE, key, name), day, values[key, name]) for key, name in added]
        connection.execute(sa.insert(series), made)
        ids = _sequence_series(connection, workspace)
    places = [{"of": i, "day": _midnight(day), "count": values.get(place)} for place, i in ids.items()]
    if not places:
        return
    gone = (samples.c.series_id == sa.bindparam("of")) & (samples.c.at == sa.bindparam("day"))
    connection.execute(sa.delete(samples).where(gone), places)
    kept = [one for place, one in zip(ids, places, strict=True) if place in values]
    if kept:
        sample = sa.insert(samples).values(
            series_id=sa.bindparam("of"), at=sa.bindparam("day"), value=sa.bindparam("count")
        )
        connection.execute(sample, kept)
        later = (series.c.id == sa.bindparam("of")) & (series.c.last_at < sa.bindparam("day"))
        last: dict[str, Any] = {"last_at": sa.bindparam("day"), "last_value": sa.bindparam("count")}
        connection.execute(sa.update(series).where(later).values(last), kept)


def _sequence_series(connection: sa.Connection, workspace: str) -> dict[tuple[str, str], int]:
    c = series.c
    chosen = sa.select(c.key, c.metric, c.id).where(c.workspace == workspace, c.kind == SEQUENCE)
    return {(key, metric): i for key, metric, i in connection.execute(chosen)}


def _series(workspace: str, place: SeriesKey, day: date, value: float | None) -> dict[str, Any]:
    kind, key, metric = place
    return {
        "workspace": workspace, "kind": kind, "key": key, "metric": metric,
        "last_at": _midnight(day), "last_value": value,
    }  # fmt: skip


def _count(value: float | None) -> int | None:
    return None if value is None else int(value)


def _midnight(day: date) -> int:
    return int(datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp())
