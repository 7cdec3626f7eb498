"""The history of a workspace: its tables, what of a snapshot is written into them, and what dashboards read of it.

Samples are kept where a value changed, and hold until the next: health moves daily, so an inbox costs a row a day,
not one a poll. What is new is told by comparing with what is stored, whichever process stored it. Each method of
`History` runs one transaction in its own thread, one after another.
"""

from __future__ import annotations

import asyncio
import math
import sqlite3
import zlib
from collections.abc import Callable, Collection, Coroutine, Iterable, Iterator, Mapping, Sequence
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

from shared.api.models import Inbox
from shared.domain.health import DEFAULT, Thresholds, by_score
from shared.domain.snapshot import ProblemStart, Snapshot, to_json
from shared.domain.wall_clock import moment
from shared.history.last_snapshot import LAST_BODY, decoded
from shared.records import HistoryUnavailable, Sample, Transition
from shared.storage.database import Transaction, open_engine

METRIC = "health_score"
"""The value whose samples are kept: the only one that a person looks back at."""
DAMAGED = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
ONE_WRITER = 0x6F757472_68697374
"""The advisory lock under which PostgreSQL's writers take turns, as SQLite's do by themselves."""

metadata = sa.MetaData()


def keys(*names: str) -> list[sa.Column[str]]:
    return [sa.Column(name, sa.Text, primary_key=True) for name in names]


def words(*names: str) -> list[sa.Column[str]]:
    return [sa.Column(name, sa.Text, nullable=False) for name in names]


def seconds(name: str, *, primary_key: bool = False) -> sa.Column[int]:
    return sa.Column(name, sa.BigInteger, primary_key=primary_key, nullable=False)


series = sa.Table(
    "history_series",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    *words("workspace", "kind", "key", "metric"),
    seconds("last_at"),
    sa.Column("last_value", sa.Float),
    sa.UniqueConstraint("workspace", "kind", "key", "metric"),
)
samples = sa.Table(
    "history_samples",
    metadata,
    sa.Column("series_id", sa.Integer, sa.ForeignKey(series.c.id), primary_key=True),
    seconds("at", primary_key=True),
    sa.Column("value", sa.Float),
    sqlite_with_rowid=False,
)
states = sa.Table("history_states", metadata, *keys("workspace", "kind", "key", "field"), *words("value"))
transitions = sa.Table(
    "history_transitions",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    seconds("at"),
    *words("workspace", "kind", "key", "label", "field", "before", "after"),
    sa.Index("history_transitions_at", "workspace", "at"),
)
snapshots = sa.Table(
    "history_snapshots",
    metadata,
    *keys("workspace"),
    seconds("at", primary_key=True),
    sa.Column("body", sa.LargeBinary, nullable=False),
)
# The times in which values were read; a value holds until the next only within these.
covered = sa.Table(
    "history_covered", metadata, *keys("workspace"), seconds("start", primary_key=True), seconds("end")
)
# Since when what is wrong has been so: the first process that saw it tells all others.
problems = sa.Table(
    "history_problems",
    metadata,
    *keys("workspace", "key"),
    *words("kind"),
    sa.Column("since", sa.Float, nullable=False),
    sa.Column("kind_since", sa.Float, nullable=False),
    sa.Column("is_older", sa.Boolean, nullable=False),
    sa.Column("gone_at", sa.Float),
)


def open_history(url: URL) -> sa.Engine:
    """The engine of a history, whose tables are made when missing."""
    engine = open_engine(url)
    try:
        with engine.begin() as connection:
            lock_writers(Transaction(connection))
            metadata.create_all(connection)
            # Earlier versions kept each poll: nothing reads it, and it has addresses.
            connection.execute(sa.text("DROP TABLE IF EXISTS history_deltas"))
    except BaseException:
        engine.dispose()
        raise
    return engine


def lock_writers(tx: Transaction) -> None:
    if tx.is_postgresql:
        tx.execute(sa.select(sa.func.pg_advisory_xact_lock(ONE_WRITER)))


