"""Writes snapshots as rows: samples of changed numbers, transitions of changed statuses, and the snapshot.

Synchronous and within the caller's transaction.
"""

from __future__ import annotations

import secrets
import zlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime
from sys import intern
from typing import Any

import sqlalchemy as sa

from shared.api.models import Inbox
from shared.domain.health import Thresholds
from shared.domain.snapshot import Reading, Snapshot, to_text
from shared.frozen import frozen
from shared.history import measurements
from shared.history.engine import (
    covered,
    samples,
    series,
    snapshots,
    states,
    transitions,
    turns,
)
from shared.history.measurements import SeriesKey
from shared.history.reader import Transition, aware

KEPT_EVERY_SECONDS = 120
"""Snapshots are kept so far apart: the past is looked at in these steps, and the next start shows the last."""
GAP = 1200
"""Seconds without a read that make a gap; the bot reads every fifteen minutes where no dashboard runs."""
COVER_EVERY = 15
"""Seconds between two notes of the time that is covered."""
BATCH = 400


@dataclass(slots=True, kw_only=True)
class LastSample:
    """The last sample of a series."""

    id: int
    at: int
    value: float | None


@dataclass(slots=True, kw_only=True)
class WriterState:
    """The stored values of a workspace, valid until another process writes and changes the token."""

    token: str | None = None
    series: dict[SeriesKey, LastSample] = field(default_factory=dict)
    words: dict[SeriesKey, str] = field(default_factory=dict)
    inboxes: tuple[Inbox, ...] = ()
    """Those that were written last: one that is still the same object needs no second look."""
    inboxes_at: int = 0

    def note_inboxes(self, inboxes: tuple[Inbox, ...], *, at: int) -> None:
        """Remember what was written; nothing where the clock did not go on, and samples were left out."""
        self.inboxes = inboxes if at > self.inboxes_at else ()
        self.inboxes_at = max(at, self.inboxes_at)


class Writer:
    """Remembers what was written last, so that only what moved is looked at again."""

    def __init__(self, thresholds: Thresholds) -> None:
        self._thresholds = thresholds
        self._seen: dict[tuple[str, str], datetime] = {}
        self._kept_at: dict[str, int] = {}
        self._covered_at: dict[str, int] = {}
        self._known: dict[str, WriterState] = {}

    def add(self, connection: sa.Connection, snapshot: Snapshot, *, now: datetime) -> tuple[Transition, ...]:
        """Write what is new; answers the transitions."""
        workspace, at = snapshot.workspace, int(now.timestamp())
        fresh = {
            name: reading
            for name, reading in measurements.readings(snapshot)
            if self._is_fresh(workspace, name, reading)
        }
        self._keep(connection, snapshot, now=now)
        if not fresh:
            return ()
        self._cover(connection, workspace, at)
        state = self._look(connection, workspace)
        poll = _Poll(connection=connection, workspace=workspace, known=state, at=at)
        moved = poll.write_samples(measurements.measures(fresh, written=state.inboxes))
        words = measurements.words(fresh, self._thresholds, written=state.inboxes)
        changed, added = poll.write_words(words, labels=measurements.labels(fresh))
        if "inboxes" in fresh:
            state.note_inboxes(fresh["inboxes"].value or (), at=at)
        if moved or changed or added:
            state.token = _sign(connection, workspace)
        self._seen |= {
            (workspace, name): reading.read_at for name, reading in fresh.items() if reading.read_at
        }
        return changed

    def mark_written(self, snapshot: Snapshot) -> None:
        for name, reading in measurements.readings(snapshot):
            if reading.read_at:
                self._seen.setdefault((snapshot.workspace, name), reading.read_at)

    def _is_fresh(self, workspace: str, name: str, reading: Reading[Any]) -> bool:
        return reading.read_at is not None and self._seen.get((workspace, name)) != reading.read_at

    def _look(self, connection: sa.Connection, workspace: str) -> WriterState:
        """The state of a workspace, read again when another process has written, or a transaction of ours was lost."""
        token = connection.scalar(sa.select(turns.c.token).where(turns.c.workspace == workspace))
        state = self._known.get(workspace)
        if state is None or state.token != token:
            state = self._known[workspace] = _read_known(connection, workspace, token=token)
        return state

    def _keep(self, connection: sa.Connection, snapshot: Snapshot, *, now: datetime) -> None:
        """Keep a snapshot now and then; one that is half loaded is none."""
        workspace, at = snapshot.workspace, int(now.timestamp())
        kept_at = self._kept_at.get(workspace)
        is_due = kept_at is None or not 0 <= at - kept_at < KEPT_EVERY_SECONDS
        if not snapshot.is_whole or not is_due:
            return
        packer = zlib.compressobj(3)
        body = b"".join([*(packer.compress(piece.encode()) for piece in to_text(snapshot)), packer.flush()])
        c = snapshots.c  # another process may have kept one in this second
        connection.execute(sa.delete(snapshots).where((c.workspace == workspace) & (c.at == at)))
        connection.execute(sa.insert(snapshots).values(workspace=workspace, at=at, body=body))
        self._kept_at[workspace] = at

    def _cover(self, connection: sa.Connection, workspace: str, at: int) -> None:
        c = covered.c
        noted = self._covered_at.get(workspace)
        if noted is not None and 0 <= at - noted < COVER_EVERY:
            return
        last = connection.execute(
            sa.select(c.start, c.end).where(c.workspace == workspace).order_by(c.start.desc()).limit(1)
        ).first()
        if last and last.start <= at <= last.end + GAP:
            which = (c.workspace == workspace) & (c.start == last.start)
            connection.execute(sa.update(covered).where(which).values(end=max(at, last.end)))
        elif last is None or at > last.end:
            connection.execute(sa.insert(covered).values(workspace=workspace, start=at, end=at))
        self._covered_at[workspace] = at


