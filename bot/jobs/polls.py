"""Reads the service regularly: everything for the history, and the replies whose delivery never arrived."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from datetime import UTC, datetime

import structlog

from bot.core import Core
from bot.runtime import visit
from shared.api import Priority
from shared.api.client import OutreachClient
from shared.api.errors import OutreachError
from shared.api.models import Lead, Page
from shared.domain.event_kinds import INTERESTED
from shared.domain.snapshot import SOURCES, Snapshot, refresh
from shared.history.history import History
from shared.store.deliveries import address

HISTORY_EVERY = 900.0
"""Seconds between two readings of everything: nine requests each."""

log = structlog.get_logger("polls")


async def keep_history(clients: Mapping[str, OutreachClient], history: History) -> None:
    """Read everything of each workspace; several processes and dashboards can, and nothing is stored twice."""

    async def keep(name: str) -> None:
        now = datetime.now(UTC)
        snapshot = Snapshot(workspace=name)
        for source in SOURCES.values():
            snapshot = await refresh(snapshot, source, clients[name], now=now)
            if snapshot.reading(source).error:
                break  # no nine requests to a service that is down
        await history.add(snapshot, now=now)

    await visit(clients, keep, failed="history not stored")


# -- interested replies whose delivery never arrived

# Leads that exist at the first run count as known. Later, an interested lead that no delivery and no earlier run has
# announced is announced as found late. The service lists the newest leads first, but also an old one may become
# interested: each check reads the newest until all of a page are known, and then the next portion of the others.


RECONCILED_EVERY = 900.0
"""Seconds between two checks."""
SETTLING_SECONDS = 120.0
"""Seconds that a delivery may be late before its lead counts as found."""

PAGES = 10
"""Pages of older leads in one check: all of them in a small account, and in a large one a portion of them each time."""


class Reconciler:
    """`reconcile` compares every workspace; several processes can, and each lead is found once."""

    def __init__(self, core: Core) -> None:
        self._store, self._clients, self._found = core.store, core.contexts.clients, core.signals.stored
        self._places: dict[str, str | None] = {}
        """The cursor of the older leads that come next, by workspace; None: those after the newest."""
        self._seen_empty: set[str] = set()
        """The workspaces whose first look found no lead at all, once."""

    async def reconcile(self) -> None:
        """Compare all workspaces, and later once more those with leads whose delivery may still come."""
        waiting: set[str] = set()

        async def compare(name: str) -> None:
            if await self._compare(name):
                waiting.add(name)

        await visit(self._clients, compare, failed="replies not reconciled")
        if waiting:
            await asyncio.sleep(SETTLING_SECONDS)
            await visit(waiting, self._compare, failed="replies not reconciled")

    async def _compare(self, workspace: str) -> int:
        """One look at a workspace; returns how many leads may still get their delivery."""
        if not await self._store.found_leads.has_begun(workspace):
            return await self._begin(workspace)
        try:
            candidates, end = await self._compare_pages(workspace)
            if end is None:
                self._places.pop(workspace, None)
                return candidates
            below, end = await self._compare_pages(workspace, start=self._places.get(workspace) or end)
        except OutreachError:
            self._places.pop(workspace, None)  # the cursor may be what the service refuses
            raise
        if not below:  # else the second look must find the same leads
            self._places[workspace] = end
        return candidates + below

    async def _compare_pages(self, workspace: str, *, start: str | None = None) -> tuple[int, str | None]:
        """Compare the newest leads until a page is all known, or some pages of older ones from `start`.

        Returns how many may still get their delivery, and the cursor of the page to go on with.
        """
        candidates, end, count = 0, None, 0
        async for page in self._pages(workspace, cursor=start):
            bodies = {_identity(lead): body(lead) for lead in page.items}
            compared = await self._store.found_leads.compare(workspace, bodies, grace=SETTLING_SECONDS)
            if compared.late:
                log.warning("found late", workspace=workspace, leads=compared.late)
                self._found()
            candidates, end, count = candidates + compared.candidates, page.next_cursor, count + 1
            if count == PAGES if start else not compared.unknown:
                break
        return candidates, end

    async def _begin(self, workspace: str) -> int:
        """Take the first look: the leads that are there are known already. Returns 1 where it is to be repeated.

        One empty list isn't a fact: believed, it would announce every lead of the account at the next look.
        """
        is_empty = True
        async for page in self._pages(workspace):
            await self._store.found_leads.remember(workspace, list(map(_identity, page.items)))
            is_empty = is_empty and not page.items
        if is_empty and workspace not in self._seen_empty:
            self._seen_empty.add(workspace)
            return 1
        await self._store.found_leads.compare(workspace, {}, grace=SETTLING_SECONDS)
        return 0

    def _pages(self, workspace: str, *, cursor: str | None = None) -> AsyncIterator[Page[Lead]]:
        client = self._clients[workspace]
        return client.iter_pages(status="interested", cursor=cursor, priority=Priority.BULK)


def _identity(lead: Lead) -> str:
    return address(lead.email or lead.id)


def body(lead: Lead) -> bytes:
    """The missing delivery, as far as the list of leads has its values."""
    fields = {
        "email": lead.email,
        "first_name": lead.first_name,
        "last_name": lead.last_name,
        "company": lead.company,
    }
    known = {name: value for name, value in fields.items() if value is not None}
    return json.dumps({"event": INTERESTED, "lead": known, "found": lead.id}).encode()
