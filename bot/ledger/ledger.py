"""The ledger as the rest of the bot sees it: each method one transaction, off the event loop."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, TypeVar

import sqlalchemy as sa

from bot.ledger import (
    arriving,
    attention,
    claims,
    holding,
    inbox,
    journal,
    outbox,
    painting,
    reconciling,
    retention,
    settling,
    timers,
)
from bot.ledger.inbox import Arrival, Decide, Planned
from bot.ledger.outbox import Pace
from bot.ledger.posts import Post
from bot.ledger.store import Store
from shared.api.events import Event, read_event
from shared.records import Actor, AlertsSummary, AuditEntry, OpenReply, Subscription, Timer

T = TypeVar("T")


class Records:
    """What the commands need; implements `shared.records.Records`. Every method raises `RecordsUnavailable`."""

    def __init__(self, store: Store) -> None:
        self.store = store

    async def summary(self, workspace: str) -> AlertsSummary:
        """How the alerts stand."""
        return await self.store.read(lambda c: journal.summary(c, workspace, now=self.store.now(c)))

    async def open_replies(self, workspace: str) -> Sequence[OpenReply]:
        """Interested replies that nobody has claimed, the oldest first."""
        rows = await self.store.read(lambda c: journal.open_alerts(c, workspace))
        return [_open_reply(row) for row in rows]

    async def subscriptions(self, workspace: str, channel: str) -> Sequence[Subscription]:
        """What a channel wants to be told."""
        return await self.store.read(lambda c: journal.select_subscriptions(c, workspace, channel))

    async def subscribe(self, workspace: str, subscriptions: Sequence[Subscription]) -> None:
        """Add subscriptions."""
        await self.store.write(lambda c: journal.subscribe(c, workspace, subscriptions))

    async def unsubscribe(self, workspace: str, subscriptions: Sequence[Subscription]) -> int:
        """Remove exactly these; returns how many there were."""
        return await self.store.write(lambda c: journal.unsubscribe(c, workspace, subscriptions))

    async def digest_at(self, workspace: str, channel: str) -> str | None:
        """When a channel has its digest."""
        return await self.store.read(lambda c: journal.digest_at(c, workspace, channel))

    async def set_digest(self, workspace: str, channel: str, at: str | None) -> None:
        """Set or end a channel's digest."""
        await self.store.write(lambda c: journal.set_digest(c, workspace, channel, at, now=self.store.now(c)))

    async def audit(self, workspace: str, limit: int = 20) -> Sequence[AuditEntry]:
        """The newest acts first."""
        return await self.store.read(lambda c: journal.entries(c, workspace, limit))

    async def record(self, entry: AuditEntry) -> None:
        """Write down who changed what."""
        await self.store.write(lambda c: journal.record(c, entry))

    async def set_timer(self, workspace: str, timer: Timer) -> None:
        """Set a timer, or set it anew."""
        await self.store.write(lambda c: timers.put(c, workspace, timer))

    async def cancel_timer(self, workspace: str, kind: str, key: str) -> bool:
        """Forget a timer; whether there was one."""
        return await self.store.write(lambda c: timers.cancel(c, workspace, kind, key))

    async def timers(self, workspace: str, kind: str) -> Sequence[Timer]:
        """The timers of a kind, the next first."""
        return await self.store.read(lambda c: timers.select(c, workspace, kind))


