"""Keeps since when a problem exists, the same for every process and after any restart.

Synchronous and within the caller's transaction.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import asdict, replace

import sqlalchemy as sa

from shared.domain.snapshot import ProblemStart
from shared.history.engine import problems

SETTLES = 30.0
"""Seconds within which what comes back was never gone."""
_c = problems.c


def problems_of(connection: sa.Connection, workspace: str) -> tuple[ProblemStart, ...]:
    """The problems at the last look of any process."""
    rows = connection.execute(sa.select(problems).where(_c.workspace == workspace, _c.gone_at.is_(None)))
    return tuple(map(_start, rows))


def follow_problems(
    connection: sa.Connection,
    workspace: str,
    present: Collection[ProblemStart],
    *,
    spared: str = "",
    now: float,
) -> tuple[ProblemStart, ...]:
    """The present problems, with the start that was seen first; others end, but for keys that begin with `spared`."""
    kept = {row.key: row for row in connection.execute(sa.select(problems).where(_c.workspace == workspace))}
    starts, changed = [], []
    for problem in present:
        row = kept.pop(problem.key, None)
        is_over = row is not None and row.gone_at is not None and now - row.gone_at > SETTLES
        if row is None or is_over:
            ended = row.gone_at if row is not None else 0.0
            start = problem if problem.kind_since >= ended else replace(problem, since=now, kind_since=now)
        else:
            start = _continued(_start(row), problem, now=now)
        starts.append(start)
        if row is None or start != _start(row) or row.gone_at is not None:
            changed.append({"workspace": workspace, **asdict(start)})
    gone = [
        key for key, row in kept.items() if row.gone_at is None and not (spared and key.startswith(spared))
    ]
    which = (_c.workspace == workspace) & (_c.key == sa.bindparam("of"))
    if changed:
        connection.execute(sa.delete(problems).where(which), [{"of": row["key"]} for row in changed])
        connection.execute(sa.insert(problems), changed)
    if gone:
        connection.execute(
            sa.update(problems).where(which).values(gone_at=now), [{"of": key} for key in gone]
        )
    return tuple(starts)


def _start(row: sa.Row[tuple[object, ...]]) -> ProblemStart:
    return ProblemStart(
        key=row.key, kind=row.kind, since=row.since, kind_since=row.kind_since, is_older=row.is_older
    )


def _continued(before: ProblemStart, problem: ProblemStart, *, now: float) -> ProblemStart:
    if before.kind == problem.kind:
        return before if problem.is_older else before.known_from(problem.kind_since)
    return replace(before, kind=problem.kind, kind_since=min(now, max(problem.kind_since, before.kind_since)))
