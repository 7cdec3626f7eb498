"""When jobs run."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

from bot.runtime import Supervisor
from bot.worker import Interval, JobScheduler
from tests.kit.waiting import until


async def test_a_job_that_failed_runs_again_and_others_wait_for_their_time() -> None:
    runs: list[int] = []

    async def job() -> None:
        runs.append(len(runs))
        if len(runs) == 1:
            raise ValueError

    scheduler = JobScheduler(Supervisor())
    scheduler.every(0.01, job, name="job", at_once=True)
    scheduler.every(900.0, job, name="later")
    running = asyncio.create_task(scheduler.run())
    await until(lambda: len(runs) > 2)
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    assert runs == [*range(len(runs))]


def test_the_times_that_a_sleeping_machine_missed_are_one() -> None:
    before = datetime(2026, 3, 1, tzinfo=UTC)
    trigger = Interval(seconds=1.0, timezone=UTC, start_date=before)
    # A machine that slept for a month must not catch up on two million runs.
    awake = before + timedelta(days=30, seconds=0.25)
    assert trigger.get_next_fire_time(before, awake) == awake + timedelta(seconds=0.75)
    on_time = before + timedelta(seconds=0.25)
    assert trigger.get_next_fire_time(before, on_time) == before + timedelta(seconds=1)
    assert trigger.get_next_fire_time(before, before - timedelta(days=1)) == before + timedelta(seconds=1)