# -- what is written: within the caller's transaction, in which nobody else writes

KEPT_EVERY_SECONDS = 120
"""Snapshots are kept so far apart: the past is looked at in these steps, and the next start shows the last."""
GAP_SECONDS = 1200
"""The time without a read that makes a gap; the bot reads every fifteen minutes where no dashboard runs."""
NEVER = -1
"""The time of the last sample of a series that has none."""
SNAPSHOTS_THINNED, SNAPSHOT_SECONDS = timedelta(hours=6), 600
"""Older than this, one snapshot in so many seconds stays."""
KEPT_SNAPSHOTS = timedelta(hours=48)
KEPT = timedelta(days=90)
"""Health and changes are kept for so long; of the health before, the value that still holds."""
SERIES_TOGETHER = 200
"""Series from which one transaction deletes: other writers get their turn in between."""

Word = tuple[str, str, str]
"""Kind (inbox, sequence), key (address, id), and the field that the word is of."""


def keep(tx: Transaction, snapshot: Snapshot, *, at: int) -> None:
    """Keep a snapshot, unless a process has just kept one; one that is half loaded is none."""
    c = snapshots.c
    lately = (c.workspace == snapshot.workspace) & (c.at > at - KEPT_EVERY_SECONDS) & (c.at <= at)
    if not snapshot.is_whole or tx.has(lately):
        return
    body = zlib.compress(to_json(snapshot), 3)
    tx.execute(sa.insert(snapshots).values(workspace=snapshot.workspace, at=at, body=body))


def cover(tx: Transaction, workspace: str, *, at: int) -> None:
    """Note that values were read now: a value holds until the next only where somebody looked."""
    c = covered.c
    newest = sa.select(c.start, c.end).where(c.workspace == workspace).order_by(c.start.desc()).limit(1)
    last = tx.execute(newest).first()
    if last and last.start <= at <= last.end + GAP_SECONDS:
        tx.update(covered, (c.workspace == workspace) & (c.start == last.start), end=max(at, last.end))
    elif last is None or at > last.end:
        tx.execute(sa.insert(covered).values(workspace=workspace, start=at, end=at))


def write_scores(tx: Transaction, workspace: str, inboxes: Sequence[Inbox], *, at: int) -> None:
    """Write the health of each inbox, and the lowest of each domain, where it has moved."""
    scores: dict[tuple[str, str], float | None] = {}
    for inbox in inboxes:
        score = scores["inbox", inbox.email] = inbox.health_score
        lowest = scores.setdefault(("domain", inbox.domain), score)
        if score is not None and (lowest is None or score < lowest):
            scores["domain", inbox.domain] = score
    c, about = series.c, {"workspace": workspace, "metric": METRIC}
    last = sa.select(c.id, c.kind, c.key, c.last_at, c.last_value)
    here = last.where(c.workspace == workspace, c.metric == METRIC)
    rows = tx.execute(here).all()
    new = scores.keys() - {(row.kind, row.key) for row in rows}
    if new:
        made = [{"kind": kind, "key": key} for kind, key in sorted(new)]
        tx.execute(sa.insert(series).values(**about, last_at=NEVER), made)
        rows = tx.execute(here).all()
    changed = []
    for row in rows:
        value = scores.get((row.kind, row.key), row.last_value)
        is_other = value != row.last_value or row.last_at == NEVER
        if is_other and at > row.last_at:  # else the clock has stepped back
            changed.append({"of": row.id, "value": value})
    if changed:
        tx.execute(sa.insert(samples).values(series_id=sa.bindparam("of"), at=at), changed)
        moved = sa.update(series).where(c.id == sa.bindparam("of"))
        tx.execute(moved.values(last_at=at, last_value=sa.bindparam("value")), changed)


