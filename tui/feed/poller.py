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
from collections import Counter
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from shared.api import OutreachClient
from shared.api.pipeline import failed_attempts
from shared.domain.card import Tone
from shared.domain.failures import cause_of_attempts
from shared.domain.health import DEFAULT, Thresholds
from shared.domain.snapshot import (
    SOURCES,
    ProblemStart,
    Reading,
    Snapshot,
    Source,
    read_source,
)
from shared.domain.workspace_verdict import OF_DOMAINS, SERVICE
from shared.records.guardrails import Incident
from shared.records.replies import InterestedReply
from shared.records.sequence_changes import PauseEnd
from tui.feed.history_access import HistoryAccess, RecalledState
from tui.feed.recorded_marks import pause_starts
from tui.model import changes
from tui.model.alarms import start_of
from tui.model.board import Board, DomainFacts, compose, with_starts
from tui.model.lines import ChangeLine

logger = logging.getLogger(__name__)

STAGGER = 0.2
"""Seconds between the first reads, so that a start doesn't cause a burst."""
TIMEOUT = 12.0
"""Seconds for one reading, the client's repetitions included."""
SAVE_WAIT = 1.0
"""Seconds that a board waits until the one before has been written down."""
STEP = 5.0
"""Seconds between wall clock and steady clock, within one poll, which mean that the clock was set."""
LOOK_BACK = 60.0
"""Seconds between readings of the history."""
JITTER = 0.1
LEAST = 5.0
"""Seconds below which an alarm hastens nothing."""
STRETCHES = ((30, 2.0), (10, 1.5))
"""After so many reads without a change, so much longer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tick:
    """A new board, what became different with it, and how many reads have succeeded so far."""

    snapshot: Snapshot
    board: Board
    changes: tuple[ChangeLine, ...]
    beats: int


def intervals(poll_seconds: float) -> dict[str, float]:
    return {source.grouping or source.name: poll_seconds * source.factor for source in SOURCES.values()}


@dataclass(frozen=True, slots=True, kw_only=True)
class PollIntervals:
    """Seconds between reads by source, and by what share of them each is moved at random."""

    seconds: Mapping[str, float] = field(default_factory=dict)
    jitter: float = JITTER

    @classmethod
    def of(
        cls, poll_seconds: float, *, own: Mapping[str, float] | None = None, jitter: float = JITTER
    ) -> PollIntervals:
        """From the base interval, and those by source of the settings, which win."""
        return cls(seconds=intervals(poll_seconds) | dict(own or {}), jitter=jitter)

    def interval(self, name: str, *, unchanged_reads: int = 0, alarmed: bool = False) -> float:
        """Seconds until the next read, after so many reads that found nothing new."""
        base = self.seconds[name]
        if alarmed:
            return min(base, max(LEAST, base / 2))
        return base * next((stretch for reads, stretch in STRETCHES if unchanged_reads >= reads), 1.0)


class BoardComposer:
    """Makes a tick of each snapshot of a workspace, in its own thread."""

    def __init__(
        self, shown: Snapshot, *, past: RecalledState, thresholds: Thresholds, now: Callable[[], datetime]
    ) -> None:
        self._shown = shown
        self._remembered = past.changes
        self._trends = past.trends
        self._trends_at = time.monotonic()
        self._thresholds = thresholds
        self._now = now
        self._board: Board | None = None
        self._executor = ThreadPoolExecutor(1, thread_name_prefix="boards")
        """Of its own: a name that is slow to be looked up holds up every other thread's work."""

    async def tick(
        self,
        snapshot: Snapshot,
        *,
        intervals: Mapping[str, float],
        beats: int,
        domain_facts: DomainFacts = DomainFacts(),  # noqa: B008 # frozen
    ) -> Tick:
        """The board of a snapshot, and what changed since the one before."""
        loop = asyncio.get_running_loop()
        board, found = await loop.run_in_executor(
            self._executor, self._compose, snapshot, dict(intervals), domain_facts
        )
        lines = (*found, *self._remembered)
        self._shown, self._board, self._remembered = snapshot, board, ()
        return Tick(snapshot=snapshot, board=board, changes=lines, beats=beats)

    def _compose(
        self, snapshot: Snapshot, intervals: Mapping[str, float], domain_facts: DomainFacts
    ) -> tuple[Board, tuple[ChangeLine, ...]]:
        board = compose(
            snapshot,
            intervals=intervals,
            before=self._board,
            trends=self._trends,
            thresholds=self._thresholds,
            domain_facts=domain_facts,
        )
        return board, changes.between(self._shown, snapshot, at=self._now())

    async def refresh_trends(self, history: HistoryAccess) -> None:
        """Read the charts of the lists again, once a minute."""
        if time.monotonic() - self._trends_at > LOOK_BACK:
            self._trends_at = time.monotonic()
            self._trends = await history.trends(now=self._now())

    def close(self) -> None:
        self._executor.shutdown(wait=False)


