"""Reads the service into snapshots, and makes boards of them.

One task per source, which waits again when its read has ended: never two reads of a source at once, and never all at
the same time. Boards are computed in a thread, so that keys never wait.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from shared.api.pipeline import failed_attempts
from shared.domain.health import DEFAULT, Thresholds
from shared.domain.snapshot import SOURCES, ProblemStart, Snapshot, Source, cause_of_attempts, read_source
from shared.domain.workspace_verdict import OF_DOMAINS, SERVICE
from shared.frozen import frozen
from tui.feed.history_access import HistoryAccess, RecalledState
from tui.model.alarms import start_of
from tui.model.board import Board, DomainFacts, compose, with_starts
from tui.model.happened import Mark

if TYPE_CHECKING:
    from shared.api import OutreachClient  # at run time it would be loaded before the first paint

logger = logging.getLogger(__name__)

STAGGER = 0.2
"""Seconds between the first reads, so that a start doesn't cause a burst."""
TIMEOUT = 12.0
"""Seconds for one reading, the client's repetitions included."""
SAVE_WAIT = 1.0
"""Seconds that a board waits until the one before has been written down."""
CLOCK_STEP_SECONDS = 5.0
"""A difference between wall clock and steady clock, within one poll, which means that the clock was set."""
TRENDS_EVERY_SECONDS = 60.0


@frozen
class Tick:
    """A new board, what has changed since the one before, and how many reads have succeeded so far."""

    board: Board
    changes: tuple[Mark, ...] = ()
    beats: int = 0

    @property
    def snapshot(self) -> Snapshot:
        return self.board.snapshot

    @property
    def is_stored(self) -> bool:
        """True for what an earlier run has kept: it says nothing of the present."""
        return self.beats == 0 and not self.snapshot.inboxes.failed_since


def intervals(poll_seconds: float, own: Mapping[str, float] | None = None) -> dict[str, float]:
    """Seconds between reads by source, from the base interval; those of the settings win."""
    by_base = {source.grouping or source.name: poll_seconds * source.factor for source in SOURCES.values()}
    return by_base | dict(own or {})


