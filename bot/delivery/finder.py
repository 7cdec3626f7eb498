"""Looks for posts whose outcome is unknown, beside the worker, so that no alert waits for a look-up."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import structlog

from bot.runtime.wakeup import DeliverySignals
from bot.slack.messages import MessageSender
from shared.api.pace import boot_time
from shared.records.records import RecordsUnavailable
from shared.store import Store
from shared.store.queue.leases import Report
from shared.store.queue.lookups import Look, Lookup

POLL = 1.0
"""Seconds between checks for what other processes left."""
MAX_LOOKUPS = 4
"""Places that are read at the same time."""

log = structlog.get_logger("finder")


class PostFinder:
    """`run` until cancelled; `signals.lookups` is set when something may be due."""

    def __init__(
        self,
        store: Store,
        messages: MessageSender,
        *,
        signals: DeliverySignals,
        report: Report,
        before_report: Callable[[str], Awaitable[object]],
    ) -> None:
        self._store, self._messages, self._signals = store, messages, signals
        self._report, self._before_report = report, before_report

    async def run(self) -> None:
        while True:
            try:
                pause = await self._round()
            except RecordsUnavailable as error:
                log.warning("database unavailable", error=str(error))
                pause = POLL
            await self._signals.lookups.wait(min(POLL, pause))

    async def _round(self) -> float:
        due = await self._store.lookups.next_in()
        if due == 0:
            deadline = boot_time() + self._store.leases.timings.patience
            claimed = await self._store.lookups.claim(limit=MAX_LOOKUPS)
            await asyncio.gather(*(self._serve(lookup, deadline=deadline) for lookup in claimed))
            due = await self._store.lookups.next_in()
        return POLL if due is None else due

    async def _serve(self, lookup: Lookup, *, deadline: float) -> None:
        try:
            look = await self._look(lookup, deadline=deadline)
        except Exception as error:  # one place that can't be read must not stop the others
            log.exception("look-up failed", channel=lookup.channel)
            look = Look(error=type(error).__name__)
        if look.found:
            await self._before_report(lookup.channel)
        await self._store.lookups.settle(lookup, look, report=self._report)
        write = log.warning if look.error else log.info
        write(
            "looked up",
            channel=lookup.channel,
            alerts=[post.alert_id or post.kind for post in lookup.posts],
            found=sorted(look.found.values()),
            complete=look.complete,
            error=look.error,
        )
        self._signals.changed()

    async def _look(self, lookup: Lookup, *, deadline: float) -> Look:
        return await self._messages.look(
            lookup.channel,
            {post.key for post in lookup.posts},
            since=lookup.since,
            age=lookup.age,
            deadline=deadline,
            thread_ts=lookup.thread_ts,
            position=lookup.position,
        )
