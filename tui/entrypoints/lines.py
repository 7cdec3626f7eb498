"""The dashboard as lines of text: one a change, for screen readers, logs and tmux."""

from __future__ import annotations

import asyncio
import os
import select
import sys
import threading
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from datetime import date, datetime
from functools import partial
from typing import TYPE_CHECKING

from shared.domain.local_zone import local
from tui.app.dashboard import utc_now
from tui.app.run import start_settings_of
from tui.feed.poller import Tick
from tui.feed.startup import OpenRecords, ServiceFeed
from tui.feed.workspace_state import WorkspaceState
from tui.model.news.line_report import LineReport
from tui.system.process import logging_to, tuned_gc
from tui.system.terminal import is_hung_up, output_encoding, writable

if TYPE_CHECKING:
    from shared.settings import Settings

EVERY = 1.0
"""Seconds between looks at the ages, and at whether anybody still reads."""
MOST_WAITING = 1_000
"""Lines for a reader that doesn't read; the oldest are dropped then."""
LAST_LINES = 2.0
"""Seconds for them to be taken when the program ends."""


class LineWriter:
    """Writes lines in a thread of its own: a reader that stops reading holds up neither polls nor signals."""

    def __init__(self, descriptor: int, *, encoding: str) -> None:
        self._descriptor = descriptor
        self._encoding = encoding
        self._waiting: deque[str] = deque()
        self._dropped = 0
        self._changed = threading.Condition()
        self._is_writing = False
        self._is_closed = False
        threading.Thread(target=self._run, name="dashboard-lines", daemon=True).start()

    def put(self, line: str) -> None:
        with self._changed:
            self._waiting.append(line)
            if len(self._waiting) > MOST_WAITING:
                self._waiting.popleft()
                self._dropped += 1
            self._changed.notify_all()

    @property
    def is_unread(self) -> bool:
        """Whether nobody can read any more."""
        return self._is_closed or is_hung_up(self._descriptor)

    def drain(self, seconds: float) -> None:
        """Wait until all lines are written, but not for long."""
        with self._changed:
            self._changed.wait_for(
                lambda: self._is_closed or not (self._waiting or self._is_writing), seconds
            )

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._waiting)
                lines = [f"({self._dropped:,} lines left out)"] if self._dropped else []
                lines.append(self._waiting.popleft())
                self._dropped, self._is_writing = 0, True
            try:
                for line in lines:
                    self._write(f"{writable(line, self._encoding)}\n".encode(self._encoding))
            except OSError:
                self._is_closed = True
            with self._changed:
                self._is_writing = False
                self._changed.notify_all()
            if self._is_closed:
                return

    def _write(self, body: bytes) -> None:
        """All of it, past the buffers of `sys.stdout`: one that is stuck would keep the program from ending."""
        while body:
            try:
                body = body[os.write(self._descriptor, body) :]
            except BlockingIOError:  # another program has made a shared terminal so
                select.select([], [self._descriptor], [])


class Timeline:
    """Puts the time before each line, and the day before the first one of a day."""

    def __init__(self, write: Callable[[str], object], *, now: Callable[[], datetime]) -> None:
        self._write = write
        self._now = now
        self._day: date | None = None

    def tell(self, text: str) -> None:
        here = local(self._now())
        if here.date() != self._day:
            self._day = here.date()
            self._write(f"{here:%H:%M} {here:%A}, {here.day} {here:%B %Y}, {here.tzname()}")
        self._write(f"{here:%H:%M} {text}")


class _Reporter:
    """Follows one workspace."""

    def __init__(
        self, state: WorkspaceState, tell: Callable[[str], object], *, now: Callable[[], datetime]
    ) -> None:
        self.state = state
        self._tell = tell
        self._now = now
        self._report = LineReport(state.workspace)

    def take(self, tick: Tick) -> None:
        now = self._now()
        self.state.take(tick, now=now)
        if tick.beats == 0 and not tick.snapshot.inboxes.failed_since:
            self._report.recall(tick.snapshot)
            return
        lines = self._report.take(
            tick.snapshot, tick.board, alarms=self.state.alarms, changes=tick.changes, now=now
        )
        for line in lines:
            self._tell(line)

    def second_passed(self) -> None:
        if self.state.last:
            for line in self._report.staleness(self.state.last.board, now=self._now()):
                self._tell(line)


async def print_lines(
    settings: Settings,
    *,
    stop: asyncio.Event,
    workspace: str | None = None,
    open_records: OpenRecords | None = None,
    environ: Mapping[str, str] = os.environ,
    now: Callable[[], datetime] = utc_now,
) -> None:
    """Print a line a change on stdout until `stop`, or until nobody reads them; of all workspaces, or of one."""
    places = start_settings_of(settings, workspace)[: 1 if workspace else None]
    writer = LineWriter(sys.stdout.fileno(), encoding=output_encoding(sys.stdout.encoding, environ))
    timeline = Timeline(writer.put, now=now)
    level = environ.get("OUTREACH_LOG_LEVEL", "").strip() or "INFO"
    failures: list[Exception] = []

    def fail(error: Exception) -> None:
        failures.append(error)
        stop.set()

    reporters = []
    for start in places:
        feed = ServiceFeed(lambda: settings, start_settings=start, open_records=open_records, now=now)
        prefix = f"{start.workspace}: " if len(places) > 1 else ""
        state = WorkspaceState(workspace=start.workspace, feed=feed)
        reporters.append(_Reporter(state, partial(_tell_of, timeline, prefix), now=now))
    with logging_to(places[0].state / "dashboard.log", level=level), tuned_gc():
        async with _following(reporters, fail):
            while not stop.is_set() and not writer.is_unread:
                await _wait(stop, EVERY)
                for reporter in reporters:
                    reporter.second_passed()
    await asyncio.to_thread(writer.drain, LAST_LINES)
    if failures:
        raise failures[0]


def _tell_of(timeline: Timeline, prefix: str, line: str) -> None:
    timeline.tell(f"{prefix}{line}")


@asynccontextmanager
async def _following(reporters: list[_Reporter], fail: Callable[[Exception], object]) -> AsyncIterator[None]:
    feeds = [(one, one.state.feed) for one in reporters if one.state.feed]
    for reporter, feed in feeds:
        feed.start(reporter.take, fail)
    try:
        yield
    finally:
        for _, feed in feeds:
            await feed.aclose()


async def _wait(stop: asyncio.Event, seconds: float) -> None:
    try:
        async with asyncio.timeout(seconds):
            await stop.wait()
    except TimeoutError:
        pass
