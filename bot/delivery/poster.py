"""Posts what waits in a channel, one message at a time, and records the outcome."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence

import structlog

from bot.alerts import rendering
from bot.alerts.routing import Routes
from bot.delivery.repainter import Draw
from bot.slack.messages import MessageSender
from bot.telemetry import metrics
from shared.records.records import RecordsUnavailable
from shared.store import Store
from shared.store.jobs import End, Job
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

MAX_CHANNELS = 16
"""Channels that are posted to at the same time."""
OUTAGE_SECONDS = 1.0

log = structlog.get_logger("delivery")


class Poster:
    """Handles jobs of the kind `post`, one for each channel."""

    def __init__(
        self,
        store: Store,
        messages: MessageSender,
        *,
        draw: Draw,
        routes: Routes,
        report: Report,
        before_report: Callable[[str], Awaitable[object]],
    ) -> None:
        self._store, self._messages, self._draw, self._routes = store, messages, draw, routes
        self._report, self._before_report = report, before_report
        self.slack_error = ""
        """Slack's last error; empty after a success."""

    def note_lost_token(self, error: str) -> None:
        self.slack_error = error

    async def __call__(self, channels: Sequence[Job], deadline: float) -> Mapping[Job, End]:
        """Post one message in each of these channels."""
        for job in channels:
            lease = await self._store.leases.turn(job)
            if lease:
                await self._serve(lease, deadline=deadline)
        return {}  # each ends with its outcome

    async def _serve(self, lease: ChannelLease, *, deadline: float) -> None:
        outcome = await self._post(lease, deadline=deadline)
        if isinstance(outcome, ChannelRefused):
            await self._before_report(lease.channel)
        await self._store.outcomes.settle(lease, outcome, report=self._report)
        self._note_outcome(lease, outcome)

    async def _post(self, lease: ChannelLease, *, deadline: float) -> Outcome:
        try:
            message = await self._draw(lease.posts)
        except RecordsUnavailable:
            return NotSent(after=OUTAGE_SECONDS)
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


def with_backoff(outcome: Outcome, *, attempts: int) -> Outcome:
    """The pause before the next try, growing with failures from 2 s to 30 s."""
    factor = 2.0 ** min(attempts, 6)
    match outcome:
        case NotSent(error=error) if error == RATE_LIMITED:
            return outcome
        case NotSent():
            return NotSent(error=outcome.error, after=min(30.0, outcome.after * factor))
    return outcome


def _count_posts(lease: ChannelLease) -> None:
    for post in lease.posts:
        metrics.POSTED.labels(post.kind).inc()
        if post.kind == ALERT and post.alert and not post.alert.found:
            metrics.POST_SECONDS.observe(max(0.0, time.time() - post.alert.received_at))
