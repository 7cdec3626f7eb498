"""What reports read, on both engines: figures as of all rows, and no more bodies and threads than they need."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import replace

import sqlalchemy as sa

from shared.domain.wall_clock import DAY, moment
from shared.records import Waits
from shared.store import Store
from shared.store.db.engine import Transaction
from shared.store.db.schema import alerts, deliveries


async def test_waits_are_counted_together_and_by_person(store: Store) -> None:
    """One came after its claim by the clock, and one person has another name by now."""
    now = store.database.clock()
    claims = (("U1", "ben", 30), ("U1", "benny", 60), ("U1", "benny", 600), ("U2", "ann", -5))

    def claim(tx: Transaction) -> None:
        for number, (who, name, wait) in enumerate(claims):
            came = now - 1_000 + number
            same = {"workspace": "w", "kind": "reply.interested", "received_at": came}
            delivery = {"id": number + 1, "dkey": b"%d" % number, "last_at": now, "pending": False}
            tx.execute(sa.insert(deliveries).values(**same, **delivery))
            claimed = {"claimed_by": who, "claimed_name": name, "claimed_at": came + wait}
            sequence = "Q2" if who == "U2" else "Q1"
            row = {"id": f"al_{number}", "delivery_id": number + 1, "sequence": sequence}
            tx.execute(sa.insert(alerts).values(**same, **claimed, **row))

    await store.database.write(claim)
    start, end = moment(now - DAY), moment(now + DAY)
    most, least = (
        Waits(count=3, median=60.0, p90=600.0, in_time=2),
        Waits(count=1, median=0.0, p90=0.0, in_time=1),
    )
    total = Waits(count=4, median=45.0, p90=600.0, in_time=3)
    people = [replace(least, name="ann"), replace(most, name="benny")]  # by their first claims
    assert await store.claim_times("w", start, end) == [total, *people]
    assert await store.claim_times("w", end, end) == [Waits()]


async def test_a_long_report_holds_up_no_other_reading(store: Store) -> None:
    begun, ends = threading.Event(), threading.Event()

    def report_on(_tx: Transaction) -> bool:
        begun.set()
        return ends.wait(10)

    # In the pool of the other readings, a report would hold up what a click has to read.
    report = asyncio.create_task(store.database.read(report_on, pool="report"))
    try:
        await asyncio.to_thread(begun.wait)
        assert await store.alerts.find("al_none") is None
        assert await store.deliveries.oldest_unrouted_age() == 0
        assert not report.done()
    finally:
        ends.set()
    assert await report
