"""Runs what ticks with APScheduler: polls and sweeps. What must survive a restart is a job of the store."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime

from apscheduler.executors.asyncio import AsyncIOExecutor
from apscheduler.schedulers.asyncio import AsyncIOScheduler
from apscheduler.triggers.interval import IntervalTrigger

from bot.runtime import Supervisor

Job = Callable[[], Awaitable[object]]


class Interval(IntervalTrigger):  # type: ignore[misc] # APScheduler has no types
    """A trigger whose missed times, after the machine slept or its clock was set, are one.

    APScheduler lists them one by one, on the event loop, before it coalesces them.
    """

    def get_next_fire_time(self, previous_fire_time: datetime | None, now: datetime) -> datetime | None:
        if previous_fire_time:
            missed = (now - previous_fire_time) // self.interval
            previous_fire_time += max(missed, 0) * self.interval
        return super().get_next_fire_time(previous_fire_time, now)  # type: ignore[no-any-return]


class JobScheduler:
    """`run` jobs at intervals until cancelled; a job that fails is counted and run again."""

    def __init__(self, supervisor: Supervisor) -> None:
        self._supervisor, self._running = supervisor, set[asyncio.Task[None] | None]()
        # A job that takes longer than its interval is usual: visits to many workspaces are spread over time.
        logging.getLogger("apscheduler.scheduler").setLevel(logging.ERROR)
        self.scheduler = AsyncIOScheduler(timezone=UTC, executors={"default": AsyncIOExecutor()})

    def every(self, seconds: float, job: Job, *, name: str, at_once: bool = False) -> None:
        """Run a job at intervals, late rather than never, and never twice at the same time."""

        async def run_job() -> None:
            task = asyncio.current_task()
            self._running.add(task)
            try:
                with self._supervisor.attempt(name):
                    await job()
            except asyncio.CancelledError:
                return  # the end of `run`: APScheduler would log it as an error
            finally:
                self._running.discard(task)

        first = {"next_run_time": datetime.now(UTC)} if at_once else {}
        trigger = Interval(seconds=seconds, timezone=UTC)
        self.scheduler.add_job(run_job, trigger, id=name, misfire_grace_time=None, **first)

    async def run(self) -> None:
        self.scheduler.start()
        try:
            await asyncio.Event().wait()
        finally:
            running = [task for task in self._running if task]
            # It cancels what runs; the store is closed only after that has ended.
            self.scheduler.shutdown(wait=False)
            await asyncio.gather(*running, return_exceptions=True)
