"""Ticks of the clock into snapshots, and snapshots into boards, all in the event loop of the screen.

One job a source: never two reads of the same source at once, never all at the same moment, and a read that
comes late is made once, not skipped. Boards are worked out beside the loop, so that keys never wait.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from apscheduler.events import EVENT_JOB_ERROR, JobExecutionEvent
from apscheduler.schedulers.asyncio import AsyncIOScheduler

from shared.domain.card import Tone
from shared.domain.health import DEFAULT, Thresholds
from shared.domain.snapshot import SOURCES, Reading, Snapshot, Source, read_source
from tui.feed.history_access import HistoryAccess, RecalledState, Trends
from tui.feed.poll_intervals import PollIntervals
from tui.feed.tick import Tick
from tui.model import changes
from tui.model.board import Board, compose
from tui.model.lines import ChangeLine

if TYPE_CHECKING:
    from shared.api import OutreachClient

logger = logging.getLogger(__name__)

STAGGER = 0.2
"""Seconds between the first reads, so that a start is no burst."""
TIMEOUT = 12.0
"""Seconds for one reading, the client's repetitions included."""
SAVE_WAIT = 1.0
"""Seconds that a board waits until the one before has been written down."""
STEP = 5.0
"""Seconds between wall clock and steady clock, within one look, that mean that somebody set the clock."""
LOOK_BACK = 60
"""Seconds between readings of the history."""
JOB_OPTIONS: Mapping[str, Any] = {"coalesce": True, "max_instances": 1, "misfire_grace_time": None}


