"""Routes stored deliveries: what each becomes, and where it is posted, in the transaction that says so."""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from datetime import timedelta
from typing import Protocol

import structlog

from bot.cards import about, turn_card, write_note
from bot.runtime import DeliverySignals
from bot.telemetry import metrics
from shared.api.event_kinds import DNS, PAUSED, kind_of
from shared.api.events import Event, read_event
from shared.domain.alert import domain_of
from shared.frozen import frozen
from shared.records.records import RecordsUnavailable, Subscription
from shared.settings.sections import Rota, Routing
from shared.store import Store
from shared.store.alerts import NAME_LETTERS
from shared.store.deliveries import Decision, PendingDelivery, TurnPlan
from shared.store.messages import INCIDENT, PlannedPost
from shared.store.people import Candidates
from shared.store.post_kinds import TURN

POLL_SECONDS = 1.0
"""Seconds between checks for deliveries that other processes stored."""
ROUTED_AT_ONCE, ROUTED_BESIDE_INTAKE = 50, 10
"""Deliveries that one transaction routes: fewer while others arrive, which wait for it to be stored."""
OUTAGE_SECONDS = 1.0
BURST = 500.0
"""Deliveries per second; while more arrive, intake goes first."""
COUNTED_OVER_SECONDS = 0.05
"""The shortest time over which arrivals are counted."""
YIELD_SECONDS = 0.04
"""Left to the intake between two checks in a burst."""

log = structlog.get_logger("routing")


class Router:
    """`run` until cancelled; `signals` tell when something was stored."""

    def __init__(
        self, store: Store, *, signals: DeliverySignals, routes: Routes, stored_count: Callable[[], int]
    ) -> None:
        self._store, self._signals, self._routes = store, signals, routes
        self._stored_count = stored_count
        self._counted, self._in_burst = (0, time.monotonic()), False
        self._stored_before = 0
        """As many were stored when it routed last."""

    async def run(self) -> None:
        """Route what is stored as long as the bot runs."""
        self._signals.unrouted = True
        while True:
            pause = await self.round()
            if not await self._signals.deliveries.wait(pause):
                self._signals.unrouted = True  # other processes store deliveries too
            await self._give_way()

    async def _give_way(self) -> None:
        """Leave the database to the intake for a while in a burst."""
        (before, since), stored, now = self._counted, self._stored_count(), time.monotonic()
        if now - since >= COUNTED_OVER_SECONDS:
            self._counted, self._in_burst = (stored, now), stored - before > BURST * (now - since)
        if self._in_burst:
            await asyncio.sleep(YIELD_SECONDS)

    async def round(self) -> float:
        """Route a portion of what is stored; returns after how many seconds to look again."""
        if not self._signals.unrouted:
            return POLL_SECONDS
        self._signals.unrouted = False
        stored, before = self._stored_count(), self._stored_before
        self._stored_before = stored
        limit = ROUTED_AT_ONCE if stored == before else ROUTED_BESIDE_INTAKE
        try:
            routed = await self._store.deliveries.route(self._routes.decide, limit=limit)
        except RecordsUnavailable as error:
            log.warning("database unavailable", error=str(error))
            self._signals.unrouted = True
            return OUTAGE_SECONDS
        for pending, decision in routed:
            _count_delivery(pending, decision)
        if routed:
            self._signals.changed()
        if any(decision.kind == PAUSED for _, decision in routed):
            self._signals.account_changed()  # a new card has its inboxes, sequences and DNS at once
        if sum(pending.arrivals for pending, _ in routed) == limit:
            self._signals.stored()
        return POLL_SECONDS


def _count_delivery(pending: PendingDelivery, decision: Decision) -> None:
    write = log.warning if decision.problem else log.info
    write(
        "delivery",
        alerts=[pending.alert_id],
        workspace=pending.workspace,
        kind=decision.kind,
        problem=decision.problem,
        seen=pending.seen,
        found=pending.found,
        posts=len(decision.posts),
    )
    if not pending.is_new:
        metrics.REPEATS.labels(pending.workspace).inc()
        return
    # Event names from the sender are not used as a label: labels stay in memory for good.
    found_late = pending.found and not kind_of(decision.kind).own
    kind = "found late" if found_late else "unreadable" if decision.problem else decision.kind
    metrics.EVENTS.labels(pending.workspace, kind).inc()


LATE_TURN = "It came in the quiet hours, and is unclaimed."


class People(Protocol):
    """Tells about the people in rotas; someone unknown has no name and can take turns."""

    def name(self, person: str) -> str: ...
    def is_gone(self, person: str) -> bool: ...