class Poller:
    """Reads every source at its own pace for as long as it is open, and delivers ticks."""

    def __init__(
        self,
        *,
        client: OutreachClient,
        workspace: str,
        poll_intervals: PollIntervals,
        now: Callable[[], datetime],
        thresholds: Thresholds = DEFAULT,
        history: HistoryAccess | None = None,
        timeout: float = TIMEOUT,
    ) -> None:
        self._client = client
        self._now = now
        self._poll_intervals = poll_intervals
        self._intervals = dict(self._poll_intervals.seconds)
        self._unchanged_reads: Counter[str] = Counter()
        self._alarmed = False
        self._thresholds = thresholds
        self._history = history
        self._timeout = timeout
        self.snapshot = Snapshot(workspace=workspace)
        self._changed = asyncio.Event()
        self._due: dict[str, float] = {}
        """When each source is read next, by the loop's clock."""
        self._hurried = {name: asyncio.Event() for name in SOURCES}
        """Set where a source is wanted before its time, also while it is being read."""
        self._tasks: list[asyncio.Task[None]] = []
        self._tried: set[str] = set()
        """What was read, or failed to be, since the start; a snapshot without it is half of another time."""
        self._saver: asyncio.Task[None] | None = None
        self._beats = 0
        self._held: tuple[frozenset[tuple[str, str]], bool] | None = None
        """What was wrong when the history was last asked since when."""
        self._has_looked = False
        """Whether the domains were seen before: only then is what is wrong now known to be new."""
        self._problems: tuple[ProblemStart, ...] = ()
        self.troubled_domains: frozenset[str] = frozenset()
        self._domain_facts = DomainFacts()
        self._recalled: tuple[ChangeLine, ...] = ()

    def start(self, deliver: Callable[[Tick], object], *, past: RecalledState | None = None) -> None:
        """Start with the stored history, then read; `deliver` is called in the event loop."""
        past = past or RecalledState()
        self._recalled = past.changes
        if past.snapshot:
            self.snapshot = past.snapshot
            self._changed.set()
        composer = BoardComposer(self.snapshot, past=past, thresholds=self._thresholds, now=self._now)
        self._tasks = [
            asyncio.create_task(self._compose(deliver, composer), name="dashboard-poller"),
            asyncio.create_task(self._watch_clock(), name="dashboard-clock"),
        ]
        for number, source in enumerate(SOURCES.values()):
            reading = self._read_regularly(source, seconds=number * STAGGER)
            self._tasks.append(asyncio.create_task(reading, name=f"dashboard-reads-{source.name}"))

    def note_replies(self, replies: tuple[InterestedReply, ...]) -> None:
        """Show what the bot has recorded of interested replies."""
        self._note(replace(self.snapshot, replies=replies), replies != self.snapshot.replies)

    def note_pauses(self, pauses: tuple[PauseEnd, ...]) -> None:
        """Show until when sequences are paused, and by whom."""
        self._note(replace(self.snapshot, pauses=pauses), pauses != self.snapshot.pauses)

    def note_domains(self, facts: DomainFacts) -> None:
        """Show why domains are in trouble, and date the paused ones by what the bot recorded."""
        if facts != self._domain_facts:
            self._domain_facts, self._held = facts, None
            self._changed.set()

    def note_firings(self, firings: tuple[Incident, ...]) -> None:
        """Raise alarms for the guardrails that have fired."""
        self._note(replace(self.snapshot, firings=firings), firings != self.snapshot.firings)

    def _note(self, snapshot: Snapshot, is_news: bool) -> None:  # noqa: FBT001 # one caller a kind of news
        if is_news:
            self.snapshot = snapshot
            self._changed.set()

    def read_now(self, *names: str) -> None:
        """Read these sources now, or all; one that is being read already is read once more afterwards."""
        now = asyncio.get_running_loop().time()
        for number, name in enumerate(names or tuple(SOURCES)):
            self._unchanged_reads[name] = 0
            self._due[name] = now + number * STAGGER
            self._hurried[name].set()

    async def aclose(self) -> None:
        """Stop reading, and wait until nothing runs any more."""
        tasks = [*self._tasks, *([self._saver] if self._saver else ())]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _watch_clock(self) -> None:
        """Read everything again after the clock was set: the ages on the screen would be wrong."""
        before = self._now().timestamp() - time.monotonic()
        while True:
            await asyncio.sleep(1.0)
            ahead = self._now().timestamp() - time.monotonic()
            if abs(ahead - before) > STEP:
                logger.warning("the clock changed by %+.0f s, so everything is read again", ahead - before)
                self.read_now()
            before = ahead

    async def _read_regularly(self, source: Source, *, seconds: float) -> None:
        clock, hurried = asyncio.get_running_loop().time, self._hurried[source.name]
        self._due.setdefault(source.name, clock() + seconds)
        while True:
            await self._until_due(source.name)
            hurried.clear()
            try:
                await self._read(source)
            except Exception:
                logger.exception("reading %s failed", source.name)
            if not hurried.is_set():  # else it was wanted while it was being read, and its time is set
                self._due[source.name] = clock() + self._pause(source)

    async def _until_due(self, name: str) -> None:
        clock, hurried = asyncio.get_running_loop().time, self._hurried[name]
        while (left := self._due[name] - clock()) > 0:
            hurried.clear()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(left):
                    await hurried.wait()

    def _pause(self, source: Source) -> float:
        """Seconds until the next read, moved at random, so that processes don't ask in step."""
        name = source.grouping or source.name
        self._intervals[name] = self._poll_intervals.interval(
            name, unchanged_reads=self._unchanged_reads[source.name], alarmed=self._alarmed
        )
        jitter = self._poll_intervals.jitter
        return self._intervals[name] * random.uniform(1 - jitter, 1 + jitter)  # noqa: S311 # no secret

    async def _read(self, source: Source) -> None:
        """One reading; the client repeats for longer than people should wait to be told."""
        before, began = self.snapshot.reading(source), self._now()
        reading: Reading[Any]
        with failed_attempts() as attempts:
            try:
                async with asyncio.timeout(self._timeout):
                    reading = await read_source(before, source, self._client, now=began)
            except TimeoutError:
                waits = (self._client.budget.resumes_at or 0) > began.timestamp()
                error = str(attempts[-1]) if attempts else f"No response within {self._timeout:g} s."
                cause = cause_of_attempts(attempts, rate_limited=waits)
                reading = before.failed(error, cause=cause, at=began)
        moved = reading.value != before.value
        self._unchanged_reads[source.name] = 0 if moved else self._unchanged_reads[source.name] + 1
        self._beats += reading.failed_since is None
        self._tried.add(source.name)
        self.snapshot = replace(self.snapshot.with_reading(source, reading), budget=self._client.budget)
        self._changed.set()
        # One source that works again suggests that the others do, too: don't let them wait for their intervals.
        if before.failed_since and not reading.failed_since:
            failed = [name for name, one in SOURCES.items() if self.snapshot.reading(one).failed_since]
            if failed:
                self.read_now(*failed)

    async def _compose(self, deliver: Callable[[Tick], object], composer: BoardComposer) -> None:
        """Several reads that end together make one board."""
        with contextlib.closing(composer):
            while True:
                await self._changed.wait()
                self._changed.clear()
                try:
                    tick = await composer.tick(
                        self.snapshot,
                        intervals=self._intervals,
                        beats=self._beats,
                        domain_facts=self._domain_facts,
                    )
                except Exception:
                    logger.exception("a response couldn't be displayed")  # the screen stays, and ages
                    continue
                tick = await self._dated(tick)
                is_read = all(one.key != SERVICE for one in tick.board.conditions)
                self._alarmed = tick.board.verdict.tone is Tone.BAD and is_read
                deliver(tick)
                if self._history and tick.beats and self._tried.issuperset(SOURCES):
                    await self._keep(tick.snapshot, self._history, composer)

    async def _dated(self, tick: Tick) -> Tick:
        """The tick with since when what is wrong has been so, as the history tells every process."""
        inboxes, board = tick.snapshot.inboxes, tick.board
        is_stored = tick.beats == 0 and not inboxes.failed_since
        if self._history is None or is_stored:
            return tick
        is_read = inboxes.value is not None and not inboxes.failed_since
        known = [one for one in board.conditions if one.is_of_domain or one.key == SERVICE]
        held = (frozenset((one.key, one.kind) for one in known), is_read)
        if held != self._held:
            now = self._now()
            present = [
                start_of(
                    one,
                    now=now,
                    first_look=not self._has_looked,
                    changes=self._recalled,
                    recorded=pause_starts(self._domain_facts.pasts),
                )
                for one in known
            ]
            self.troubled_domains = frozenset(one.where for one in known if one.is_of_domain)
            spared = "" if is_read else OF_DOMAINS
            following = self._history.follow_problems(present, spared=spared, now=now)
            with contextlib.suppress(TimeoutError):
                found = await asyncio.wait_for(following, SAVE_WAIT)
                if found is not None:
                    self._held, self._problems = held, found
                    self._has_looked = self._has_looked or is_read
        return replace(
            tick,
            snapshot=replace(tick.snapshot, problems=self._problems),
            board=with_starts(board, self._problems),
        )

    async def _keep(self, snapshot: Snapshot, history: HistoryAccess, composer: BoardComposer) -> None:
        """The next board waits for the history, but not for long: where that hangs, the screen goes on without it."""

        async def keep() -> None:
            await history.keep(snapshot, now=self._now())
            await composer.refresh_trends(history)

        if self._saver is None or self._saver.done():
            self._saver = asyncio.create_task(keep(), name="dashboard-keeper")
        done, _ = await asyncio.wait({self._saver}, timeout=SAVE_WAIT)
        for one in done:
            if error := one.exception():
                logger.error("a snapshot couldn't be saved", exc_info=error)
