"""The history of a workspace; each method of `History` runs one transaction in its own thread, one after another."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Collection, Coroutine, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, fields, replace
from datetime import UTC, datetime, timedelta
from functools import wraps
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from sys import intern
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

import sqlalchemy as sa
from sqlalchemy.engine import URL
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from shared.domain.health import DEFAULT, Thresholds, by_score
from shared.domain.snapshot import ProblemStart, Snapshot
from shared.domain.wall_clock import moment
from shared.history.engine import (
    DAMAGED,
    METRIC,
    covered,
    lock_writers,
    open_history,
    problems,
    samples,
    series,
    snapshots,
    transitions,
)
from shared.history.last_snapshot import LAST_BODY, decoded
from shared.history.writer import cover, keep, thinning, write_scores, write_words
from shared.records.records import HistoryUnavailable, Sample, Transition

THIN_EVERY = timedelta(hours=1)
SETTLES_SECONDS = 30.0
"""A problem that comes back within so long was never gone."""
T = TypeVar("T")
P = ParamSpec("P")


def _reading(
    act: Callable[Concatenate[History, sa.Connection, P], T],
) -> Callable[Concatenate[History, P], Coroutine[Any, Any, T]]:
    """Make a synchronous method that reads by a connection one that is awaited, in the history's thread."""

    @wraps(act)
    async def awaited(history: History, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await history.run(lambda c: act(history, c, *args, **kwargs), reads=True)

    return awaited


class History:
    """The history in a SQLite file or in PostgreSQL. Every method raises `HistoryUnavailable`."""

    def __init__(self, url: URL, *, thresholds: Thresholds = DEFAULT) -> None:
        self._url = url
        self._engine: sa.Engine | None = None
        """It is opened when it is first used."""
        self.notice = ""
        """A sentence for people after a file was damaged."""
        self._thresholds = thresholds
        self._seen: dict[tuple[str, str], datetime] = {}
        """When the parts of each workspace were read that are written: read no later, they aren't news."""
        self._executor = ThreadPoolExecutor(1, thread_name_prefix="history")
        self._thinned_at: datetime | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        # In the thread, behind what still waits there.
        await asyncio.get_running_loop().run_in_executor(self._executor, self._close)
        self._executor.shutdown(wait=False)

    async def run(self, act: Callable[[sa.Connection], T], *, reads: bool = False) -> T:
        """Carry an act out in one transaction; a damaged file is set aside and the act done on a new one."""

        def done() -> T:
            try:
                return self._transact(act, reads=reads)
            except DBAPIError as error:
                if getattr(error.orig, "sqlite_errorcode", 0) & 0xFF not in DAMAGED:
                    raise HistoryUnavailable(str(error.orig)) from error
                self._set_aside()
                return self._transact(act, reads=reads)
            except (SQLAlchemyError, OSError) as error:
                raise HistoryUnavailable(str(error)) from error

        return await asyncio.get_running_loop().run_in_executor(self._executor, done)

    def _transact(self, act: Callable[[sa.Connection], T], *, reads: bool) -> T:
        if self._engine is None:
            self._engine = open_history(self._url)
        if reads:
            with self._engine.connect().execution_options(read_only=True) as connection:
                return act(connection)
        with self._engine.begin() as connection:
            lock_writers(connection)
            return act(connection)

    def _close(self) -> None:
        if self._engine is not None:
            self._engine.dispose()
            self._engine = None

    def _set_aside(self) -> None:
        self._close()
        path = Path(self._url.database or "")
        aside = path.with_name(f"{path.name}.damaged-{datetime.now(UTC):%Y%m%d%H%M%S}")
        path.rename(aside)
        for part in ("-wal", "-shm"):
            path.with_name(path.name + part).unlink(missing_ok=True)
        self.notice = f"The history was damaged. It was moved to {aside.name}, and a new one was started."

    async def add(self, snapshot: Snapshot, *, now: datetime) -> None:
        """Keep what is new in a snapshot; once an hour, what is old is deleted."""
        at = int(now.timestamp())
        self._seen |= await self.run(lambda connection: self._add(connection, snapshot, at=at))
        if self._thinned_at is None or not timedelta() <= now - self._thinned_at < THIN_EVERY:
            # Before it is done: where it fails, the next hour tries again, and not each poll.
            self._thinned_at = now
            for statement in await self.run(lambda c: list(thinning(c, now=now)), reads=True):
                await self.run(lambda c, statement=statement: c.execute(statement))  # type: ignore[misc]

    def _add(
        self, connection: sa.Connection, snapshot: Snapshot, *, at: int
    ) -> Mapping[tuple[str, str], datetime]:
        """Write what is new; returns when its parts were read."""
        keep(connection, snapshot, at=at)
        read_at = _read_at(snapshot)
        fresh = {part for part, when in read_at.items() if self._seen.get(part) != when}
        if not fresh:
            return read_at
        workspace = snapshot.workspace
        cover(connection, workspace, at=at)
        inboxes = snapshot.inboxes.value or () if (workspace, "inboxes") in fresh else ()
        sequences = snapshot.sequences.value or () if (workspace, "sequences") in fresh else ()
        words = {("sequence", sequence.id, "status"): sequence.status or "unknown" for sequence in sequences}
        for inbox in inboxes:
            words["inbox", inbox.email, "status"] = inbox.status or "unknown"
            words["inbox", inbox.email, "health"] = by_score(inbox.health_score, self._thresholds)[1]
        write_scores(connection, workspace, inboxes, at=at)
        labels = {sequence.id: sequence.label for sequence in sequences}
        write_words(connection, workspace, words, labels=labels, at=at)
        return read_at

    @_reading
    def health(
        self,
        connection: sa.Connection,
        workspace: str,
        *,
        kind: str,
        key: str,
        start: datetime,
        end: datetime,
        points: int,
    ) -> tuple[Sample, ...]:
        """The health of an inbox, or the lowest of a domain, at most `points` samples after that of the start.

        It is empty where nothing is known.
        """
        which = _series_of(workspace, kind) & (series.c.key == key)
        held = connection.execute(_held(which, start)).all()
        first = [Sample(at=start, value=value) for _key, value in held]
        moved = connection.execute(_moved(which, start, end, points))
        later = [Sample(at=moment(at), value=value) for _key, at, value in moved]
        return (*first, *later)

    @_reading
    def sparklines(
        self, connection: sa.Connection, workspace: str, *, start: datetime, end: datetime, points: int
    ) -> Mapping[str, tuple[float, ...]]:
        """The health of every inbox at evenly spaced times, by address.

        Each sample holds until the next; there are fewer than `points` where nothing is known of the beginning.
        """
        which = _series_of(workspace, "inbox")
        step = (end - start).total_seconds() / points
        once: dict[float | None, float | None] = {}  # equal values kept once: there are a hundred thousand

        def course(held: float | None, moved: Iterable[sa.Row[str, int, float]]) -> tuple[float, ...]:
            values = [held] * points
            for row in moved:
                first = max(0, math.ceil((row.at - start.timestamp()) / step) - 1)
                values[first:] = [once.setdefault(row.value, row.value)] * (points - first)
            return tuple(value for value in values if value is not None)

        held = {
            row.key: once.setdefault(row.value, row.value) for row in connection.execute(_held(which, start))
        }
        moved = connection.execute(_moved(which, start, end, points))
        courses = {
            intern(key): course(held.pop(key, None), rows) for key, rows in groupby(moved, key=itemgetter(0))
        }
        return courses | {intern(key): course(value, ()) for key, value in held.items()}

    @_reading
    def domains_known_from(
        self, connection: sa.Connection, workspace: str, *, end: datetime
    ) -> Mapping[str, datetime]:
        """The first sample of every domain that was seen until then."""
        joined = sa.join(samples, series, samples.c.series_id == series.c.id)
        first = sa.select(series.c.key, sa.func.min(samples.c.at)).select_from(joined)
        chosen = first.where(_series_of(workspace, "domain"), samples.c.at <= int(end.timestamp()))
        return {key: moment(at) for key, at in connection.execute(chosen.group_by(series.c.key))}

    @_reading
    def transitions(
        self,
        connection: sa.Connection,
        /,
        workspace: str,
        *,
        start: datetime | None = None,
        end: datetime | None = None,
        limit: int = 50,
        **of: str,
    ) -> tuple[Transition, ...]:
        """The transitions, newest first: all, or those `of` a kind or a field."""
        c = transitions.c
        which = [c.workspace == workspace, *(c[name] == value for name, value in of.items())]
        which += [c.at >= int(start.timestamp())] if start is not None else []
        which += [c.at <= int(end.timestamp())] if end is not None else []
        columns = sa.select(*(c[field.name] for field in fields(Transition))).where(*which)
        rows = connection.execute(columns.order_by(c.at.desc(), c.id.desc()).limit(limit))
        return tuple(Transition(**{**row._asdict(), "at": moment(row.at)}) for row in rows)

    @_reading
    def snapshot_times(
        self, connection: sa.Connection, workspace: str, *, start: datetime, end: datetime
    ) -> tuple[datetime, ...]:
        """The times of the snapshots that were kept, the oldest first."""
        c = snapshots.c
        span = c.at.between(int(start.timestamp()), int(end.timestamp()))
        chosen = sa.select(c.at).where(c.workspace == workspace, span).order_by(c.at)
        return tuple(map(moment, connection.scalars(chosen)))

    @_reading
    def snapshot_at(self, connection: sa.Connection, workspace: str, at: datetime) -> Snapshot | None:
        """The last snapshot that was kept until then; None where there is none, or it can't be read."""
        wanted = {"workspace": workspace, "until": int(at.timestamp())}
        body = connection.scalar(sa.text(LAST_BODY), wanted)
        snapshot = decoded(body) if body is not None else None
        if snapshot:
            self._seen = _read_at(snapshot) | self._seen  # it was written when it was kept
        return snapshot

    @_reading
    def covered(
        self, connection: sa.Connection, workspace: str, *, end: datetime
    ) -> tuple[tuple[datetime, datetime], ...]:
        """The times in which the dashboard or bot was reading, oldest first; between them nothing is known."""
        c = covered.c
        chosen = sa.select(c.start, c.end).where(c.workspace == workspace, c.start <= int(end.timestamp()))
        spans = connection.execute(chosen.order_by(c.start))
        return tuple((moment(start), moment(ended)) for start, ended in spans)

    @_reading
    def problems(self, connection: sa.Connection, workspace: str) -> tuple[ProblemStart, ...]:
        """The problems at the last look of any process, each with its start."""
        c = problems.c
        rows = connection.execute(sa.select(problems).where(c.workspace == workspace, c.gone_at.is_(None)))
        return tuple(map(_start, rows))

    async def follow_problems(
        self,
        workspace: str,
        present: Collection[ProblemStart],
        *,
        spared: str = "",
        now: datetime,
    ) -> tuple[ProblemStart, ...]:
        """Remember what is wrong now, each with the start that any process saw first.

        The others end, but for keys that begin with `spared`, of which nothing was learned.
        """
        return await self.run(lambda c: _follow(c, workspace, present, spared=spared, now=now.timestamp()))


def _read_at(snapshot: Snapshot) -> dict[tuple[str, str], datetime]:
    """When each part of a snapshot that has a history was read, as far as it was."""
    parts = {"inboxes": snapshot.inboxes.read_at, "sequences": snapshot.sequences.read_at}
    return {(snapshot.workspace, name): read_at for name, read_at in parts.items() if read_at}


def _follow(
    connection: sa.Connection,
    workspace: str,
    present: Collection[ProblemStart],
    *,
    spared: str,
    now: float,
) -> tuple[ProblemStart, ...]:
    c = problems.c
    kept = {row.key: row for row in connection.execute(sa.select(problems).where(c.workspace == workspace))}
    starts, changed = [], []
    for problem in present:
        row = kept.pop(problem.key, None)
        if row is None:
            start = problem
        elif row.gone_at is None or now - row.gone_at <= SETTLES_SECONDS:
            start = _continued(_start(row), problem, now=now)
        else:  # what began before the former one ended can't be the start of this one
            is_later = problem.kind_since >= row.gone_at
            start = problem if is_later else replace(problem, since=now, kind_since=now)
        starts.append(start)
        if row is None or start != _start(row) or row.gone_at is not None:
            changed.append({"workspace": workspace, **asdict(start)})
    gone = [
        {"of": key}
        for key, row in kept.items()
        if row.gone_at is None and not (spared and key.startswith(spared))
    ]
    which = (c.workspace == workspace) & (c.key == sa.bindparam("of"))
    if changed:
        connection.execute(sa.delete(problems).where(which), [{"of": row["key"]} for row in changed])
        connection.execute(sa.insert(problems), changed)
    if gone:
        connection.execute(sa.update(problems).where(which).values(gone_at=now), gone)
    return tuple(starts)


def _start(row: sa.Row[tuple[object, ...]]) -> ProblemStart:
    return ProblemStart(**{field.name: getattr(row, field.name) for field in fields(ProblemStart)})


def _continued(before: ProblemStart, problem: ProblemStart, *, now: float) -> ProblemStart:
    """The start of a problem that goes on: of its present kind, if that is another."""
    if before.kind == problem.kind:
        return before if problem.is_older else before.known_from(problem.kind_since)
    return replace(before, kind=problem.kind, kind_since=min(now, max(problem.kind_since, before.kind_since)))


def _series_of(workspace: str, kind: str) -> sa.ColumnElement[bool]:
    c = series.c
    return (c.workspace == workspace) & (c.kind == kind) & (c.metric == METRIC)


def _held(which: sa.ColumnElement[bool], start: datetime) -> sa.Select[str, float]:
    """The last sample of each before the start."""
    # The only sample of an inbox whose health never moved may be far back.
    before = samples.alias()
    last = sa.select(sa.func.max(before.c.at)).where(
        before.c.series_id == series.c.id, before.c.at < int(start.timestamp())
    )
    joined = sa.join(samples, series, samples.c.series_id == series.c.id)
    chosen = sa.select(series.c.key, samples.c.value).select_from(joined)
    return chosen.where(which, samples.c.at == last.scalar_subquery())


def _moved(
    which: sa.ColumnElement[bool], start: datetime, end: datetime, points: int
) -> sa.Select[str, int, float]:
    """The last sample of each bucket: the database thins, however much a service sends."""
    first, last = int(start.timestamp()), int(end.timestamp())
    bucket = (samples.c.at - first) // max((last - first) // points, 1)
    per_bucket = (samples.c.series_id, bucket)
    rank = sa.func.row_number().over(partition_by=per_bucket, order_by=samples.c.at.desc())
    ranked = (
        sa.select(series.c.key, samples.c.at, samples.c.value, rank.label("rank"))
        .select_from(sa.join(samples, series, samples.c.series_id == series.c.id))
        .where(which, samples.c.at >= first, samples.c.at <= last)
        .subquery()
    )
    c = ranked.c
    return sa.select(c.key, c.at, c.value).where(c.rank == 1).order_by(c.key, c.at)
