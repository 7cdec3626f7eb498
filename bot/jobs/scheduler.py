"""What is done by the clock. APScheduler only rings; what is due, and by whom, stands in the ledger's rows."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime

import structlog
from apscheduler.executors.asyncio import AsyncIOExecutor
from apscheduler.schedulers.asyncio import AsyncIOScheduler

from bot.store import Ledger
from bot.store.alerts.timers import DueTimer
from shared.domain.records import Actor, RecordsUnavailable

BOT = Actor(name="outreach", face="bot")
TIMER_SECONDS = 1.0
RETRY_SECONDS = 30.0

log = structlog.get_logger("schedule")
Job = Callable[[], Awaitable[object]]
Act = Callable[[Sequence[DueTimer]], Awaitable[Sequence[DueTimer]]]
"""Carries out timers that are due together; returns those that need not be tried again. Raises `RecordsUnavailable`."""


class JobScheduler:
    """Runs jobs at intervals until closed; a job that fails is logged and rung again."""

    def __init__(self) -> None:
        self._ringing: set[asyncio.Task[None] | None] = set()
        self._scheduler = AsyncIOScheduler(timezone=UTC, executors={"default": AsyncIOExecutor()})

    def every(self, seconds: float, job: Job, *, name: str, at_once: bool = False) -> None:
        """Ring a job; never twice at the same time."""

        async def ring() -> None:
            task = asyncio.current_task()
            self._ringing.add(task)
            try:
                await job()
            except asyncio.CancelledError:
                log.debug("job cut short", job=name)  # closing; the task ends here in any case
            except Exception as error:
                log.warning("job failed", job=name, error=type(error).__name__, exc_info=error)
            finally:
                self._ringing.discard(task)

        first = {"next_run_time": datetime.now(UTC)} if at_once else {}
        self._scheduler.add_job(
            ring, "interval", seconds=seconds, id=name, coalesce=True, max_instances=1, **first
        )

    def start(self) -> None:
        """Begin; needs the running loop."""
        self._scheduler.start()

    async def aclose(self) -> None:
        """Ring no more; jobs under way are cancelled and waited for."""
        under_way = [task for task in self._ringing if task]
        self._scheduler.shutdown(wait=False)
        await asyncio.gather(*under_way, return_exceptions=True)


class Timers:
    """Carries out the ledger's timers, each once over all processes and restarts.

    `kinds` holds one entry for each kind of timer. Timers of other kinds, set by a newer version, are left as
    they are for it, and told of. An act may be repeated when its process dies before it is written down.
    """

    def __init__(self, ledger: Ledger, kinds: Mapping[str, Act]) -> None:
        self._ledger, self._kinds = ledger, kinds
        self.strange: Sequence[str] = ()
        """Kinds that are due and unknown."""

    async def fire(self) -> None:
        """What is due now."""
        due: defaultdict[str, list[DueTimer]] = defaultdict(list)
        for firing in await self._ledger.claim_timers(self._kinds):
            due[firing.timer.kind].append(firing)
        for kind, firings in due.items():
            await self._carry_out(kind, firings)
        strange = await self._ledger.unknown_timers(self._kinds)
        if strange and strange != self.strange:
            log.warning("timers of unknown kinds are due", kinds=strange)
        self.strange = strange

    async def _carry_out(self, kind: str, firings: Sequence[DueTimer]) -> None:
        done: Sequence[DueTimer] = ()
        try:
            done = await self._kinds[kind](firings)
        except RecordsUnavailable as error:
            log.warning("timers postponed", kind=kind, count=len(firings), error=str(error))
        ended = {firing.id for firing in done}
        for firing in firings:
            if firing.id in ended:
                await self._ledger.timer_done(firing)
            else:
                await self._ledger.postpone_timer(firing, seconds=RETRY_SECONDS)
