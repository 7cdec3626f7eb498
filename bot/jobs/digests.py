"""Posts the channels' digests at their time and time zone, on their days."""

from __future__ import annotations

from collections.abc import Callable

import structlog

from bot.alerts import rendering
from bot.commands.context import CommandContexts
from bot.jobs.scheduler import BOT
from bot.store import Store
from shared.api.errors import OutreachError
from shared.commands.running.digest_card import digest_card
from shared.commands.running.run import with_workspace
from shared.domain.card import Card

EVERY = 20.0
"""Seconds between two checks."""

log = structlog.get_logger("digests")


class Digests:
    """`send_due` digests; several processes can, and each digest is posted once."""

    def __init__(
        self,
        store: Store,
        contexts: CommandContexts,
        *,
        planned: Callable[[], None],
    ) -> None:
        self._store, self._contexts, self._planned = store, contexts, planned

    async def send_due(self) -> None:
        """Render and plan each due digest; one that can't be rendered now is retried later.

        Raises `RecordsUnavailable`.
        """
        for one in await self._store.digests.due():
            if one.workspace not in self._contexts.clients:
                continue
            try:
                card = await self._card(one.workspace, days=one.days)
            except OutreachError as error:
                log.warning("digest postponed", workspace=one.workspace, error=type(error).__name__)
                continue
            if await self._store.digests.give(one, rendering.write_note(card)):
                self._planned()

    async def _card(self, workspace: str, *, days: int) -> Card:
        context = self._contexts.at(self._contexts.settings.workspace(workspace), BOT)
        card = await digest_card(context, length=days)
        return with_workspace(card, workspace=workspace) if len(self._contexts.clients) > 1 else card
