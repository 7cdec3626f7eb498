"""Writes snapshots as rows: samples of changed health scores, transitions of changed statuses, and the snapshot.

Synchronous and within the caller's transaction.
"""

from __future__ import annotations

import secrets
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from sys import intern
from typing import Any

import sqlalchemy as sa

from shared.api.models import Inbox
from shared.domain.health import Thresholds, by_score
from shared.domain.snapshot import Reading, Snapshot, to_text
from shared.history.engine import METRIC, covered, samples, series, snapshots, states, transitions, turns

KEPT_EVERY_SECONDS = 120
"""Snapshots are kept so far apart: the past is looked at in these steps, and the next start shows the last."""
GAP_SECONDS = 1200
"""The time without a read that makes a gap; the bot reads every fifteen minutes where no dashboard runs."""
COVER_EVERY_SECONDS = 15
"""Time between two notes of the time that is covered."""
BATCH_ROWS = 400
SNAPSHOTS_THINNED, SNAPSHOT_SECONDS = timedelta(hours=6), 600
"""Older than this, one snapshot in so many seconds stays."""
KEPT_SNAPSHOTS = timedelta(hours=48)
KEPT = timedelta(days=90)
"""Health and changes are kept for so long; of the health before, the value that still holds."""
SERIES_TOGETHER = 200
"""Series from which one transaction deletes: other writers get their turn in between."""

Subject = tuple[str, str]
"""Kind and key: inbox and address, domain and name, sequence and id."""
Word = tuple[str, str, str]
"""Kind, key, and the field that the word is of."""


@dataclass(slots=True, kw_only=True)
class LastSample:
    """The last sample of a series."""

    id: int
    at: int
    value: float | None


@dataclass(slots=True, kw_only=True)
class WriterState:
    """The stored values of a workspace, valid until another process writes and changes the token."""

    token: str | None
    series: dict[Subject, LastSample] = field(default_factory=dict)
    words: dict[Word, str] = field(default_factory=dict)


class Writer:
    """Remembers what was written last, so that only what moved is written."""

    def __init__(self, thresholds: Thresholds) -> None:
        self._thresholds = thresholds
        self._seen: dict[Subject, datetime] = {}
        self._kept_at: dict[str, int] = {}
        self._covered_at: dict[str, int] = {}
        self._states: dict[str, WriterState] = {}

    def add(self, connection: sa.Connection, snapshot: Snapshot, *, now: datetime) -> None:
        """Write what is new in the snapshot."""
        workspace, at = snapshot.workspace, int(now.timestamp())
        self._keep(connection, snapshot, at=at)
        parts = _read_at(snapshot)
        fresh = {name for name, read_at in parts.items() if self._seen.get((workspace, name)) != read_at}
        if not fresh:
            return
        self._cover(connection, workspace, at=at)
        inboxes = (snapshot.inboxes.value or ()) if "inboxes" in fresh else ()
        sequences = (snapshot.sequences.value or ()) if "sequences" in fresh else ()
        words = {("sequence", sequence.id, "status"): sequence.status or "unknown" for sequence in sequences}
        for inbox in inboxes:
            words["inbox", inbox.email, "status"] = inbox.status or "unknown"
            words["inbox", inbox.email, "health"] = by_score(inbox.health_score, self._thresholds)[1]
        # Taken out until all is written: a state that is ahead of the database would hide what was rolled back.
        state = self._states.pop(workspace, None)
        token = connection.scalar(sa.select(turns.c.token).where(turns.c.workspace == workspace))
        if state is None or state.token != token:
            state = _read_state(connection, workspace, token=token)
        has_moved = _write_scores(connection, workspace, state, _scores(inboxes), at=at)
        labels = {sequence.id: sequence.label for sequence in sequences}
        if _write_words(connection, workspace, state, words, labels=labels, at=at) or has_moved:
            state.token = secrets.token_hex(8)
            connection.execute(sa.delete(turns).where(turns.c.workspace == workspace))
            connection.execute(sa.insert(turns).values(workspace=workspace, token=state.token))
        self._states[workspace] = state
        self._seen |= {(workspace, name): parts[name] for name in fresh}

    def mark_written(self, snapshot: Snapshot) -> None:
        """Remember a snapshot that was kept: its readings are no news when they are added again."""
        for name, read_at in _read_at(snapshot).items():
            self._seen.setdefault((snapshot.workspace, name), read_at)

    def _keep(self, connection: sa.Connection, snapshot: Snapshot, *, at: int) -> None:
        """Keep a snapshot now and then; one that is half loaded is none."""
        workspace = snapshot.workspace
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

    def _cover(self, connection: sa.Connection, workspace: str, *, at: int) -> None:
        """Note that values were read now: a value holds until the next only where somebody looked."""
        c = covered.c
        noted = self._covered_at.get(workspace)
        if noted is not None and 0 <= at - noted < COVER_EVERY_SECONDS:
            return
        last = connection.execute(
            sa.select(c.start, c.end).where(c.workspace == workspace).order_by(c.start.desc()).limit(1)
        ).first()
        if last and last.start <= at <= last.end + GAP_SECONDS:
            which = (c.workspace == workspace) & (c.start == last.start)
            connection.execute(sa.update(covered).where(which).values(end=max(at, last.end)))
        elif last is None or at > last.end:
            connection.execute(sa.insert(covered).values(workspace=workspace, start=at, end=at))
        self._covered_at[workspace] = at


