"""Thinning out what is old and dropping what is older, so that the history stays bounded.

Synchronous and within the caller's transaction.
"""

from __future__ import annotations

from datetime import datetime, timedelta

import sqlalchemy as sa

from shared.history.engine import samples, series, snapshots, transitions

THINNING = ((timedelta(days=7), 3600), (timedelta(days=60), 86_400))
"""Samples older than this keep one, the last, in so many seconds."""
SNAPSHOT_THINNING = (timedelta(hours=6), 600)
KEPT_SNAPSHOTS = timedelta(hours=48)
KEPT_SAMPLES = timedelta(days=400)
KEPT_TRANSITIONS = timedelta(days=90)


def prune(connection: sa.Connection, *, now: datetime) -> None:
    """Everything by its age. The last sample of a series stays: its value still holds."""
    for age, seconds in THINNING:
        _thin(connection, samples, samples.c.series_id, before=_seconds(now - age), seconds=seconds)
    holding = sa.select(series.c.id).where(
        series.c.id == samples.c.series_id, series.c.last_at == samples.c.at
    )
    old = samples.c.at < _seconds(now - KEPT_SAMPLES)
    connection.execute(sa.delete(samples).where(old, ~holding.exists()))
    connection.execute(sa.delete(transitions).where(transitions.c.at < _seconds(now - KEPT_TRANSITIONS)))
    connection.execute(sa.delete(snapshots).where(snapshots.c.at < _seconds(now - KEPT_SNAPSHOTS)))
    age, seconds = SNAPSHOT_THINNING
    _thin(connection, snapshots, snapshots.c.workspace, before=_seconds(now - age), seconds=seconds)


def _thin(
    connection: sa.Connection, table: sa.Table, owner: sa.ColumnElement[object], *, before: int, seconds: int
) -> None:
    old = table.c.at < before
    last = sa.select(owner, sa.func.max(table.c.at)).where(old).group_by(owner, table.c.at // seconds)
    connection.execute(sa.delete(table).where(old, sa.tuple_(owner, table.c.at).not_in(last)))


def _seconds(at: datetime) -> int:
    return int(at.timestamp())
