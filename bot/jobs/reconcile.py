"""Finds interested replies whose delivery never arrived, through the API.

Leads that exist at the first run count as known. Later, an interested lead that no delivery and no earlier run has
announced is announced as found late. The service lists the newest leads first, but also an old one may become interested:
each check reads the newest until all of a page are known, and then the next portion of the others.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Collection

import structlog

from bot.commands.context import CommandContexts
from bot.runtime import visit
from shared.api import Priority
from shared.api.errors import OutreachError
from shared.api.event_kinds import INTERESTED
from shared.api.models import Lead, Page
from shared.store import Store
from shared.store.deliveries import address

EVERY = 900.0
"""Seconds between two checks."""
SETTLING = 120.0
"""Seconds that a delivery may be late before its lead counts as found."""

PAGES = 10
"""Pages of older leads in one check: all of them in a small account, and in a large one a portion of them each time."""

log = structlog.get_logger("reconcile")


class Reconciler:
    """`look` at every workspace; several processes can, and each lead is found once."""

    def __init__(
        self, store: Store, contexts: CommandContexts, *, found: Callable[[], None], grace: float = SETTLING
    ) -> None:
        self._store, self._contexts, self._found, self._grace = store, contexts, found, grace
        self._places: dict[str, str | None] = {}
        """The cursor of the older leads that come next, by workspace; None: those after the newest."""
        self._seen_empty: set[str] = set()
        """The workspaces whose first look found no lead at all, once."""

    async def reconcile(self) -> None:
        if candidates := await self._reconcile(self._contexts.clients):
            await asyncio.sleep(self._grace)
            await self._reconcile(candidates)

    async def _reconcile(self, workspaces: Collection[str]) -> Collection[str]:
        """Compare these workspaces; returns those with leads whose delivery may still come."""
        candidates: set[str] = set()

        async def compare(name: str) -> None:
            try:
                if await self._compare(name):
                    candidates.add(name)
            except OutreachError as error:
                log.warning("replies not reconciled", workspace=name, error=type(error).__name__)

        await visit(workspaces, compare)
        return candidates

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
            compared = await self._store.found_leads.compare(workspace, bodies, grace=self._grace)
            if compared.late:
                log.warning("found late", workspace=workspace, leads=compared.late)
                self._found()
            candidates, end, count = candidates + compared.candidates, page.next_cursor, count + 1
            if count == PAGES if start else not compared.unknown:
                break
        return candidates, end

    async def _begin(self, workspace: str) -> int:
        """Take the first look: the leads that are there are known already. Returns 1 where it is to be repeated.

        One empty list is no fact: believed, it would announce every lead of the account at the next look.
        """
        is_empty = True
        async for page in self._pages(workspace):
            await self._store.found_leads.remember(workspace, list(map(_identity, page.items)))
            is_empty = is_empty and not page.items
        if is_empty and workspace not in self._seen_empty:
            self._seen_empty.add(workspace)
            return 1
        await self._store.found_leads.compare(workspace, {}, grace=self._grace)
        return 0

    def _pages(self, workspace: str, *, cursor: str | None = None) -> AsyncIterator[Page[Lead]]:
        client = self._contexts.clients[workspace]
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