def _read_at(snapshot: Snapshot) -> dict[str, datetime]:
    """When each part of a snapshot that has a history was read, as far as it was."""
    parts: dict[str, Reading[Any]] = {"inboxes": snapshot.inboxes, "sequences": snapshot.sequences}
    return {name: reading.read_at for name, reading in parts.items() if reading.read_at}


def _scores(inboxes: Sequence[Inbox]) -> dict[Subject, float | None]:
    """The health of each inbox, and the lowest of each domain."""
    scores: dict[Subject, float | None] = {}
    for inbox in inboxes:
        score = scores["inbox", inbox.email] = inbox.health_score
        lowest = scores.setdefault(("domain", inbox.domain), score)
        if score is not None and (lowest is None or score < lowest):
            scores["domain", inbox.domain] = score
    return scores


def _read_state(connection: sa.Connection, workspace: str, *, token: str | None) -> WriterState:
    c, s = series.c, states.c
    state = WriterState(token=token)
    columns = sa.select(c.kind, c.key, c.id, c.last_at, c.last_value)
    for kind, key, number, at, value in connection.execute(
        columns.where(c.workspace == workspace, c.metric == METRIC)
    ):
        state.series[intern(kind), intern(key)] = LastSample(id=number, at=at, value=value)
    words = sa.select(s.kind, s.key, s.field, s.value).where(s.workspace == workspace)
    for kind, key, name, word in connection.execute(words):
        state.words[intern(kind), intern(key), intern(name)] = intern(word)
    return state


def _write_scores(
    connection: sa.Connection,
    workspace: str,
    state: WriterState,
    scores: Mapping[Subject, float | None],
    *,
    at: int,
) -> bool:
    """Write what moved; True if anything did. A sample from before the last one, by a clock that stepped back, is left out."""
    last = state.series
    new = [subject for subject in scores if subject not in last]
    moved = [s for s in scores if s in last and last[s].value != scores[s] and at > last[s].at]
    c = series.c
    for start in range(0, len(new), BATCH_ROWS):
        about = {"workspace": workspace, "metric": METRIC, "last_at": at}
        rows = [{**about, "kind": kind, "key": key} for kind, key in new[start : start + BATCH_ROWS]]
        for kind, key, number in connection.execute(
            sa.insert(series).values(rows).returning(c.kind, c.key, c.id)
        ):
            last[intern(kind), intern(key)] = LastSample(id=number, at=at, value=None)
    changed = [{"of": last[subject].id, "value": scores[subject]} for subject in (*new, *moved)]
    if changed:
        sample = sa.insert(samples).values(series_id=sa.bindparam("of"), at=at)
        connection.execute(sample, changed)
        change = sa.update(series).where(c.id == sa.bindparam("of"))
        connection.execute(change.values(last_at=at, last_value=sa.bindparam("value")), changed)
    for subject in (*new, *moved):
        last[subject] = LastSample(id=last[subject].id, at=at, value=scores[subject])
    return bool(changed)


