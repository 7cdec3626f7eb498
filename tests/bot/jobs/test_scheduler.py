"""When jobs run."""

from __future__ import annotations

import asyncio
import time

from bot.jobs.scheduler import JobScheduler
from bot.runtime.supervisor import Supervisor


async def test_a_job_whose_time_passed_while_the_bot_was_starting_runs_late() -> None:
    ran = asyncio.Event()

    async def job() -> None:
        ran.set()

    scheduler = JobScheduler(Supervisor())
    scheduler.every(900.0, job, name="job", at_once=True)
    scheduler.start()
    time.sleep(1.2)  # noqa: ASYNC251 # a start that holds up the event loop
    assert await asyncio.wait_for(ran.wait(), timeout=5)
    await scheduler.aclose()
