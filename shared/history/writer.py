"""Writes snapshots as rows: samples of changed health scores, transitions of changed statuses, and the snapshot.

Synchronous and within the caller's transaction, in which nobody else writes: what is new is told by comparing with what
is stored, whichever process stored it.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

import sqlalchemy as sa

from shared.api.models import Inbox
from shared.domain.snapshot import Snapshot, to_json
from shared.history.engine import METRIC, covered, samples, series, snapshots, states, transitions

KEPT_EVERY_SECONDS = 120
"""Snapshots are kept so far apart: the past is looked at in these steps, and the next start shows the last."""
GAP_SECONDS = 1200
"""The time without a read that makes a gap; the bot reads every fifteen minutes where no dashboard runs."""
BATCH_ROWS = 400
SNAPSHOTS_THINNED, SNAPSHOT_SECONDS = timedelta(hours=6), 600
"""Older than this, one snapshot in so many seconds stays."""
KEPT_SNAPSHOTS = timedelta(hours=48)
KEPT = timedelta(days=90)
"""Health and changes are kept for so long; of the health before, the value that still holds."""
SERIES_TOGETHER = 200
"""Series from which one transaction deletes: other writers get their turn in between."""

Word = tuple[str, str, str]
"""Kind (inbox, sequence), key (address, id), and the field that the word is of."""


def keep(connection: sa.Connection, snapshot: Snapshot, *, at: int) -> None:
    """Keep a snapshot, unless a process has just kept one; one that is half loaded is none."""
    c = snapshots.c
    lately = (c.workspace == snapshot.workspace) & (c.at > at - KEPT_EVERY_SECONDS) & (c.at <= at)
    if not snapshot.is_whole or connection.scalar(sa.select(sa.exists().where(lately))):
        return
    body = zlib.compress(to_json(snapshot), 3)
    connection.execute(sa.insert(snapshots).values(workspace=snapshot.workspace, at=at, body=body))


def cover(connection: sa.Connection, workspace: str, *, at: int) -> None:
    """Note that values were read now: a value holds until the next only where somebody looked."""
    c = covered.c
    newest = sa.select(c.start, c.end).where(c.workspace == workspace).order_by(c.start.desc()).limit(1)
    last = connection.execute(newest).first()
    if last and last.start <= at <= last.end + GAP_SECONDS:
        which = (c.workspace == workspace) & (c.start == last.start)
        connection.execute(sa.update(covered).where(which).values(end=max(at, last.end)))
    elif last is None or at > last.end:
        connection.execute(sa.insert(covered).values(workspace=workspace, start=at, end=at))


def write_scores(connection: sa.Connection, workspace: str, inboxes: Sequence[Inbox], *, at: int) -> None:
    """Write the health of each inbox, and the lowest of each domain, where it has moved."""
    scores: dict[tuple[str, str], float | None] = {}
    for inbox in inboxes:
        score = scores["inbox", inbox.email] = inbox.health_score
        lowest = scores.setdefault(("domain", inbox.domain), score)
        if score is not None and (lowest is None or score < lowest):
            scores["domain", inbox.domain] = score
    c, about = series.c, {"workspace": workspace, "metric": METRIC, "last_at": at}
    changed, new = list[dict[str, Any]](), dict(scores)
    last = sa.select(c.id, c.kind, c.key, c.last_at, c.last_value)
    here = last.where(c.workspace == workspace, c.metric == METRIC)
    for number, kind, key, last_at, before in connection.execute(here):
        value = new.pop((kind, key), before)
        if value != before and at > last_at:  # else the clock has stepped back
            changed.append({"of": number, "value": value})
    rows = [{**about, "kind": kind, "key": key} for kind, key in new]
    for start in range(0, len(rows), BATCH_ROWS):
        made = sa.insert(series).values(rows[start : start + BATCH_ROWS]).returning(c.id, c.kind, c.key)
        changed += [{"of": number, "value": new[kind, key]} for number, kind, key in connection.execute(made)]
    if changed:
        connection.execute(sa.insert(samples).values(series_id=sa.bindparam("of"), at=at), changed)
        moved = sa.update(series).where(c.id == sa.bindparam("of"))
        connection.execute(moved.values(last_at=at, last_value=sa.bindparam("value")), changed)


def write_words(
    connection: sa.Connection,
    workspace: str,
    words: Mapping[Word, str],
    *,
    labels: Mapping[str, str],
    at: int,
) -> None:
    """Write what became another word, and each change as a transition."""
    c, new, changes = states.c, dict(words), list[dict[str, Any]]()
    last = sa.select(c.kind, c.key, c.field, c.value).where(c.workspace == workspace)
    for kind, key, name, before in connection.execute(last):
        word = new.pop((kind, key, name), before)
        if word != before:
            place = {"of_kind": kind, "of_key": key, "of_field": name}
            changes.append({**place, "label": labels.get(key, key), "before": before, "after": word})
    if new:
        rows = [
            {"workspace": workspace, "kind": kind, "key": key, "field": name, "value": word}
            for (kind, key, name), word in new.items()
        ]
        connection.execute(sa.insert(states), rows)
    if changes:
        of: dict[str, Any] = {name: sa.bindparam(f"of_{name}") for name in ("kind", "key", "field")}
        which = sa.and_(c.workspace == workspace, *(c[name] == value for name, value in of.items()))
        connection.execute(sa.update(states).where(which).values(value=sa.bindparam("after")), changes)
        connection.execute(sa.insert(transitions).values(workspace=workspace, at=at, **of), changes)


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
