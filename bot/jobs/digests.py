"""Posts the channels' digests at their time and time zone, on their days."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import structlog

from bot.alerts import rendering
from bot.alerts.wording import about
from bot.commands.context import CommandContexts
from bot.jobs.scheduler import BOT
from bot.store import Store
from bot.store.queue.alert_row import AlertRow
from shared.api.errors import OutreachError
from shared.commands.periods import Replies
from shared.domain.card import Button, Card
from shared.domain.wall_clock import moment
from shared.operations import with_workspace
from shared.operations.reports.digest import digest_card
from shared.text.formats import show_number, show_span

EVERY = 20.0
"""Seconds between two checks."""

OWN_LINES = 10
"""Claims that the digest of a person's own replies names."""

log = structlog.get_logger("digests")


def who(claim: AlertRow) -> str:
    """The lead of a claimed reply; its words may be deleted by now."""
    return "A lead" if claim.is_pruned else about(claim.event)


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

    async def send_own(self) -> None:
        """Render and plan each due digest of a person's own replies; who has claimed nothing gets none.

        Raises `RecordsUnavailable`.
        """
        for one in await self._store.people.due_digests():
            claims = [
                claim
                for claim in await self._store.alerts.claimed_by(one.person)
                if claim.workspace in self._contexts.clients
            ]
            names = list(dict.fromkeys(claim.workspace for claim in claims))
            notes = {name: rendering.write_note(self._own_card(name, claims)) for name in names}
            if await self._store.people.give(one, notes):
                self._planned()

    def _own_card(self, workspace: str, claims: Sequence[AlertRow]) -> Card:
        now = self._contexts.now()
        mine = [claim for claim in claims if claim.workspace == workspace]
        several = len(self._contexts.clients) > 1
        lines = tuple(
            f"{who(claim)} · claimed {show_span(now - moment(claim.claimed_at or claim.received_at))} ago"
            for claim in mine[:OWN_LINES]
        )
        more = (f"and {len(mine) - OWN_LINES} more",) if len(mine) > OWN_LINES else ()
        return Card(
            title=f"{show_number(len(mine), 'claim')} of yours not done{f' in {workspace}' if several else ''}",
            text=("\n".join((*lines, *more)),),
            buttons=(
                Button(label="Show mine", action=Replies(mine=True), workspace=workspace if several else ""),
            ),
        )

    async def _card(self, workspace: str, *, days: int) -> Card:
        context = self._contexts.at(self._contexts.settings.workspace(workspace), BOT)
        card = await digest_card(context, length=days)
        return with_workspace(card, workspace=workspace) if len(self._contexts.clients) > 1 else card
