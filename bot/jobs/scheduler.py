"""Runs jobs at intervals with APScheduler; the store's rows determine what is due, and which process does it."""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from datetime import UTC, datetime

import structlog
from apscheduler.executors.asyncio import AsyncIOExecutor
from apscheduler.schedulers.asyncio import AsyncIOScheduler
from apscheduler.triggers.interval import IntervalTrigger

from bot.runtime.supervisor import Supervisor
from bot.store import Store
from bot.store.alerts.sequence_changes import DueTimer
from shared.records.audit import Actor
from shared.records.records import RecordsUnavailable

BOT = Actor(name="outreach", face="bot")
TIMER_SECONDS = 1.0
RETRY_SECONDS = 30.0

log = structlog.get_logger("schedule")
Job = Callable[[], Awaitable[object]]
TimerHandler = Callable[[Sequence[DueTimer]], Awaitable[Sequence[DueTimer]]]
"""Carries out timers that are due together; returns those that need not be tried again. Raises `RecordsUnavailable`."""


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


class Timers:
    """Carries out the store's timers, each once over all processes and restarts.

    `kinds` holds one entry for each kind of timer. Timers of other kinds, set by a newer version, and of workspaces
    that are not in the settings are left as they are and shown in `status`. A timer may be carried out twice when
    its process dies before that is written down.
    """

    def __init__(
        self, store: Store, kinds: Mapping[str, TimerHandler], *, workspaces: Collection[str]
    ) -> None:
        self._store, self._kinds, self._workspaces = store, kinds, workspaces
        self.unknown_kinds: Sequence[str] = ()
        """Kinds that are due and unknown."""

    async def fire(self) -> None:
        """What is due now."""
        kinds = await self._store.timers.due_kinds()
        if not self._kinds.keys().isdisjoint(kinds):
            due: defaultdict[str, list[DueTimer]] = defaultdict(list)
            for timer in await self._store.timers.claim(self._kinds, self._workspaces):
                due[timer.timer.kind].append(timer)
            for kind, timers in due.items():
                await self._handle(kind, timers)
        unknown_kinds = [kind for kind in kinds if kind not in self._kinds]
        if unknown_kinds and unknown_kinds != self.unknown_kinds:
            log.warning("timers of unknown kinds are due", kinds=unknown_kinds)
        self.unknown_kinds = unknown_kinds

    async def _handle(self, kind: str, timers: Sequence[DueTimer]) -> None:
        done: Sequence[DueTimer] = ()
        try:
            done = await self._kinds[kind](timers)
        except RecordsUnavailable as error:
            log.warning("timers postponed", kind=kind, count=len(timers), error=str(error))
        except Exception:  # timers of other kinds must not wait for it
            log.exception("timers failed", kind=kind, count=len(timers))
        ended = {timer.id for timer in done}
        for timer in timers:
            if timer.id in ended:
                await self._store.timers.done(timer)
            else:
                await self._store.timers.postpone(timer, seconds=RETRY_SECONDS)
