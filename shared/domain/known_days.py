"""Whether the service's counts reach back over all of a period: those of a young account begin within it."""

from __future__ import annotations

from datetime import date, timedelta
from typing import TYPE_CHECKING

from shared.api.http.rate_limit import Priority
from shared.domain.totals import totals

if TYPE_CHECKING:  # a dashboard shows what was kept before it needs a client
    from shared.api import OutreachClient

LOOK_BACK = timedelta(days=365)
SATURDAY = 5


async def is_known_from(client: OutreachClient, first: date, *, priority: Priority = Priority.NORMAL) -> bool:
    """Whether anything was sent by the first working day of a period, or in the year before. Raises `OutreachError`."""
    rows = await client.stats(start=first - LOOK_BACK, end=first_working_day(first), priority=priority)
    return bool(totals(rows).sends)


def first_working_day(day: date) -> date:
    """The day, or the Monday after it: nothing may be sent at weekends, which says nothing about the age of an account."""
    return day if day.weekday() < SATURDAY else day + timedelta(days=7 - day.weekday())
