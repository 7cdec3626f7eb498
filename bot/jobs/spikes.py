"""Quiet by default: bounces and opt-outs are counted, until so many come, and so large a share, that a card is due.

One card per domain or sequence: it counts on while the spike lasts, and says in the end that it is over.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import UTC, datetime, timedelta

import structlog

from bot.alerts import kinds, rendering
from bot.alerts.wording import facts_of, show_counts, when
from bot.commands.context import CommandContexts
from bot.store import Store
from bot.store.alerts.spikes import Origin, Spike, Tally
from bot.store.queue.outbox import PlannedPost
from bot.store.queue.posts import INCIDENT
from shared.api.errors import OutreachError
from shared.api.models import StatsRow
from shared.domain.alert_settings import Routing, SpikeRule
from shared.domain.card import Button, Card, Fact, Tone
from shared.domain.reports import rate
from shared.domain.snapshot import service_day
from shared.text.formats import show_exact_span, show_number, show_rate
from shared.text.tokenize import join

EVERY = 10.0
"""Seconds between two looks."""
NOUNS = {"lead.bounced": "bounce", "lead.unsubscribed": "opt-out"}


log = structlog.get_logger("spikes")


class SpikeWatch:
    """`look` now and then; several processes may, each spike has one card."""

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
        """Compare what came with the rule; a workspace whose service fails is left for the next time.

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
                    log.warning("not checked", workspace=workspace, error=type(error).__name__)

    async def _check(self, workspace: str, channel: str) -> None:
        now = self._store.database.clock()
        window = self._rule.window.total_seconds()
        recent, today, known = await self._store.spikes.tallies(workspace, since=now - window)
        open_ = {spike.key: spike for spike in known}
        many = [tally for tally in recent if tally.count >= self._rule.count or _key(tally) in open_]
        sent = await self._sent(workspace) if many else {}
        paused = await self._store.spikes.paused_domains(workspace) if many else frozenset()
        origins = await self._store.spikes.origins(workspace, since=now - window) if many else ()
        shown = {(kind, domain) for kind in NOUNS for domain in paused}
        news = False
        for tally in sorted(many, key=lambda one: one.scope):  # a domain before its sequences
            share = rate(today.get(_key(tally), tally.count), sent.get((tally.scope, tally.name.casefold())))
            spike = open_.pop(_key(tally), None)
            if domain := incident_of(tally, origins, shown):
                news |= spike is not None and await self._merge(workspace, spike, domain)
                continue
            if spike is None and not is_spike(tally, share=share, rule=self._rule):
                continue
            if tally.scope == "domain":
                shown.add((tally.kind, tally.name))
            card = self._card(workspace, tally, spike, share=share, origins=origins, now=now)
            news |= await self._report(workspace, channel, tally, spike, card=card, now=now)
        for spike in open_.values():
            news |= await self._store.spikes.end(
                workspace, spike, rendering.write_note(over_card(spike, now=now))
            )
        if news:
            self._planned()

    async def _report(
        self,
        workspace: str,
        channel: str,
        tally: Tally,
        spike: Spike | None,
        *,
        card: Card,
        now: float,
    ) -> bool:
        began = spike or Spike(
            kind=tally.kind,
            scope=tally.scope,
            name=tally.name,
            since=now,
            dedupe=f"spike:{workspace}:{tally.kind}:{tally.scope}:{tally.name}:{now:.0f}",
        )
        planned = PlannedPost(
            dedupe=began.dedupe,
            channel=channel,
            kind="spike",
            urgency=INCIDENT,
            note=rendering.write_note(card),
            held_until=self._routing.channel_policy(channel).quiet_until(now),
        )
        return await self._store.spikes.show(workspace, began, planned)

    def _card(
        self,
        workspace: str,
        tally: Tally,
        spike: Spike | None,
        *,
        share: float | None,
        origins: Sequence[Origin],
        now: float,
    ) -> Card:
        return spike_card(
            tally,
            share=share,
            rule=self._rule,
            since=spike.since if spike else now,
            name=workspace if len(self._contexts.clients) > 1 else "",
            sequences=[
                (one.sequence, one.count)
                for one in origins
                if (one.kind, one.domain) == (tally.kind, tally.name) and one.sequence
            ]
            if tally.scope == "domain"
            else (),
        )

    async def _merge(self, workspace: str, spike: Spike, domain: str) -> bool:
        """Another card counts the same events: this one only points to it."""
        note = rendering.write_note(merged_card(spike, domain))
        return await self._store.spikes.end(workspace, spike, note, condensed=True)

    async def _sent(self, workspace: str) -> Mapping[tuple[str, str], int]:
        """The sends of yesterday and today by domain and by sequence, under its id and its name."""
        client = self._contexts.clients[workspace]
        day = service_day(client, now=datetime.now(UTC))
        before = day - timedelta(days=1)
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
    found: dict[tuple[str, str], int] = {}
    for name, row in rows:
        key = (scope, name.casefold())
        found[key] = found.get(key, 0) + (row.sends or 0)
    return found


