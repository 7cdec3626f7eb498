"""A million past alerts: what intake, posting and reading cost beside them. Only when it is named: it takes minutes."""

from __future__ import annotations

import asyncio
import statistics
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import sqlalchemy as sa

from bot.alerts.routing import Routes
from bot.store import Store, open_store
from bot.store.queue.intake import Arrival
from bot.store.queue.leases import Sent
from shared.storage.database import parse_url
from tests.bench.__main__ import Row
from tests.bot.harness import interested
from tests.bot.migrated import migrated_file

FEW, MANY = 1_000, 1_000_000
DELIVERIES = 200
FLAT = 3.0
WORKSPACE, CHANNEL = "acme", "C1"


def run() -> Iterator[Row]:
    """All rows."""
    with tempfile.TemporaryDirectory() as folder:
        before, now = (asyncio.run(_measured(Path(folder, f"{past}.db"), past)) for past in (FEW, MANY))
    for what, spent in now.items():
        yield (
            f"{what}, {MANY:,} past alerts",
            spent,
            "ms",
            f"{FEW:,}: {before[what]:.3g} ms",
            spent <= 1 + FLAT * before[what],
        )


def fill(connection: sa.Connection, past: int, *, now: float) -> None:
    """Alerts of one workspace and one channel, posted long ago and done, a minute apart."""
    rows = (
        f"(WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < {past}) SELECT n FROM s)"
    )
    at = "CAST(:now - 86400.0 - n * 7.0 AS DOUBLE PRECISION)"
    here = f"'{WORKSPACE}'"
    columns = {
        "deliveries": {
            "id": "n", "dkey": "CAST('k' || n AS BLOB)", "workspace": here, "kind": "'reply.interested'",
            "body": "CAST('{}' AS BLOB)", "received_at": at, "last_at": at, "before_at": at, "seen": "1", "pending": "0",
        },
        "alerts": {
            "id": "'al_' || n", "delivery_id": "n", "workspace": here, "kind": "'reply.interested'",
            "email": "'lead' || (n % 50000)", "received_at": at, "sequence": "'Q3'", "handled_at": at,
        },
        "posts": {
            "id": "n", "dedupe": "'old' || n", "workspace": here, "channel": f"'{CHANNEL}'", "kind": "'alert'",
            "alert_id": "'al_' || n", "state": "'sent'", "ts": "'1.' || n", "created_at": at,
        },
        "sightings": {
            "delivery_id": "n", "workspace": here, "kind": "'lead.bounced'", "domain": "'d' || (n % 900)",
            "sequence": "'Q3'", "at": at,
        },
    }  # fmt: skip
    for table, values in columns.items():
        insert = f"INSERT INTO {table} ({', '.join(values)}) SELECT {', '.join(values.values())} FROM {rows}"
        connection.execute(sa.text(insert), {"now": now})


async def _measured(file: Path, past: int) -> dict[str, float]:
    """Milliseconds of a core, by what they were spent on."""
    async with open_store(parse_url(migrated_file(file))) as store:
        with store.database.engine.begin() as connection:
            fill(connection, past, now=store.database.clock())
        found = await _delivered(store)
        began = time.process_time()
        await store.records.summary(WORKSPACE)
        found["`status`"] = 1_000 * (time.process_time() - began)
        began = time.process_time()
        await store.spikes.workspaces(since=store.database.clock() - 3_600.0, at_least=20)
        found["look for spikes"] = 1_000 * (time.process_time() - began)
        return found


async def _delivered(store: Store) -> dict[str, float]:
    """The medians of deliveries that are stored, routed and posted one after another."""
    routes = Routes(alert_channels={WORKSPACE: CHANNEL})
    times: dict[str, list[float]] = {"a delivery stored": [], "routed": [], "posted": []}
    for number in range(DELIVERIES):
        began = time.process_time()
        arrival = Arrival(workspace=WORKSPACE, body=interested(number), at=store.database.clock())
        await store.arrivals.append([arrival], number=10_000 + number)
        stored = time.process_time()
        await store.deliveries.route(routes.decide)
        routed = time.process_time()
        for turn in (await store.leases.claim(limit=5)).turns:
            await store.outcomes.settle(turn, Sent(ts=f"2.{number}"))
        spent = (stored - began, routed - stored, time.process_time() - routed)
        for kept, seconds in zip(times.values(), spent, strict=True):
            kept.append(1_000 * seconds)
    return {what: statistics.median(some) for what, some in times.items()}
