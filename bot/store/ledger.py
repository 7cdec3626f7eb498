"""The ledger as the rest of the bot sees it: each method one transaction, off the event loop."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TypeVar

import sqlalchemy as sa

from bot.store.alert_store import OverTime
from bot.store.alerts import claims, timers
from bot.store.db.engine import Store, ValuesRefused, blames_values
from bot.store.queue import deliveries, found_leads, insert, leases, outcomes, repaints, retention
from bot.store.queue.deliveries import Arrival, Decide, Decision, PendingDelivery, PlannedPost
from bot.store.queue.leases import LeaseTimings
from bot.store.queue.posts import Post
from shared.domain.records import Actor

T = TypeVar("T")
Report = Callable[[leases.ChannelLease, outcomes.Outcome, outcomes.Settled], PlannedPost | None]
"""What is to be said elsewhere of what a turn came to; planned in the transaction that writes it down."""


class Ledger(OverTime):
    """The whole of it: what the receiver, the courier and the scheduler do besides."""

    def __init__(self, store: Store, *, pace: LeaseTimings | None = None) -> None:
        super().__init__(store)
        self.pace = pace or LeaseTimings()

    async def store_batch(
        self, batch: Sequence[Arrival], *, number: int, answered: Sequence[int] = ()
    ) -> None:
        """Commit which earlier groups were told 200, and then the arrivals of one group."""
        if answered:
            await self.stamped(lambda c, now: insert.mark_answered(c, answered, now=now))
        if batch:
            await self.store.append(lambda c: insert.store(c, batch, number=number))

    async def route(self, decide: Decide, *, limit: int = 50) -> Sequence[tuple[PendingDelivery, Decision]]:
        """Turn pending deliveries into alerts and posts; returns what was decided on each.

        Where the database refuses a value, they are routed one by one, and the culprit is set aside.
        """
        try:
            return await self.stamped(lambda c, now: deliveries.route(c, decide, now=now, limit=limit))
        except ValuesRefused:
            return await self.stamped(
                lambda c, now: deliveries.route_singly(c, decide, now=now, limit=limit, refused=blames_values)
            )

    async def oldest_unrouted_age(self) -> float:
        """Seconds that the oldest delivery has waited for the router; 0 when none waits."""
        at = await self.store.read(deliveries.oldest_pending)
        return 0.0 if at is None else max(0.0, self.store.clock() - at)

    async def note(self, workspace: str, planned: PlannedPost) -> None:
        """Put a message of the bot's own in line."""
        await self.stamped(lambda c, now: deliveries.plan(c, planned, now=now, workspace=workspace))

    async def claim_turns(self, *, limit: int, besides: Collection[str] = ()) -> leases.Claimed:
        """Lease channels that are due to speak, `besides` those in which the caller is speaking still."""
        return await self.stamped(
            lambda c, now: leases.claim(c, now=now, limit=limit, pace=self.pace, besides=besides)
        )

    async def settle(
        self, turn: leases.ChannelLease, outcome: outcomes.Outcome, *, report: Report | None = None
    ) -> outcomes.Settled:
        """Write down what a turn came to, and plan what is to be said of that."""

        def work(connection: sa.Connection, now: float) -> outcomes.Settled:
            settled = outcomes.settle(connection, turn, outcome, now=now, pace=self.pace)
            if report and (planned := report(turn, outcome, settled)):
                deliveries.plan(connection, planned, now=now, workspace=turn.posts[0].workspace)
            return settled

        return await self.stamped(work)

    async def claim_alert(self, alert: str, actor: Actor) -> claims.ClaimState | None:
        """Take an alert for a person; None: there is no such alert."""
        return await self.stamped(lambda c, now: claims.claim(c, alert, actor, now=now))

    async def release_alert(self, alert: str) -> claims.ClaimState | None:
        """Give an alert back; None: there is no such alert."""
        return await self.stamped(lambda c, now: claims.release(c, alert, now=now))

    async def claim_repaints(self, *, limit: int) -> tuple[tuple[Post, ...], ...]:
        """Lease messages that no longer show how things stand."""
        return await self.stamped(lambda c, now: repaints.claim(c, now=now, limit=limit))

    async def next_repaint_in(self) -> float | None:
        """Seconds until a message is due for repainting."""
        return await self.read_stamped(lambda c, now: repaints.next_in(c, now=now))

    async def painted(self, message: Sequence[Post]) -> None:
        """These are shown as they were read."""
        await self.store.write(lambda c: repaints.painted(c, message))

    async def postpone_repaint(self, message: Sequence[Post], *, seconds: float) -> None:
        """Try again later."""
        pause = min(seconds, repaints.LONGEST)
        await self.stamped(lambda c, now: repaints.postpone(c, message, until=now + pause))

    async def storm_tally(self, head: Post) -> repaints.StormTally:
        """How a storm stands."""
        return await self.store.read(lambda c: repaints.storm_tally(c, head))

    async def claim_timers(self, kinds: Collection[str]) -> Sequence[timers.DueTimer]:
        """Lease the timers of these kinds that are due."""
        return await self.stamped(lambda c, now: timers.claim(c, kinds, now=now))

    async def unknown_timers(self, kinds: Collection[str]) -> Sequence[str]:
        """The kinds besides these of which something is due."""
        return await self.read_stamped(lambda c, now: timers.strange(c, kinds, now=now))

    async def timer_done(self, firing: timers.DueTimer) -> bool:
        """Forget a timer that was carried out."""
        return await self.store.write(lambda c: timers.done(c, firing))

    async def postpone_timer(self, firing: timers.DueTimer, *, seconds: float) -> None:
        """It could not be done now."""
        await self.stamped(lambda c, now: timers.postpone(c, firing, until=now + seconds))

    async def reconcile(
        self, workspace: str, bodies: Mapping[str, bytes], *, grace: float
    ) -> tuple[int, int]:
        """Store as found what is interested and was never told of; returns how many, and how many may be."""
        return await self.stamped(
            lambda c, now: found_leads.compare(c, workspace, bodies, now=now, grace=grace)
        )

    async def prune(self, *, bodies_after: float, hashes_after: float) -> retention.Pruned:
        """Forget what is older than so many seconds."""
        return await self.stamped(
            lambda c, now: retention.prune(
                c, bodies_before=now - bodies_after, hashes_before=now - hashes_after
            )
        )

    async def inherit(self) -> None:
        """Go on where a process that is known to be dead left off."""
        await self.stamped(lambda c, now: leases.take_over(c, now=now))

    async def revive(self) -> int:
        """Give single dead letters another try."""
        return await self.stamped(lambda c, now: outcomes.revive(c, now=now))

    async def broken_channels(self) -> Mapping[str, str]:
        """Channels that take nothing, and what Slack says of each."""
        return await self.store.read(leases.broken)

    async def check(self) -> None:
        """Raise `RecordsUnavailable` unless the database can be written to, which a full disk tells only then."""
        await self.stamped(lambda c, now: insert.try_out(c, now=now))
