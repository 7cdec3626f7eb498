"""No method of the history does more than in proportion to what it returns, and none pays for another workspace."""

from __future__ import annotations

import inspect
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

import pytest
import sqlalchemy as sa

from shared.api.models import Inbox
from shared.api.pace import BudgetState
from shared.domain.snapshot import Reading, Snapshot, to_text
from shared.history import History
from shared.history.engine import (
    covered,
    deltas,
    metadata,
    problems,
    samples,
    series,
    snapshots,
    states,
    transitions,
)
from shared.storage.database import open_engine, parse_url
from tests.growth import DatabaseWork, database_work
from tests.shared.harness import NOW

FEW, MANY = 50, 500
MINUTE, HOUR, DAY = 60, 3_600, 86_400
AT = int(NOW.timestamp())
BUSY = "busy@x.com"
"""The inbox with all samples."""


def snapshot(workspace: str, *, minutes: int = 0, score: float = 90.0) -> Snapshot:
    inboxes = (Inbox(email=BUSY, health_score=score, daily_limit=40, status="active"),)
    at = NOW + timedelta(minutes=minutes)
    empty = Snapshot(workspace=workspace, budget=BudgetState(rate=9.5))
    return replace(empty, inboxes=Reading(value=inboxes, read_at=at))


def fill(connection: sa.Connection, count: int) -> None:
    """A workspace with so many inboxes and days, and an inbox with so many samples."""
    numbers, here = range(count), {"workspace": "acme"}
    body = zlib.compress("".join(to_text(snapshot("acme"))).encode())
    ids = {BUSY: 1} | {f"sam{n}@x.com": 2 + n for n in numbers}
    inbox = {**here, "kind": "inbox", "metric": "health_score", "last_at": AT - HOUR, "last_value": 90.0}
    day = {**here, "kind": "day", "last_at": AT, "last_value": 9.0}
    rows: dict[sa.Table, list[dict[str, Any]]] = {
        series: [
            *({**inbox, "id": ids[key], "key": key} for key in ids),
            *(
                {**day, "id": 10_000 + n, "key": f"{NOW.date() - timedelta(days=n)}", "metric": "sends"}
                for n in numbers
            ),
        ],
        samples: [
            *({"series_id": 1, "at": AT - HOUR - n, "value": 90.0} for n in numbers),
            *({"series_id": 2 + n, "at": AT - HOUR, "value": 90.0} for n in numbers),
        ],
        states: [
            {**here, "kind": "inbox", "key": f"sam{n}@x.com", "field": "status", "value": "active"}
            for n in numbers
        ],
        transitions: [
            {**here, "at": AT - n, "kind": "inbox", "key": BUSY, "label": BUSY, "field": "status", "before": "a", "after": "b"}
            for n in numbers
        ],
        snapshots: [{**here, "at": AT - n * 5 * MINUTE, "body": body} for n in numbers],
        deltas: [
            {**here, "base_at": AT - n * 5 * MINUTE, "writer": "w", "number": 1, "at": AT - n * 5 * MINUTE + 1,
             "body": zlib.compress(b"{}")} for n in numbers
        ],
        problems: [
            {**here, "key": f"domain:d{n}.example", "kind": "bad", "since": AT - n, "kind_since": AT - n, "is_older": False} for n in numbers
        ],
        covered: [{**here, "start": AT - n * HOUR - HOUR, "end": AT - n * HOUR - HOUR // 2} for n in numbers],
    }  # fmt: skip
    for table, some in rows.items():
        connection.execute(sa.insert(table), some)
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql(
            "SELECT setval('history_series_id_seq', 100000), setval('history_transitions_id_seq', 100000)"
        )


@dataclass(frozen=True, kw_only=True)
class Pair:
    """The same data in two sizes."""

    few: History
    many: History


@pytest.fixture(params=["sqlite", "postgresql"])
async def pair(request: pytest.FixtureRequest) -> AsyncIterator[Pair]:
    opened = []
    for count in (FEW, MANY):
        if request.param == "sqlite":
            url = parse_url(f"sqlite:///{request.getfixturevalue('tmp_path')}/{count}.db")
        else:
            server = parse_url(request.getfixturevalue("postgresql"))
            url = server.set(database=f"history{count}")
            admin = sa.create_engine(server, isolation_level="AUTOCOMMIT")
            with admin.connect() as connection:
                connection.exec_driver_sql(f"DROP DATABASE IF EXISTS history{count}")
                connection.exec_driver_sql(f"CREATE DATABASE history{count}")
            admin.dispose()
        engine = open_engine(url)
        metadata.create_all(engine)
        with engine.begin() as connection:
            fill(connection, count)
        if request.param == "postgresql":
            with engine.begin() as connection:
                connection.exec_driver_sql("ANALYZE")
        engine.dispose()
        opened.append(History(url))
    yield Pair(few=opened[0], many=opened[1])
    for history in opened:
        await history.aclose()


SPAN = {"start": NOW - timedelta(days=1), "end": NOW}
HEALTH: dict[str, Any] = {"kind": "inbox", "metric": "health_score", **SPAN}
Act = Callable[[History, str], Awaitable[object]]


async def add(history: History, workspace: str) -> None:
    await history.add(snapshot(workspace, minutes=5, score=70.0), now=NOW + timedelta(minutes=5))


async def follow_problems(history: History, workspace: str) -> None:
    present = await history.problems(workspace)
    await history.follow_problems(workspace, present[1:], now=NOW)


CASES: dict[str, tuple[bool, Act]] = {
    "add": (False, add),
    "series": (True, lambda one, name: one.series(name, key=BUSY, **HEALTH)),
    "all_series": (True, lambda one, name: one.all_series(name, **HEALTH)),
    "sparklines": (True, lambda one, name: one.sparklines(name, **HEALTH)),
    "transitions": (False, lambda one, name: one.transitions(name, limit=20)),
    "snapshot_times": (True, lambda one, name: one.snapshot_times(name, **SPAN)),
    "snapshot_at": (False, lambda one, name: one.snapshot_at(name, NOW)),
    "covered": (True, lambda one, name: one.covered(name, end=NOW)),
    "problems": (True, lambda one, name: one.problems(name)),
    "follow_problems": (True, follow_problems),
}
"""Whether it may read in proportion to what there is, because it returns that; and how it is called."""
EXEMPT = {"aclose": "reads nothing"}


async def measured(history: History, workspace: str, act: Act) -> DatabaseWork:
    for minutes in range(3):  # what is known is read once, and what is old thinned
        await history.add(snapshot(workspace, minutes=minutes), now=NOW + timedelta(minutes=minutes))
    assert not history._retention._jobs
    assert history._store._engine is not None
    with database_work(history._store._engine, analyzed=True) as work:
        await act(history, workspace)
    return work


def test_every_method_of_the_history_has_a_case() -> None:
    methods = inspect.getmembers(History, inspect.iscoroutinefunction)
    assert {name for name, _ in methods if not name.startswith("_")} == {*CASES, *EXEMPT}


async def test_the_history_grows_no_faster_than_what_it_returns(pair: Pair) -> None:
    for name, (returns_all, act) in CASES.items():
        few, many = await measured(pair.few, "acme", act), await measured(pair.many, "acme", act)
        excess = many.growth.excess(few.growth, is_flat=not returns_all)
        assert excess == {}, (name, many.most_read)


async def test_a_workspace_of_the_history_pays_nothing_for_another_one(pair: Pair) -> None:
    for name, (_, act) in CASES.items():
        few, many = await measured(pair.few, "small", act), await measured(pair.many, "small", act)
        assert many.growth.excess(few.growth, is_flat=True) == {}, (name, many.most_read)
