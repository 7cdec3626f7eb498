"""Counts interested leads: reads the pages after the first one by one, when the request budget is free."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from dataclasses import replace

from shared.api import OutreachClient
from shared.api.errors import OutreachError
from shared.api.models import NOTHING, Lead
from shared.api.pace import Priority
from shared.domain.snapshot import InterestedCount, Snapshot
from shared.records.replies import InterestedReply

logger = logging.getLogger(__name__)

LOOK_EVERY = 3.0
"""Seconds between two looks at the first page and the budget."""
BETWEEN = 1.0
"""Seconds between two pages."""
AGAIN_AFTER = 600.0
"""Seconds after which all is counted again: leads may have become something else."""
SOON_AFTER = 60.0
"""The same where a reply was recorded of a lead who is not listed: an older lead has become interested."""
QUIET_SHARE = 0.5
"""Of the key's rate: what is used in a quiet second."""
MOST_PAGES = 200
"""Of 100 leads; a longer list stays uncounted."""
MOST_RECORDED = 200


class InterestedCounter:
    """Counts while it is awaited: at once where the first page is not all, then every ten minutes."""

    def __init__(
        self,
        client: OutreachClient,
        *,
        snapshot: Callable[[], Snapshot],
        tell: Callable[[InterestedCount | None], object],
    ) -> None:
        self._client = client
        self._snapshot = snapshot
        self._tell = tell
        self._ids: set[str] = set()
        """Of every interested lead; none where there are too many to count."""
        self._recorded: tuple[Lead, ...] = ()
        self._counted_at: float | None = None
        self._last_reply: InterestedReply | None = None
        """The newest when all were counted."""

    async def run(self) -> None:
        while True:
            await asyncio.sleep(LOOK_EVERY)
            try:
                await self.look()
            except OutreachError as error:
                logger.info("counting interested leads: %s", error)

    async def look(self) -> None:
        """Count where that is due, else add what is new on the first page."""
        first = self._snapshot().interested
        if not first.more:
            self._counted_at = None
            self._tell(None)
        elif self._is_due():
            await self._count()
        elif self._ids and (fresh := {lead.id for lead in first.value or ()} - self._ids):
            self._ids |= fresh
            self._tell(InterestedCount(total=len(self._ids), recorded=self._recorded))

    def _is_due(self) -> bool:
        if self._counted_at is None:
            return True
        snapshot = self._snapshot()
        newest = snapshot.replies[0] if snapshot.replies else None
        leads = (*(snapshot.interested.value or ()), *self._recorded)
        is_listed = newest is None or newest.email.lower() in {_email(lead) for lead in leads}
        is_news = newest != self._last_reply and not is_listed
        return time.monotonic() - self._counted_at > (SOON_AFTER if is_news else AGAIN_AFTER)

    async def _count(self) -> None:
        replies = self._snapshot().replies
        replied = {reply.email.lower() for reply in replies}
        ids: set[str] = set()
        recorded: dict[str, Lead] = {}
        number = 0
        await self._quiet()
        pages = self._client.iter_pages(status="interested", priority=Priority.BULK)
        async for page in pages:
            number += 1
            if number > MOST_PAGES:
                self._ids, self._counted_at = set(), time.monotonic()
                self._tell(None)
                return
            ids.update(lead.id for lead in page.items)
            recorded |= {
                _email(lead): replace(lead, raw=NOTHING) for lead in page.items if _email(lead) in replied
            }
            await asyncio.sleep(BETWEEN)
            await self._quiet()
        self._ids, self._counted_at = ids, time.monotonic()
        self._last_reply = replies[0] if replies else None
        for lead in self._snapshot().interested.value or ():
            recorded.pop(_email(lead), None)
        by_reply = (recorded.pop(reply.email.lower(), None) for reply in replies)
        self._recorded = tuple(lead for lead in by_reply if lead)[:MOST_RECORDED]
        self._tell(InterestedCount(total=len(ids), recorded=self._recorded))

    async def _quiet(self) -> None:
        """Until the service asks for no pause and others leave half of the rate."""
        while True:
            budget = self._client.budget
            is_quiet = not budget.waiting and budget.used_last_second < budget.rate * QUIET_SHARE
            if is_quiet and (budget.resumes_at or 0) <= time.time():
                return
            await asyncio.sleep(BETWEEN)


def _email(lead: Lead) -> str:
    return (lead.email or "").lower()
