"""Detects spikes of bounces and opt-outs, and posts and updates their cards.

One card per domain or sequence, whatever spikes there: it counts on while the spike lasts, and says in the end that it
is over.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

import structlog

from bot.alerts import rendering
from bot.alerts.spike import Figure, merged_card, over_card, spike_card
from bot.commands.context import CommandContexts
from bot.store import Store
from bot.store.alerts.spikes import Spike, Subject, Tallies, WholeDays
from bot.store.queue.outbox import PlannedPost
from bot.store.queue.posts import INCIDENT
from shared.api.errors import OutreachError
from shared.api.event_kinds import SPIKING
from shared.api.models import StatsRow
from shared.domain.alert_settings import Routing, SpikeRule
from shared.domain.card import Card
from shared.domain.evidence import Rate, rate_of
from shared.domain.snapshot import service_day
from shared.domain.totals import totals
from shared.domain.wall_clock import moment

EVERY = 10.0
"""Seconds between two checks."""

log = structlog.get_logger("spikes")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """A workspace's bounces and opt-outs at one time."""

    tallies: Tallies
    days: WholeDays
    sent: Mapping[tuple[str, str], int]
    """The sends of yesterday and today by scope and casefolded name, of the days whose deliveries are known."""

    def figures(self, subject: Subject, open_: Collection[str], rule: SpikeRule) -> Sequence[Figure]:
        """The counts of each kind; `open_` are the kinds that the subject's card already shows."""
        sent = self.sent.get((subject.scope, subject.name.casefold()))
        found = []
        for kind in SPIKING:
            count = self.tallies.recent.get((kind, subject), 0)
            share = rate_of(self.days.counts.get((kind, subject), 0), sent)
            spikes = kind in open_ or is_spike(count, share=share, rule=rule)
            if count or spikes:
                found.append(Figure(kind=kind, count=count, share=share, spikes=spikes))
        return found

    def incident_of(self, sequence: str, shown: Collection[str]) -> str:
        """The domain that most of a sequence's events came from, if its card shows them; empty: none does."""
        by_domain: dict[str, int] = {}
        for one in self.tallies.origins:
            if one.sequence == sequence:
                by_domain[one.domain] = by_domain.get(one.domain, 0) + one.count
        most = max(by_domain, key=lambda name: by_domain[name], default="")
        return most if most in shown and by_domain[most] * 2 >= sum(by_domain.values()) else ""

    def sequences(self, subject: Subject) -> Sequence[tuple[str, int]]:
        """The sequences with a domain's events, most events first."""
        counts: dict[str, int] = {}
        for one in self.tallies.origins:
            if subject == Subject(scope="domain", name=one.domain) and one.sequence:
                counts[one.sequence] = counts.get(one.sequence, 0) + one.count
        return sorted(counts.items(), key=lambda item: -item[1])


