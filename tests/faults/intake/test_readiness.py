"""Readiness tells the truth, and asking for it costs next to nothing."""

from __future__ import annotations

import asyncio
import threading
import time
from typing import Any

import pytest
import sqlalchemy as sa

from bot.http.readiness import CHECK_TIMEOUT
from shared.records.records import RecordsUnavailable
from tests.kit.bot import interested
from tests.kit.team import Installation
from tests.kit.waiting import BOUND_SECONDS


async def test_a_flood_of_questions_writes_nothing_to_the_database(bot: Installation) -> None:
    assert bot.running is not None
    writes = 0

    def count(*called: Any) -> None:
        nonlocal writes
        writes += called[2].lstrip().upper().startswith(("INSERT", "UPDATE", "DELETE"))

    sa.event.listen(bot.running.store.database.engine, "before_cursor_execute", count)
    asked = 400
    answers = await asyncio.gather(*(bot.get("/readyz") for _ in range(asked)))
    assert {status for status, _ in answers} == {200}
    # A write that succeeded proves for a second that the next will (WRITTEN_SECONDS).
    assert writes < asked / 10


async def test_probes_and_metrics_wait_for_no_report(bot: Installation) -> None:
    assert bot.running is not None
    ends = threading.Event()
    # A probe that waited for it would have whoever asks take a healthy bot for dead.
    report = asyncio.create_task(bot.running.store.database.read(lambda _tx: ends.wait(BOUND_SECONDS)))
    try:
        for path in ("/readyz", "/metrics"):
            started = time.monotonic()
            status, _ = await bot.get(path)
            assert status == 200, path
            assert time.monotonic() - started < CHECK_TIMEOUT, path
        assert await bot.deliver(interested(1), secret="wrong") == 401
        assert not report.done()
    finally:
        ends.set()
        await report


async def test_deliveries_that_could_not_be_stored_fail_readiness_until_others_are(bot: Installation) -> None:
    assert bot.running is not None
    arrivals = bot.running.store.arrivals
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(arrivals, "append", refuse)
        patch.setattr(arrivals, "try_out", refuse)
        assert await bot.deliver(interested(1)) == 503
        for _ in range(3):
            status, state = await bot.ready()
            assert (status, state["ready"]) == (503, False)
            assert state["database"] == "the disk is full"
    assert await bot.deliver(interested(1)) == 200
    assert (await bot.ready())[0] == 200


async def refuse(*_: object, **__: object) -> None:
    raise RecordsUnavailable("the disk is full")