class Poller:
    """Reads every source at its own pace for as long as it is open, and delivers ticks."""

    def __init__(
        self,
        *,
        client: OutreachClient,
        workspace: str,
        poll_seconds: float,
        now: Callable[[], datetime],
        thresholds: Thresholds = DEFAULT,
        history: HistoryAccess | None = None,
        timeout: float = TIMEOUT,
        poll_intervals: PollIntervals | None = None,
    ) -> None:
        self._client = client
        self._now = now
        self._poll_intervals = poll_intervals or PollIntervals.of(poll_seconds)
        self._intervals = dict(self._poll_intervals.seconds)
        self._unchanged_reads: Counter[str] = Counter()
        self._alarmed = False
        self._thresholds = thresholds
        self._history = history
        self._timeout = timeout
        self._trends: Trends = {}
        self._snapshot = Snapshot(workspace=workspace)
        self._scheduler = AsyncIOScheduler(timezone="UTC")
        self._changed = asyncio.Event()
        self._composer: asyncio.Task[None] | None = None
        self._clock_watcher: asyncio.Task[None] | None = None
        self._saver: asyncio.Task[object] | None = None
        self._reading: dict[str, asyncio.Task[object]] = {}
        self._again: set[str] = set()
        self._beats = 0
        self._executor = ThreadPoolExecutor(1, thread_name_prefix="boards")
        """Of their own: a name that is slow to be looked up holds up every other thread's work."""

    @property
    def snapshot(self) -> Snapshot:
        return self._snapshot

    def start(self, deliver: Callable[[Tick], object], *, past: RecalledState | None = None) -> None:
        """Begin with what is known of the past, then read; `deliver` is called in the event loop."""
        self._composer = asyncio.create_task(
            self._run(deliver, past or RecalledState()), name="dashboard-poller"
        )

    async def _run(self, deliver: Callable[[Tick], object], past: RecalledState) -> None:
        self._trends = past.trends
        if past.snapshot:
            self._snapshot = past.snapshot
            self._changed.set()
        self._schedule()
        await self._compose(deliver, past=past)

    def _schedule(self) -> None:
        self._scheduler.add_listener(self._failed, EVENT_JOB_ERROR)
        self._scheduler.add_job(
            self._refresh_trends, "interval", id="look-back", seconds=LOOK_BACK, **JOB_OPTIONS
        )
        for number, source in enumerate(SOURCES.values()):
            seconds = self._intervals[source.grouping or source.name]
            self._scheduler.add_job(
                self._read,
                "interval",
                args=[source],
                id=source.name,
                seconds=seconds,
                jitter=seconds * self._poll_intervals.jitter,
                next_run_time=_in(number * STAGGER),
                **JOB_OPTIONS,
            )
        self._scheduler.start()
        self._clock_watcher = asyncio.create_task(self._watch_clock(), name="dashboard-clock")

    async def _watch_clock(self) -> None:
        """The scheduler waits for times of day: an hour set back would be an hour without reads."""
        before = self._now().timestamp() - time.monotonic()
        while True:
            await asyncio.sleep(1.0)
            ahead = self._now().timestamp() - time.monotonic()
            if abs(ahead - before) > STEP:
                logger.warning("the clock was set by %+.0f s; everything is read anew", ahead - before)
                self._scheduler.modify_job("look-back", next_run_time=_in(0))
                self.read_now()
            before = ahead

    def read_now(self, *names: str) -> None:
        """Read these sources now, or all; one that is being read already is read once more afterwards."""
        for number, name in enumerate(names or tuple(SOURCES)):
            self._unchanged_reads[name] = 0
            if name in self._reading:
                self._again.add(name)
            else:
                self._due(name, after=number * STAGGER)

    def _due(self, name: str, *, after: float = 0.0) -> None:
        if self._scheduler.running:
            self._scheduler.modify_job(name, next_run_time=_in(after))

    async def aclose(self) -> None:
        """Stop reading, and wait until nothing runs any more."""
        if self._scheduler.running:
            self._scheduler.shutdown(wait=False)
        tasks = [*self._reading.values(), *filter(None, (self._composer, self._clock_watcher, self._saver))]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._executor.shutdown(wait=False)

    async def _read(self, source: Source) -> None:
        task = asyncio.current_task()
        assert task
        self._reading[source.name] = task
        wanted = True
        try:
            while wanted:
                self._again.discard(source.name)
                before = self._snapshot.reading(source).value
                self._put(source, await self._attempt(source))
                self._adapt(source, moved=self._snapshot.reading(source).value != before)
                wanted = source.name in self._again
        finally:
            del self._reading[source.name]

    async def _attempt(self, source: Source) -> Reading[Any]:
        """One reading; the client repeats for longer than people should wait to be told."""
        before, began = self._snapshot.reading(source), self._now()
        try:
            async with asyncio.timeout(self._timeout):
                return await read_source(before, source, self._client, now=began)
        except TimeoutError:
            said = before.error or f"no answer within {self._timeout:g} s"
            return replace(before, error=said, failed_since=before.failed_since or began)

    def _put(self, source: Source, reading: Reading[object]) -> None:
        self._beats += reading.failed_since is None
        self._snapshot = replace(self._snapshot.with_reading(source, reading), budget=self._client.budget)
        self._changed.set()

    def _adapt(self, source: Source, *, moved: bool) -> None:
        """Come again sooner in an alarm, later where nothing moved for long."""
        self._unchanged_reads[source.name] = 0 if moved else self._unchanged_reads[source.name] + 1
        name = source.grouping or source.name
        seconds = self._poll_intervals.interval(
            name, unchanged_reads=self._unchanged_reads[source.name], alarmed=self._alarmed
        )
        if seconds != self._intervals[name] and self._scheduler.running:
            self._intervals[name] = seconds
            jitter = seconds * self._poll_intervals.jitter
            self._scheduler.reschedule_job(source.name, trigger="interval", seconds=seconds, jitter=jitter)

    async def _refresh_trends(self) -> None:
        if self._history:
            self._trends = await self._history.trends(now=self._now())

    async def _compose(self, deliver: Callable[[Tick], object], *, past: RecalledState) -> None:
        """Several reads that end together make one board."""
        loop, shown = asyncio.get_running_loop(), self._snapshot
        board: Board | None = None
        remembered = past.changes
        while True:
            await self._changed.wait()
            self._changed.clear()
            snapshot, beats = self._snapshot, self._beats
            try:
                made, changed = await loop.run_in_executor(
                    self._executor, self._compose_board, shown, snapshot, board
                )
            except Exception:
                logger.exception("an answer that no board could be made of")  # the screen stays, and ages
                continue
            shown, board = snapshot, made
            self._alarmed = made.headline.tone is Tone.BAD and made.trouble is None
            deliver(Tick(snapshot=snapshot, board=made, changes=(*changed, *remembered), beats=beats))
            remembered = ()
            if self._history and beats:
                await self._keep(snapshot, self._history)

    async def _keep(self, snapshot: Snapshot, history: HistoryAccess) -> None:
        """The next board waits for the history, but not for long: where that hangs, the screen goes on without it."""
        if self._saver is None or self._saver.done():
            self._saver = asyncio.create_task(
                history.keep(snapshot, now=self._now()), name="dashboard-keeper"
            )
        done, _ = await asyncio.wait({self._saver}, timeout=SAVE_WAIT)
        for one in done:
            if error := one.exception():
                logger.error("a snapshot was not kept", exc_info=error)

    def _compose_board(
        self, before: Snapshot, after: Snapshot, board: Board | None
    ) -> tuple[Board, tuple[ChangeLine, ...]]:
        made = compose(
            after,
            intervals=dict(self._intervals),
            before=board,
            trends=self._trends,
            thresholds=self._thresholds,
        )
        return made, changes.between(before, after, at=self._now())

    def _failed(self, event: JobExecutionEvent) -> None:
        if not isinstance(event.exception, asyncio.CancelledError):  # that is the end, and no failure
            logger.error("reading %s failed", event.job_id, exc_info=event.exception)


def _in(seconds: float) -> datetime:
    """So many seconds from now by the machine's clock, which is the scheduler's."""
    return datetime.now(UTC) + timedelta(seconds=seconds)
