"""The counts of the last twelve weeks, by sequence: one request per missing day, the newest first, then kept."""

from __future__ import annotations

import asyncio
import itertools
import logging
from collections.abc import Callable
from datetime import date, datetime, timedelta
from typing import Any

from shared.api import OutreachClient
from shared.api.errors import OutreachError
from shared.api.models import StatsRow
from shared.api.pace import Priority
from shared.api.words import COUNTS
from shared.domain.snapshot import DailyCounts, service_day
from shared.domain.totals import totals
from shared.history import History, HistoryUnavailable

logger = logging.getLogger(__name__)

DAYS = 14
"""Of the board's figures: these days are read first."""
PLOTTED_DAYS = 84
"""As far as the plots of pages go back."""
FIRST_AFTER = 4.0
"""Seconds that the first reads of everything else have for themselves."""
BETWEEN = 0.5
"""Seconds between two requests."""
BETWEEN_OLD = 2.0
"""The same for days that only plots show."""
EVERY = 60.0
"""Seconds between two looks at the clock and the history."""
BACK = (timedelta(days=7), timedelta(days=1))
"""Which day is comparable: the same day of the week, else yesterday."""


class DailyCountsReader:
    """Completes the daily counts of a workspace, and reports them."""

    def __init__(
        self,
        *,
        client: OutreachClient,
        history: History,
        workspace: str,
        now: Callable[[], datetime],
        tell: Callable[[DailyCounts], object],
    ) -> None:
        self._client = client
        self._history = history
        self._workspace = workspace
        self._now = now
        self._tell = tell

    async def run(self) -> None:
        """Read and tell for as long as it is awaited; what fails is tried again a minute later."""
        for turn in itertools.count():
            try:
                await self._recall()
                await asyncio.sleep(0 if turn else FIRST_AFTER)
                await self.refresh()
            except (OutreachError, HistoryUnavailable) as error:
                logger.info("daily counts: %s", error)
            await asyncio.sleep(EVERY)

    async def _recall(self) -> tuple[list[date], dict[date, StatsRow]]:
        """Deliver the counts known so far. Returns the days whose sequences aren't known, and the days known."""
        today = service_day(self._client, now=self._now())
        wanted = [today - timedelta(days=ago) for ago in range(1, PLOTTED_DAYS)]
        known = dict(await self._history.days(self._workspace, start=wanted[DAYS - 2]))
        grouped = await self._history.grouped_days(self._workspace, start=wanted[-1])
        self._tell(await self._counts(known))
        return [day for day in wanted if day not in grouped], known

    async def refresh(self) -> None:
        """Read the days that are missing, one after another."""
        missing, known = await self._recall()
        newest = service_day(self._client, now=self._now()) - timedelta(days=DAYS - 1)
        for day in missing:
            urgency = Priority.NORMAL if day >= newest else Priority.BULK
            rows = await self._client.stats(start=day, end=day, priority=urgency)
            await self._history.keep_days(self._workspace, {day: rows})
            if day >= newest:
                known[day] = totals(rows, group=day.isoformat())
                self._tell(await self._counts(known))
            await asyncio.sleep(BETWEEN if day >= newest else BETWEEN_OLD)

    async def _counts(self, known: dict[date, StatsRow]) -> DailyCounts:
        at, compared = await self._compared()
        return DailyCounts(days=tuple(sorted(known.items())), compared_at=at, compared=compared)

    async def _compared(self) -> tuple[datetime | None, StatsRow | None]:
        """What the service had counted by the same hour of a comparable day, if it was read then."""
        now = self._now()
        looked = await self._history.covered(self._workspace, end=now)
        for back in BACK:
            at = now - back
            if any(start <= at <= end for start, end in looked):
                counts: dict[str, Any] = {}
                for name in COUNTS:
                    samples = await self._history.series(
                        self._workspace,
                        kind="today",
                        key="today",
                        metric=name,
                        start=at - timedelta(minutes=1),
                        end=at,
                        points=1,
                    )
                    value = samples[-1].value if samples else None
                    counts[name] = None if value is None else int(value)
                return at, StatsRow(group="compared", **counts)
        return None, None
