"""Does what is due, each job by one bot at a time: the rows say when, and a handler for each kind does it.

At rest it only reads. A bot that dies delays its jobs by no more than their lease. Each kind has slots of its
own, so that a slow one delays no other, and kinds that this version doesn't know are left to a newer one.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
import random
from collections import defaultdict
from collections.abc import Awaitable, Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime

import structlog
from apscheduler.executors.asyncio import AsyncIOExecutor
from apscheduler.schedulers.asyncio import AsyncIOScheduler
from apscheduler.triggers.interval import IntervalTrigger

from bot.runtime import Supervisor, Wakeup
from shared.api.pace import boot_time
from shared.frozen import frozen
from shared.records import RecordsUnavailable
from shared.store import Store
from shared.store.jobs import Again, End, Job
from shared.store.jobs import Kind as JobKind

POLL_SECONDS = 0.5
"""Seconds until a bot sees what another process has put: a claim in the dashboard is on its card within a second."""
OUTAGE_SECONDS = 1.0
SWEEP_SECONDS = 60.0
"""Seconds between two looks for due times that no clock can have meant."""
LEASE_SECONDS = 10.0
"""The time by which a bot that dies delays what it was doing."""
PATIENCE = 0.8
"""The part of a lease in which a job must end."""
LONGEST_SECONDS = 300.0
"""The longest time that a job may take whose lease is renewed."""
FIRST_RETRY_SECONDS, LONGEST_RETRY_SECONDS = 2.0, 60.0
ALONE_AFTER = 2
"""Attempts after which a job is handled by itself: it may be what makes the others fail."""

log = structlog.get_logger("worker")

Single = Callable[[Job], Awaitable[End | None]]
"""Handles a job until its deadline; returns how it ended. Raises `RecordsUnavailable`.