class SpikeWatch:
    """`look` regularly; several processes can, and each spike has one card."""

    def __init__(
        self,
        store: Store,
        contexts: CommandContexts,
        rule: SpikeRule,
        routing: Routing,
        *,
        planned: Callable[[], None],
    ) -> None:
        self._store, self._contexts, self._rule, self._routing = store, contexts, rule, routing
        self._planned = planned

    async def check(self) -> None:
        """Compare the events with the rule; a workspace that fails is checked next time.

        Raises `RecordsUnavailable`.
        """
        since = self._store.database.clock() - self._rule.window.total_seconds()
        for workspace in await self._store.spikes.workspaces(since=since, at_least=self._rule.count):
            if workspace not in self._contexts.clients:
                continue
            channel = self._contexts.settings.workspace(workspace).alert_channel or self._routing.fallback
            if channel:
                try:
                    await self._check(workspace, channel)
                except OutreachError as error:
                    log.warning("spikes not checked", workspace=workspace, error=type(error).__name__)

    async def _check(self, workspace: str, channel: str) -> None:
        now = self._store.database.clock()
        since = now - self._rule.window.total_seconds()
        tallies = await self._store.spikes.tallies(workspace, since=since)
        current = {subject for _, subject in tallies.recent}
        due = {subject for (_, subject), count in tallies.recent.items() if count >= self._rule.count}
        due |= {spike.subject for spike in tallies.open} & current
        news = False
        for spike in tallies.open:
            if spike.subject not in current:
                card = over_card(spike.subject, tallies.kinds(spike.dedupe), since=spike.since, now=now)
                note = rendering.write_note(card)
                news |= await self._store.spikes.end(workspace, spike.subject, spike.dedupe, note)
        if due:
            days = await self._store.spikes.whole_days(workspace)
            sent = await self._sent(workspace, days.since) if days.since <= now else {}
            reading = Reading(tallies=tallies, days=days, sent=sent)
            news |= await self._tell(workspace, channel, due, reading, now=now)
        if news:
            self._planned()

    async def _tell(
        self, workspace: str, channel: str, due: Collection[Subject], reading: Reading, *, now: float
    ) -> bool:
        """Show each incident on one card: that of a paused domain, of a domain, or of a sequence, in this order."""
        paused = await self._store.spikes.paused_domains(workspace)
        shown = set(paused)
        news = False
        for subject in sorted(due, key=lambda one: (one.scope, one.name)):
            begun = [spike for spike in reading.tallies.open if spike.subject == subject]
            if subject.scope == "domain":
                onto = "its pause" if subject.name in paused else ""
            else:
                onto = reading.incident_of(subject.name, shown)
            figures = reading.figures(subject, {one.kind for one in begun}, self._rule)
            if onto or not any(one.spikes for one in figures):
                news |= await self._merge(workspace, begun, reading, onto=onto)
                continue
            if subject.scope == "domain":
                shown.add(subject.name)
            first = begun[0] if begun else None
            others = [one for one in begun if first and one.dedupe != first.dedupe]
            news |= await self._merge(workspace, others, reading, onto=subject.label)
            card = spike_card(
                subject,
                figures,
                rule=self._rule,
                since=first.since if first else now,
                workspace=workspace if len(self._contexts.clients) > 1 else "",
                sequences=reading.sequences(subject),
            )
            planned = PlannedPost(
                dedupe=first.dedupe
                if first
                else f"spike:{workspace}:{subject.scope}:{subject.name}:{now:.0f}",
                channel=channel,
                kind="spike",
                urgency=INCIDENT,
                note=rendering.write_note(card),
                held_until=self._routing.channel_policy(channel).quiet_until(now),
            )
            kinds = [one.kind for one in figures if one.spikes]
            news |= await self._store.spikes.show(workspace, subject, kinds, planned)
        return news

    async def _merge(self, workspace: str, spikes: Sequence[Spike], reading: Reading, *, onto: str) -> bool:
        news = False
        for dedupe in sorted({spike.dedupe for spike in spikes}):
            subject = next(spike.subject for spike in spikes if spike.dedupe == dedupe)
            card: Card = merged_card(subject, reading.tallies.kinds(dedupe), onto=onto)
            news |= await self._store.spikes.end(
                workspace, subject, dedupe, rendering.write_note(card), condensed=True
            )
        return news

    async def _sent(self, workspace: str, days_from: float) -> Mapping[tuple[str, str], int]:
        client = self._contexts.clients[workspace]
        day = service_day(client, now=moment(self._store.database.clock()))
        before = min(moment(days_from).date(), day)
        by_inbox, by_sequence, inboxes, sequences = await asyncio.gather(
            client.stats(group_by="inbox", start=before, end=day),
            client.stats(group_by="sequence", start=before, end=day),
            client.list_inboxes(),
            client.list_sequences(),
        )
        addresses = {inbox.id: inbox.email for inbox in inboxes}
        names = {sequence.id: sequence.label for sequence in sequences}
        domains = [(addresses.get(row.group, row.group).rpartition("@")[2], row) for row in by_inbox]
        campaigns = [(names.get(row.group, row.group), row) for row in by_sequence]
        return {**_summed("domain", domains), **_summed("sequence", campaigns)}


def _summed(scope: str, rows: Sequence[tuple[str, StatsRow]]) -> dict[tuple[str, str], int]:
    """The sends by name, without those of which a part is unknown."""
    found: dict[tuple[str, str], list[StatsRow]] = {}
    for name, row in rows:
        found.setdefault((scope, name.casefold()), []).append(row)
    sums = {key: totals(some).sends for key, some in found.items()}
    return {key: sends for key, sends in sums.items() if sends is not None}


def is_spike(count: int, *, share: Rate | None, rule: SpikeRule) -> bool:
    return count >= rule.count and (share is None or share.share >= rule.share)
