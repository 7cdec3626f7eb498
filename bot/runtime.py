"""Supervised tasks, what wakes them, and visits to many workspaces."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import structlog

from bot.telemetry import metrics
from shared.api.errors import OutreachError
from shared.records import HistoryUnavailable

FAILING = 3
"""Failures in a row after which a task counts as failing."""
FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 1.0, 60.0
"""The time until a task that failed is started again: at first, and at most."""
CANCEL_SECONDS = 3.0
"""The time that a task may take to end before it is cancelled once more."""
WORKSPACES_AT_ONCE = 8
"""Workspaces that are visited beside each other."""

log = structlog.get_logger("supervisor")


@dataclass(slots=True)
class _Task:
    failures: int = 0
    """Failures in a row."""
    restarts: int = 0
    error: str = ""


class Supervisor:
    """Runs tasks until it is left; those that fail are started again after 1 s, 2 s, 4 s … 60 s.

    `expected` errors say that something outside does not answer: they are logged, but no task counts as failing
    over them.
    """

    def __init__(self, *, expected: tuple[type[Exception], ...] = ()) -> None:
        self._expected = expected
        self._tasks: dict[str, _Task] = {}

    def problems(self) -> Sequence[str]:
        """The failing tasks as sentences, for `status`."""
        return [
            f"{name} failed {task.failures} times in a row: {task.error}"
            for name, task in self._tasks.items()
            if task.failures >= FAILING
        ]

    @property
    def state(self) -> Mapping[str, Any]:
        """The tasks that have failed since the start, for `/readyz`."""
        return {
            name: {"restarts": task.restarts, "failing": task.failures >= FAILING, "error": task.error}
            for name, task in self._tasks.items()
            if task.restarts
        }

    @asynccontextmanager
    async def running(self, name: str, run: Callable[[], Awaitable[None]]) -> AsyncIterator[None]:
        """Run a task meanwhile; it is cancelled and waited for in the end."""
        stopping = asyncio.Event()
        task = asyncio.create_task(self._keep_running(name, run, stopping=stopping), name=name)
        try:
            yield
        finally:
            stopping.set()
            while not task.done():  # a cancellation that meets a failure of the database may get lost
                task.cancel()
                await asyncio.wait([task], timeout=CANCEL_SECONDS)

    async def _keep_running(
        self, name: str, run: Callable[[], Awaitable[None]], *, stopping: asyncio.Event
    ) -> None:
        while not stopping.is_set():
            finished = False
            # A task that has run for a minute is well, though it never ends.
            healthy = asyncio.get_running_loop().call_later(LONGEST_PAUSE_SECONDS, self._succeeded, name)
            try:
                with self.attempt(name):
                    await run()
                    finished = True  # it was asked to end
            finally:
                healthy.cancel()
            if finished or stopping.is_set():
                return
            doublings = max(0, self._tasks[name].failures - 1)
            await asyncio.sleep(min(LONGEST_PAUSE_SECONDS, FIRST_PAUSE_SECONDS * 2.0 ** min(doublings, 10)))

    @contextmanager
    def attempt(self, name: str) -> Iterator[None]:
        """Count what goes wrong within; nothing but a cancellation leaves it."""
        task = self._tasks.setdefault(name, _Task())
        try:
            yield
        except self._expected as error:
            log.warning("task could not finish", task=name, error=f"{type(error).__name__}: {error}")
        except Exception as error:
            task.failures, task.restarts = task.failures + 1, task.restarts + 1
            task.error = f"{type(error).__name__}: {error}"[:200]
            metrics.TASK_FAILURES.labels(name).inc()
            metrics.TASK_FAILING.labels(name).set(task.failures >= FAILING)
            log.exception("task failed", task=name, failures=task.failures)
        else:
            self._succeeded(name)

    def _succeeded(self, name: str) -> None:
        self._tasks[name].failures = 0
        metrics.TASK_FAILING.labels(name).set(0)


class Wakeup:
    """A loop waits for it, with a timeout; code that has work for the loop sets it."""

    def __init__(self) -> None:
        self._event = asyncio.Event()
        self.set = self._event.set

    async def wait(self, seconds: float) -> None:
        """Wait until it is set, or that many seconds."""
        with suppress(TimeoutError):
            # wait_for would swallow a cancellation that follows a wake-up.
            async with asyncio.timeout(seconds):
                await self._event.wait()
        self._event.clear()


class DeliverySignals:
    """Tells those who do what is due that something may be; made before everything else."""

    def __init__(self) -> None:
        self.deliveries, self.jobs, self.account = Wakeup(), Wakeup(), Wakeup()
        self.changed = self.jobs.set
        """Something was put that may be due."""
        self.account_changed = self.account.set
        """Open cards may show an old state: a person changed the account, or a domain has trouble."""
        self.stored = self.deliveries.set
        """Deliveries were stored."""


async def visit(
    workspaces: Collection[str], act: Callable[[str], Awaitable[object]], *, failed: str = ""
) -> None:
    """Call `act` for each workspace, few at once, in an order that no other process has.

    Where the service or the history does not answer, `failed` is logged, and the others are visited. Raises the first
    other error of any.
    """
    turns = asyncio.Semaphore(WORKSPACES_AT_ONCE)

    async def at_its_turn(name: str) -> None:
        async with turns:
            try:
                await act(name)
            except (OutreachError, HistoryUnavailable) as error:
                log.warning(failed, workspace=name, error=type(error).__name__)

    try:
        async with asyncio.TaskGroup() as group:
            for name in random.sample(list(workspaces), len(workspaces)):
                group.create_task(at_its_turn(name))
    except ExceptionGroup as errors:
        raise errors.exceptions[0] from None
