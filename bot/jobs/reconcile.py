"""Finds interested replies whose delivery never arrived, through the API.

Leads that exist at the first run count as known. Later, an interested lead that no delivery and no earlier run has
announced is announced as found late.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Collection

import structlog

from bot.commands.context import CommandContexts
from bot.runtime.pacing import visit
from bot.store import Store
from bot.store.queue.adopt import address
from shared.api import Priority
from shared.api.errors import OutreachError
from shared.api.event_kinds import INTERESTED
from shared.api.models import Lead

EVERY = 900.0
"""Seconds between two checks."""
SETTLING = 120.0
"""Seconds that a delivery may be late before its lead counts as found."""

log = structlog.get_logger("reconcile")


class Reconciler:
    """`look` at every workspace; several processes can, and each lead is found once."""

    def __init__(
        self, store: Store, contexts: CommandContexts, *, found: Callable[[], None], grace: float = SETTLING
    ) -> None:
        self._store, self._contexts, self._found, self._grace = store, contexts, found, grace

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
        leads = [
            lead
            async for lead in self._contexts.clients[workspace].iter_leads(
                status="interested", priority=Priority.BULK
            )
        ]
        bodies = {_identity(lead): body(lead) for lead in leads}
        late, candidates = await self._store.found_leads.compare(workspace, bodies, grace=self._grace)
        if late:
            log.warning("found late", workspace=workspace, leads=late)
            self._found()
        return candidates


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
