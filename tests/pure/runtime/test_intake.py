"""The intake of deliveries: bounds of bodies and of what waits."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest
import sqlalchemy as sa

from bot.http import webhook
from bot.http.webhook import (
    BATCH,
    MAX_WAITING,
    SMALL_BODY_BYTES,
    BodyReader,
    DeliveryIntake,
    Refused,
)
from shared.records import RecordsUnavailable
from shared.store import Store
from shared.store.db.schema import deliveries
from shared.store.deliveries import Arrival
from tests.kit.bot import interested
from tests.kit.waiting import until

KIB = 2**10
SCOPE: Mapping[str, Any] = {"headers": []}


class Sender:
    """A body that comes in parts, when they are sent."""

    def __init__(self, *parts: int) -> None:
        self.events: asyncio.Queue[Mapping[str, Any]] = asyncio.Queue()
        self.send(*parts)

    def send(self, *parts: int, ends: bool = False) -> None:
        for size in parts:
            self.events.put_nowait({"type": "http.request", "body": b"x" * size, "more_body": True})
        if ends:
            self.events.put_nowait({"type": "http.request"})


async def test_unverified_bodies_share_a_bound_and_give_back_what_they_took(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(webhook, "MAX_BODY_BYTES", 400 * KIB)
    monkeypatch.setattr(webhook, "MAX_UNVERIFIED_BYTES", 100 * KIB)
    reader = BodyReader()
    for _ in range(20):  # what is not given back adds up
        slow = Sender(SMALL_BODY_BYTES, *[9 * KIB] * 10)
        reading = asyncio.create_task(reader.read(SCOPE, slow.events.get))
        await until(slow.events.empty)
        with pytest.raises(Refused, match="503"):  # 90 of 100 KiB are taken
            await reader.read(SCOPE, Sender(SMALL_BODY_BYTES + 11 * KIB).events.get)
        small = Sender(SMALL_BODY_BYTES)
        small.send(ends=True)
        assert len(await reader.read(SCOPE, small.events.get)) == SMALL_BODY_BYTES
        slow.send(10 * KIB, ends=True)
        assert len(await reading) == SMALL_BODY_BYTES + 100 * KIB
        gone = Sender(SMALL_BODY_BYTES + 99 * KIB)
        gone.events.put_nowait({"type": "http.disconnect"})
        with pytest.raises(Refused, match="400"):
            await reader.read(SCOPE, gone.events.get)


async def test_what_waits_together_is_one_commit_and_a_closed_intake_refuses(store: Store) -> None:
    commits = list[int]()
    intake = DeliveryIntake(store, stored=lambda: commits.append(1))
    running = asyncio.create_task(intake.run())
    arrivals = [Arrival(workspace="default", body=interested(n), at=1.0) for n in range(3)]
    await asyncio.gather(*(intake.store(one) for one in arrivals))
    assert (len(commits), intake.count) == (1, 3)
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    with pytest.raises(Refused, match="503"):
        await intake.store(arrivals[0])


async def test_a_full_queue_refuses_and_what_was_taken_is_stored_at_the_end(store: Store) -> None:
    intake = DeliveryIntake(store, stored=lambda: None)
    waiting = [
        asyncio.create_task(intake.store(Arrival(workspace="default", body=str(n).encode(), at=1.0)))
        for n in range(MAX_WAITING)
    ]
    await asyncio.sleep(0)
    with pytest.raises(Refused, match="503"):
        await intake.store(Arrival(workspace="default", body=b"one more", at=1.0))
    running = asyncio.create_task(intake.run())
    await asyncio.sleep(0)
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    # Cut off in its commit, nobody knows if a group is stored: an error has the service send it again.
    results = await asyncio.gather(*waiting, return_exceptions=True)
    refused = [one for one in results if isinstance(one, RecordsUnavailable)]
    assert len(refused) <= BATCH, "those whose commit was under way may be stored or not: they are sent again"
    count = sa.select(sa.func.count()).select_from(deliveries)
    assert await store.database.read(lambda tx: tx.scalar(count) or 0) >= MAX_WAITING - len(refused)
