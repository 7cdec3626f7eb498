"""Which arrivals are the same delivery, found out by the router, on both engines."""

from __future__ import annotations

import pytest

from shared.store import Store
from shared.store.deliveries import Arrival, PendingDelivery
from tests.bot.harness import interested
from tests.bot.manual_clock import routes


async def arrive(store: Store, *bodies: bytes) -> None:
    at = store.database.clock()
    batch = [Arrival(workspace="default", body=body, at=at + n / 1e6) for n, body in enumerate(bodies)]
    await store.arrivals.append(batch)


async def look(store: Store, *, limit: int = 50) -> list[PendingDelivery]:
    return [pending for pending, _ in await store.deliveries.route(routes().decide, limit=limit)]


async def test_a_look_that_fails_leaves_every_arrival_for_the_next(store: Store) -> None:
    await arrive(store, interested(1), interested(1), interested(2))

    def stumble(pending: PendingDelivery) -> None:
        raise ZeroDivisionError(pending.alert_id)

    # Rows and counts are one transaction: what the failed look has counted is undone with it.
    with pytest.raises(ZeroDivisionError):
        await store.deliveries.route(stumble)  # type: ignore[arg-type]  # it never decides
    assert [pending.seen for pending in await look(store)] == [2, 1]


async def test_repeats_are_detected_per_workspace(store: Store) -> None:
    at = store.database.clock()
    # Two accounts may send the same body: a hash without the workspace would swallow one of them.
    both = [Arrival(workspace=name, body=interested(1), at=at) for name in ("default", "second")]
    await store.arrivals.append(both)
    assert sorted(pending.workspace for pending in await look(store)) == ["default", "second"]
