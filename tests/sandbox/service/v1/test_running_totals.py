"""Counts over any range of days: what is kept of them between two questions never differs from the book."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import Connection, create_engine, func, insert, select, update

from sandbox.service import Service
from sandbox.service.base.clock import DAY, date_of
from sandbox.service.base.schema import daily_counts, inboxes, leads, metadata, sequences, world
from sandbox.service.base.storage import Storage
from sandbox.service.campaign.daily_counts import GROUPINGS, Cell, CountBuffer
from sandbox.service.campaign.rules import VARIANTS
from sandbox.service.v1.running_totals import Totals
from sandbox.service.v1.state import ApiState
from tests.sandbox.service.conftest import client_of

MONDAY = 20_003
SHOWN = ("sends", "replies", "positive_replies", "meetings")
INBOXES = 70
"""More than are read in one go."""


@contextmanager
def book() -> Iterator[Connection]:
    """A book with some sequences and inboxes, in which nothing has been counted yet."""
    engine = create_engine("sqlite://")
    with engine.connect() as connection:
        metadata.create_all(connection)
        connection.execute(insert(world), _world())
        connection.execute(insert(sequences), [_sequence(number) for number in range(1, 4)])
        connection.execute(insert(inboxes), [_inbox(number) for number in range(1, INBOXES + 1)])
        yield connection
    engine.dispose()


def _world() -> dict[str, Any]:
    numbers = dict.fromkeys(("pk", "seed", "acts_done", "clock_real", "clock_virtual", "clock_speed"), 1)
    return numbers | {"scenario": "empty", "founded_at": 0.0, "simulated_until": MONDAY * DAY}


def _sequence(number: int) -> dict[str, Any]:
    window = {"opens": 0, "closes": 24, "weekdays": 127, "appeal": 1.0}
    return window | {"workspace_pk": 1, "name": f"Sequence {number}", "status": "active", "steps": 4}


def _inbox(number: int) -> dict[str, Any]:
    home = {"workspace_pk": 1, "domain_pk": 1, "sequence_pk": 1, "email": f"a{number}@firm.example"}
    return home | {"health": 9.0, "daily_limit": 9, "full_limit": 9, "status": "active", "next_slot_at": 0.0}


def read(totals: Totals, connection: Connection, *, grouping: str, first: int, last: int) -> list[list[int]]:
    """The counts that are shown, group after group."""
    parts = totals.read(connection, workspace=1, grouping=grouping, first=first, last=last)
    return [[json.loads(text)[name] for name in SHOWN] for part in parts for text in part]


def summed(connection: Connection, *, grouping: str, first: int, last: int) -> list[list[int]]:
    """The same, by the database's own sums."""
    sums = [func.sum(daily_counts.c[name]) for name in SHOWN]
    statement = select(*sums).where(
        daily_counts.c.grouping == grouping, daily_counts.c.day.between(first, last)
    )
    found = connection.execute(
        statement.group_by(daily_counts.c.group_key).order_by(daily_counts.c.group_key)
    )
    return [list(row) for row in found if any(row)]


def count(connection: Connection, *, day: int, what: str, cell: tuple[int, int, int, int]) -> None:
    buffer = CountBuffer()
    buffer.count(Cell(1, day, *cell), what)
    buffer.save(connection)


cells = st.tuples(
    st.integers(1, 3), st.integers(1, 9), st.sampled_from(range(len(VARIANTS))), st.integers(1, INBOXES)
)
events = st.tuples(st.integers(0, 3), st.booleans(), st.sampled_from((*SHOWN, "bounces")), cells)
ranges = st.tuples(st.integers(-3, 20), st.integers(0, 20))


@given(st.lists(st.tuples(events, ranges), min_size=1, max_size=12))
def test_any_range_is_the_sum_of_its_days(life: list[Any]) -> None:
    kept, today = Totals(), MONDAY
    with book() as connection:
        for (days, late, what, cell), (back, length) in life:
            today += days
            count(connection, day=today - late, what=what, cell=cell)
            connection.execute(update(world).values(simulated_until=today * DAY))
            first = today - back
            for grouping in GROUPINGS:
                asked: dict[str, Any] = {"grouping": grouping, "first": first, "last": first + length}
                assert read(kept, connection, **asked) == summed(connection, **asked)


