"""What the store tells of a range of days, on both engines."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import sqlalchemy as sa

from shared.records.audit import Actor, AuditEntry
from shared.records.records import PeriodRecords
from shared.records.replies import Waits
from shared.store import Store
from shared.store.db.schema import alerts
from tests.bot.harness import interested
from tests.bot.manual_clock import ManualClock, arrive

ANN = Actor(name="ann", id="U1", face="slack")
PAUSED = json.dumps({"event": "domain.paused", "domain": "mail.example"}).encode()


def at(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


async def test_replies_incidents_and_changes_of_a_time_are_read(store: Store, clock: ManualClock) -> None:
    began = clock.now
    await arrive(store, interested(1))
    clock.now += 60
    (first,) = await store.database.read(lambda tx: tx.scalars(sa.select(alerts.c.id)).all())
    await store.alerts.act(first, "claim", ANN)
    await arrive(store, interested(2), PAUSED)
    entry = AuditEntry(at=at(clock.now), actor=ANN, workspace="default", command="", result="")
    for one in (
        replace(entry, result="failed follow-ups (sq_1) paused", effect="paused", sequences=("sq_1",)),
        replace(entry, result="failed: the service does not answer", effect="failed"),
        replace(entry, result="added to Spring"),
    ):
        await store.records.record(one)
    clock.now += 3600
    await arrive(store, interested(3))

    span = at(began), at(began + 600)
    found = await store.records.period("default", *span, late=3600)
    assert (found.replies, found.touches) == (2, Waits(count=1, median=60.0, p90=60.0, in_time=1))
    positive = await store.records.positive_replies("default", *span, named=True)
    assert [one.touched_after for one in positive] == [timedelta(seconds=60), None]
    assert positive[0].email
    assert positive[0].lead
    (unnamed,) = await store.records.positive_replies("default", *span, most=1)
    assert unnamed == replace(positive[0], email="", lead="", company="")
    assert [one.text for one in found.incidents] == ["The service paused mail.example"]
    assert [one.result for one in found.changes] == ["failed follow-ups (sq_1) paused"]
    nothing = await store.records.period("other", *span, late=3600)
    assert nothing == PeriodRecords(incidents=[], changes=[], lost=[])
    assert await store.records.positive_replies("other", *span) == []
