"""The messages that a delivery causes. Pure: the store calls it within its transaction."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import field
from datetime import timedelta
from typing import Protocol

from bot.alerts.cards import about, turn_card
from bot.alerts.rendering import write_note
from shared.api.event_kinds import DNS, kind_of
from shared.api.events import Event, read_event
from shared.domain.alert import domain_of
from shared.frozen import frozen
from shared.records.records import Subscription
from shared.settings.sections import ChannelPolicy, Rota, Routing
from shared.store.alerts import NAME_LETTERS
from shared.store.deliveries import Decision, PendingDelivery, TurnPlan
from shared.store.messages import INCIDENT, PlannedPost
from shared.store.people import Candidates
from shared.store.post_kinds import TURN

LATE_TURN = "It came in the quiet hours, and is unclaimed."


class People(Protocol):
    """Tells about the people in rotas; someone unknown has no name and can take turns."""

    def name(self, person: str) -> str: ...
    def is_gone(self, person: str) -> bool: ...


@frozen
class Target:
    """A channel that gets an event, and how."""

    channel: str
    policy: ChannelPolicy
    condensed: bool = False
    mention: str = ""
    rota: Rota | None = None
    """Mentions whose turn it is, instead."""


@frozen
class Routes:
    """The channels that get an event, by workspace."""

    alert_channels: Mapping[str, str | None]
    routing: Routing = field(default_factory=Routing)
    remind_after: timedelta | None = None
    """The time that a paused domain may stay unacknowledged."""
    people: People | None = None
    """The people in rotas; None: nothing is known of them."""

    def candidates(self, rota: Rota, channel: str, now: float) -> Candidates:
        """The people who may get a turn now, and the end of the channel's quiet hours."""
        policy, people = self.routing.channel_policy(channel), self.people
        return Candidates(
            rota=rota.name,
            people=rota.people,
            gone=frozenset(person for person in rota.people if people and people.is_gone(person)),
            names={person: people.name(person) for person in rota.people} if people else {},
            group=policy.mention,
            pass_after=None if rota.pass_after is None else rota.pass_after.total_seconds(),
            quiet_until=policy.quiet_until(now),
        )

    def decide(self, pending: PendingDelivery) -> Decision:
        """The result of routing a delivery."""
        event = read_event(pending.body)
        if not isinstance(event, Event):
            return Decision(problem=event.reason)
        kind, now, remind_at = kind_of(event.kind), pending.last_at, None
        at_once = kind.at_once or _opens_incident(event)
        targets = self.targets(event, workspace=pending.workspace, subscriptions=pending.subscriptions)
        # In quiet hours nobody is called, and what can wait is held; a reply is there to be found at once.
        quiet = {target.channel: target.policy.quiet_until(now) for target in targets}
        posts = [
            PlannedPost(
                dedupe=f"{pending.alert_id}:{target.channel}",
                channel=target.channel,
                urgency=INCIDENT if _opens_incident(event) else kind.urgency,
                condensed=target.condensed,
                mention="" if quiet[target.channel] else target.mention,
                held_until=None if at_once else quiet[target.channel],
            )
            for target in targets
        ]
        if pending.ended and kind.acknowledged:
            # A domain that is paused again sends the same bytes: once its incident has ended, they are news.
            posts += [
                PlannedPost(
                    dedupe=f"{pending.ended}:{target.channel}:again:{pending.seen}",
                    channel=target.channel,
                    kind="again",
                    urgency=INCIDENT,
                )
                for target in targets
            ]
        if kind.acknowledged and self.remind_after is not None:
            remind_at = now + self.remind_after.total_seconds()
        with_rota = [(target.channel, target.rota) for target in targets if target.rota]
        return Decision(
            # Cut to what the columns of the indexes hold: whoever has the secret may send anything.
            kind=event.kind[:80],
            problem="" if event.is_known else f"{event.kind[:80]!r} isn't a known event",
            email=event.lead.email or "",
            domain=(domain_of(event) or "").casefold()[:300],
            sequence=(event.sequence or "")[:NAME_LETTERS],
            detail=(event.bounce_type or event.return_date or "")[:80],
            reply=_hash(event.reply),
            remind_at=remind_at,
            inbox=(event.inbox or "").casefold()[:300],
            waits=kind.claimable,
            posts=tuple(posts),
            turn=self._turn(pending, event, with_rota, quiet) if with_rota else None,
        )

    def targets(
        self, event: Event, *, workspace: str, subscriptions: Sequence[Subscription] = ()
    ) -> Sequence[Target]:
        """The channels that are to be told, each once: what a channel asked for itself decides on the form."""
        kind = kind_of(event.kind)
        # Each with the mention of its rule; a channel's own mention comes with its policy.
        rules = [(subscription, "") for subscription in subscriptions]
        for rule in self.routing.rules:
            if rule.concerns(workspace):
                rules += [(subscription, rule.mention) for subscription in rule.subscriptions]
        asked: dict[str, list[tuple[Subscription, str]]] = {}
        own = self.alert_channels.get(workspace) or self.routing.fallback
        if own and (kind.at_once or _opens_incident(event)):
            asked[own] = []
        for subscription, mention in rules:
            if matches(subscription, event):
                asked.setdefault(subscription.channel, []).append((subscription, mention))
        targets = []
        for channel, wanted in asked.items():
            policy = self.routing.channel_policy(channel)
            mention = next((mention for _, mention in wanted if mention), "")
            turns = policy.rota if kind.claimable and not mention else None
            if kind.claimable and not turns:
                mention = mention or policy.mention
            condensed = bool(wanted) and all(subscription.condensed for subscription, _ in wanted)
            targets.append(
                Target(channel=channel, policy=policy, condensed=condensed, mention=mention, rota=turns)
            )
        return targets

    def _turn(
        self,
        pending: PendingDelivery,
        event: Event,
        with_rota: Sequence[tuple[str, Rota]],
        quiet: Mapping[str, float | None],
    ) -> TurnPlan:
        """One rota chooses the owner, however many channels show the reply: that of the first one that has any."""
        channel, chosen = with_rota[0]
        late = PlannedPost(
            dedupe=f"{pending.alert_id}:{channel}:{TURN}",
            channel=channel,
            kind=TURN,
            urgency=2,
            note=write_note(turn_card(f"Your turn: {about(event)}", LATE_TURN, pending.alert_id)),
            condensed=True,
            held_until=quiet[channel],
        )
        return TurnPlan(
            candidates=self.candidates(chosen, channel, pending.last_at),
            channels={other: quiet[other] for other, rota in with_rota if rota.name == chosen.name},
            late=late if quiet[channel] else None,
        )


def matches(subscription: Subscription, event: Event) -> bool:
    """True where an event matches a subscription."""
    wanted, inbox = subscription.inbox.casefold(), (event.inbox or "").casefold()
    return (
        subscription.event in {event.kind, "*"}
        and subscription.sequence.casefold() in {"", (event.sequence or "").casefold()}
        and wanted in {"", inbox, (domain_of(event) or "").casefold()}
    )


def _opens_incident(event: Event) -> bool:
    """True for DNS that two resolvers saw broken: it opens the card of the domain's incident before any pause."""
    return event.kind == DNS and event.raw.get("broken") is True


def _hash(reply: str | None) -> str:
    """A hash that is the same for two spacings of one reply."""
    words = " ".join((reply or "").split())
    return hashlib.sha256(words.encode("utf-8", "surrogatepass")).hexdigest()[:32] if words else ""