class Ledger(Records):
    """The whole of it: what the receiver, the courier and the scheduler do besides."""

    def __init__(self, store: Store, *, pace: Pace | None = None) -> None:
        super().__init__(store)
        self.pace = pace or Pace()

    async def store_batch(
        self, batch: Sequence[Arrival], *, number: int, answered: Sequence[int] = ()
    ) -> None:
        """Commit the arrivals of one group, and which earlier groups were told 200."""
        await self.store.write(lambda c: self._store_batch(c, batch, number=number, answered=answered))

    def _store_batch(
        self, connection: sa.Connection, batch: Sequence[Arrival], *, number: int, answered: Sequence[int]
    ) -> None:
        arriving.mark_answered(connection, answered, now=self.store.now(connection))
        if batch:
            arriving.store(connection, batch, number=number)

    async def route(self, decide: Decide, *, limit: int = 50) -> int:
        """Turn pending deliveries into alerts and posts; returns how many were looked at."""
        return await self._stamped(lambda c, now: inbox.route(c, decide, now=now, limit=limit))

    async def note(self, workspace: str, planned: Planned) -> None:
        """Put a message of the bot's own in line."""
        await self._stamped(lambda c, now: inbox.plan(c, planned, now=now, workspace=workspace))

    async def claim_turns(self, *, limit: int) -> outbox.Claimed:
        """Lease channels that are due to speak."""
        return await self._stamped(lambda c, now: outbox.claim(c, now=now, limit=limit, pace=self.pace))

    async def settle(self, turn: outbox.Turn, outcome: settling.Outcome) -> settling.Settled:
        """Write down what a turn came to."""
        return await self._stamped(lambda c, now: settling.settle(c, turn, outcome, now=now, pace=self.pace))

    async def claim_alert(self, alert: str, actor: Actor) -> claims.Held | None:
        """Take an alert for a person; None: there is no such alert."""
        return await self._stamped(lambda c, now: claims.claim(c, alert, actor, now=now))

    async def release_alert(self, alert: str) -> claims.Held | None:
        """Give an alert back; None: there is no such alert."""
        return await self._stamped(lambda c, now: claims.release(c, alert, now=now))

    async def snooze_alert(self, alert: str, actor: Actor, *, until: float) -> claims.Held | None:
        """Put an alert off; None: there is no such alert."""
        return await self._stamped(lambda c, now: attention.snooze(c, alert, actor, until=until, now=now))

    async def wake_alert(self, alert: str) -> claims.Held | None:
        """End a snooze; None: there is no such alert."""
        return await self._stamped(lambda c, now: attention.wake(c, alert, now=now))

    async def handle_alert(self, alert: str, actor: Actor) -> claims.Held | None:
        """Nobody need do anything any more; None: there is no such alert."""
        return await self._stamped(lambda c, now: attention.handle(c, alert, actor, now=now))

    async def reopen_alert(self, alert: str) -> claims.Held | None:
        """It was not done after all; None: there is no such alert."""
        return await self._stamped(lambda c, now: attention.reopen(c, alert, now=now))

    async def sweep(
        self,
        plan: Callable[[Sequence[attention.Due], float], Sequence[tuple[str, Planned]]],
        *,
        remind_after: float | None,
        escalate_after: float | None,
    ) -> int:
        """Plan what is due to be said of waiting replies, and let go of what was held; how much there was."""

        def work(connection: sa.Connection, now: float) -> int:
            due = attention.sweep(
                connection, now=now, remind_after=remind_after, escalate_after=escalate_after
            )
            for workspace, planned in plan(due, now):
                inbox.plan(connection, planned, now=now, workspace=workspace)
            return len(due) + holding.release(connection, now=now)

        return await self._stamped(work)

    async def claim_repaints(self, *, limit: int) -> tuple[tuple[Post, ...], ...]:
        """Lease messages that no longer show how things stand."""
        return await self._stamped(lambda c, now: painting.claim(c, now=now, limit=limit))

    async def next_repaint_in(self) -> float | None:
        """Seconds until a message is due for repainting."""
        return await self._read_stamped(lambda c, now: painting.next_in(c, now=now))

    async def painted(self, message: Sequence[Post]) -> None:
        """These are shown as they were read."""
        await self.store.write(lambda c: painting.painted(c, message))

    async def postpone_repaint(self, message: Sequence[Post], *, seconds: float) -> None:
        """Try again later."""
        await self._stamped(lambda c, now: painting.postpone(c, message, until=now + seconds))

    async def storm_tally(self, head: Post) -> painting.StormTally:
        """How a storm stands."""
        return await self.store.read(lambda c: painting.storm_tally(c, head))

    async def claim_timers(self) -> Sequence[timers.Firing]:
        """Lease the timers that are due."""
        return await self._stamped(lambda c, now: timers.claim(c, now=now))

    async def timer_done(self, firing: timers.Firing) -> bool:
        """Forget a timer that was carried out."""
        return await self.store.write(lambda c: timers.done(c, firing))

    async def postpone_timer(self, firing: timers.Firing, *, seconds: float) -> None:
        """It could not be done now."""
        await self._stamped(lambda c, now: timers.postpone(c, firing, until=now + seconds))

    async def reconcile(
        self, workspace: str, bodies: Mapping[str, bytes], *, grace: float
    ) -> tuple[int, int]:
        """Store as found what is interested and was never told of; returns how many, and how many may be."""
        return await self._stamped(
            lambda c, now: reconciling.compare(c, workspace, bodies, now=now, grace=grace)
        )

    async def prune(self, *, bodies_after: float, hashes_after: float) -> retention.Pruned:
        """Forget what is older than so many seconds."""
        return await self._stamped(
            lambda c, now: retention.prune(
                c, bodies_before=now - bodies_after, hashes_before=now - hashes_after
            )
        )

    async def inherit(self) -> None:
        """End the leases of a process that is known to be dead."""
        await self.store.write(outbox.end_leases)

    async def revive(self) -> int:
        """Give single dead letters another try."""
        return await self._stamped(lambda c, now: settling.revive(c, now=now))

    async def check(self) -> None:
        """Raise `RecordsUnavailable` unless the database can be written to."""
        await self.store.write(lambda c: c.execute(sa.text("SELECT 1")))

    async def _stamped(self, work: Callable[[sa.Connection, float], T]) -> T:
        return await self.store.write(lambda c: work(c, self.store.now(c)))

    async def _read_stamped(self, work: Callable[[sa.Connection, float], T]) -> T:
        return await self.store.read(lambda c: work(c, self.store.now(c)))


def _open_reply(row: sa.Row[Any]) -> OpenReply:
    event = read_event(row.body or b"")
    lead = event.lead if isinstance(event, Event) else None
    return OpenReply(
        alert_id=row.id,
        received_at=datetime.fromtimestamp(row.received_at, UTC),
        lead=lead.name if lead else "",
        email=row.email,
        company=(lead.company if lead else None) or "",
        sequence=(event.sequence if isinstance(event, Event) else None) or "",
    )
