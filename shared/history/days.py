"""The counts of complete days: read once from the service, then kept.

Synchronous and within the caller's transaction.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, date, datetime
from typing import Any

import sqlalchemy as sa

from shared.api.models import COUNTS, StatsRow
from shared.history.engine import series

KIND = "day"


def days_of(connection: sa.Connection, workspace: str, *, start: date) -> dict[date, StatsRow]:
    """The days from `start` on that are known."""
    c = series.c
    which = (c.workspace == workspace) & (c.kind == KIND) & (c.key >= start.isoformat())
    found: dict[str, dict[str, Any]] = {}
    for key, metric, value in connection.execute(sa.select(c.key, c.metric, c.last_value).where(which)):
        found.setdefault(key, {})[metric] = None if value is None else int(value)
    return {date.fromisoformat(key): StatsRow(group=key, **counts) for key, counts in sorted(found.items())}


def keep_days(connection: sa.Connection, workspace: str, days: Mapping[date, StatsRow]) -> None:
    """Keep the counts of days, in place of what was kept of them."""
    c = series.c
    keys = [day.isoformat() for day in days]
    which = (c.workspace == workspace) & (c.kind == KIND) & c.key.in_(keys)
    connection.execute(sa.delete(series).where(which))
    rows = [
        {
            "workspace": workspace,
            "kind": KIND,
            "key": day.isoformat(),
            "metric": name,
            "last_at": int(datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp()),
            "last_value": getattr(counts, name),
        }
        for day, counts in days.items()
        for name in COUNTS
    ]
    if rows:
        connection.execute(sa.insert(series), rows)
