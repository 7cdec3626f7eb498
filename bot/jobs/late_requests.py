"""Reverts what a request did that the service carried out late, after a later change of the sequence was confirmed."""

from __future__ import annotations

from collections import defaultdict

import structlog

from bot.commands.context import CommandContexts
from bot.store import Store
from bot.store.alerts.sequence_changes import Doubtful
from shared.api.errors import OutreachError
from shared.operations.pauses import Held

EVERY = 5.0
"""Seconds between two looks, which cost a request only while a request is unanswered."""

log = structlog.get_logger("late requests")


class LateRequests:
    """Looks at sequences with an unanswered request that contradicts their confirmed status, until it can't come any more."""

    def __init__(self, store: Store, contexts: CommandContexts) -> None:
        self._store, self._contexts = store, contexts

    async def sweep(self) -> None:
        """Send the confirmed status again where it isn't so. Raises `RecordsUnavailable`."""
        together: defaultdict[str, list[Doubtful]] = defaultdict(list)
        for one in await self._store.changes.doubtful(self._contexts.clients):
            together[one.workspace].append(one)
        for workspace, some in together.items():
            try:
                listed = await self._contexts.clients[workspace].list_sequences()
            except OutreachError as error:
                log.warning("late requests not looked for", workspace=workspace, error=type(error).__name__)
                continue
            statuses = {sequence.id: sequence.status for sequence in listed}
            for one in some:
                if statuses.get(one.sequence) not in {None, one.confirmed}:
                    await self._revert(one)

    async def _revert(self, one: Doubtful) -> None:
        change = await self._store.changes.begin(
            one.workspace, one.sequence, status=one.confirmed, if_confirmed=True
        )
        if change is None:  # somebody changes it, or has changed it since
            return
        client = self._contexts.clients[one.workspace]
        request = client.pause_sequence if one.confirmed == "paused" else client.resume_sequence
        try:
            async with Held(change, self._store.changes) as held:
                await held.send(request)
                await held.end(keep_timer=True)
        except OutreachError as error:
            log.warning("late request not reverted", sequence=one.sequence, error=type(error).__name__)
        else:
            log.warning("late request reverted", sequence=one.sequence, status=one.confirmed)
