"""From a snapshot to rows: samples of what moved, transitions of what changed state, the snapshot itself; and thinning.

Synchronous and within the caller's transaction.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import sqlalchemy as sa

from shared.api.models import Inbox, StatsRow
from shared.health import Thresholds, by_score, roll_up
from shared.history.reading import Transition, aware
from shared.history.store import samples, series, snapshots, states, transitions
from shared.reports import totals
from shared.snapshot import Reading, Snapshot
from shared.snapshot_json import to_json

COUNTS = ("sends", "replies", "positive_replies", "meetings")
SNAPSHOT_EVERY = timedelta(seconds=60)
THINNING = ((timedelta(days=7), 3600), (timedelta(days=60), 86_400))
"""Samples older than this keep one, the last, in so many seconds."""
SNAPSHOT_THINNING = (timedelta(hours=6), 600)
KEPT_SNAPSHOTS = timedelta(hours=48)
KEPT_SAMPLES = timedelta(days=400)
KEPT_TRANSITIONS = timedelta(days=90)
BATCH = 400

Measure = tuple[str, str, str]
"""Kind, key, metric."""


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """A word that a thing is in: an inbox's status, its verdict, a sequence's status."""

    kind: str
    key: str
    label: str
    field: str
    value: str


class Writer:
    """Remembers what was written last, so that only what was read anew is looked at."""

    def __init__(self, thresholds: Thresholds) -> None:
        self._thresholds = thresholds
        self._seen: dict[tuple[str, str], datetime] = {}
        self._kept_at: dict[str, datetime] = {}

    def add(self, connection: sa.Connection, snapshot: Snapshot, *, now: datetime) -> tuple[Transition, ...]:
        """Write what is new; answers the transitions."""
        fresh = {
            name: reading for name, reading in _readings(snapshot) if self._is_fresh(snapshot, name, reading)
        }
        _write_samples(connection, snapshot.workspace, dict(_measures(fresh)), at=_seconds(now))
        found = _write_states(
            connection, snapshot.workspace, list(_states(fresh, self._thresholds)), at=_seconds(now)
        )
        last = self._kept_at.get(snapshot.workspace)
        if fresh and (last is None or not timedelta() <= now - last < SNAPSHOT_EVERY):
            _keep(connection, snapshot, at=_seconds(now))
            self._kept_at[snapshot.workspace] = now
        self._seen |= {
            (snapshot.workspace, name): reading.read_at for name, reading in fresh.items() if reading.read_at
        }
        return found

    def _is_fresh(self, snapshot: Snapshot, name: str, reading: Reading[Any]) -> bool:
        return reading.read_at is not None and self._seen.get((snapshot.workspace, name)) != reading.read_at


def _readings(snapshot: Snapshot) -> Iterator[tuple[str, Reading[Any]]]:
    yield "inboxes", snapshot.inboxes
    yield "sequences", snapshot.sequences
    yield "today", snapshot.today
    yield "stats", snapshot.stats["sequence"]


def _measures(fresh: dict[str, Reading[Any]]) -> Iterator[tuple[Measure, float | None]]:
    for inbox in _value(fresh, "inboxes"):
        yield ("inbox", inbox.email, "health_score"), inbox.health_score
        yield ("inbox", inbox.email, "daily_limit"), inbox.daily_limit
    for domain in roll_up(_value(fresh, "inboxes")):
        yield ("domain", domain.domain, "health_score"), domain.lowest
    for row in _value(fresh, "stats"):
        yield from _counts("sequence", row)
    if "stats" in fresh:
        yield from _counts("total", totals(_value(fresh, "stats"), group="total"))
    if "today" in fresh and fresh["today"].value:
        yield from _counts("today", fresh["today"].value)


def _value(fresh: dict[str, Reading[Any]], name: str) -> tuple[Any, ...]:
    return (fresh[name].value or ()) if name in fresh else ()


def _counts(kind: str, row: StatsRow) -> Iterator[tuple[Measure, float | None]]:
    for name in COUNTS:
        yield (kind, row.group, name), getattr(row, name)


def _states(fresh: dict[str, Reading[Any]], thresholds: Thresholds) -> Iterator[State]:
    for sequence in _value(fresh, "sequences"):
        yield State(
            kind="sequence",
            key=sequence.id,
            label=sequence.label,
            field="status",
            value=sequence.status or "unknown",
        )
    for inbox in _value(fresh, "inboxes"):
        yield from _inbox_states(inbox, thresholds)


def _inbox_states(inbox: Inbox, thresholds: Thresholds) -> Iterator[State]:
    word = by_score(inbox.health_score, thresholds)[1]
    for name, value in (("status", inbox.status or "unknown"), ("health", word)):
        yield State(kind="inbox", key=inbox.email, label=inbox.email, field=name, value=value)


def _write_samples(
    connection: sa.Connection, workspace: str, measures: dict[Measure, float | None], *, at: int
) -> None:
    if not measures:
        return
    known = {
        (row.kind, row.key, row.metric): row
        for row in connection.execute(sa.select(series).where(series.c.workspace == workspace))
    }
    added = [measure for measure in measures if measure not in known]
    moved = [
        m for m, row in known.items() if m in measures and measures[m] != row.last_value and at > row.last_at
    ]
    ids = {m: known[m].id for m in moved} | _add_series(connection, workspace, added, measures, at=at)
    rows = [{"series_id": ids[m], "at": at, "value": measures[m]} for m in (*added, *moved)]
    if rows:
        connection.execute(sa.insert(samples), rows)
    if moved:
        change = sa.update(series).where(series.c.id == sa.bindparam("of")).values(last_at=at)
        values = [{"of": known[m].id, "last_value": measures[m]} for m in moved]
        connection.execute(change, values)


def _add_series(
    connection: sa.Connection,
    workspace: str,
    added: list[Measure],
    measures: dict[Measure, float | None],
    *,
    at: int,
) -> dict[Measure, int]:
    ids: dict[Measure, int] = {}
    for start in range(0, len(added), BATCH):
        rows = [
            {
                "workspace": workspace,
                "kind": m[0],
                "key": m[1],
                "metric": m[2],
                "last_at": at,
                "last_value": measures[m],
            }
            for m in added[start : start + BATCH]
        ]
        answer = connection.execute(sa.insert(series).values(rows).returning(series))
        ids |= {(row.kind, row.key, row.metric): row.id for row in answer}
    return ids


def _write_states(
    connection: sa.Connection, workspace: str, found: list[State], *, at: int
) -> tuple[Transition, ...]:
    if not found:
        return ()
    rows = connection.execute(sa.select(states).where(states.c.workspace == workspace))
    known = {(row.kind, row.key, row.field): row.value for row in rows}
    added = {(s.kind, s.key, s.field): s for s in found if (s.kind, s.key, s.field) not in known}
    moved = [s for s in found if known.get((s.kind, s.key, s.field), s.value) != s.value]
    if added:
        rows_added = [
            {"workspace": workspace, "kind": s.kind, "key": s.key, "field": s.field, "value": s.value}
            for s in added.values()
        ]
        connection.execute(sa.insert(states), rows_added)
    changed = [_transition(s, before=known[s.kind, s.key, s.field], at=at) for s in moved]
    for one in changed:
        _move(connection, workspace, one, at=at)
    return tuple(changed)


def _transition(state: State, *, before: str, at: int) -> Transition:
    return Transition(
        at=aware(at),
        kind=state.kind,
        key=state.key,
        label=state.label,
        field=state.field,
        before=before,
        after=state.value,
    )


def _move(connection: sa.Connection, workspace: str, one: Transition, *, at: int) -> None:
    which = (states.c.workspace == workspace) & (states.c.kind == one.kind) & (states.c.key == one.key)
    connection.execute(sa.update(states).where(which, states.c.field == one.field).values(value=one.after))
    connection.execute(
        sa.insert(transitions).values(
            workspace=workspace,
            at=at,
            kind=one.kind,
            key=one.key,
            label=one.label,
            field=one.field,
            before=one.before,
            after=one.after,
        )
    )


def _keep(connection: sa.Connection, snapshot: Snapshot, *, at: int) -> None:
    body = zlib.compress(json.dumps(to_json(snapshot), separators=(",", ":")).encode(), 6)
    where = (snapshots.c.workspace == snapshot.workspace) & (snapshots.c.at == at)
    connection.execute(sa.delete(snapshots).where(where))
    connection.execute(sa.insert(snapshots).values(workspace=snapshot.workspace, at=at, body=body))


def prune(connection: sa.Connection, *, now: datetime) -> None:
    """Thin out what is old, drop what is older. The last sample of a series stays: its value still holds."""
    for age, seconds in THINNING:
        last = sa.select(samples.c.series_id, sa.func.max(samples.c.at)).where(
            samples.c.at < _seconds(now - age)
        )
        kept = last.group_by(samples.c.series_id, samples.c.at // seconds)
        one = sa.tuple_(samples.c.series_id, samples.c.at)
        connection.execute(sa.delete(samples).where(samples.c.at < _seconds(now - age), one.not_in(kept)))
    holding = sa.select(series.c.id).where(
        series.c.id == samples.c.series_id, series.c.last_at == samples.c.at
    )
    old = samples.c.at < _seconds(now - KEPT_SAMPLES)
    connection.execute(sa.delete(samples).where(old, ~holding.exists()))
    connection.execute(sa.delete(transitions).where(transitions.c.at < _seconds(now - KEPT_TRANSITIONS)))
    _prune_snapshots(connection, now=now)


def _prune_snapshots(connection: sa.Connection, *, now: datetime) -> None:
    connection.execute(sa.delete(snapshots).where(snapshots.c.at < _seconds(now - KEPT_SNAPSHOTS)))
    age, seconds = SNAPSHOT_THINNING
    last = sa.select(snapshots.c.workspace, sa.func.max(snapshots.c.at)).where(
        snapshots.c.at < _seconds(now - age)
    )
    kept = last.group_by(snapshots.c.workspace, snapshots.c.at // seconds)
    one = sa.tuple_(snapshots.c.workspace, snapshots.c.at)
    connection.execute(sa.delete(snapshots).where(snapshots.c.at < _seconds(now - age), one.not_in(kept)))


def _seconds(at: datetime) -> int:
    return int(at.timestamp())
