"""Reverts what a request did that the service carried out late, after a later change of the sequence was confirmed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import structlog

from bot.commands.context import CommandContexts
from shared.api.errors import OutreachError
from shared.commands.hold import Held
from shared.records.sequence_changes import Status
from shared.store import Store, sequences
from shared.store.jobs import Again, Done, End, Job

log = structlog.get_logger("late requests")


class LateRequests:
    """Handles jobs of the kind `late`: looks at a sequence with an unanswered request until that can't come any more."""

    def __init__(self, store: Store, contexts: CommandContexts) -> None:
        self._store, self._contexts = store, contexts

    async def __call__(self, late: Sequence[Job], _deadline: float) -> Mapping[Job, End]:
        """Send the confirmed status again where the service shows another; all are of one workspace."""
        workspace = late[0].workspace
        doubts = await self._store.changes.doubts(workspace, [job.key for job in late])
        confirmed = {doubt.sequence: doubt.confirmed for doubt in doubts if doubt.confirmed}
        # It costs a request only while one that may come contradicts what was confirmed.
        statuses = await self._statuses(workspace) if confirmed else {}
        for sequence, status in confirmed.items():
            if statuses.get(sequence) not in {None, status}:
                await self._revert(workspace, sequence, status)
        open_ = {doubt.sequence for doubt in doubts}
        again = Again(after=sequences.LATE_EVERY, attempts=0)
        return {job: again if job.key in open_ else Done() for job in late}

    async def _statuses(self, workspace: str) -> Mapping[str, str | None]:
        try:
            listed = await self._contexts.clients[workspace].list_sequences()
        except OutreachError as error:
            log.warning("late requests not looked for", workspace=workspace, error=type(error).__name__)
            return {}
        return {sequence.id: sequence.status for sequence in listed}

    async def _revert(self, workspace: str, sequence: str, status: Status) -> None:
        change = await self._store.changes.begin(workspace, sequence, status=status, if_confirmed=True)
        if change is None:  # someone changes it, or has changed it since
            return
        client = self._contexts.clients[workspace]
        request = client.pause_sequence if status == "paused" else client.resume_sequence
        try:
            async with Held(change, self._store.changes) as held:
                await held.send(request)
                await held.end(keep_timer=True)
        except OutreachError as error:
            log.warning("late request not reverted", sequence=sequence, error=type(error).__name__)
        else:
            log.warning("late request reverted", sequence=sequence, status=status)
