"""What the commands need of the ledger: each method one transaction, off the event loop."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, TypeVar

import sqlalchemy as sa

from bot.store.alerts import records, timers
from bot.store.db.engine import Store
from shared.api.events import Event, read_event
from shared.domain.records import AlertsSummary, AuditEntry, ClaimTime, OpenReply, Subscription, Timer

T = TypeVar("T")


class Records:
    """What the commands need; implements `shared.domain.records.Records`. Every method raises `RecordsUnavailable`."""

    def __init__(self, store: Store) -> None:
        self.store = store

    async def summary(self, workspace: str) -> AlertsSummary:
        """How the alerts stand."""
        return await self.store.read(lambda c: records.summary(c, workspace, now=self.store.now(c)))

    async def open_replies(self, workspace: str) -> Sequence[OpenReply]:
        """Interested replies that nobody has claimed, the oldest first."""
        rows = await self.store.read(lambda c: records.open_alerts(c, workspace))
        return [_open_reply(row) for row in rows]

    async def claim_times(self, workspace: str, since: datetime) -> Sequence[ClaimTime]:
        """How long the replies claimed since then had waited."""
        return await self.store.read(lambda c: records.claim_times(c, workspace, since=since.timestamp()))

    async def arrivals(self, workspace: str, since: datetime, until: datetime) -> Mapping[str, int]:
        """How many deliveries came of each kind, from one moment until before another."""
        span = since.timestamp(), until.timestamp()
        return await self.store.read(lambda c: records.arrivals(c, workspace, since=span[0], until=span[1]))

    async def subscriptions(self, workspace: str, channel: str) -> Sequence[Subscription]:
        """What a channel wants to be told."""
        return await self.store.read(lambda c: records.select_subscriptions(c, workspace, channel))

    async def subscribe(self, workspace: str, subscriptions: Sequence[Subscription]) -> None:
        """Add subscriptions."""
        await self.store.write(lambda c: records.subscribe(c, workspace, subscriptions))

    async def unsubscribe(self, workspace: str, subscriptions: Sequence[Subscription]) -> int:
        """Remove exactly these; returns how many there were."""
        return await self.store.write(lambda c: records.unsubscribe(c, workspace, subscriptions))

    async def digest_at(self, workspace: str, channel: str) -> str | None:
        """When a channel has its digest."""
        return await self.store.read(lambda c: records.digest_at(c, workspace, channel))

    async def set_digest(self, workspace: str, channel: str, at: str | None) -> None:
        """Set or end a channel's digest."""
        await self.store.write(lambda c: records.set_digest(c, workspace, channel, at, now=self.store.now(c)))

    async def audit(self, workspace: str, limit: int = 20) -> Sequence[AuditEntry]:
        """The newest acts first."""
        return await self.store.read(lambda c: records.entries(c, workspace, limit))

    async def record(self, entry: AuditEntry) -> None:
        """Write down who changed what."""
        await self.store.write(lambda c: records.record(c, entry))

    async def set_timer(self, workspace: str, timer: Timer) -> None:
        """Set a timer, or set it anew."""
        await self.store.write(lambda c: timers.put(c, workspace, timer))

    async def cancel_timer(self, workspace: str, kind: str, key: str) -> bool:
        """Forget a timer; whether there was one."""
        return await self.store.write(lambda c: timers.cancel(c, workspace, kind, key))

    async def timers(self, workspace: str, kind: str) -> Sequence[Timer]:
        """The timers of a kind, the next first."""
        return await self.store.read(lambda c: timers.select(c, workspace, kind))

    async def stamped(self, work: Callable[[sa.Connection, float], T]) -> T:
        """Run writing work, with the time by which leases are judged."""
        return await self.store.write(lambda c: work(c, self.store.now(c)))

    async def read_stamped(self, work: Callable[[sa.Connection, float], T]) -> T:
        """Run reading work, likewise."""
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
