"""Runs what ticks: polls and sweeps. What must survive a restart is a job of the store."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable

from bot.runtime.supervisor import Supervisor
from bot.runtime.wakeup import Wakeup

Job = Callable[[], Awaitable[object]]


class JobScheduler:
    """`run` jobs at intervals until cancelled; a job that fails is counted and run again."""

    def __init__(self, supervisor: Supervisor) -> None:
        self._supervisor, self.ticking = supervisor, dict[str, tuple[float, float, Job, Wakeup]]()

    def every(self, seconds: float, job: Job, *, name: str, at_once: bool = False) -> None:
        """Run a job so long after its last end: late rather than never, and never twice at the same time."""
        self.ticking[name] = (seconds, 0.0 if at_once else seconds, job, Wakeup())

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            for name in self.ticking:
                group.create_task(self._keep_running(name))

    async def _keep_running(self, name: str) -> None:
        seconds, pause, job, wakeup = self.ticking[name]
        due = time.time() + pause
        while True:
            # Times that a sleeping machine missed are one, and a clock that is set back delays nothing.
            due = min(due, time.time() + seconds)
            if (pause := due - time.time()) > 0.0:
                await wakeup.wait(pause)
                continue
            with self._supervisor.attempt(name):
                await job()
            due = time.time() + seconds