def write_words(
    tx: Transaction,
    workspace: str,
    words: Mapping[Word, str],
    *,
    labels: Mapping[str, str],
    at: int,
) -> None:
    """Write what became another word, and each change as a transition."""
    c, new, changes = states.c, dict(words), list[dict[str, Any]]()
    last = sa.select(c.kind, c.key, c.field, c.value).where(c.workspace == workspace)
    for kind, key, name, before in tx.execute(last):
        word = words.get((kind, key, name), before)
        if word == before:
            new.pop((kind, key, name), None)
            continue
        about = {"kind": kind, "key": key, "field": name, "label": labels.get(key, key)}
        changes.append({**about, "before": before, "after": word})
    if new:
        rows = [
            {"workspace": workspace, "kind": kind, "key": key, "field": name, "value": word}
            for (kind, key, name), word in new.items()
        ]
        tx.execute(tx.upsert(states, "value"), rows)
    if changes:
        tx.execute(sa.insert(transitions).values(workspace=workspace, at=at), changes)


def thinning(tx: Transaction, *, now: datetime) -> Iterator[sa.Executable]:
    """The statements that delete what is old, one transaction each, so that no other writer waits for all of them."""
    # Every workspace, named so that the tables' indexes, which begin with it, are used.
    workspaces = list(tx.scalars(sa.select(covered.c.workspace).distinct()))
    newest = tx.scalar(sa.select(sa.func.max(series.c.id))) or 0

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


# -- what is read

THIN_EVERY = timedelta(hours=1)
SETTLES_SECONDS = 30.0
"""A problem that comes back within so long was never gone."""
T = TypeVar("T")
P = ParamSpec("P")


