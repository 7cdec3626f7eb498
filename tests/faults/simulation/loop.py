"""An event loop with virtual time, in which one seed decides everything that a real machine leaves to chance.

Several simulated processes share it. Each keeps the order that asyncio promises (callbacks run in the order in which
they were scheduled), but which process goes next is drawn for each callback, and every job of a thread begins and ends
at a drawn moment. When nothing is ready, time jumps to the next timer.

A process that is killed stops between two callbacks, which is at any of its `await`s: nothing of it runs again, not
even a `finally`.
"""

from __future__ import annotations

import asyncio
import heapq
import random
from collections import deque
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextvars import Context, ContextVar, copy_context
from itertools import count
from typing import Any

from tests.faults.simulation.virtual_time import VirtualClock

PROCESS: ContextVar[Process | None] = ContextVar("process", default=None)
"""The process that a callback belongs to; None: the world outside."""
STEPS_AT_ONCE = 20_000
"""Callbacks without any time passing, after which some does: code that waits for a clock must not wait forever."""
THREAD_START, THREAD_END = 0.002, 0.0005
"""Seconds at most until a thread begins its job, and until the event loop hears that it is done."""
STALL = 0.002
"""The share of jobs that the disk holds up."""
LONGEST_STALL = 1.5

_serial = count()


class Process:
    """A process of the simulated machine: its tasks, and whether it still lives."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.alive = True
        self.tasks: set[asyncio.Task[Any]] = set()
        self.ready: deque[asyncio.Handle] = deque()
        self.steps = 0
        self.dies_at: int | None = None
        """The step before which it is killed."""
        self.on_death: list[Callable[[], None]] = []
        self.context = copy_context()
        self.context.run(PROCESS.set, self)


class _Task(asyncio.Task[Any]):
    """A task whose place in a set doesn't depend on its address."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._serial = next(_serial)
        super().__init__(*args, **kwargs)

    def __hash__(self) -> int:
        return self._serial


class Stuck(Exception):
    """Nothing is ready, and no timer will make anything ready."""


class SimulatedLoop(asyncio.BaseEventLoop):
    """Runs the world and its processes; `killed` is called when a process dies."""

    def __init__(
        self, clock: VirtualClock, dice: random.Random, *, killed: Callable[[Process], None]
    ) -> None:
        super().__init__()
        self._scheduled: list[Any]  # of BaseEventLoop: a heap of its timers
        self.dice, self._virtual, self._on_kill = dice, clock, killed
        self._world = Process("world")
        self._busy: list[Process] = []
        """Those with something ready."""
        self._threads: dict[ThreadPoolExecutor, float] = {}
        """When the one thread of a pool is done."""
        self._buried: list[Process] = []
        """Referred to until the end, so that no coroutine of theirs is closed: that would run its `finally`."""
        self._steps = 0
        self.set_task_factory(_new_task)

    @property
    def steps(self) -> int:
        return self._steps

    def time(self) -> float:
        return self._virtual.steady

    def spawn(self, process: Process, main: Coroutine[Any, Any, Any], *, name: str = "") -> asyncio.Task[Any]:
        """Start a task of a process."""
        return process.context.copy().run(lambda: self.create_task(main, name=name or process.name))

    def kill(self, process: Process) -> None:
        process.alive = False
        process.ready.clear()
        if process in self._busy:
            self._busy.remove(process)
        self._buried.append(process)
        self._on_kill(process)

    def later(self, seconds: float, act: Callable[..., object], *args: Any) -> None:
        """Have the world act after so many seconds, whoever asks for it."""
        self.call_later(seconds, act, *args, context=self._world.context.copy())

    # What BaseEventLoop leaves to the loops of a system, or does with real time and threads.

    def _call_soon(self, callback: Any, args: Any, context: Context | None) -> asyncio.Handle:
        handle = asyncio.Handle(callback, args, self, context)
        self._add(handle)
        return handle

    def _add(self, handle: Any) -> None:
        process = handle._context.get(PROCESS) or self._world
        if not process.alive:
            return
        if not process.ready:
            self._busy.append(process)
        process.ready.append(handle)

    def _write_to_self(self) -> None:
        pass

    def _process_events(self, event_list: object) -> None:
        pass

    def _run_once(self) -> None:
        self._add_due()
        while not self._busy:
            if not self._scheduled:
                raise Stuck
            self._move_to(self._scheduled[0]._when)
            self._add_due()
        place = int(self.dice.random() * len(self._busy))
        process = self._busy[place]
        if process.dies_at is not None and process.steps >= process.dies_at:
            return self.kill(process)
        handle = process.ready.popleft()
        if not process.ready:
            del self._busy[place]
        process.steps += 1
        self._steps += 1
        if self._steps % STEPS_AT_ONCE == 0:
            self._move_to(self.time() + 0.001)
        if not handle._cancelled:
            handle._run()
        return None

    def _move_to(self, when: float) -> None:
        if when > self.time():
            self._virtual.move_to(when - self._virtual.steady + self._virtual.elapsed)

    def _add_due(self) -> None:
        scheduled = self._scheduled
        now = self.time()
        while scheduled and (scheduled[0]._cancelled or scheduled[0]._when <= now):
            handle = heapq.heappop(scheduled)
            handle._scheduled = False
            if handle._cancelled:
                self._timer_cancelled_count: int = max(0, self._timer_cancelled_count - 1)
            else:
                self._add(handle)

    def run_in_executor(  # type: ignore[override] # the types here don't depend on what is run
        self, executor: Any, func: Any, *args: Any
    ) -> asyncio.Future[Any]:
        """Run the job between two callbacks, whole: a process dies before it or after it.

        The jobs of a pool with one thread keep their order.
        """
        future = self.create_future()
        start = self.time() + self.dice.random() * THREAD_START
        if self.dice.random() < STALL and isinstance(executor, ThreadPoolExecutor):
            start += self.dice.random() * LONGEST_STALL
        if isinstance(executor, ThreadPoolExecutor) and executor._max_workers == 1:
            start = max(start, self._threads.get(executor, 0.0) + 1e-6)
            self._threads[executor] = start
        self.call_at(start, self._run_job, future, func, args)
        return future

    def _run_job(self, future: asyncio.Future[Any], func: Any, args: Any) -> None:
        if future.cancelled():
            return
        try:
            result, error = func(*args), None
        except Exception as raised:  # noqa: BLE001 # it belongs to whoever waits for the job
            result, error = None, raised
        self.call_later(self.dice.random() * THREAD_END, _settle, future, result, error)


def _settle(future: asyncio.Future[Any], result: Any, error: Exception | None) -> None:
    if future.done():
        return
    if error is not None:
        future.set_exception(error)
    else:
        future.set_result(result)


def _new_task(loop: asyncio.AbstractEventLoop, coro: Any, **kwargs: Any) -> asyncio.Task[Any]:
    task = _Task(coro, loop=loop, **kwargs)
    context = kwargs.get("context") or copy_context()
    process = context.get(PROCESS)
    if process is not None:
        process.tasks.add(task)
        task.add_done_callback(process.tasks.discard)
    return task
