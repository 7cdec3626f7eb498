"""Routes stored deliveries and posts what is due; `finder` looks for posts with an unknown outcome.

One loop leases channels, and one task per leased channel posts. After a crash, the next process continues from the
rows.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Collection
from functools import partial

import structlog

from bot.alerts import rendering
from bot.alerts.routing import Routes
from bot.delivery.repainter import Draw
from bot.runtime.wakeup import DeliverySignals
from bot.slack.messages import MessageSender
from bot.telemetry import metrics
from shared.api.event_kinds import kind_of
from shared.api.pace import boot_time
from shared.records.records import RecordsUnavailable
from shared.store import Store
from shared.store.queue.leases import (
    RATE_LIMITED,
    ChannelLease,
    ChannelRefused,
    NotSent,
    Outcome,
    Report,
    Sent,
    Unknown,
    Unpostable,
)
from shared.store.queue.post_kinds import ALERT
from shared.store.queue.routing import Decide, Decision, PendingDelivery

POLL = 1.0
"""Seconds between checks for work that other processes left."""
MAX_LEASES = 16
"""Channels that are posted to at the same time."""
ROUTED_AT_ONCE, ROUTED_BESIDE_INTAKE = 50, 10
"""Deliveries that one transaction routes: fewer while others arrive, which wait for it to be stored."""
OUTAGE_PAUSE = 1.0
BURST = 500.0
"""Deliveries per second; while more arrive, intake goes first."""
COUNTED_OVER = 0.05
"""Seconds, at least."""
YIELD = 0.04
"""Seconds left to the intake between two checks in a burst."""

log = structlog.get_logger("delivery")


class DeliveryWorker:
    """`run` until cancelled; `signals` tell when something may be due."""

    def __init__(
        self,
        store: Store,
        messages: MessageSender,
        *,
        signals: DeliverySignals,
        draw: Draw,
        routes: Routes,
        stored_count: Callable[[], int],
        report: Report,
        before_report: Callable[[str], Awaitable[object]],
    ) -> None:
        self._store, self._messages, self._routes = store, messages, routes
        self._report, self._before_report = report, before_report
        self._signals, self._draw, self._stored_count = signals, draw, stored_count
        self._stopping = False
        self._counted, self._in_burst = (0, time.monotonic()), False
        self._stored_before = 0
        """As many were stored when it routed last."""
        self._posting: dict[str, asyncio.Task[None]] = {}
        """The posting tasks, by channel."""
        self.slack_error = ""
        """Slack's last error; empty after a success."""

    def note_lost_token(self, error: str) -> None:
        self.slack_error = error

    async def run(self) -> None:
        """Run until stopped, and let current posts finish; on cancellation, give them up with an unknown outcome.

        Where it fails, the posts in progress still finish, and it can be run again.
        """
        self._signals.unrouted = True
        try:
            while not self._stopping:
                pause = await self._round()
                if not await self._signals.posts.wait(pause):
                    self._signals.unrouted = True  # other processes store deliveries too
                await self._give_way()
            await asyncio.gather(*self._posting.values(), return_exceptions=True)
        except asyncio.CancelledError:
            await _cancel(self._posting.values())
            raise

    async def _give_way(self) -> None:
        """Leave the database to the intake for a while in a burst."""
        (before, since), stored, now = self._counted, self._stored_count(), time.monotonic()
        if now - since >= COUNTED_OVER:
            self._counted, self._in_burst = (stored, now), stored - before > BURST * (now - since)
        if self._in_burst and not self._stopping:
            await asyncio.sleep(YIELD)

    async def drain(self, seconds: float) -> None:
        """Start nothing new, and let current calls finish within a time limit."""
        self._stopping = True
        self._signals.posts.set()
        if self._posting:
            await asyncio.wait(self._posting.values(), timeout=seconds)

    async def _round(self) -> float:
        try:
            await self._route()
            return await self._start_posting()
        except RecordsUnavailable as error:
            log.warning("database unavailable", error=str(error))
            self._signals.unrouted = True
            return OUTAGE_PAUSE

    async def _route(self) -> None:
        if self._signals.unrouted:
            self._signals.unrouted = False
            stored, before = self._stored_count(), self._stored_before
            self._stored_before = stored
            limit = ROUTED_AT_ONCE if stored == before else ROUTED_BESIDE_INTAKE
            routed = await self._store.deliveries.route(isolated(self._routes.decide), limit=limit)
            for pending, decision in routed:
                _count_delivery(pending, decision)
            if routed:
                self._signals.jobs.set()
            if sum(pending.arrivals for pending, _ in routed) == limit:
                self._signals.stored()

    async def _start_posting(self) -> float:
        free = MAX_LEASES - len(self._posting)
        if free <= 0:
            return POLL
        deadline = boot_time() + self._store.leases.timings.patience
        claimed = await self._store.leases.claim(limit=free, besides=tuple(self._posting))
        for lease in claimed.turns:
            task = asyncio.create_task(self._serve(lease, deadline=deadline), name=f"post-{lease.channel}")
            self._posting[lease.channel] = task
            task.add_done_callback(partial(self._ended, lease.channel))
        return POLL if claimed.next_in is None else min(POLL, claimed.next_in)

    def _ended(self, channel: str, task: asyncio.Task[None]) -> None:
        del self._posting[channel]
        if not task.cancelled() and task.exception() is not None:
            log.error("delivery round failed", exc_info=task.exception())
        self._signals.changed()

    async def _serve(self, lease: ChannelLease, *, deadline: float) -> None:
        outcome = await self._post(lease, deadline=deadline)
        if isinstance(outcome, ChannelRefused):
            await self._before_report(lease.channel)
        try:
            await self._store.outcomes.settle(lease, outcome, report=self._report)
        except RecordsUnavailable as error:
            log.warning("outcome not recorded", channel=lease.channel, error=str(error))
            return
        self._note_outcome(lease, outcome)
        if isinstance(outcome, Unknown):
            self._signals.lookups.set()

    async def _post(self, lease: ChannelLease, *, deadline: float) -> Outcome:
        try:
            message = await self._draw(lease.posts)
        except RecordsUnavailable:
            return NotSent(after=OUTAGE_PAUSE)
        except Exception as error:  # an unexpected failure must not stop its channel
            log.exception("card not rendered", alerts=[post.alert_id for post in lease.posts])
            return Unpostable(error=f"can't be rendered: {type(error).__name__}")
        outcome = await self._messages.post(
            lease.channel,
            message,
            payload=rendering.payload(lease.posts),
            deadline=deadline,
            thread_ts=lease.thread_ts,
            broadcast=self._routes.broadcasts(lease.channel) and rendering.broadcasts(lease.posts),
        )
        return with_backoff(outcome, attempts=lease.posts[0].attempts)

    def _note_outcome(self, lease: ChannelLease, outcome: Outcome) -> None:
        names = [post.alert_id or post.kind for post in lease.posts]
        if isinstance(outcome, Sent):
            self.slack_error = ""
            _count_posts(lease)
            log.info("posted", channel=lease.channel, alerts=names, ts=outcome.ts)
        else:
            error = getattr(outcome, "error", "")
            if error and isinstance(outcome, ChannelRefused | NotSent | Unknown):
                self.slack_error = error
            log.warning(
                "alert not posted",
                channel=lease.channel,
                alerts=names,
                outcome=type(outcome).__name__,
                error=error,
            )


async def _cancel(tasks: Collection[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def isolated(decide: Decide) -> Decide:
    """The routing decision, or the error: one delivery's failure must not stop the others."""

    def decided(pending: PendingDelivery) -> Decision:
        try:
            return decide(pending)
        except Exception as error:
            log.exception("delivery not understood", alerts=[pending.alert_id])
            return Decision(problem=f"internal error: {type(error).__name__}")

    return decided


def with_backoff(outcome: Outcome, *, attempts: int) -> Outcome:
    """The pause before the next try, growing with failures from 2 s to 30 s."""
    factor = 2.0 ** min(attempts, 6)
    match outcome:
        case NotSent(error=error) if error == RATE_LIMITED:
            return outcome
        case NotSent():
            return NotSent(error=outcome.error, after=min(30.0, outcome.after * factor))
    return outcome


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


def _count_posts(lease: ChannelLease) -> None:
    for post in lease.posts:
        metrics.POSTED.labels(post.kind).inc()
        if post.kind == ALERT and post.alert and not post.alert.found:
            metrics.POST_SECONDS.observe(max(0.0, time.time() - post.alert.received_at))
