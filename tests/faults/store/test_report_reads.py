"""What reports read, on both engines: figures as of all rows, and no more bodies and threads than they need."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping, Sequence

import pytest
import sqlalchemy as sa

from shared.domain.wall_clock import DAY, moment
from shared.records.records import Grouping, Waits
from shared.store import Store
from shared.store.db.engine import Transaction
from shared.store.db.schema import alerts
from tests.bot.harness import interested

LATE = 300.0
FEW = 200


def fill(tx: Transaction, count: int, replies: Sequence[Mapping[str, object]] = ()) -> None:
    """Interested replies of one workspace, with these values; a fifth of the others is unclaimed."""
    numbers = range(count)
    rows = [
        {"id": n + 1, "dkey": b"%d" % n, "workspace": "w", "kind": "reply.interested", "body": interested(n),
         "received_at": tx.now, "last_at": tx.now, "found": False, "pending": False, "seen": 1}
        for n in numbers
    ]  # fmt: skip
    tx.execute(sa.insert(alerts.metadata.tables["deliveries"]), rows)
    values = [*replies] or [
        {"received_at": tx.now + n, "waiting_since": tx.now + n if n % 5 == 0 else None} for n in numbers
    ]
    same = {"workspace": "w", "kind": "reply.interested"}
    tx.execute(
        sa.insert(alerts),
        [{"id": f"al_{n}", "delivery_id": n + 1, **same, **value} for n, value in enumerate(values)],
    )


@pytest.mark.parametrize(
    ("by", "waits"),
    [
        ("", [Waits(name="", count=4, median=45.0, p90=600.0, in_time=3)]),
        (
            "person",
            [
                Waits(name="benny", count=3, median=60.0, p90=600.0, in_time=2),
                Waits(name="ann", count=1, median=0.0, p90=0.0, in_time=1),
            ],
        ),
        (
            "sequence",
            [
                Waits(name="Q1", count=3, median=60.0, p90=600.0, in_time=2),
                Waits(name="Q2", count=1, median=0.0, p90=0.0, in_time=1),
            ],
        ),
    ],
)
async def test_waits_are_counted_by_person_and_sequence(
    store: Store, by: Grouping, waits: list[Waits]
) -> None:
    """One came after its claim by the clock, and one person has another name by now."""
    now = store.database.clock()
    claims = (("U1", "ben", 30), ("U1", "benny", 60), ("U1", "benny", 600), ("U2", "ann", -5))
    rows = [
        {"claimed_by": who, "claimed_name": name, "sequence": "Q2" if who == "U2" else "Q1",
         "received_at": now - 1_000 + n, "claimed_at": now - 1_000 + n + wait}
        for n, (who, name, wait) in enumerate(claims)
    ]  # fmt: skip
    await store.database.write(lambda tx: fill(tx, len(rows), rows))
    start, end = moment(now - DAY), moment(now + DAY)
    assert await store.records.claim_times("w", start, end, by=by, late=LATE) == waits
    assert await store.records.claim_times("w", end, end, by=by, late=LATE) == []


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