class Poller:
    """Shows what was stored once it is started, and reads every source at its own pace once it has a client."""

    def __init__(
        self,
        *,
        workspace: str,
        intervals: Mapping[str, float],
        now: Callable[[], datetime],
        jitter: float = 0.0,
        thresholds: Thresholds = DEFAULT,
        history: HistoryAccess | None = None,
        timeout: float = TIMEOUT,
    ) -> None:
        self.snapshot = Snapshot(workspace=workspace)
        self.troubled_domains: frozenset[str] = frozenset()
        self._intervals, self._jitter, self._timeout = intervals, jitter, timeout
        self._now = now
        self._thresholds, self._history = thresholds, history
        self._changed = asyncio.Event()
        self._due: dict[str, float] = {}
        """The time of each source's next read, by the loop's clock."""
        self._hurried = {name: asyncio.Event() for name in SOURCES}
        """Set where a source is wanted before its time, also while it is being read."""
        self._tasks: list[asyncio.Task[None]] = []
        self._tried: set[str] = set()
        """Sources that were tried since the start; a snapshot without one of them is half of another time."""
        self._saver: asyncio.Task[None] | None = None
        self._beats = 0
        self._has_looked = False
        """The domains were seen before: only then is what is wrong now known to be new."""
        self._problems: tuple[ProblemStart, ...] = ()
        self._domain_facts = DomainFacts()
        self._past: RecalledState
        self._is_recalled: bool
        """What `start` was given."""
        self._board: Board | None = None
        """The last one that was delivered."""
        self._news: tuple[Mark, ...] = ()
        """The changes that the history has recorded since the last tick, newest first."""
        self._trends_at = time.monotonic()

    def start(self, deliver: Callable[[Tick], object], *, past: RecalledState | None = None) -> None:
        """Show the stored history; `deliver` is called in the event loop."""
        past = past or RecalledState()
        # The snapshot itself isn't kept: ten thousand inboxes of then would stay beside those of now.
        self._past, self._is_recalled = replace(past, snapshot=None), past.snapshot is not None
        if past.snapshot:
            self.snapshot = past.snapshot
            self._changed.set()
        self._tasks = [asyncio.create_task(self._compose(deliver), name="dashboard-poller")]

    def connect(self, client: OutreachClient) -> None:
        """Begin to read, one source after the other."""
        self._tasks.append(asyncio.create_task(self._watch_clock(), name="dashboard-clock"))
        for number, source in enumerate(SOURCES.values()):
            reading = self._read_regularly(source, client, wait_seconds=number * STAGGER)
            self._tasks.append(asyncio.create_task(reading, name=f"dashboard-reads-{source.name}"))

    def note(self, *, domain_facts: DomainFacts | None = None, **parts: Any) -> None:
        """Show what the bot recorded: `replies`, `pauses` and `firings` of the snapshot, and why domains are paused."""
        snapshot = replace(self.snapshot, **parts)
        if domain_facts is not None and domain_facts != self._domain_facts:
            self._domain_facts = domain_facts
        elif snapshot == self.snapshot:
            return
        self.snapshot = snapshot
        self._changed.set()

    def read_now(self, *names: str) -> None:
        """Read these sources now, or all; one that is being read already is read once more afterwards."""
        now = asyncio.get_running_loop().time()
        for number, name in enumerate(names or tuple(SOURCES)):
            self._due[name] = now + number * STAGGER
            self._hurried[name].set()

    async def aclose(self) -> None:
        """Stop reading, and wait until nothing runs any more."""
        tasks = [*self._tasks, *([self._saver] if self._saver else ())]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    # -- reading -----------------------------------------------------------------------------------------

    async def _watch_clock(self) -> None:
        """Read everything again after the clock was set: the ages on the screen would be wrong."""
        before = self._now().timestamp() - time.monotonic()
        while True:
            await asyncio.sleep(1.0)
            ahead = self._now().timestamp() - time.monotonic()
            if abs(ahead - before) > CLOCK_STEP_SECONDS:
                logger.warning("the clock changed by %+.0f s, so everything is read again", ahead - before)
                self.read_now()
            before = ahead

    async def _read_regularly(self, source: Source, client: OutreachClient, *, wait_seconds: float) -> None:
        clock, hurried = asyncio.get_running_loop().time, self._hurried[source.name]
        self._due.setdefault(source.name, clock() + wait_seconds)
        while True:
            while (left := self._due[source.name] - clock()) > 0:
                hurried.clear()
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(left):
                        await hurried.wait()
            hurried.clear()
            try:
                await self._read(source, client)
            except Exception:
                logger.exception("reading %s failed", source.name)
            if not hurried.is_set():  # else it was wanted while it was being read, and its time is set
                self._due[source.name] = clock() + self._wait_seconds(source)

    def _wait_seconds(self, source: Source) -> float:
        """Seconds until the next read, moved at random, so that processes don't ask in step."""
        seconds = self._intervals[source.grouping or source.name]
        return seconds * random.uniform(1 - self._jitter, 1 + self._jitter)  # noqa: S311 # no secret

    async def _read(self, source: Source, client: OutreachClient) -> None:
        """One reading; the client repeats for longer than people should wait to be told."""
        before, began = self.snapshot.reading(source), self._now()
        with failed_attempts() as made:
            try:
                async with asyncio.timeout(self._timeout):
                    reading = await read_source(before, source, client, now=began)
            except TimeoutError:
                failures, resumes_at = made.failures, client.budget.resumes_at
                waits = resumes_at is not None and resumes_at > began.timestamp()
                error = str(failures[-1]) if failures else f"No response within {self._timeout:g} s."
                cause = cause_of_attempts(failures, rate_limited=waits)
                reading = before.failed(error, cause=cause, at=began)
        self._beats += reading.failed_since is None
        self._tried.add(source.name)
        self.snapshot = replace(self.snapshot.with_reading(source, reading), budget=client.budget)
        self._changed.set()
        # One source that works again suggests that the others do, too: don't let them wait for their intervals.
        if before.failed_since and not reading.failed_since:
            failed = [name for name, other in SOURCES.items() if self.snapshot.reading(other).failed_since]
            if failed:
                self.read_now(*failed)

    # -- boards ------------------------------------------------------------------------------------------

    async def _compose(self, deliver: Callable[[Tick], object]) -> None:
        """Several reads that end together make one board."""
        # A thread of its own: a name that is slow to be looked up holds up every other thread's work.
        thread = ThreadPoolExecutor(1, thread_name_prefix="boards")
        loop, self._news = asyncio.get_running_loop(), self._past.changes
        try:
            while True:
                await self._changed.wait()
                self._changed.clear()
                snapshot, beats = self.snapshot, self._beats
                try:
                    self._board = await loop.run_in_executor(thread, self._board_of, snapshot)
                except Exception:
                    logger.exception("a response couldn't be displayed")  # the screen stays, and ages
                    continue
                tick = Tick(board=self._board, changes=self._news, beats=beats)
                self._news = ()
                tick = await self._dated(tick)
                deliver(tick)
                # Recalled parts must not be kept as new: where there are any, all sources are tried first.
                is_current = not self._is_recalled or self._tried.issuperset(SOURCES)
                if self._history and beats and is_current:
                    await self._keep(tick.snapshot, self._history)
        finally:
            thread.shutdown(wait=False)

    def _board_of(self, snapshot: Snapshot) -> Board:
        return compose(
            snapshot,
            intervals=self._intervals,
            before=self._board,
            trends=self._past.trends,
            thresholds=self._thresholds,
            domain_facts=self._domain_facts,
        )

    async def _dated(self, tick: Tick) -> Tick:
        """The tick with since when what is wrong has been so, as the history tells every process."""
        if self._history is None or tick.is_stored:
            return tick
        inboxes = tick.snapshot.inboxes
        is_read = inboxes.value is not None and not inboxes.failed_since
        present = [
            condition
            for condition in tick.board.conditions
            if condition.is_of_domain or condition.key == SERVICE
        ]
        self.troubled_domains = frozenset(condition.where for condition in present if condition.is_of_domain)
        now = self._now()
        starts = [
            start_of(
                condition,
                now=now,
                first_look=not self._has_looked,
                changes=self._past.changes,
                recorded=self._domain_facts.pauses,
            )
            for condition in present
        ]
        spared = "" if is_read else OF_DOMAINS
        # Without an answer in time the board goes out with the starts of before, and the next one asks again.
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(SAVE_WAIT):  # `wait_for` of Python 3.11 may lose a cancellation
                problems = await self._history.follow_problems(starts, spared=spared, now=now)
            if problems is not None:
                self._problems = problems
                self._has_looked = self._has_looked or is_read
        return replace(tick, board=with_starts(tick.board, self._problems))

    async def _keep(self, snapshot: Snapshot, history: HistoryAccess) -> None:
        """The next board waits for the history, but not for long: where that hangs, the screen goes on without it."""

        async def keep() -> None:
            if news := await history.keep(snapshot, now=self._now()):
                # Told with the next board, which has nothing else to wait for.
                self._news = (*news, *self._news)
                self._changed.set()
            if time.monotonic() - self._trends_at > TRENDS_EVERY_SECONDS:
                self._trends_at = time.monotonic()
                self._past = replace(self._past, trends=await history.trends(now=self._now()))

        # One at a time: what hangs must not pile up.
        if self._saver is None or self._saver.done():
            self._saver = asyncio.create_task(keep(), name="dashboard-keeper")
        done, _ = await asyncio.wait({self._saver}, timeout=SAVE_WAIT)
        for saver in done:
            if error := saver.exception():
                logger.error("a snapshot couldn't be saved", exc_info=error)