def _read_known(connection: sa.Connection, workspace: str, *, token: str | None) -> WriterState:
    c, s = series.c, states.c
    columns = (c.kind, c.key, c.metric, c.id, c.last_at, c.last_value)
    rows = connection.execute(sa.select(*columns).where(c.workspace == workspace))
    words = connection.execute(sa.select(s.kind, s.key, s.field, s.value).where(s.workspace == workspace))
    return WriterState(
        token=token,
        series={
            _series_key(kind, key, metric): LastSample(id=i, at=at, value=value)
            for kind, key, metric, i, at, value in rows
        },
        words={_series_key(kind, key, name): intern(value) for kind, key, name, value in words},
    )


def _series_key(kind: str, key: str, name: str) -> SeriesKey:
    return intern(kind), intern(key), intern(name)


def _sign(connection: sa.Connection, workspace: str) -> str:
    token = secrets.token_hex(8)
    connection.execute(sa.delete(turns).where(turns.c.workspace == workspace))
    connection.execute(sa.insert(turns).values(workspace=workspace, token=token))
    return token


@frozen
class _Poll:
    """Writes the rows of one poll."""

    connection: sa.Connection
    workspace: str
    known: WriterState
    at: int

    def write_samples(self, measures: Mapping[SeriesKey, float | None]) -> bool:
        """Return True if anything was written. A sample from before the last one, by a clock that stepped back, is left out."""
        held = self.known.series
        added = [place for place in measures if place not in held]
        moved = [
            place
            for place, value in measures.items()
            if (last := held.get(place)) and last.value != value and self.at > last.at
        ]
        for start in range(0, len(added), BATCH):
            self._add_series({place: measures[place] for place in added[start : start + BATCH]})
        for place in moved:
            held[place] = LastSample(id=held[place].id, at=self.at, value=measures[place])
        rows = [{"of": held[place].id, "value": measures[place]} for place in (*added, *moved)]
        if rows:
            sample = sa.insert(samples).values(series_id=sa.bindparam("of"), at=self.at)
            self.connection.execute(sample, rows)
            change = sa.update(series).where(series.c.id == sa.bindparam("of"))
            self.connection.execute(change.values(last_at=self.at, last_value=sa.bindparam("value")), rows)
        return bool(rows)

    def _add_series(self, added: Mapping[SeriesKey, float | None]) -> None:
        common, c = {"workspace": self.workspace, "last_at": self.at}, series.c
        rows = [{**common, "kind": kind, "key": key, "metric": metric} for kind, key, metric in added]
        made = sa.insert(series).values(rows).returning(c.kind, c.key, c.metric, c.id)
        for kind, key, metric, i in self.connection.execute(made):
            last = LastSample(id=i, at=self.at, value=added[kind, key, metric])
            self.known.series[_series_key(kind, key, metric)] = last

    def write_words(
        self, words: Mapping[SeriesKey, str], *, labels: Mapping[str, str]
    ) -> tuple[tuple[Transition, ...], int]:
        """The transitions, and the number of new things."""
        before, common = self.known.words, {"workspace": self.workspace}
        added = [place for place in words if place not in before]
        moved = [place for place, word in words.items() if before.get(place, word) != word]
        changed = tuple(
            Transition(
                at=aware(self.at),
                kind=kind,
                key=key,
                label=labels.get(key, key),
                field=name,
                before=before[kind, key, name],
                after=words[kind, key, name],
            )
            for kind, key, name in moved
        )
        if added:
            rows = [
                {**common, "kind": kind, "key": key, "field": name, "value": words[kind, key, name]}
                for kind, key, name in added
            ]
            self.connection.execute(sa.insert(states), rows)
        if moved:
            which = (states.c.workspace == self.workspace) & (states.c.kind == sa.bindparam("of_kind"))
            which &= (states.c.key == sa.bindparam("of_key")) & (states.c.field == sa.bindparam("of_field"))
            rows = [
                {"of_kind": kind, "of_key": key, "of_field": name, "value": words[kind, key, name]}
                for kind, key, name in moved
            ]
            self.connection.execute(sa.update(states).where(which).values(value=sa.bindparam("value")), rows)
        if changed:
            saved = [{**asdict(transition), **common, "at": self.at} for transition in changed]
            self.connection.execute(sa.insert(transitions), saved)
        before.update({place: words[place] for place in (*added, *moved)})
        return changed, len(added)
