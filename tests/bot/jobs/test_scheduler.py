"""When jobs run."""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime, timedelta

from bot.jobs.scheduler import JobScheduler
from bot.runtime.supervisor import Supervisor
from bot.store import Store
from shared.domain.records import Timer
from tests.bot.manual_clock import ManualClock


async def test_a_job_whose_time_passed_while_the_bot_was_starting_runs_late() -> None:
    ran = asyncio.Event()

    async def job() -> None:
        ran.set()

    scheduler = JobScheduler(Supervisor())
    scheduler.every(900.0, job, name="job", at_once=True)
    scheduler.start()
    time.sleep(1.2)  # noqa: ASYNC251 # a start that holds up the event loop
    assert await asyncio.wait_for(ran.wait(), timeout=60)
    await scheduler.aclose()


async def test_timers_of_a_workspace_that_left_the_settings_are_deleted_after_30_days(
    store: Store, clock: ManualClock
) -> None:
    timer = Timer(kind="resume", key="sq_1", due_at=datetime.fromtimestamp(clock.now, UTC))
    for workspace in ("gone", "Kept"):
        await store.records.set_timer(workspace, timer)
    clock.now += timedelta(days=29).total_seconds()
    assert await store.timers.forget_orphans(["kept"]) == 0
    clock.now += timedelta(days=2).total_seconds()
    assert await store.timers.forget_orphans(["kept"]) == 1
    assert await store.records.timers("gone", "resume") == []
    assert await store.records.timers("Kept", "resume") == [timer]
