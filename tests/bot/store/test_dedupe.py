"""Which arrivals are the same delivery, found out by the router, on both engines."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
import sqlalchemy as sa

from shared.store import Store, deliveries, open_store
from shared.store.db import schema
from shared.store.deliveries import Arrival, PendingDelivery
from tests.bot.harness import interested
from tests.bot.manual_clock import ManualClock, post_all, routes

PAUSED = b'{"event":"domain.paused","domain":"acme.example"}'


@pytest.fixture
async def store(url: sa.URL, clock: ManualClock) -> AsyncIterator[Store]:
    async with open_store(url, clock=clock) as opened:
        yield opened


async def arrive(store: Store, *bodies: bytes) -> None:
    at = store.database.clock()
    batch = [Arrival(workspace="default", body=body, at=at + n / 1e6) for n, body in enumerate(bodies)]
    await store.arrivals.append(batch)


async def look(store: Store, *, limit: int = 50) -> list[PendingDelivery]:
    return [pending for pending, _ in await store.deliveries.route(routes().decide, limit=limit)]


@pytest.mark.parametrize("index", ["ix_deliveries_pending", "ix_deliveries_dkey"])
async def test_a_look_passes_over_what_was_looked_at(store: Store, index: str) -> None:
    await arrive(store, *(interested(number) for number in range(60)))
    await look(store)
    came = index.endswith("pending")
    query = deliveries.CAME.params(limit=50) if came else deliveries.THERE.params(keys=[b"1", b"2"])

    def plan(connection: sa.Connection) -> str:
        text = query.compile(connection, compile_kwargs={"literal_binds": True})
        if connection.dialect.name == "postgresql":
            connection.execute(sa.text("SET LOCAL enable_seqscan = off"))
            return str(connection.exec_driver_sql(f"EXPLAIN {text}").all())
        return str(connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {text}").all())

    assert index in await store.database.write(lambda tx: plan(tx.connection))


async def test_a_look_that_fails_leaves_every_arrival_for_the_next(store: Store) -> None:
    await arrive(store, interested(1), interested(1), interested(2))

    def stumble(pending: PendingDelivery) -> None:
        raise ZeroDivisionError(pending.alert_id)

    with pytest.raises(ZeroDivisionError):
        await store.deliveries.route(stumble)  # type: ignore[arg-type]  # it never decides
    assert [pending.seen for pending in await look(store)] == [2, 1]


async def test_a_domain_paused_again_after_retention_is_news(store: Store, clock: ManualClock) -> None:
    await arrive(store, PAUSED)
    await look(store)
    (card,) = await post_all(store, clock)
    await store.alerts.update(card.alert_id, "{}", recovered=True)
    clock.now += 3600
    await store.retention.prune(bodies_after=60, hashes_after=1e6)
    await arrive(store, PAUSED)
    ((pending, decision),) = await store.deliveries.route(routes().decide)
    assert (pending.seen, pending.body) == (2, PAUSED)
    assert (decision.problem, [planned.kind for planned in decision.posts]) == ("", ["alert", "again"])


async def test_repeats_are_detected_per_workspace(store: Store) -> None:
    at = store.database.clock()
    both = [Arrival(workspace=name, body=interested(1), at=at) for name in ("default", "second")]
    await store.arrivals.append(both)
    assert sorted(pending.workspace for pending in await look(store)) == ["default", "second"]


async def test_groups_of_every_size_are_stored_whole(store: Store) -> None:
    sizes = (1, 2, 3, 17, 64, 65, 256)
    numbers = iter(range(sum(sizes)))
    for size in sizes:
        await arrive(store, *(interested(next(numbers)) for _ in range(size)))
    rows = sa.select(sa.func.count(), sa.func.count(schema.deliveries.c.dkey.distinct()))
    counted = await store.database.read(lambda c: c.execute(rows.select_from(schema.deliveries)).one())
    assert tuple(counted) == (sum(sizes), sum(sizes))


async def test_intake_continues_while_routers_run(store: Store) -> None:
    async def arrive_from(first: int) -> None:
        for number in range(first, first + 20):
            await arrive(store, interested(number % 15))

    async def look_on() -> int:
        return sum([len(await look(store, limit=3)) for _ in range(20)])

    *_, some, more = await asyncio.gather(arrive_from(0), arrive_from(20), look_on(), look_on())
    rest = len(await look(store, limit=50))
    seen = await store.database.read(lambda c: c.scalars(sa.select(schema.deliveries.c.seen)).all())
    assert some + more + rest >= 15
    assert (len(seen), sum(seen)) == (15, 40)
