"""Samples the workspace into the history, so that past values are known without a dashboard."""

from __future__ import annotations

from datetime import UTC, datetime

import structlog

from bot.commands.context import CommandContexts
from bot.runtime import visit
from shared.domain.snapshot import SOURCES, Snapshot, refresh
from shared.history.history import History
from shared.records.history import HistoryUnavailable

EVERY = 900.0
"""Seconds between two readings: nine requests each."""

log = structlog.get_logger("remembering")


class HistorySampler:
    """`keep` regularly; several processes and dashboards can, and nothing is stored twice."""

    def __init__(self, contexts: CommandContexts, history: History) -> None:
        self._contexts, self._history = contexts, history

    async def sample(self) -> None:
        await visit(self._contexts.clients, self._sample)

    async def _sample(self, name: str) -> None:
        now, client = datetime.now(UTC), self._contexts.clients[name]
        snapshot = Snapshot(workspace=name)
        for source in SOURCES.values():
            snapshot = await refresh(snapshot, source, client, now=now)
            if snapshot.reading(source).error:
                break  # no nine requests to a service that is down
        try:
            await self._history.add(snapshot, now=now)
        except HistoryUnavailable as error:
            log.warning("history not stored", workspace=name, error=type(error).__name__)
