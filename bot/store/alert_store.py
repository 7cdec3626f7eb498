"""What becomes of alerts over time: put off, handled, said again; how what they are about stands; spikes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import sqlalchemy as sa

from bot.store.alerts import claims, digests, snooze, spikes, subjects
from bot.store.command_store import Records
from bot.store.queue import deliveries, quiet_hold
from bot.store.queue.deliveries import PlannedPost
from shared.domain.records import Actor


class OverTime(Records):
    """Each method is one transaction. Every method raises `RecordsUnavailable`."""

    async def snooze_alert(self, alert: str, actor: Actor, *, until: float) -> claims.ClaimState | None:
        """Put an alert off; None: there is no such alert."""
        return await self.stamped(lambda c, now: snooze.snooze(c, alert, actor, until=until, now=now))

    async def wake_alert(self, alert: str) -> claims.ClaimState | None:
        """End a snooze; None: there is no such alert."""
        return await self.stamped(lambda c, now: snooze.wake(c, alert, now=now))

    async def handle_alert(self, alert: str, actor: Actor) -> claims.ClaimState | None:
        """Nobody need do anything any more; None: there is no such alert."""
        return await self.stamped(lambda c, now: snooze.handle(c, alert, actor, now=now))

    async def reopen_alert(self, alert: str) -> claims.ClaimState | None:
        """It was not done after all; None: there is no such alert."""
        return await self.stamped(lambda c, now: snooze.reopen(c, alert, now=now))

    async def sweep(
        self,
        plan: Callable[[Sequence[snooze.Due], float], Sequence[tuple[str, PlannedPost]]],
        *,
        remind_after: float | None,
        escalate_after: float | None,
    ) -> int:
        """Plan what is due to be said of waiting replies, and let go of what was held; how much there was."""

        def work(connection: sa.Connection, now: float) -> int:
            due = snooze.sweep(connection, now=now, remind_after=remind_after, escalate_after=escalate_after)
            for workspace, planned in plan(due, now):
                deliveries.plan(connection, planned, now=now, workspace=workspace)
            return len(due) + quiet_hold.release(connection, now=now)

        return await self.stamped(work)

    async def watched(self, workspace: str) -> Sequence[subjects.AlertSubject]:
        """Alerts whose cards show how something else stands."""
        return await self.read_stamped(lambda c, now: subjects.watched(c, workspace, now=now))

    async def told_of(
        self, workspace: str, domain: str, *, since: float
    ) -> tuple[Mapping[str, int], Sequence[str]]:
        """What deliveries told of a domain: counts by kind, and the sequences that sent from it."""
        return await self.store.read(
            lambda c: (
                subjects.told_of(c, workspace, domain, since=since),
                subjects.sequences_of(c, workspace, domain, since=since),
            )
        )

    async def stand(
        self, alert: str, how: str, *, note: PlannedPost | None = None, recovered: bool = False
    ) -> bool:
        """Write down how it stands; a note is told in its cards' threads when it is news, which is answered."""

        def work(connection: sa.Connection, now: float) -> bool:
            news = subjects.stand(connection, alert, how, recovered=recovered, now=now)
            if news and note is not None:
                for workspace, channel in subjects.cards(connection, alert):
                    told = replace(note, channel=channel, dedupe=f"{note.dedupe}:{channel}")
                    deliveries.plan(connection, told, now=now, workspace=workspace)
            return news

        return await self.stamped(work)

    async def tallies(
        self, workspace: str, *, since: float
    ) -> tuple[Sequence[spikes.Tally], Mapping[tuple[str, str, str], int], Sequence[spikes.Spike]]:
        """What came since then, how much came since yesterday (UTC), and the spikes that are not over."""

        def work(connection: sa.Connection, now: float) -> tuple[Any, Any, Any]:
            lately = spikes.tallies(connection, workspace, since=now - now % 86_400 - 86_400)
            counts = {(one.kind, one.scope, one.name): one.count for one in lately}
            recent = spikes.tallies(connection, workspace, since=since)
            return recent, counts, spikes.under_way(connection, workspace)

        return await self.read_stamped(work)

    async def show_spike(self, workspace: str, spike: spikes.Spike, planned: PlannedPost) -> bool:
        """Begin a spike's card, or have it painted anew; whether there is news."""
        return await self.stamped(lambda c, now: spikes.show(c, workspace, spike, planned, now=now))

    async def end_spike(self, workspace: str, spike: spikes.Spike, note: str) -> bool:
        """It is over; whether that is news."""
        return await self.stamped(lambda c, now: spikes.end(c, workspace, spike, note, now=now))

    async def due_digests(self, workspace: str) -> Sequence[digests.DueDigest]:
        """The digests whose time has come and that nobody has given yet."""
        return await self.read_stamped(lambda c, now: digests.due(c, workspace, now=now))

    async def give_digest(self, workspace: str, one: digests.DueDigest, note: str) -> bool:
        """Plan a digest's message; False when somebody else has."""
        return await self.stamped(lambda c, now: digests.give(c, workspace, one, note, now=now))
