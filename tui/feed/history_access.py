"""Access to the history that the dashboard shares with the bot.

If the history can't be used, only the charts are missing; the reason is shown once.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Iterable, Mapping, Sequence
from dataclasses import field, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, TypeVar

from shared.api.models import Inbox
from shared.domain.health import Thresholds
from shared.domain.snapshot import SOURCES, ProblemStart, Snapshot
from shared.frozen import frozen
from shared.records import HistoryUnavailable, Transition
from tui.model.course import LEAST_SPAN, Course, course_of
from tui.model.happened import Mark, of_transitions, together
from tui.model.incident import Incident, lanes_of
from tui.model.lines import PageRef

if TYPE_CHECKING:
    from shared.history.history import History

logger = logging.getLogger(__name__)

SPANS = (timedelta(days=14), timedelta(days=1), timedelta(hours=1))
"""Charts go back as far as there is something to see."""
POINTS = 10
MOST_POINTS = 480
"""The points of a plot, however wide the screen: the database thins out the others."""
MOST_CHANGES = 50_000
"""Behind the lanes of an incident."""
STILL_READ = timedelta(minutes=2)
"""The time that is covered is noted every 15 seconds; a read that has just ended is not in it yet."""
MOST_NEW = 100
"""Changes that are told after one poll."""
MOST_TRANSITIONS = 2_000
"""Behind the marks of a plot."""
T = TypeVar("T")
Trends = Mapping[str, tuple[float, ...]]


@frozen
class RecalledState:
    """The last snapshot that was kept, its charts, and what had changed lately."""

    snapshot: Snapshot | None = None
    trends: Trends = field(default_factory=dict)
    changes: tuple[Mark, ...] = ()


class HistoryAccess:
    """The history of one workspace; every failure is logged and told by `notice`."""

    def __init__(self, store: History, *, workspace: str) -> None:
        self._history = store
        self._workspace = workspace
        self._told: frozenset[Transition] = frozenset()
        """The changes that were read last, and told."""
        self._told_at: datetime | None = None
        """The time of the newest of them."""
        self.notice = ""

    async def recall(self, *, now: datetime) -> RecalledState:
        """The last snapshot, the charts, and what changed lately."""
        history, name = self._history, self._workspace
        snapshot, trends = await self.snapshot_at(now), await self.trends(now=now)
        reading = history.transitions(name, start=now - timedelta(days=2), limit=100)
        transitions = await self._or(reading, ())
        problems = await self._or(history.problems(name), ())
        self._told, self._told_at = frozenset(transitions), max((c.at for c in transitions), default=now)
        return RecalledState(
            snapshot=snapshot and replace(as_recalled(snapshot), problems=problems),
            trends=trends,
            changes=of_transitions(transitions),
        )

    async def keep(self, snapshot: Snapshot, *, now: datetime) -> tuple[Mark, ...]:
        """Store a snapshot; what has changed since the last one, also where another process noticed it first."""
        await self._or(self._history.add(snapshot, now=now), ())
        # The bot's polls write to the same history: what it noticed first is read, not what `add` gives back.
        reading = self._history.transitions(self._workspace, start=self._told_at or now, limit=MOST_NEW)
        transitions = await self._or(reading, ())
        new = [change for change in transitions if change not in self._told]
        if new:  # times are whole seconds, so those of the newest one are read again
            self._told, self._told_at = frozenset(transitions), max(change.at for change in new)
        return of_transitions(new)

    async def follow_problems(
        self, present: Sequence[ProblemStart], *, spared: str, now: datetime
    ) -> tuple[ProblemStart, ...] | None:
        """The starts of what is wrong now, as all processes know them; None where the history is unavailable."""
        following = self._history.follow_problems(self._workspace, present, spared=spared, now=now)
        return await self._or(following, None)

    async def trends(self, *, now: datetime) -> Trends:
        """The health of each inbox, as far back as there is something to see."""
        for span in SPANS:
            reading = self._history.sparklines(self._workspace, start=now - span, end=now, points=POINTS)
            courses = await self._or(reading, {})
            if any(len(values) > 2 for values in courses.values()):
                return courses
        return {}

    async def health(
        self, about: PageRef, *, span: timedelta, points: int, now: datetime, thresholds: Thresholds
    ) -> Course | None:
        """The health of an inbox, or the lowest of a domain, from where it is known; None: nothing is."""
        points, start = max(8, min(points, MOST_POINTS)), now - span
        health = self._history.health(
            self._workspace, kind=about.kind, key=about.key, start=start, end=now, points=points
        )
        samples = await self._or(health, ())
        covered = await self._or(self._history.covered(self._workspace, end=now), ())
        return course_of(samples, start=start, end=now, points=points, covered=covered, thresholds=thresholds)

    async def incident(
        self,
        inboxes: Sequence[Inbox],
        recorded: Iterable[Mark],
        *,
        start: datetime,
        end: datetime,
        fresh: bool,
        thresholds: Thresholds,
    ) -> Incident:
        """The lanes of all domains, from where any is known, up to a moment at which `inboxes` stood so.

        On them is what the bot has `recorded`, and what polls noticed besides.
        Not `fresh`: they were read long before.
        """
        history, name = self._history, self._workspace
        reading = history.transitions(name, start=start, end=end, kind="inbox", limit=MOST_CHANGES)
        changes = await self._or(reading, ())
        covered = await self._or(history.covered(name, end=end), ())
        known = await self._or(history.domains_known_from(name, end=end), {})
        seen = {domain: max(start, at) for domain, at in known.items()}
        read = [*covered]
        if fresh and read and end - read[-1][1] <= STILL_READ:
            read[-1] = (read[-1][0], end)
        if len(changes) == MOST_CHANGES:  # what was before the oldest of these isn't known
            seen = {domain: max(first, changes[-1].at) for domain, first in seen.items()}
        lanes = await asyncio.to_thread(
            lanes_of,
            inboxes,
            changes,
            start=start,
            end=end,
            known_from=seen,
            read=read,
            thresholds=thresholds,
        )
        begin = min((lane.segments[0].start for lane in lanes if lane.segments), default=start)
        reading = history.transitions(name, start=start, end=end, field="status", limit=MOST_TRANSITIONS)
        noticed = of_transitions(await self._or(reading, ()))
        incident = Incident(start=min(begin, end - LEAST_SPAN), end=end, lanes=lanes)
        return incident.with_marks(together(recorded, noticed))

    async def moments(self, *, start: datetime, end: datetime) -> tuple[datetime, ...]:
        return await self._or(self._history.snapshot_times(self._workspace, start=start, end=end), ())

    async def snapshot_at(self, at: datetime) -> Snapshot | None:
        return await self._or(self._history.snapshot_at(self._workspace, at), None)

    async def _or(self, reading: Awaitable[T], default: T) -> T:
        """Give what was read, or the default where the history is unavailable."""
        try:
            value = await reading
        except HistoryUnavailable as error:
            logger.warning("history: %s", error)
            self.notice = f"No history: {error}"
            return default
        self.notice = self._history.notice
        return value


def as_recalled(snapshot: Snapshot) -> Snapshot:
    """The values with their age; old failures and firings are dropped, and claims are read again."""
    for source in SOURCES.values():
        past = replace(snapshot.reading(source), error=None, failed_since=None)
        snapshot = snapshot.with_reading(source, past)
    return replace(snapshot, budget=None, replies=(), firings=())
