"""What reports read, on both engines: figures as of all rows, and no more bodies and threads than they need."""

from __future__ import annotations

import asyncio
import threading
from datetime import datetime

import pytest
import sqlalchemy as sa

from shared.api import events
from shared.domain.wall_clock import DAY, moment
from shared.records.replies import Grouping
from shared.store import Store
from shared.store.db.engine import Transaction
from shared.store.db.schema import alerts
from tests.bot.harness import interested
from tests.shared.waits import waits_of

LATE = 300.0
FEW = 200


def fill(tx: Transaction, count: int, *, first: int = 0) -> None:
    """Interested replies of ten days, all of one workspace: most of them claimed, and most of those done."""
    numbers = range(first, first + count)
    at = {n: tx.now - 10 * DAY + n * 9 * DAY / (first + count) for n in numbers}
    no = {"found": False, "pending": False, "seen": 1}
    rows = [
        {"id": n + 1, "dkey": b"%d" % n, "workspace": "w", "kind": "reply.interested", "body": interested(n),
         "received_at": at[n], "last_at": at[n], **no}
        for n in numbers
    ]  # fmt: skip
    tx.execute(sa.insert(alerts.metadata.tables["deliveries"]), rows)
    replies = [
        {"id": f"al_{n}", "delivery_id": n + 1, "workspace": "w", "kind": "reply.interested", "email": f"ada{n}",
         "sequence": f"Q{n % 3}", "received_at": at[n], **dict.fromkeys(("claimed_by", "claimed_name"), f"p{n * n % 7}" if n % 10 < 8 else ""),
         "claimed_at": at[n] + n * 37 % 901 - 5 if n % 10 < 8 else None, "waiting_since": at[n] if n % 10 > 7 else None,
         "handled_at": at[n] + n * 53 % 1009 if n % 10 < 6 else None, "handled_name": f"p{n % 4}" if n % 10 < 6 else ""}
        for n in numbers
    ]  # fmt: skip
    tx.execute(sa.insert(alerts), replies)


def span(store: Store) -> tuple[datetime, datetime]:
    now = store.database.clock()
    return moment(now - 8 * DAY), moment(now - 2 * DAY)


@pytest.mark.parametrize("by", ["", "person", "sequence"])
async def test_waits_are_those_of_all_rows(store: Store, by: Grouping) -> None:
    start, end = span(store)
    assert await store.records.claim_times("w", start, end, by=by, late=LATE) == []
    await store.database.write(lambda tx: fill(tx, FEW))
    c = alerts.c
    name = {"": sa.literal(""), "person": c.claimed_name, "sequence": c.sequence}[by]
    within = (c.claimed_at >= start.timestamp()) & (c.claimed_at < end.timestamp())
    query = sa.select(name, c.claimed_at - c.received_at).where(within)
    rows = await store.database.read(lambda tx: tx.execute(query).all())
    found = await store.records.claim_times("w", start, end, by=by, late=LATE)
    expected = waits_of(((who, max(0.0, seconds)) for who, seconds in rows), late=LATE)
    assert len(expected) == {"": 1, "person": 4, "sequence": 3}[by]
    assert [(one.name, one.count, one.in_time) for one in found] == [
        (one.name, one.count, one.in_time) for one in expected
    ]
    for one, other in zip(found, expected, strict=True):
        assert (one.median, one.p90) == pytest.approx((other.median, other.p90))


async def test_open_replies_are_counted_exactly_and_only_a_page_is_decoded(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    decoded = 0

    def counted(body: bytes) -> object:
        nonlocal decoded
        decoded += 1
        return events.read_event(body)

    monkeypatch.setattr("shared.store.rows.read_event", counted)
    await store.database.write(lambda tx: fill(tx, FEW))
    whole = await store.records.open_replies("w")
    assert whole.count == len(whole.replies) == decoded == FEW // 5
    decoded = 0
    page = await store.records.open_replies("w", first=30, most=15)
    assert (page.count, page.replies, decoded) == (FEW // 5, whole.replies[30:], 10)
    assert (await store.records.open_replies("other")).count == 0


async def test_a_long_report_holds_up_no_other_reading(store: Store) -> None:
    begun, ends = threading.Event(), threading.Event()

    def report_on(_tx: Transaction) -> bool:
        begun.set()
        return ends.wait(10)

    report = asyncio.create_task(store.database.read(report_on, pool="report"))
    try:
        await asyncio.to_thread(begun.wait)
        assert await store.alerts.find("al_none") is None
        assert await store.deliveries.oldest_unrouted_age() == 0
        assert not report.done()
    finally:
        ends.set()
    assert await report
