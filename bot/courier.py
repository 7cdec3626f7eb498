"""Carry what the ledger holds to Slack: route deliveries, post what is due, repaint what has changed.

One loop claims, one task per leased channel speaks; whatever dies in between, the rows tell the next process
where to go on.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

import structlog

from bot import drawing, metrics
from bot.blocks import Message
from bot.ledger import Ledger
from bot.ledger.inbox import Decision, Pending
from bot.ledger.outbox import Turn
from bot.ledger.painting import StormTally
from bot.ledger.posts import Post
from bot.ledger.settling import ChannelRefused, NotSent, Outcome, Sent, Settled
from bot.messenger import Messenger
from bot.routing import Routes
from shared.records import RecordsUnavailable

POLL = 1.0
"""Seconds after which the loop looks for what other processes left."""
TURNS = 16
"""Channels that speak at the same time."""
PAINTS = 4
"""Messages repainted between two looks at what is due."""
ROUTED_AT_ONCE = 50
OUTAGE_PAUSE = 1.0
MANY = 32
"""Deliveries stored between two looks that make a burst."""
YIELD = 0.1
"""Seconds left to the intake between two looks in a burst; it is the intake that somebody waits for."""

log = structlog.get_logger("courier")


class Reporter(Protocol):
    """Who is told that a channel broke or was cured."""

    async def broke(self, turn: Turn, error: str) -> None:
        """A channel takes nothing any more."""

    async def cured(self, turn: Turn) -> None:
        """It takes messages again."""


class Courier:
    """`run` until cancelled; `wake` it when something may be due."""

    def __init__(
        self,
        ledger: Ledger,
        messenger: Messenger,
        *,
        routes: Callable[[], Awaitable[Routes]],
        stored: Callable[[], int],
        reporter: Reporter,
        several: bool = False,
    ) -> None:
        self._ledger, self._messenger, self._routes, self._reporter = ledger, messenger, routes, reporter
        self._stored, self._several = stored, several
        self._awake = asyncio.Event()
        self._news = True
        self._stopping = False
        self._turns: set[asyncio.Task[None]] = set()
        self.slack_error = ""
        """What Slack last refused or why it cannot be reached; empty after a success."""

    def wake(self, *, news: bool = False) -> None:
        """Look at once; `news`: a delivery was stored."""
        self._news = self._news or news
        self._awake.set()

    async def run(self) -> None:
        """Serve until stopped or cancelled; what is under way then is given up, its outcome unknown."""
        try:
            while not self._stopping:
                before = self._stored()
                await self._sleep(await self._round())
                if self._stored() - before > MANY and not self._stopping:
                    await asyncio.sleep(YIELD)
        finally:
            await self._give_up()

    async def drain(self, seconds: float) -> None:
        """Begin nothing new, and let the calls under way end, within a bound."""
        self._stopping = True
        self.wake()
        if self._turns:
            await asyncio.wait(self._turns, timeout=seconds)

    async def _give_up(self) -> None:
        for task in self._turns:
            task.cancel()
        await asyncio.gather(*self._turns, return_exceptions=True)

    async def _sleep(self, seconds: float) -> None:
        try:
            await asyncio.wait_for(self._awake.wait(), seconds)
        except TimeoutError:
            self._news = True  # other processes store deliveries too
        self._awake.clear()

    async def _round(self) -> float:
        try:
            await self._route()
            pause = await self._start_turns()
            return min(pause, await self._repaint())
        except RecordsUnavailable as error:
            log.warning("ledger unavailable", error=str(error))
            return OUTAGE_PAUSE

    async def _route(self) -> None:
        if self._news:
            self._news = False
            routes = await self._routes()
            routed = await self._ledger.route(routes.decide, limit=ROUTED_AT_ONCE)
            for pending, decision in routed:
                _note(pending, decision)
            if len(routed) == ROUTED_AT_ONCE:
                self.wake(news=True)

    async def _start_turns(self) -> float:
        free = TURNS - len(self._turns)
        if free <= 0:
            return POLL
        claimed = await self._ledger.claim_turns(limit=free)
        for turn in claimed.turns:
            task = asyncio.create_task(self._serve(turn), name=f"courier-{turn.channel}")
            self._turns.add(task)
            task.add_done_callback(self._ended)
        return POLL if claimed.next_in is None else min(POLL, claimed.next_in)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._turns.discard(task)
        if not task.cancelled() and task.exception() is not None:
            log.error("turn failed", exc_info=task.exception())
        self.wake()

    async def _serve(self, turn: Turn) -> None:
        outcome = await (self._look_up(turn) if turn.lookup else self._post(turn))
        try:
            settled = await self._ledger.settle(turn, outcome)
        except RecordsUnavailable as error:
            log.warning("outcome not recorded", channel=turn.channel, error=str(error))
            return
        await self._tell(turn, outcome, settled)

    async def _look_up(self, turn: Turn) -> Outcome:
        head = turn.posts[0]
        return await self._messenger.find(
            turn.channel, drawing.key(turn.posts), since=head.created_at, thread_ts=turn.thread_ts
        )

    async def _post(self, turn: Turn) -> Outcome:
        outcome = await self._messenger.post(
            turn.channel,
            await self._draw(turn.posts),
            payload=drawing.payload(turn.posts),
            thread_ts=turn.thread_ts,
            broadcast=drawing.broadcasts(turn.posts),
        )
        return backed_off(outcome, attempts=turn.posts[0].attempts)

    async def _draw(self, posts: Sequence[Post]) -> Message:
        tally: StormTally | None = None
        if posts[0].kind == "storm":
            tally = await self._ledger.storm_tally(posts[0])
        return drawing.message(posts, several=self._several, tally=tally)

    async def _tell(self, turn: Turn, outcome: Outcome, settled: Settled) -> None:
        names = [post.alert_id or post.kind for post in turn.posts]
        if isinstance(outcome, Sent):
            self.slack_error = ""
            _count(turn)
            log.info("posted", channel=turn.channel, alerts=names, ts=outcome.ts, found=turn.lookup)
        else:
            error = getattr(outcome, "error", "")
            self.slack_error = error if isinstance(outcome, ChannelRefused | NotSent) else self.slack_error
            log.warning(
                "not posted", channel=turn.channel, alerts=names, outcome=type(outcome).__name__, error=error
            )
        if settled.broke and isinstance(outcome, ChannelRefused):
            await self._reporter.broke(turn, outcome.error)
        if settled.cured:
            await self._reporter.cured(turn)

    async def _repaint(self) -> float:
        for message in await self._ledger.claim_repaints(limit=PAINTS):
            outcome = await self._messenger.repaint(
                message[0].channel,
                message[0].ts,
                await self._draw(message),
                payload=drawing.payload(message),
            )
            if isinstance(outcome, Sent):
                await self._ledger.painted(message)
            else:
                await self._ledger.postpone_repaint(message, seconds=_pause_of(outcome))
        return POLL if (due := await self._ledger.next_repaint_in()) is None else due


def backed_off(outcome: Outcome, *, attempts: int) -> Outcome:
    """The pause before the next try, grown with the tries that failed: 2 s to 30 s."""
    factor = 2.0 ** min(attempts, 6)
    match outcome:
        case NotSent(error="ratelimited"):
            return outcome
        case NotSent():
            return NotSent(error=outcome.error, after=min(30.0, outcome.after * factor))
    return outcome


def _pause_of(outcome: Outcome) -> float:
    return outcome.after if isinstance(outcome, NotSent | ChannelRefused) else 5.0


def _note(pending: Pending, decision: Decision) -> None:
    """Count a delivery, and log it by the name that its messages carry."""
    log.info(
        "delivery",
        alerts=[pending.alert_id],
        workspace=pending.workspace,
        kind=decision.kind,
        problem=decision.problem,
        seen=pending.seen,
        found=pending.found,
        acknowledged_before=pending.acknowledged_before,
        posts=len(decision.posts),
    )
    if not pending.is_new:
        metrics.REPEATS.labels(pending.workspace).inc()
        return
    # What a sender calls an event is no label: labels stay in memory for good.
    kind = "found late" if pending.found else "unreadable" if decision.problem else decision.kind
    metrics.EVENTS.labels(pending.workspace, kind).inc()


def _count(turn: Turn) -> None:
    for post in turn.posts:
        metrics.POSTED.labels(post.kind).inc()
        if post.kind == "alert" and not post.found:
            metrics.POST_SECONDS.observe(max(0.0, time.time() - post.received_at))