def test_a_group_that_counts_for_the_first_time_appears() -> None:
    kept = Totals()
    with book() as connection:
        for step in range(1, 5):
            count(connection, day=MONDAY, what="sends", cell=(1, step, 0, 1))
            asked: dict[str, Any] = {"grouping": "step", "first": MONDAY, "last": MONDAY}
            assert read(kept, connection, **asked) == [[1, 0, 0, 0]] * step


async def test_every_change_invalidates_cached_answers(
    service: Service, api: httpx.AsyncClient, control: httpx.AsyncClient
) -> None:
    today = str(date_of(service.now()))
    paths = (
        "/sequences",
        "/inboxes",
        "/leads",
        "/leads?status=active",
        f"/stats?from={today}&to={today}",
    )
    before = [(await api.get(path)).json() for path in paths]
    assert [(await api.get(path)).json() for path in paths] == before
    sequence = before[0]["data"][0]["id"]
    await api.patch(f"/sequences/{sequence}", json={"status": "paused"})
    await api.post("/leads", json={"sequence_id": sequence, "leads": [{"email": "new@firm.example"}]})
    await control.post("/events", json={"kind": "reply.interested"})
    await control.post("/events", json={"kind": "domain.paused"})
    after = [(await api.get(path)).json() for path in paths]
    assert [old == new for old, new in zip(before, after, strict=True)] == [False] * len(paths)
    await control.put("/dialect", json={"envelope": "bare"})
    assert (await api.get("/inboxes")).json() == after[1]["data"]


async def test_midnight_is_a_change_though_nothing_happens() -> None:
    now = [MONDAY * DAY + 5.0]
    state = ApiState(Storage(None), now=lambda: now[0])
    await state.storage.open()
    editions = []
    for moment in (MONDAY * DAY + 5.0, (MONDAY + 1) * DAY - 1.0, (MONDAY + 1) * DAY):
        now[0] = moment
        editions.append(state.version())
    await state.storage.close()
    assert editions[0] == editions[1] != editions[2]


async def test_each_workspace_is_answered_from_its_own(
    api: httpx.AsyncClient, globex: httpx.AsyncClient
) -> None:
    for path in ("/sequences", "/inboxes", "/leads", "/stats", "/stats?group_by=inbox"):
        mine, theirs, again = [(await one.get(path)).json()["data"] for one in (api, globex, api)]
        assert mine == again
        assert not {json.dumps(one) for one in mine} & {json.dumps(one) for one in theirs}


@pytest.mark.soak
@pytest.mark.parametrize("kept", ["sqlite", "postgresql"])
async def test_the_huge_account_has_a_million_leads_and_counts_that_add_up(
    kept: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    database = (
        f"sqlite:///{tmp_path}/huge.db" if kept == "sqlite" else request.getfixturevalue("fresh_postgresql")
    )
    async with (
        Service(database=database, scenario="huge", speed=0) as service,
        client_of(service, "acme") as api,
    ):
        service.state.limiter.change("off")
        assert len((await api.get("/inboxes")).json()["data"]) == 10_000
        totals = []
        for grouping in GROUPINGS:
            found = (await api.get("/stats", params={"group_by": grouping})).json()["data"]
            totals.append([sum(row[name] for row in found) for name in SHOWN])
        assert totals[0][0] > 1_000_000
        assert totals == [totals[0]] * len(GROUPINGS)
        newest = (await api.get("/leads", params={"limit": 100})).json()["data"]
        created = [lead["created_at"] for lead in newest]
        assert created == sorted(created, reverse=True)
        assert await service.state.storage.read(_leads_of_acme) == 1_000_000


def _leads_of_acme(connection: Connection) -> int:
    return connection.execute(select(func.count()).where(leads.c.workspace_pk == 1)).scalar_one()
