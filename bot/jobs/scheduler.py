"""Runs what ticks with APScheduler: polls and sweeps. What must survive a restart is a job of the store."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime

import structlog
from apscheduler.executors.asyncio import AsyncIOExecutor
from apscheduler.schedulers.asyncio import AsyncIOScheduler
from apscheduler.triggers.interval import IntervalTrigger

from bot.runtime.supervisor import Supervisor
from shared.records.audit import Actor

BOT = Actor(name="outreach", face="bot")

log = structlog.get_logger("schedule")
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
    """Runs jobs at intervals until closed; a job that fails is counted and run again."""

    def __init__(self, supervisor: Supervisor) -> None:
        self._supervisor = supervisor
        self._running: set[asyncio.Task[None] | None] = set()
        # A job that takes longer than its interval is usual: visits to many workspaces are spread over time.
        logging.getLogger("apscheduler.scheduler").setLevel(logging.ERROR)
        self._scheduler = AsyncIOScheduler(timezone=UTC, executors={"default": AsyncIOExecutor()})

    def every(self, seconds: float, job: Job, *, name: str, at_once: bool = False) -> None:
        """Run a job at intervals, late rather than never, and never twice at the same time."""

        async def run_job() -> None:
            task = asyncio.current_task()
            self._running.add(task)
            try:
                with self._supervisor.attempt(name):
                    await job()
            except asyncio.CancelledError:
                log.debug("job cut short", job=name)  # closing; the task ends here in any case
            finally:
                self._running.discard(task)

        first = {"next_run_time": datetime.now(UTC)} if at_once else {}
        self._scheduler.add_job(
            run_job,
            Interval(seconds=seconds, timezone=UTC),
            id=name,
            coalesce=True,
            max_instances=1,
            misfire_grace_time=None,
            **first,
        )

    def start(self) -> None:
        self._scheduler.start()

    async def aclose(self) -> None:
        running = [task for task in self._running if task]
        self._scheduler.shutdown(wait=False)
        await asyncio.gather(*running, return_exceptions=True)
