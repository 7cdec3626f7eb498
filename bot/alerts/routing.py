"""The messages that a delivery causes. Pure: the store calls it within its transaction."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta

from bot.alerts import kinds, model, turns
from bot.alerts.notes import write_note
from bot.alerts.turns import People, Unknown
from shared.api.event_kinds import kind_of
from shared.api.events import Event, read_event
from shared.domain.alert_settings import Routing, Rule
from shared.domain.rota import Rota
from shared.records.records import Subscription
from shared.store.alerts.subjects import NAME
from shared.store.queue.outbox import PlannedPost
from shared.store.queue.post_kinds import TURN
from shared.store.queue.posts import INCIDENT
from shared.store.queue.routing import Decision, PendingDelivery, TurnPlan


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A channel that gets an event, and how."""

    channel: str
    condensed: bool = False
    mention: str = ""
    rota: Rota | None = None
    """Mentions whose turn it is, instead."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Routes:
    """The channels that get an event, by workspace."""

    alert_channels: Mapping[str, str | None]
    routing: Routing = field(default_factory=Routing)
    remind_after: timedelta | None = None
    """How long a paused domain may stay unacknowledged."""
    people: People = field(default_factory=Unknown)
    """What is known of the people in rotas."""

    def broadcasts(self, channel: str) -> bool:
        """Whether a channel wants to see what is posted in its threads."""
        return self.routing.channel_policy(channel).broadcast

    def decide(self, pending: PendingDelivery) -> Decision:
        """The result of routing a delivery."""
        event = read_event(pending.body)
        if not isinstance(event, Event):
            return Decision(problem=event.reason)
        targets = self.targets(event, workspace=pending.workspace, subscriptions=pending.subscriptions)
        known = "" if event.is_known else f"{event.kind[:80]!r} isn't a known event"
        return Decision(
            kind=event.kind[:80],
            problem=known,
            email=event.lead.email or "",
            domain=(model.domain_of(event) or "").casefold()[:300],
            sequence=(event.sequence or "")[:NAME],
            detail=(event.bounce_type or event.return_date or "")[:80],
            reply=_hash(event.reply),
            remind_at=self._remind_at(pending, event),
            inbox=(event.inbox or "").casefold()[:300],
            waits=kind_of(event.kind).claimable,
            posts=tuple(self._posts(pending, event, targets)),
            turn=self._turn(pending, event, targets),
        )

    def _turn(self, pending: PendingDelivery, event: Event, targets: Sequence[Target]) -> TurnPlan | None:
        """One rota chooses the owner, however many channels show the reply: that of the first one that has any."""
        rota = next((rota for one in targets if (rota := one.rota)), None)
        if rota is None:
            return None
        now = pending.last_at
        under = [one.channel for one in targets if one.rota and one.rota.name == rota.name]
        policy = self.routing.channel_policy(under[0])
        quiet = {one: self.routing.channel_policy(one).quiet_until(now) for one in under}
        late = PlannedPost(
            dedupe=f"{pending.alert_id}:{under[0]}:{TURN}",
            channel=under[0],
            kind=TURN,
            urgency=2,
            note=write_note(turns.late_card(event, pending.alert_id)),
            condensed=True,
            held_until=quiet[under[0]],
        )
        return TurnPlan(
            candidates=turns.candidates_of(rota, policy=policy, people=self.people, now=now),
            channels=quiet,
            late=late if quiet[under[0]] else None,
        )

    def _remind_at(self, pending: PendingDelivery, event: Event) -> float | None:
        if not kind_of(event.kind).acknowledged or self.remind_after is None:
            return None
        return pending.last_at + self.remind_after.total_seconds()

    def targets(
        self, event: Event, *, workspace: str, subscriptions: Sequence[Subscription] = ()
    ) -> tuple[Target, ...]:
        """The channels that are to be told, each once: what a channel asked for itself decides on the form."""
        rules = self._rules(workspace, subscriptions)
        asked = [rule for rule in rules if kinds.matches(rule.subscription, event)]
        by_channel: dict[str, list[Rule]] = {}
        if kind_of(event.kind).at_once:
            own = self.alert_channels.get(workspace) or self.routing.fallback
            by_channel |= {own: []} if own else {}
        for rule in asked:
            by_channel.setdefault(rule.subscription.channel, []).append(rule)
        return tuple(self._target(channel, rules, event) for channel, rules in by_channel.items())

    def _rules(self, workspace: str, subscriptions: Sequence[Subscription]) -> list[Rule]:
        typed = [Rule(subscription=one) for one in subscriptions]
        return [*typed, *(rule for rule in self.routing.rules if rule.workspace in {"", workspace})]

    def _target(self, channel: str, rules: Sequence[Rule], event: Event) -> Target:
        named = next((rule.mention for rule in rules if rule.mention), "")
        policy, claimable = self.routing.channel_policy(channel), kind_of(event.kind).claimable
        rota = policy.rota if claimable and not named else None
        usual = policy.mention if claimable and not rota else ""
        condensed = bool(rules) and all(rule.subscription.condensed for rule in rules)
        return Target(channel=channel, condensed=condensed, mention=named or usual, rota=rota)

    def _posts(self, pending: PendingDelivery, event: Event, targets: Sequence[Target]) -> list[PlannedPost]:
        kind = kind_of(event.kind)
        quiet = {
            one.channel: self.routing.channel_policy(one.channel).quiet_until(pending.last_at)
            for one in targets
        }
        first = [
            PlannedPost(
                dedupe=f"{pending.alert_id}:{target.channel}",
                channel=target.channel,
                urgency=kind.urgency,
                condensed=target.condensed,
                mention="" if quiet[target.channel] else target.mention,
                held_until=None if kind.at_once else quiet[target.channel],
            )
            for target in targets
        ]
        return [*first, *self._again(pending, event, [target.channel for target in targets])]

    def _again(self, pending: PendingDelivery, event: Event, channels: Sequence[str]) -> list[PlannedPost]:
        """A domain that is paused again sends the same bytes: once its incident has ended, they are news."""
        if not pending.ended or not kind_of(event.kind).acknowledged:
            return []
        mark = f"again:{pending.seen}"
        return [
            PlannedPost(dedupe=f"{pending.ended}:{c}:{mark}", channel=c, kind="again", urgency=INCIDENT)
            for c in channels
        ]


def _hash(reply: str | None) -> str:
    """What two spacings of one reply have in common."""
    words = " ".join((reply or "").split())
    return hashlib.sha256(words.encode("utf-8", "surrogatepass")).hexdigest()[:32] if words else ""
