"""Routes stored deliveries: what each becomes, and where it is posted, in the transaction that says so."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

import structlog

from bot.alerts.routing import Routes
from bot.runtime import DeliverySignals
from bot.telemetry import metrics
from shared.api.event_kinds import PAUSED, kind_of
from shared.records.records import RecordsUnavailable
from shared.store import Store
from shared.store.deliveries import Decide, Decision, PendingDelivery

POLL_SECONDS = 1.0
"""Seconds between checks for deliveries that other processes stored."""
ROUTED_AT_ONCE, ROUTED_BESIDE_INTAKE = 50, 10
"""Deliveries that one transaction routes: fewer while others arrive, which wait for it to be stored."""
OUTAGE_SECONDS = 1.0
BURST = 500.0
"""Deliveries per second; while more arrive, intake goes first."""
COUNTED_OVER_SECONDS = 0.05
"""The shortest time over which arrivals are counted."""
YIELD_SECONDS = 0.04
"""Left to the intake between two checks in a burst."""

log = structlog.get_logger("routing")


class Router:
    """`run` until cancelled; `signals` tell when something was stored."""

    def __init__(
        self, store: Store, *, signals: DeliverySignals, routes: Routes, stored_count: Callable[[], int]
    ) -> None:
        self._store, self._signals, self._routes = store, signals, routes
        self._stored_count = stored_count
        self._counted, self._in_burst = (0, time.monotonic()), False
        self._stored_before = 0
        """As many were stored when it routed last."""

    async def run(self) -> None:
        """Route what is stored as long as the bot runs."""
        self._signals.unrouted = True
        while True:
            pause = await self.round()
            if not await self._signals.deliveries.wait(pause):
                self._signals.unrouted = True  # other processes store deliveries too
            await self._give_way()

    async def _give_way(self) -> None:
        """Leave the database to the intake for a while in a burst."""
        (before, since), stored, now = self._counted, self._stored_count(), time.monotonic()
        if now - since >= COUNTED_OVER_SECONDS:
            self._counted, self._in_burst = (stored, now), stored - before > BURST * (now - since)
        if self._in_burst:
            await asyncio.sleep(YIELD_SECONDS)

    async def round(self) -> float:
        """Route a portion of what is stored; returns after how many seconds to look again."""
        if not self._signals.unrouted:
            return POLL_SECONDS
        self._signals.unrouted = False
        stored, before = self._stored_count(), self._stored_before
        self._stored_before = stored
        limit = ROUTED_AT_ONCE if stored == before else ROUTED_BESIDE_INTAKE
        try:
            routed = await self._store.deliveries.route(isolated(self._routes.decide), limit=limit)
        except RecordsUnavailable as error:
            log.warning("database unavailable", error=str(error))
            self._signals.unrouted = True
            return OUTAGE_SECONDS
        for pending, decision in routed:
            _count_delivery(pending, decision)
        if routed:
            self._signals.changed()
        if any(decision.kind == PAUSED for _, decision in routed):
            self._signals.account_changed()  # a new card has its inboxes, sequences and DNS at once
        if sum(pending.arrivals for pending, _ in routed) == limit:
            self._signals.stored()
        return POLL_SECONDS


def isolated(decide: Decide) -> Decide:
    """The routing decision, or the error: one delivery's failure must not stop the others."""

    def decided(pending: PendingDelivery) -> Decision:
        try:
            return decide(pending)
        except Exception as error:
            log.exception("delivery not understood", alerts=[pending.alert_id])
            return Decision(problem=f"internal error: {type(error).__name__}")

    return decided


def _count_delivery(pending: PendingDelivery, decision: Decision) -> None:
    write = log.warning if decision.problem else log.info
    write(
        "delivery",
        alerts=[pending.alert_id],
        workspace=pending.workspace,
        kind=decision.kind,
        problem=decision.problem,
        seen=pending.seen,
        found=pending.found,
        posts=len(decision.posts),
    )
    if not pending.is_new:
        metrics.REPEATS.labels(pending.workspace).inc()
        return
    # Event names from the sender are not used as a label: labels stay in memory for good.
    found_late = pending.found and not kind_of(decision.kind).own
    kind = "found late" if found_late else "unreadable" if decision.problem else decision.kind
    metrics.EVENTS.labels(pending.workspace, kind).inc()