@frozen
class Target:
    """A channel that gets an event, and how."""

    channel: str
    quiet_until: float | None = None
    """The end of its quiet hours, where they last."""
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
        """The result of routing a delivery; of one that fails the error, so that it doesn't stop the others."""
        try:
            return self._decide(pending)
        except Exception as error:
            log.exception("delivery not understood", alerts=[pending.alert_id])
            return Decision(problem=f"internal error: {type(error).__name__}")

    def _decide(self, pending: PendingDelivery) -> Decision:
        """The messages that a delivery causes. Pure: the store calls it within its transaction."""
        event = read_event(pending.body)
        if not isinstance(event, Event):
            return Decision(problem=event.reason)
        kind, alert, opens_incident = kind_of(event.kind), pending.alert_id, _opens_incident(event)
        targets = self.targets(event, pending.workspace, pending.subscriptions, now=pending.last_at)
        # In quiet hours nobody is called, and what can wait is held; a reply is there to be found at once.
        posts = [
            PlannedPost(
                dedupe=f"{alert}:{target.channel}",
                channel=target.channel,
                urgency=INCIDENT if opens_incident else kind.urgency,
                condensed=target.condensed,
                mention="" if target.quiet_until else target.mention,
                held_until=None if kind.at_once or opens_incident else target.quiet_until,
            )
            for target in targets
        ]
        is_reminded = kind.acknowledged and self.remind_after
        return Decision(
            # Cut to what the columns of the indexes hold: whoever has the secret may send anything.
            kind=event.kind[:80],
            problem="" if event.is_known else f"{event.kind[:80]!r} isn't a known event",
            email=event.lead.email or "",
            domain=(domain_of(event) or "").casefold()[:300],
            sequence=(event.sequence or "")[:NAME_LETTERS],
            detail=(event.bounce_type or event.return_date or "")[:80],
            reply=_hash(event.reply),
            remind_at=pending.last_at + is_reminded.total_seconds() if is_reminded else None,
            inbox=(event.inbox or "").casefold()[:300],
            waits=kind.claimable,
            posts=tuple(posts),
            turn=self._turn(pending, event, targets),
        )

    def targets(
        self, event: Event, workspace: str, subscriptions: Sequence[Subscription] = (), *, now: float
    ) -> Sequence[Target]:
        """The channels that are to be told, each once: what a channel asked for itself decides on the form."""
        kind = kind_of(event.kind)
        # Each with the mention of its rule; a channel's own mention comes with its policy.
        asked = [(subscription, "") for subscription in subscriptions]
        for rule in self.routing.rules:
            if rule.concerns(workspace):
                asked += [(subscription, rule.mention) for subscription in rule.subscriptions]
        wanted: dict[str, list[tuple[Subscription, str]]] = {}
        own = self.alert_channels.get(workspace) or self.routing.fallback
        if own and (kind.at_once or _opens_incident(event)):
            wanted[own] = []
        for subscription, mention in asked:
            if matches(subscription, event):
                wanted.setdefault(subscription.channel, []).append((subscription, mention))
        targets = []
        for channel, reasons in wanted.items():
            policy = self.routing.channel_policy(channel)
            mention = next((mention for _, mention in reasons if mention), "")
            turns = policy.rota if kind.claimable and not mention else None
            if kind.claimable and not turns:
                mention = mention or policy.mention
            target = Target(
                channel=channel,
                quiet_until=policy.quiet_until(now),
                condensed=bool(reasons) and all(subscription.condensed for subscription, _ in reasons),
                mention=mention,
                rota=turns,
            )
            targets.append(target)
        return targets

    def _turn(self, pending: PendingDelivery, event: Event, targets: Sequence[Target]) -> TurnPlan | None:
        """One rota chooses the owner, however many channels show the reply: that of the first one that has any."""
        with_rota = [(target, target.rota) for target in targets if target.rota]
        if not with_rota:
            return None
        first, rota = with_rota[0]
        late = PlannedPost(
            dedupe=f"{pending.alert_id}:{first.channel}:{TURN}",
            channel=first.channel,
            kind=TURN,
            urgency=2,
            note=write_note(turn_card(f"Your turn: {about(event)}", LATE_TURN, pending.alert_id)),
            condensed=True,
            held_until=first.quiet_until,
        )
        return TurnPlan(
            candidates=self.candidates(rota, first.channel, pending.last_at),
            channels={one.channel: one.quiet_until for one, own in with_rota if own.name == rota.name},
            late=late if first.quiet_until else None,
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
