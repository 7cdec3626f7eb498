"""When jobs run."""

from __future__ import annotations

import asyncio

from bot.runtime import Supervisor
from bot.worker import JobScheduler
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
