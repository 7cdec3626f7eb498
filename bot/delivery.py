"""The way of a delivery: routed in the transaction that says what it becomes, posted, looked up, edited.

Each outcome of a call to Slack is recorded under the lease of its job. A failure of one message must not stop the others.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from datetime import timedelta
from secrets import token_hex

import structlog

from bot import blockkit, cards
from bot.blockkit import Message
from bot.cards import CardSettings
from bot.runtime import DeliverySignals
from bot.slack.directory import UserDirectory, everybody
from bot.slack.messages import MessageSender
from bot.telemetry import metrics
from shared.api.events import Event, read_event
from shared.domain.alert import domain_of
from shared.domain.card import Card, Tone
from shared.domain.event_kinds import DNS, EVENTS, PAUSED, kind_of
from shared.frozen import frozen
from shared.records import RecordsUnavailable, Subscription
from shared.settings.sections import Rota, Routing
from shared.store import Store, post_kinds
from shared.store.alerts import NAME_LETTERS, Candidates
from shared.store.deliveries import Decision, PendingDelivery, TurnPlan
from shared.store.jobs import Done, End, Job
from shared.store.messages import (
    INCIDENT,
    RATE_LIMITED,
    ChannelLease,
    ChannelRefused,
    Look,
    NotSent,
    Outcome,
    PlannedPost,
    Post,
    Sent,
    Unknown,
    Unpostable,
)
from shared.store.post_kinds import ALERT, ANSWER, NOTE, TURN

POLL_SECONDS = 1.0
"""Seconds between checks for deliveries that other processes stored."""
ROUTED_AT_ONCE, ROUTED_BESIDE_INTAKE = 50, 10
"""Deliveries that one transaction routes: fewer while others arrive, which wait for it to be stored."""
BURST = 500.0
"""Deliveries per second; while more arrive, intake goes first."""
COUNTED_OVER_SECONDS = 0.05
"""The shortest time over which arrivals are counted."""
YIELD_SECONDS = 0.04
"""Left to the intake between two checks in a burst."""

log = structlog.get_logger("delivery")


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
        while True:
            await self.round()
            await self._signals.deliveries.wait(POLL_SECONDS)
            await self._give_way()

    async def _give_way(self) -> None:
        """Leave the database to the intake for a while in a burst."""
        (before, since), stored, now = self._counted, self._stored_count(), time.monotonic()
        if now - since >= COUNTED_OVER_SECONDS:
            self._counted, self._in_burst = (stored, now), stored - before > BURST * (now - since)
        if self._in_burst:
            await asyncio.sleep(YIELD_SECONDS)

    async def round(self) -> None:
        """Route a portion of what is stored."""
        stored, before = self._stored_count(), self._stored_before
        self._stored_before = stored
        limit = ROUTED_AT_ONCE if stored == before else ROUTED_BESIDE_INTAKE
        try:
            routed = await self._store.deliveries.route(self._routes.decide, limit=limit)
        except RecordsUnavailable as error:
            log.warning("database unavailable", error=str(error))
            return
        for pending, decision in routed:
            _count_delivery(pending, decision)
        if routed:
            self._signals.changed()
        if any(decision.kind == PAUSED for _, decision in routed):
            self._signals.account_changed()  # a new card has its inboxes, sequences and DNS at once
        if sum(pending.arrivals for pending, _ in routed) == limit:
            self._signals.stored()


def _count_delivery(pending: PendingDelivery, decision: Decision) -> None:
    write = log.warning if decision.problem else log.info
    write(
        "delivery",
        alerts=[pending.alert_id],
        workspace=pending.workspace,
        kind=decision.kind,
        problem=decision.problem,
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


_Reasons = list[tuple[Subscription, str]]
"""The subscriptions for which a channel gets an event, each with the mention of its rule."""
_Turns = tuple[str, float | None, Rota]
"""A channel with a rota, with the end of its quiet hours where they last."""


@frozen
class Routes:
    """The channels that get an event, by workspace."""

    alert_channels: Mapping[str, str | None]
    routing: Routing = field(default_factory=Routing)
    remind_after: timedelta | None = None
    """The time that a paused domain may stay unacknowledged."""
    people: UserDirectory | None = None
    """Knows the people in rotas; someone unknown has no name and can take turns."""

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
        kind, now = kind_of(event.kind), pending.last_at
        # DNS that two resolvers saw broken opens the card of the domain's incident before any pause.
        opens_incident = event.kind == DNS and event.raw.get("broken") is True
        is_urgent = kind.at_once or opens_incident
        posts: list[PlannedPost] = []
        turns: list[_Turns] = []
        for channel, reasons in self._wanted(event, pending, is_urgent=is_urgent).items():
            policy = self.routing.channel_policy(channel)
            quiet_until = policy.quiet_until(now)
            mention = next((mention for _, mention in reasons if mention), "")
            if kind.claimable and not mention:
                mention = "" if policy.rota else policy.mention
                turns += [(channel, quiet_until, policy.rota)] if policy.rota else []
            # In quiet hours nobody is called, and what can wait is held; a reply is there to be found at once.
            post = PlannedPost(
                dedupe=f"{pending.alert_id}:{channel}",
                channel=channel,
                urgency=INCIDENT if opens_incident else kind.urgency,
                condensed=bool(reasons) and all(subscription.condensed for subscription, _ in reasons),
                mention="" if quiet_until else mention,
                held_until=None if is_urgent else quiet_until,
            )
            posts.append(post)
        is_reminded = kind.acknowledged and self.remind_after
        return Decision(
            # Cut to what the columns of the indexes hold: whoever has the secret may send anything.
            kind=event.kind[:80],
            problem="" if event.kind in EVENTS else f"{event.kind[:80]!r} isn't a known event",
            email=event.lead.email or "",
            domain=(domain_of(event) or "").casefold()[:300],
            sequence=(event.sequence or "")[:NAME_LETTERS],
            detail=(event.bounce_type or event.return_date or "")[:80],
            reply=_hash(event.reply),
            remind_at=now + is_reminded.total_seconds() if is_reminded else None,
            inbox=(event.inbox or "").casefold()[:300],
            waits=kind.claimable,
            posts=tuple(posts),
            turn=self._turn(event, pending, turns) if turns else None,
        )

    def _wanted(self, event: Event, pending: PendingDelivery, *, is_urgent: bool) -> Mapping[str, _Reasons]:
        """The channels that are to be told, each once: what a channel asked for itself decides on the form."""
        # Each with the mention of its rule; a channel's own mention comes with its policy.
        asked = [(subscription, "") for subscription in pending.subscriptions]
        for rule in self.routing.rules:
            if rule.concerns(pending.workspace):
                asked += [(subscription, rule.mention) for subscription in rule.subscriptions]
        wanted: dict[str, _Reasons] = {}
        own = self.alert_channels.get(pending.workspace) or self.routing.fallback
        if own and is_urgent:
            wanted[own] = []
        for subscription, mention in asked:
            if matches(subscription, event):
                wanted.setdefault(subscription.channel, []).append((subscription, mention))
        return wanted

    def _turn(self, event: Event, pending: PendingDelivery, turns: Sequence[_Turns]) -> TurnPlan:
        """One rota chooses the owner, however many channels show the reply: that of the first one that has any."""
        channel, quiet_until, rota = turns[0]
        note = cards.asking_card(f"Your turn: {cards.about(event)}", LATE_TURN, pending.alert_id)
        late = PlannedPost(
            dedupe=f"{pending.alert_id}:{channel}:{TURN}",
            channel=channel,
            kind=TURN,
            note=cards.write_note(note),
            condensed=True,
            held_until=quiet_until,
        )
        return TurnPlan(
            candidates=self.candidates(rota, channel, pending.last_at),
            channels={name: until for name, until, own in turns if own.name == rota.name},
            late=late if quiet_until else None,
        )


def matches(subscription: Subscription, event: Event) -> bool:
    """True where an event matches a subscription."""
    wanted, inbox = subscription.inbox.casefold(), (event.inbox or "").casefold()
    return (
        subscription.event in {event.kind, "*"}
        and subscription.sequence.casefold() in {"", (event.sequence or "").casefold()}
        and wanted in {"", inbox, (domain_of(event) or "").casefold()}
    )


def _hash(reply: str | None) -> str:
    """A hash that is the same for two spacings of one reply."""
    words = " ".join((reply or "").split())
    return hashlib.sha256(words.encode("utf-8", "surrogatepass")).hexdigest()[:32] if words else ""


# -- Does what Slack is asked for: posts what waits, looks up posts whose outcome is unknown, and edits messages


MAX_CHANNELS = 16
"""Channels that are posted to at the same time."""
LONGEST_BACKOFF = 30.0
"""Seconds at most until a failed post is tried again."""

_FIXES = {
    "not_in_channel": "The bot isn't in the channel. Type /invite @outreach there.",
    "channel_not_found": "The channel was deleted, or is private and the bot isn't in it. Invite the bot, or set the new channel.",
    "is_archived": "The channel is archived. Unarchive it, or set another channel.",
    "missing_scope": "The bot's token lacks a scope. Install the app again with the scopes in manifest.yml.",
    "token_revoked": "The bot's token was revoked. Install the app again and set the new SLACK_BOT_TOKEN.",
    "invalid_auth": "The bot's token is invalid. Set a valid SLACK_BOT_TOKEN.",
    "ekm_access_denied": "Your organization's key management suspended the workspace. An admin of Slack can restore it.",
    "account_inactive": "The bot's account was deactivated. Install the app again and set the new SLACK_BOT_TOKEN.",
}


class Outbox:
    """Handles jobs of the kinds `post`, `lookup` and `paint`."""

    def __init__(
        self,
        store: Store,
        messages: MessageSender,
        *,
        drawn: CardSettings,
        routes: Routes,
        directory: UserDirectory,
        planned: Callable[[], None],
    ) -> None:
        self._store, self._messages, self._routes, self._cards = store, messages, routes, drawn
        self._directory, self._planned = directory, planned
        places = (routes.routing.fallback, *routes.alert_channels.values())
        self._others = [one for one in places if one]
        self.slack_error = ""
        """Slack's last error, or the event by which the token was lost; empty after a success."""

    def report(self, broken: str, posts: Sequence[Post], outcome: Outcome) -> PlannedPost | None:
        """The note to another channel that this one breaks or recovers, or that a message is given up; None: there is none."""
        name = self._directory.known_name(broken)
        channel = next((one for one in self._others if one != broken), "")
        match outcome:
            case ChannelRefused(moved_to=new) if new:  # there its own people are told
                card, channel = _moved(broken, new), new
            case ChannelRefused(error=error):
                card = _broken(name, error)
            case Unpostable(error=error) if posts[0].kind != NOTE:
                card = _given_up(name, error)
            case Sent():
                text = ("Held alerts are being posted.",)
                card = Card(f"{name} accepts alerts again", tone=Tone.GOOD, text=text)
            case _:
                return None
        dedupe = f"note:{broken}:{token_hex(8)}"
        post = PlannedPost(dedupe=dedupe, channel=channel, kind=NOTE, note=cards.write_note(card))
        return post if channel else None

    async def _draw(self, posts: Sequence[Post]) -> Message:
        first = posts[0]
        card = cards.restated(first.note) if first.kind == ANSWER and not first.change else None
        if card:
            readers = everybody(first.channel)
            return blockkit.render_condensed(await self._directory.name_channels(card, readers))
        return cards.message(posts, self._cards)

    async def post(self, channel: Job) -> None:
        """Post one message in this channel."""
        lease = await self._store.posting.turn(channel)
        if lease is None:
            return
        outcome = await self._post(lease)
        if isinstance(outcome, ChannelRefused):
            await self._directory.channel(lease.channel)  # the report names it
        await self._store.posting.settle(lease, outcome, report=self.report)
        self._note_outcome(lease, outcome)

    async def _post(self, lease: ChannelLease) -> Outcome:
        first = lease.posts[0]
        try:
            message = await self._draw(lease.posts)
        except Exception as error:
            log.exception("card not rendered", alerts=_named(lease.posts))
            return Unpostable(error=f"can't be rendered: {type(error).__name__}")
        policy = self._routes.routing.channel_policy(lease.channel)
        outcome = await self._messages.post(
            lease.channel,
            message,
            payload=cards.payload(lease.posts),
            deadline=lease.job.deadline,
            thread_ts=first.thread_ts,
            broadcast=post_kinds.kind_of(first.kind).broadcast and policy.broadcast,
        )
        if isinstance(outcome, NotSent) and outcome.error != RATE_LIMITED:
            seconds = min(LONGEST_BACKOFF, outcome.after * 2.0 ** min(lease.job.attempts - 1, 6))
            return NotSent(error=outcome.error, after=seconds)
        return outcome

    def _note_outcome(self, lease: ChannelLease, outcome: Outcome) -> None:
        if isinstance(outcome, Sent):
            self.slack_error = ""
            log.info("posted", channel=lease.channel, alerts=_named(lease.posts), ts=outcome.ts)
            for post in lease.posts:
                metrics.POSTED.labels(post.kind).inc()
                if post.kind == ALERT and post.alert and not post.alert.found:
                    metrics.POST_SECONDS.observe(max(0.0, time.time() - post.alert.received_at))
            return
        error = getattr(outcome, "error", "")
        if isinstance(outcome, ChannelRefused | NotSent | Unknown):
            self.slack_error = error or self.slack_error
        name, alerts = type(outcome).__name__, _named(lease.posts)
        log.warning("alert not posted", channel=lease.channel, alerts=alerts, outcome=name, error=error)

    async def look_up(self, place: Job) -> None:
        """Look for the posts that are uncertain in this place."""
        lookup = await self._store.posting.place(place)
        if lookup is None:
            return
        try:
            look = await self._messages.look(lookup, deadline=place.deadline)
        except Exception as error:
            log.exception("look-up failed", channel=lookup.channel)
            look = Look(error=type(error).__name__)
        if look.found:
            await self._directory.channel(lookup.channel)
        await self._store.posting.settle_lookup(lookup, look, report=self.report)
        write = log.warning if look.error else log.info
        write(
            "looked up",
            channel=lookup.channel,
            alerts=_named(lookup.posts),
            found=sorted(look.found.values()),
            complete=look.complete,
            error=look.error,
        )

    async def paint(self, job: Job) -> End | None:
        """Edit a message to show the current state of its posts; its job ends with the outcome."""
        repaints, posts = self._store.repaints, await self._store.repaints.message(job)
        if not posts:
            return Done()
        channel = posts[0].channel
        message = await self._draw(posts)
        outcome = await self._messages.repaint(channel, posts[0].ts, message, payload=cards.payload(posts))
        match outcome:
            case Sent():
                await repaints.done(job, posts)
            case NotSent(error=error) if error == RATE_LIMITED:
                await repaints.throttled(job, seconds=outcome.after)
            case Unpostable(error=error):
                renewed = await repaints.refused(job, posts)
                log.warning("edit refused", channel=channel, error=error, renewed=renewed)
                if renewed:
                    self._planned()
            case _:
                await repaints.failed(job)
        return None


def _named(posts: Sequence[Post]) -> list[str]:
    return [post.alert_id or post.kind for post in posts]


def _broken(channel: str, error: str) -> Card:
    fix = _FIXES.get(error, f"Slack's error: {error}. Check with `outreach doctor`.")
    text = (fix, "Its alerts are kept, and posted when the channel accepts them again.")
    return Card(f"Can't post to {channel}", tone=Tone.BAD, text=text)


def _moved(old: str, new: str) -> Card:
    cure = f"Replace {old} with {new} in the settings and reload them."
    again = f"What was subscribed by command: subscribe again here, then type `/outreach unsubscribe all <#{old}>`."
    text = (f"Slack changed the id of this channel from {old} to {new}. Its alerts wait.", cure, again)
    return Card("This channel has a new id", tone=Tone.BAD, text=text)


def _given_up(channel: str, error: str) -> Card:
    text = (
        f"Slack refuses it ({error}), and the bot no longer tries. `/outreach replies` lists the replies that nobody "
        "has claimed, with their text."
    )
    return Card(f"A message for {channel} can't be posted", tone=Tone.BAD, text=(text,))