def _write_words(
    connection: sa.Connection,
    workspace: str,
    state: WriterState,
    words: Mapping[Word, str],
    *,
    labels: Mapping[str, str],
    at: int,
) -> bool:
    """Write what became another word, and each change as a transition; True if anything was written."""
    new = [place for place in words if place not in state.words]
    moved = [place for place, word in words.items() if state.words.get(place, word) != word]
    if new:
        rows = [
            {"workspace": workspace, "kind": kind, "key": key, "field": name, "value": words[kind, key, name]}
            for kind, key, name in new
        ]
        connection.execute(sa.insert(states), rows)
    if moved:
        c = states.c
        which = (c.workspace == workspace) & (c.kind == sa.bindparam("of_kind"))
        which &= (c.key == sa.bindparam("of_key")) & (c.field == sa.bindparam("of_field"))
        changes = [
            {
                "of_kind": kind,
                "of_key": key,
                "of_field": name,
                "label": labels.get(key, key),
                "before": state.words[kind, key, name],
                "after": words[kind, key, name],
            }
            for kind, key, name in moved
        ]
        connection.execute(sa.update(states).where(which).values(value=sa.bindparam("after")), changes)
        about: dict[str, Any] = {name: sa.bindparam(f"of_{name}") for name in ("kind", "key", "field")}
        connection.execute(sa.insert(transitions).values(workspace=workspace, at=at, **about), changes)
    state.words.update({place: words[place] for place in (*new, *moved)})
    return bool(new or moved)


def thinning(connection: sa.Connection, *, now: datetime) -> Iterator[sa.Executable]:
    """The statements that delete what is old, one transaction each, so that no other writer waits for all of them."""
    # Every workspace, named so that the tables' indexes, which begin with it, are used.
    workspaces = list(connection.scalars(sa.select(covered.c.workspace).distinct()))
    newest = connection.scalar(sa.select(sa.func.max(series.c.id))) or 0

    def before(age: timedelta) -> int:
        return int((now - age).timestamp())

    for table, at, age in (
        (transitions, transitions.c.at, KEPT),
        (covered, covered.c.end, KEPT),
        (snapshots, snapshots.c.at, KEPT_SNAPSHOTS),
    ):
        yield sa.delete(table).where(table.c.workspace.in_(workspaces), at < before(age))
    c, later = snapshots.c, snapshots.alias()
    bucket_ends = (c.at // SNAPSHOT_SECONDS + 1) * SNAPSHOT_SECONDS
    is_followed = sa.exists().where(
        later.c.workspace == c.workspace, later.c.at > c.at, later.c.at < bucket_ends
    )
    thinned = (c.at < before(SNAPSHOTS_THINNED)) & is_followed
    yield sa.delete(snapshots).where(c.workspace.in_(workspaces), thinned)
    s, after = samples.c, samples.alias()
    is_overtaken = sa.exists().where(after.c.series_id == s.series_id, after.c.at > s.at)
    for first in range(1, newest + 1, SERIES_TOGETHER):
        # By their ids, so that the index leads to the days of each.
        some = sa.select(series.c.id).where(series.c.id.between(first, first + SERIES_TOGETHER - 1))
        yield sa.delete(samples).where(s.series_id.in_(some), s.at < before(KEPT), is_overtaken)
