"""What the counts of guardrails cost: old ones go in portions."""

from __future__ import annotations

import sqlalchemy as sa

from shared.domain.wall_clock import DAY
from shared.store import erasure, open_store
from shared.store.db.engine import AT_ONCE
from shared.store.db.schema import samples
from tests.kit.growth import database_work
from tests.kit.manual_clock import ManualClock


async def test_counts_are_deleted_after_forty_days_and_in_portions(url: sa.URL, clock: ManualClock) -> None:
    same = {"workspace": "default", "day": 1, "scope": "inbox", "slot": 0}
    over = clock.now - erasure.COUNTS_SECONDS
    rows = [{"key": f"sam{n}", "at": over - 1 + 2 * (n % 2)} for n in range(3 * AT_ONCE)]
    async with open_store(url, clock=clock) as store:
        with store.database.engine.begin() as connection:
            connection.execute(sa.insert(samples).values(same), rows)
        with database_work(store.database.engine) as work:
            while await store.retention.prune(bodies_after=DAY, hashes_after=DAY):
                pass
        kept = await store.guardrails.samples("default", 0.0)
    assert len(kept) == 3 * AT_ONCE // 2
    assert all(one.at > over for one in kept)
    assert work.most_written <= AT_ONCE
