"""Posts the channels' digests at their time and time zone, on their days."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import structlog

from bot.alerts import notes
from bot.commands.context import CommandContexts
from bot.jobs.scheduler import BOT
from shared.api.errors import OutreachError
from shared.commands.digest import digest_card
from shared.commands.run import with_workspace
from shared.domain.card import Card
from shared.store import Store
from shared.store.jobs import Again, End, Job

RETRY_SECONDS = 20.0
"""Seconds until a digest that can't be rendered now is tried again."""

log = structlog.get_logger("digests")


class Digests:
    """Handles jobs of the kind `digest`; each digest is posted once."""

    def __init__(
        self,
        store: Store,
        contexts: CommandContexts,
        *,
        planned: Callable[[], None],
    ) -> None:
        self._store, self._contexts, self._planned = store, contexts, planned

    async def __call__(self, claimed: Sequence[Job], _deadline: float) -> Mapping[Job, End]:
        """Render and plan the digest of each job that is due. Raises `RecordsUnavailable`."""
        ends: dict[Job, End] = {}
        for job in claimed:
            if (due := await self._store.digests.due(job)) is None:
                continue
            try:
                card = await self._card(due.workspace, days=due.days)
            except OutreachError as error:
                log.warning("digest postponed", workspace=due.workspace, error=type(error).__name__)
                ends[job] = Again(after=RETRY_SECONDS)
                continue
            if await self._store.digests.give(job, due, notes.write_note(card)):
                self._planned()
        return ends

    async def _card(self, workspace: str, *, days: int) -> Card:
        context = self._contexts.at(self._contexts.settings.workspace(workspace), BOT)
        card = await digest_card(context, length=days)
        return with_workspace(card, workspace=workspace) if len(self._contexts.clients) > 1 else card
