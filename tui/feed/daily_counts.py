"""The counts of the last 14 days: one request per missing day, then kept."""

from __future__ import annotations

import asyncio
import itertools
import logging
from collections.abc import Callable
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING, Any

from shared.api.models import COUNTS, StatsRow
from shared.domain.snapshot import DailyCounts, service_day

if TYPE_CHECKING:
    from shared.api import OutreachClient
    from shared.history import History

logger = logging.getLogger(__name__)

DAYS = 14
FIRST_AFTER = 4.0
"""Seconds that the first reads of everything else have for themselves."""
BETWEEN = 0.5
"""Seconds between two requests."""
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
        from shared.api.errors import OutreachError
        from shared.history import HistoryUnavailable

        for turn in itertools.count():
            try:
                await self._recall()
                await asyncio.sleep(0 if turn else FIRST_AFTER)
                await self.refresh()
            except (OutreachError, HistoryUnavailable) as error:
                logger.info("daily counts: %s", error)
            await asyncio.sleep(EVERY)

    async def _recall(self) -> tuple[list[date], dict[date, StatsRow]]:
        """Deliver the counts known so far. Returns the days wanted and the days known."""
        today = service_day(self._client, now=self._now())
        wanted = [today - timedelta(days=ago) for ago in range(DAYS - 1, 0, -1)]
        known = dict(await self._history.days(self._workspace, start=wanted[0]))
        self._tell(await self._counts(known))
        return wanted, known

    async def refresh(self) -> None:
        """Read the days that are missing, one after another."""
        wanted, known = await self._recall()
        for day in wanted:
            if day not in known:
                known[day] = await self._read(day)
                await self._history.keep_days(self._workspace, {day: known[day]})
                self._tell(await self._counts(known))
                await asyncio.sleep(BETWEEN)

    async def _read(self, day: date) -> StatsRow:
        from shared.domain.totals import totals

        return totals(await self._client.stats(start=day, end=day), group=day.isoformat())

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
