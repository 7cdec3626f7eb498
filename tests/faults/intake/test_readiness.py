"""Readiness tells the truth, and asking for it costs next to nothing."""

from __future__ import annotations

import asyncio
import threading
import time
from typing import Any

import sqlalchemy as sa

from bot.http.readiness import CHECK_TIMEOUT
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
