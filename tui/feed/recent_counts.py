"""The counts of single inboxes and sequences by day, read from the service when a page asks for them.

One request a day gives all inboxes; what was read stays in memory, in a few bytes for each inbox and day.
"""

from __future__ import annotations

import asyncio
import logging
from array import array
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime, timedelta
from typing import Any

from shared.api import OutreachClient
from shared.api.errors import OutreachError
from shared.api.models import StatsRow
from shared.api.words import COUNTS, Grouping
from shared.domain.snapshot import service_day

logger = logging.getLogger(__name__)

BETWEEN = 0.15
"""Seconds between two requests."""
KEPT_TODAY = timedelta(minutes=1)
MOST_DAYS = 84
UNKNOWN = -1


class DayTable:
    """The counts of one day by inbox or sequence."""

    def __init__(self, rows: Sequence[StatsRow], *, like: DayTable | None = None) -> None:
        places = {row.group: number for number, row in enumerate(rows)}
        # the same names are kept once
        self.places: Mapping[str, int] = like.places if like and like.places == places else places
        counts = (getattr(row, name) for row in rows for name in COUNTS)
        self._counts = array("q", (UNKNOWN if count is None else count for count in counts))

    def of(self, key: str) -> StatsRow | None:
        """None for what the service left out."""
        if (place := self.places.get(key)) is None:
            return None
        counts = self._counts[place * len(COUNTS) : (place + 1) * len(COUNTS)]
        known: dict[str, Any] = {
            name: None if count == UNKNOWN else count for name, count in zip(COUNTS, counts, strict=True)
        }
        return StatsRow(group=key, **known)


class RecentCounts:
    """Reads a day once, and today at most once a minute, however many pages ask."""

    def __init__(self, client: OutreachClient, *, now: Callable[[], datetime]) -> None:
        self._client = client
        self._now = now
        self._tables: dict[tuple[Grouping, date], DayTable] = {}
        self._unfinished: dict[tuple[Grouping, date], datetime] = {}
        """When a day was read that wasn't over."""
        self._lock = asyncio.Lock()

    async def of(self, grouping: Grouping, keys: Sequence[str], *, days: int) -> Mapping[date, StatsRow]:
        """The last days, today included, of the first of these keys that has any, from the first day that it is listed.

        After that a day on which it is left out has nothing sent. Days that can't be read are left out.
        """
        today = service_day(self._client, now=self._now())
        tables: dict[date, DayTable] = {}
        async with self._lock:
            oldest = today - timedelta(days=MOST_DAYS)
            self._tables = {place: table for place, table in self._tables.items() if place[1] > oldest}
            for ago in range(min(days, MOST_DAYS)):
                day = today - timedelta(days=ago)
                if table := await self._table(grouping, day, is_today=ago == 0):
                    tables[day] = table
        for key in keys:
            found = {day: table.of(key) for day, table in sorted(tables.items())}
            if listed := [day for day, row in found.items() if row]:
                nothing = StatsRow(group=key, sends=0, replies=0, positive_replies=0, meetings=0)
                return {day: row or nothing for day, row in found.items() if day >= listed[0]}
        return {}

    async def _table(self, grouping: Grouping, day: date, *, is_today: bool) -> DayTable | None:
        place = (grouping, day)
        known, read_at = self._tables.get(place), self._unfinished.get(place)
        if known and (read_at is None or (is_today and self._now() - read_at <= KEPT_TODAY)):
            return known
        try:
            rows = await self._client.stats(group_by=grouping, start=day, end=day)
        except OutreachError as error:
            logger.info("counts of %s by %s: %s", day, grouping, error)
            return None
        self._unfinished.pop(place, None)
        if is_today:
            self._unfinished[place] = self._now()
        like = next((table for (of, _), table in self._tables.items() if of == grouping), None)
        table = self._tables[place] = await asyncio.to_thread(DayTable, rows, like=like)
        await asyncio.sleep(BETWEEN)
        return table
