"""What the counts of guardrails cost: in proportion to what is new, and in portions."""

from __future__ import annotations

import sqlalchemy as sa

from shared.store import Store, guardrails, open_store
from shared.store.db.engine import AT_ONCE
from shared.store.db.schema import samples
from tests.kit.growth import LINEAR, DatabaseWork, database_work
from tests.kit.manual_clock import HOUR, ManualClock

DAY = 24 * HOUR
SLOTS = 8


def counts(store: Store, inboxes: int, *, day: int) -> None:
    """Of two hours of a day, all of one workspace, each quarter of an hour."""
    rows = [
        {
            "workspace": "default", "day": day, "slot": slot, "scope": "inbox", "key": f"sam{n}@mail.example",
            "at": day * DAY + slot * guardrails.SLOT_SECONDS, "sends": slot, "replies": 0, "positive": 0, "health": None,
        }
        for n in range(inboxes)
        for slot in range(SLOTS)
    ]  # fmt: skip
    with store.database.engine.begin() as connection:
        connection.execute(sa.insert(samples), rows)


async def test_thinning_ten_times_as_many_inboxes_takes_ten_times_the_work(
    url: sa.URL, clock: ManualClock
) -> None:
    found: list[DatabaseWork] = []
    async with open_store(url, clock=clock) as store:
        for inboxes in (20, 200):
            clock.now += 5 * DAY
            counts(store, inboxes, day=int(clock.now // DAY) - 4)
            with database_work(store.database.engine) as work:
                await store.guardrails.prune()
            found.append(work)
        kept = await store.guardrails.samples("default", clock.now - 5 * DAY)
    few, many = found
    assert {one.sends for one in kept} == {3, 7}  # the last of each hour
    assert len(kept) == 2 * 200
    assert many.rows <= LINEAR * few.rows
    assert 0 <= many.written - few.written - 2 * 3 * (200 - 20) < SLOTS
    assert many.statements <= LINEAR * few.statements
    assert many.most_written <= AT_ONCE + 1  # until when all is thinned


async def test_thinning_reads_nothing_that_is_thinned(url: sa.URL, clock: ManualClock) -> None:
    async with open_store(url, clock=clock) as store:
        counts(store, 300, day=int(clock.now // DAY) - 6)
        await store.guardrails.prune()
    async with open_store(url, clock=clock) as store:  # also not after a restart
        clock.now += HOUR
        with database_work(store.database.engine) as work:
            await store.guardrails.prune()
    assert work.written == 1  # until when all is thinned
    assert work.rows < 25