def _reading(
    act: Callable[Concatenate[History, Transaction, P], T],
) -> Callable[Concatenate[History, P], Coroutine[Any, Any, T]]:
    """Make a synchronous method that reads in a transaction one that is awaited, in the history's thread."""

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

    async def run(self, act: Callable[[Transaction], T], *, reads: bool = False) -> T:
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

    def _transact(self, act: Callable[[Transaction], T], *, reads: bool) -> T:
        if self._engine is None:
            self._engine = open_history(self._url)
        if reads:
            with self._engine.connect().execution_options(read_only=True) as connection:
                return act(Transaction(connection))
        with self._engine.begin() as connection:
            tx = Transaction(connection)
            lock_writers(tx)
            return act(tx)

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
        self._seen |= await self.run(lambda tx: self._add(tx, snapshot, at=at))
        if self._thinned_at is None or not timedelta() <= now - self._thinned_at < THIN_EVERY:
            # Before it is done: where it fails, the next hour tries again, and not each poll.
            self._thinned_at = now
            for statement in await self.run(lambda c: list(thinning(c, now=now)), reads=True):
                await self.run(lambda c, statement=statement: c.execute(statement))  # type: ignore[misc]

    def _add(self, tx: Transaction, snapshot: Snapshot, *, at: int) -> Mapping[tuple[str, str], datetime]:
        """Write what is new; returns when its parts were read."""
        keep(tx, snapshot, at=at)
        read_at = _read_at(snapshot)
        fresh = {part for part, when in read_at.items() if self._seen.get(part) != when}
        if not fresh:
            return read_at
        workspace = snapshot.workspace
        cover(tx, workspace, at=at)
        inboxes = snapshot.inboxes.value or () if (workspace, "inboxes") in fresh else ()
        sequences = snapshot.sequences.value or () if (workspace, "sequences") in fresh else ()
        words = {("sequence", sequence.id, "status"): sequence.status or "unknown" for sequence in sequences}
        for inbox in inboxes:
            words["inbox", inbox.email, "status"] = inbox.status or "unknown"
            words["inbox", inbox.email, "health"] = by_score(inbox.health_score, self._thresholds)[1]
        write_scores(tx, workspace, inboxes, at=at)
        labels = {sequence.id: sequence.label for sequence in sequences}
        write_words(tx, workspace, words, labels=labels, at=at)
        return read_at

    @_reading
    def health(
        self,
        tx: Transaction,
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
        held = tx.execute(_held(which, start)).all()
        first = [Sample(at=start, value=value) for _key, value in held]
        moved = tx.execute(_moved(which, start, end, points))
        later = [Sample(at=moment(at), value=value) for _key, at, value in moved]
        return (*first, *later)

    @_reading
    def sparklines(
        self, tx: Transaction, workspace: str, *, start: datetime, end: datetime, points: int
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

        held = {row.key: once.setdefault(row.value, row.value) for row in tx.execute(_held(which, start))}
        moved = tx.execute(_moved(which, start, end, points))
        courses = {
            intern(key): course(held.pop(key, None), rows) for key, rows in groupby(moved, key=itemgetter(0))
        }
        return courses | {intern(key): course(value, ()) for key, value in held.items()}

    @_reading
    def domains_known_from(self, tx: Transaction, workspace: str, *, end: datetime) -> Mapping[str, datetime]:
        """The first sample of every domain that was seen until then."""
        joined = sa.join(samples, series, samples.c.series_id == series.c.id)
        first = sa.select(series.c.key, sa.func.min(samples.c.at)).select_from(joined)
        chosen = first.where(_series_of(workspace, "domain"), samples.c.at <= int(end.timestamp()))
        return {key: moment(at) for key, at in tx.execute(chosen.group_by(series.c.key))}

    @_reading
    def transitions(
        self,
        tx: Transaction,
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
        rows = tx.execute(columns.order_by(c.at.desc(), c.id.desc()).limit(limit))
        return tuple(Transition(**{**row._asdict(), "at": moment(row.at)}) for row in rows)

    @_reading
    def snapshot_times(
        self, tx: Transaction, workspace: str, *, start: datetime, end: datetime
    ) -> tuple[datetime, ...]:
        """The times of the snapshots that were kept, the oldest first."""
        c = snapshots.c
        span = c.at.between(int(start.timestamp()), int(end.timestamp()))
        chosen = sa.select(c.at).where(c.workspace == workspace, span).order_by(c.at)
        return tuple(map(moment, tx.scalars(chosen)))

    @_reading
    def snapshot_at(self, tx: Transaction, workspace: str, at: datetime) -> Snapshot | None:
        """The last snapshot that was kept until then; None where there is none, or it can't be read."""
        wanted = {"workspace": workspace, "until": int(at.timestamp())}
        body = tx.scalar(sa.text(LAST_BODY), wanted)
        snapshot = decoded(body) if body is not None else None
        if snapshot:
            self._seen = _read_at(snapshot) | self._seen  # it was written when it was kept
        return snapshot

    @_reading
    def covered(
        self, tx: Transaction, workspace: str, *, end: datetime
    ) -> tuple[tuple[datetime, datetime], ...]:
        """The times in which the dashboard or bot was reading, oldest first; between them nothing is known."""
        c = covered.c
        chosen = sa.select(c.start, c.end).where(c.workspace == workspace, c.start <= int(end.timestamp()))
        spans = tx.execute(chosen.order_by(c.start))
        return tuple((moment(start), moment(ended)) for start, ended in spans)

    @_reading
    def problems(self, tx: Transaction, workspace: str) -> tuple[ProblemStart, ...]:
        """The problems at the last look of any process, each with its start."""
        c = problems.c
        rows = tx.execute(sa.select(problems).where(c.workspace == workspace, c.gone_at.is_(None)))
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
    tx: Transaction,
    workspace: str,
    present: Collection[ProblemStart],
    *,
    spared: str,
    now: float,
) -> tuple[ProblemStart, ...]:
    c = problems.c
    kept = {row.key: row for row in tx.execute(sa.select(problems).where(c.workspace == workspace))}
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
            changed.append({"workspace": workspace, "gone_at": None, **asdict(start)})
    gone = [
        key for key, row in kept.items() if row.gone_at is None and not (spared and key.startswith(spared))
    ]
    if changed:
        names = ("kind", "since", "kind_since", "is_older", "gone_at")
        tx.execute(tx.upsert(problems, *names), changed)
    tx.update(problems, (c.workspace == workspace) & c.key.in_(gone), gone_at=now)
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