def _key(tally: Tally) -> tuple[str, str, str]:
    return tally.kind, tally.scope, tally.name


def incident_of(tally: Tally, origins: Sequence[Origin], shown: Collection[tuple[str, str]]) -> str:
    """The domain whose card shows the same events already; empty: they need a card of their own.

    A sequence's events belong to the domain that most of them came from.
    """
    if tally.scope == "domain":
        return tally.name if (tally.kind, tally.name) in shown else ""
    mine = [one for one in origins if (one.kind, one.sequence) == (tally.kind, tally.name)]
    most = max(mine, key=lambda one: one.count, default=None)
    if most is None or most.count * 2 < tally.count or (most.kind, most.domain) not in shown:
        return ""
    return most.domain


def is_spike(tally: Tally, *, share: float | None, rule: SpikeRule) -> bool:
    return tally.count >= rule.count and (share is None or share >= rule.share)


def spike_card(
    tally: Tally,
    *,
    share: float | None,
    rule: SpikeRule,
    since: float,
    name: str = "",
    sequences: Sequence[tuple[str, int]] = (),
) -> Card:
    """The card of a spike under way."""
    subject = tally.name if tally.scope == "domain" else f"“{tally.name}”"
    noun = NOUNS[tally.kind]
    window = _span(rule.window)
    share_text = show_rate(share) if share is not None else "unknown: its sends are not known"
    return Card(
        title=f"Many {noun}s from {subject}",
        tone=Tone.WARN,
        text=(_why(tally.kind),),
        facts=(
            Fact(label=f"In the last {window}", value=show_number(tally.count, noun)),
            Fact(label="Share of sends since yesterday", value=share_text),
            *facts_of(("Sequences", show_counts(sequences))),
            when("Since", rendering.moment(since)),
        ),
        buttons=_buttons(tally),
        footer=" · ".join(filter(None, (name, "This card updates while it lasts"))),
    )


def _buttons(tally: Tally) -> tuple[Button, ...]:
    if tally.scope == "domain":
        return (
            Button(label="Pause all …", command=join("pause", f"domain:{tally.name}"), tone=Tone.BAD),
            Button(label="Show inboxes", command=join("inboxes", tally.name)),
            Button(label="Stats by inbox", command="stats by inbox 1d"),
        )
    paused = Button(label="Pause sequence", command=join("pause", tally.name))
    return paused, Button(label="Stats by step", command="stats by step 1d")


def _why(kind: str) -> str:
    if kind == "lead.bounced":
        return "Bounces hurt the reputation of the domain: verify the addresses before you send more."
    return "Many people are opting out: review the emails and who receives them."


def _span(window: timedelta) -> str:
    text = show_exact_span(window)
    return "hour" if text == "1 h" else text


def merged_card(spike: Spike, domain: str) -> Card:
    """What is left of a spike's card when the card of its domain shows the same events."""
    same = spike.scope == "domain"
    what = f"{kinds.title(spike.kind).capitalize()} of {domain if same else f'“{spike.name}”'}"
    return Card(title=f"{what} are counted on the card of {'its pause' if same else domain}")


def over_card(spike: Spike, *, now: float) -> Card:
    """The card of a spike that has passed."""
    subject = spike.name if spike.scope == "domain" else f"“{spike.name}”"
    took = show_exact_span(timedelta(seconds=now - spike.since))
    return Card(
        title=f"Over: many {NOUNS[spike.kind]}s from {subject}",
        text=(f"It lasted {took}.",),
        facts=(when("Since", rendering.moment(spike.since)),),
    )
