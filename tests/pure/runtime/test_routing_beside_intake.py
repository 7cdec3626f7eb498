"""How much the worker routes at a time: little while deliveries arrive, and everything that came, also repeats."""

from __future__ import annotations

import sqlalchemy as sa

from bot.delivery import ROUTED_AT_ONCE, ROUTED_BESIDE_INTAKE, Router, Routes
from bot.runtime import DeliverySignals
from shared.store import Store
from shared.store.db.schema import deliveries
from shared.store.deliveries import Arrival
from tests.kit.bot import interested


class Routing:
    """A router beside an intake that has stored so many deliveries."""

    def __init__(self, store: Store) -> None:
        self.store, self.stored, self.signals = store, 0, DeliverySignals()
        routes = Routes(alert_channels={})
        self.router = Router(store, signals=self.signals, routes=routes, stored_count=lambda: self.stored)

    async def arrive(self, *bodies: bytes) -> None:
        at = self.store.database.clock()
        batch = [Arrival(workspace="default", body=body, at=at) for body in bodies]
        self.stored += len(batch)
        await self.store.arrivals.append(batch)
        self.signals.stored()

    async def left_after_a_round(self) -> int:
        await self.router.round()
        unrouted = sa.select(sa.func.count()).where(deliveries.c.pending)
        return int(await self.store.database.read(lambda tx: tx.scalar(unrouted) or 0))


async def test_few_deliveries_are_routed_at_a_time_while_others_arrive(store: Store) -> None:
    router, count = Routing(store), 3 * ROUTED_AT_ONCE
    await router.arrive(*map(interested, range(count)))
    assert await router.left_after_a_round() == count - ROUTED_BESIDE_INTAKE
    await router.arrive(interested(count))
    assert await router.left_after_a_round() == count + 1 - 2 * ROUTED_BESIDE_INTAKE
    assert await router.left_after_a_round() == count + 1 - 2 * ROUTED_BESIDE_INTAKE - ROUTED_AT_ONCE


async def test_repeats_are_routed_without_a_pause_between_portions(store: Store) -> None:
    router = Routing(store)
    await router.arrive(*(interested(number % 4) for number in range(2 * ROUTED_BESIDE_INTAKE)))
    assert await router.left_after_a_round() == ROUTED_BESIDE_INTAKE
    assert await router.left_after_a_round() == 0