None: it has ended it itself, in the transaction that wrote down its outcome, or someone else has it now.
"""
Several = Callable[[Sequence[Job]], Awaitable[Mapping[Job, End]]]
"""The same for the jobs of one group; leaves out those that it has ended itself."""


@frozen
class Kind:
    """A kind of jobs, and how they are done: by `one`, each by itself, or else by `handle`, in groups."""

    name: JobKind
    one: Single | None = None
    handle: Several | None = None
    group: Callable[[Job], Hashable] = lambda job: job.workspace
    """The jobs with the same value are handled in one call."""
    batch: int = 1
    """Jobs that one claim takes, and one call handles where they are of one group."""
    parallel: int = 4
    """Calls at a time."""
    lease: float = LEASE_SECONDS
    farthest: float = math.inf
    """Seconds that a job is put off at most; what is due later was put off before the clock was set back."""
    renewed: bool = False
    """Its lease is renewed while it runs: it may take longer, and whoever dies still delays it no longer."""

    async def call(self, jobs: Sequence[Job]) -> Mapping[Job, End]:
        if self.handle:
            return await self.handle(jobs)
        end = await self.one(jobs[0]) if self.one else None
        return {jobs[0]: end} if end else {}


class Worker:
    """`run` until cancelled; `wakeup` is set when something may be due."""

    def __init__(
        self, store: Store, kinds: Iterable[Kind], *, workspaces: Collection[str], wakeup: Wakeup
    ) -> None:
        self._store, self._workspaces, self._wakeup = store, workspaces, wakeup
        self._kinds = {kind.name: kind for kind in kinds}
        self._tasks: dict[str, set[asyncio.Task[None]]] = {name: set() for name in self._kinds}
        self._swept_at = boot_time()
        self._unknown: Sequence[str] = ()
        self._draining = False

    async def run(self) -> None:
        """Start what is due as long as the bot runs; on cancellation, give up what is under way."""
        try:
            while True:
                await self._wakeup.wait(await self.round())
        finally:
            running = self.running
            for task in running:
                task.cancel()
            await asyncio.gather(*running, return_exceptions=True)

    @property
    def running(self) -> list[asyncio.Task[None]]:
        """The calls under way."""
        return [task for tasks in self._tasks.values() for task in tasks]

    async def round(self) -> float:
        """Start what is due; returns after how many seconds to look again."""
        pause = POLL_SECONDS
        try:
            await self._sweep()
            waits = await self._store.jobs.waits(self._kinds, self._workspaces)
            for name, seconds in waits.items():
                if seconds > 0.0:
                    pause = min(pause, seconds)
                else:
                    await self._start(self._kinds[name])
        except RecordsUnavailable as error:
            log.warning("database unavailable", error=str(error))
            return OUTAGE_SECONDS
        return pause

    async def drain(self, seconds: float) -> None:
        """Start nothing new, and let what is under way end within a time limit."""
        self._draining = True
        if running := self.running:
            await asyncio.wait(running, timeout=seconds)

    async def _sweep(self) -> None:
        if boot_time() - self._swept_at < SWEEP_SECONDS:
            return
        self._swept_at = boot_time()
        await self._store.jobs.sweep(
            {kind.name: (kind.lease, kind.farthest) for kind in self._kinds.values()}
        )
        unknown = await self._store.jobs.unknown_kinds()
        if unknown and unknown != self._unknown:
            log.warning("jobs of unknown kinds wait for a newer version", kinds=unknown)
        self._unknown = unknown

    async def _start(self, kind: Kind) -> None:
        free = kind.parallel - len(self._tasks[kind.name])
        if free < 1 or self._draining:
            return  # the end of a task wakes the loop
        # Before the claim, and by a clock that counts while the machine is suspended: whoever was held up in
        # between must not act when the lease has run out.
        deadline = boot_time() + PATIENCE * kind.lease
        claimed = await self._store.jobs.claim(
            kind.name,
            lease=kind.lease,
            limit=free * kind.batch,
            workspaces=self._workspaces,
        )
        groups: defaultdict[Hashable, list[Job]] = defaultdict(list)
        for job in claimed:
            is_alone = not kind.handle or job.attempts > ALONE_AFTER
            place = job.id if is_alone else ("", kind.group(job))
            groups[place].append(replace(job, deadline=deadline))
        for group in groups.values():
            task = asyncio.create_task(self._serve(kind, group), name=f"job-{kind.name}")
            self._tasks[kind.name].add(task)
            task.add_done_callback(self._tasks[kind.name].discard)

    async def _serve(self, kind: Kind, group: Sequence[Job]) -> None:
        ends: Mapping[Job, End] = {job: Again(after=_backoff(job)) for job in group}
        try:
            ends = await self._handled(kind, group)
        except RecordsUnavailable as error:
            log.warning("jobs postponed", kind=kind.name, count=len(group), error=str(error))
        except Exception:  # jobs of other groups must not wait for it
            log.exception("jobs failed", kind=kind.name, count=len(group))
        try:
            await self._store.jobs.end(ends)
        except RecordsUnavailable as error:
            # Their leases end, and someone does them again.
            log.warning("ends of jobs not recorded", kind=kind.name, count=len(ends), error=str(error))
        self._wakeup.set()

    async def _handled(self, kind: Kind, group: Sequence[Job]) -> Mapping[Job, End]:
        renewing = asyncio.create_task(self._renew(kind, group)) if kind.renewed else None
        seconds = group[0].deadline - boot_time() + (LONGEST_SECONDS if renewing else 0.0)
        try:
            async with asyncio.timeout(max(0.0, seconds)):
                return await kind.call(group)
        finally:
            if renewing:
                renewing.cancel()
                await asyncio.gather(renewing, return_exceptions=True)

    async def _renew(self, kind: Kind, group: Sequence[Job]) -> None:
        while True:
            await asyncio.sleep(kind.lease / 3)
            with contextlib.suppress(RecordsUnavailable):  # it may work in time for the next
                await self._store.jobs.renew(group, lease=kind.lease)


def _backoff(job: Job) -> float:
    """Seconds until the next try: about 2, 4, 8 … 60."""
    doubled = FIRST_RETRY_SECONDS * 2.0 ** min(job.attempts - 1, 10)
    return min(LONGEST_RETRY_SECONDS, doubled) * random.uniform(0.8, 1.2)  # noqa: S311


# -- what ticks: polls and sweeps; what must survive a restart is a job of the store


Tick = Callable[[], Awaitable[object]]


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

    def every(self, seconds: float, job: Tick, *, name: str, at_once: bool = False) -> None:
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
