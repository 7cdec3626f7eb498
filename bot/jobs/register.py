"""What alerts do over time, hung into the clock: reminders, spikes, digests, and looks at what cards are about."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import datetime

import structlog

from bot.commands.context import CommandContexts
from bot.jobs import digests, reminders, spikes
from bot.jobs.digests import Digests
from bot.jobs.reminders import Reminders
from bot.jobs.scheduler import JobScheduler
from bot.jobs.spikes import SpikeWatch
from bot.slack.chart_uploads import ChartUploads
from bot.store import Ledger
from shared.history import History, HistoryUnavailable

log = structlog.get_logger("upkeep")


def hang(
    clockwork: JobScheduler,
    ledger: Ledger,
    contexts: CommandContexts,
    pictures: ChartUploads,
    *,
    planned: Callable[[], None],
) -> None:
    """Have the clock ring what is done at intervals."""
    settings = contexts.settings
    nudging = Reminders(ledger, settings.alert_policy, settings.routes, planned=planned)
    clockwork.every(reminders.EVERY, nudging.sweep, name="reminders")
    watch = SpikeWatch(ledger, contexts, settings.alert_policy.spike, settings.routes, planned=planned)
    clockwork.every(spikes.EVERY, watch.look, name="spikes")
    giving = Digests(ledger, contexts, pictures, planned=planned)
    clockwork.every(digests.EVERY, giving.give, name="digests", at_once=True)


@asynccontextmanager
async def open_histories(contexts: CommandContexts) -> AsyncIterator[Mapping[str, History]]:
    """The history that the dashboard shows, by workspace: each judges by its own thresholds."""
    async with AsyncExitStack() as stack:
        url = contexts.settings.history_database
        yield {
            name: await stack.enter_async_context(History(url, thresholds=workspace.thresholds))
            for name, workspace in contexts.settings.workspaces.items()
        }


class Yesterday:
    """How inboxes stood at a moment, as far as the history has it."""

    def __init__(self, histories: Mapping[str, History]) -> None:
        self._histories = histories

    async def __call__(self, workspace: str, at: datetime) -> Mapping[str, tuple[float | None, float | None]]:
        """Health and limit by address; empty when the history does not answer."""
        try:
            health = await self._held(workspace, "health_score", at)
            limit = await self._held(workspace, "daily_limit", at)
        except HistoryUnavailable as error:
            log.warning("history not read", error=type(error).__name__)
            return {}
        return {address: (health.get(address), limit.get(address)) for address in {*health, *limit}}

    async def _held(self, workspace: str, metric: str, at: datetime) -> dict[str, float | None]:
        found = await self._histories[workspace].all_series(
            workspace, kind="inbox", metric=metric, start=at, end=at, points=1
        )
        return {address: values[-1].value for address, values in found.items() if values}
