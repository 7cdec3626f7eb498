"""The lock of a sequence under a change that takes long."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from shared.commands import hold
from shared.records import LOCK_SECONDS, RecordsUnavailable
from shared.store.sequences import SequenceChanges
from tests.kit.commands import CommandHarness
from tests.kit.scripted import Request
from tests.kit.waiting import until


async def test_a_lock_is_renewed_for_as_long_as_its_request_takes(
    harness: CommandHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    answered, renewed = asyncio.Event(), asyncio.Semaphore(0)
    failures = [RecordsUnavailable("the database is busy")]
    renew = SequenceChanges.renew

    async def counted(changes: SequenceChanges, *change: Any) -> None:
        if failures:
            raise failures.pop()
        await renew(changes, *change)
        renewed.release()

    async def hold_up(request: Request) -> None:
        if request.method == "PATCH":
            await answered.wait()

    monkeypatch.setattr(SequenceChanges, "renew", counted)
    monkeypatch.setattr(hold, "LOCK_SECONDS", 0.03)
    harness.service.before = hold_up
    pause = asyncio.create_task(harness.say("pause sq_1"))
    await until(lambda: harness.service.asked("PATCH"))
    for _ in range(3):
        while not renewed.locked():
            await renewed.acquire()  # of before the clock moved
        # One that fails while the lock holds is made up for by the next; the second began after the clock moved.
        for _ in range(2):
            await renewed.acquire()
        harness.now += timedelta(seconds=0.8 * LOCK_SECONDS)
        assert await harness.store.changes.begin("default", "sq_1", status="active") is None
    answered.set()
    assert not (await pause).refused
