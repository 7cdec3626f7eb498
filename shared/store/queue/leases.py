"""Leases channels, each for one message at a time, and records the outcome in the transaction that releases the channel.

    ready -> sending -> sent
                     -> uncertain -> (see lookups)
                     -> dead -> (tried again now and then: sent)

A channel is leased with a token that every claim raises. A process that lost its lease writes with an old token and
changes nothing. A post that is found `sending` when its channel is claimed was left by a process that died: its outcome
is unknown, and while it is looked up the channel goes on with what does not follow it. A time further ahead than this
module ever writes means that the clock was set back.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import sqlalchemy as sa

from shared.store import jobs
from shared.store.db.columns import NOW, SECONDS
from shared.store.db.engine import AT_ONCE, Database, Repository, Transaction, probes, reads, writes
from shared.store.db.schema import channel_leases, digests, posts, subscriptions
from shared.store.jobs import PAINT
from shared.store.queue import dead_letters, outbox, slack_state
from shared.store.queue.cards import look_now
from shared.store.queue.dead_letters import MOST_REFUSALS, raise_dead
from shared.store.queue.outbox import PlannedPost
from shared.store.queue.post_kinds import ALERT, kind_of
from shared.store.queue.posts import (
    ANY_UNSENT,
    IS_READY,
    UNCERTAIN,
    UNSENT,
    Post,
    State,
    dead_letter,
    next_answer,
    waiting_alerts,
    waiting_incidents,
    waiting_others,
    waiting_rest,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseTimings:
    """How fast a channel may be posted to, and how long its lease lasts; seconds."""

    period: float = 1.0
    """Between messages of a channel (Slack, rate limits)."""
    burst: int = 1
    """Messages that a rested channel takes at once beyond the first; Slack itself allows a little more."""
    lease: float = 10.0
    """Longer than any call that is made under it."""
    read_pause: float = 2.0
    """Between look-ups of an uncertain message: what was accepted is in the history by then."""
    doubt: float = 10.0
    """How long after its lease an attempt that was never answered may still turn up."""

    @property
    def patience(self) -> float:
        return 0.8 * self.lease

    @property
    def longest(self) -> float:
        return self.lease + self.doubt

    def opens_at(self, tat: float) -> float:
        """When a channel whose next message is due at `tat` may have it, its burst considered."""
        return tat - self.burst * self.period


BUNDLE = 13
"""Alerts that share one message: as many as fit with the beginning of each reply and two buttons."""
ALONE = 5
"""Alerts that may wait for a channel and still get a message each: it takes them in five seconds."""
REST_EVERY = 4
"""While alerts share messages, every fourth is for what can't share one, like a reminder in a card's thread."""
MANY_INCIDENTS = 5
"""From so many on, incidents and other messages take turns: replies must not wait for all of them."""
FARTHEST = 3600.0
"""Seconds ahead that a channel may be due at most."""
SET_BACK = 60.0
"""Seconds ahead that no channel's schedule ever is: the clock was set back, and what was due then is due now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelLease:
    """What the holder of a channel is to post within its lease: these, as one message."""

    channel: str
    token: int
    posts: tuple[Post, ...]
    thread_ts: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Claimed:
    """The turns taken, and after how many seconds to ask again (None: nothing waits)."""

    turns: tuple[ChannelLease, ...]
    next_in: float | None


class ChannelLeases(Repository):
    """The channels and who posts to each."""

    def __init__(self, database: Database, timings: LeaseTimings) -> None:
        super().__init__(database)
        self.timings = timings

    @writes
    def claim(self, tx: Transaction, *, limit: int, besides: Collection[str] = ()) -> Claimed:
        """Lease up to `limit` channels that are due, `besides` those to which the caller is still posting."""
        timings = self.timings
        paced = slack_state.paced_posts(tx)
        values = {"now": tx.now, "seconds": timings.lease, "besides": [*besides]}
        most = min(paced.allowed, limit) if paced else limit
        leased = tx.execute(_LEASE, {**values, "limit": most}).all() if most > 0 else ()
        turns = [turn for lease in leased if (turn := _turn(tx, lease, timings=timings))]
        if paced:
            slack_state.take(tx, paced.row, slack_state.POST, slack_state.POSTS, count=len(turns))
        next_in = _next_in(tx, values)
        if next_in is not None and paced:
            next_in = max(next_in, paced.wait)
        return Claimed(turns=tuple(turns), next_in=next_in)

    @probes
    def broken(self, tx: Transaction) -> dict[str, str]:
        """Channels that reject posts, and what Slack says of each."""
        return broken_channels(tx)

    @writes
    def take_over(self, tx: Transaction) -> None:
        """Free every channel, and let all that was put off be tried now; only for the one process that is alive.

        By whose clock it was put off is not known: it may have been set back since.
        """
        tx.execute(sa.update(channel_leases).values(lease_until=None))
        tx.execute(sa.update(channel_leases).where(channel_leases.c.due_at > tx.now).values(due_at=tx.now))
        tx.execute(sa.update(channel_leases).where(channel_leases.c.tat > tx.now).values(tat=tx.now))
        dead_letters.take_over(tx)


def broken_channels(tx: Transaction) -> dict[str, str]:
    """Channels that reject posts, and what Slack says of each."""
    return {row.channel: row.trouble for row in tx.execute(_BROKEN)}


c = channel_leases.c
_BROKEN = (
    sa.select(c.channel, c.trouble)
    .where(c.trouble != sa.literal("", literal_execute=True))
    .order_by(c.channel)
)
_BESIDES = c.channel.not_in(sa.bindparam("besides", expanding=True))
_IS_FREE = sa.or_(c.lease_until.is_(None), c.lease_until <= NOW, c.lease_until > NOW + SECONDS)
# A time further ahead than any that is written means that the clock was set back.
_IS_DUE = c.due_at.is_not(None) & sa.or_(c.due_at <= NOW, c.due_at > NOW + FARTHEST, c.tat > NOW + SET_BACK)


def due_channels(which: sa.ColumnElement[bool], *, free: sa.ColumnElement[bool] = _IS_FREE) -> Any:
    """The statement that leases those of these channels that are due."""
    due = sa.select(c.channel).where(which, _IS_DUE, free).order_by(c.due_at).limit(sa.bindparam("limit"))
    return (
        sa.update(channel_leases)
        .where(c.channel.in_(due.with_for_update(skip_locked=True)))
        .values(lease_until=NOW + SECONDS, token=c.token + 1)
        .returning(channel_leases)
    )


_LEASE = due_channels(_BESIDES)
_NEXT = sa.select(sa.func.min(sa.case((_IS_FREE, c.due_at), else_=c.lease_until))).where(
    _BESIDES, c.due_at.is_not(None)
)


def _next_in(tx: Transaction, values: Mapping[str, Any]) -> float | None:
    at = tx.scalar(_NEXT, values)
    return None if at is None else max(0.0, min(float(at) - tx.now, FARTHEST))


def _turn(tx: Transaction, lease: sa.Row[Any], *, timings: LeaseTimings) -> ChannelLease | None:
    # What was being sent when its lease ended may be in the channel, or still arrive.
    dead_letters.look_for(tx, _LEFT, {"of": lease.channel}, after=timings.read_pause / 2)
    if (lease.tat or 0.0) > tx.now + SET_BACK:
        tx.execute(LEASE, {"of": lease.channel, "tat": tx.now})
    opening = timings.opens_at(lease.tat or 0.0)
    if tx.now < opening < tx.now + SET_BACK:
        release(tx, lease.channel, lease.token, due_at=opening)
        return None
    turn = (
        _trial(tx, lease, timings=timings)
        or _answer(tx, lease, timings=timings)
        or _delivery(tx, lease, timings=timings)
    )
    if turn is None:
        release(tx, lease.channel, lease.token, due_at=None)
    return turn


_IN = posts.c.channel == sa.bindparam("of")
READY_IN = _IN & UNSENT & IS_READY
"""Posts of a channel that wait to be sent."""
LEASE = sa.update(channel_leases).where(c.channel == sa.bindparam("of"))
"""The lease `of` a channel; what is given besides is set."""
_HELD_LEASE = LEASE.where(c.token == sa.bindparam("held"))
_LEFT = dead_letters.doubted(_IN & UNSENT & (posts.c.state == State.SENDING))
_UNCERTAIN = sa.select(posts.c.id).where(_IN, UNCERTAIN).limit(1)
_WAITING = sa.select(posts.c.id).where(READY_IN).offset(sa.bindparam("more_than")).limit(1)
_SENDING = (
    sa.update(posts)
    .where(posts.c.id.in_(sa.bindparam("ids", expanding=True)))
    .values(state=State.SENDING, attempts=posts.c.attempts + 1)
)
_THREAD = sa.select(sa.case((posts.c.thread_ts != "", posts.c.thread_ts), else_=posts.c.ts)).where(
    posts.c.alert_id == sa.bindparam("alert"), _IN, posts.c.kind == ALERT
)


def _trial(tx: Transaction, lease: sa.Row[Any], *, timings: LeaseTimings) -> ChannelLease | None:
    """In a channel that refused everything, one dead letter is tried, another one each time."""
    if not lease.trouble:
        return None
    return _take(tx, lease, dead_letter(tx, lease.channel), timings=timings)


def _answer(tx: Transaction, lease: sa.Row[Any], *, timings: LeaseTimings) -> ChannelLease | None:
    """A person waits for it: before all alerts, and in a message of its own."""
    first = next_answer(tx, lease.channel)
    return _take(tx, lease, first, timings=timings, thread_ts=first[0].thread_ts) if first else None


def _delivery(tx: Transaction, lease: sa.Row[Any], *, timings: LeaseTimings) -> ChannelLease | None:
    in_doubt = tx.execute(_UNCERTAIN, {"of": lease.channel}).first() is not None
    incidents = waiting_incidents(tx, lease.channel, limit=MANY_INCIDENTS, in_order=in_doubt)
    many = len(incidents) == MANY_INCIDENTS
    if not many or lease.token % 2:
        first = _take(tx, lease, incidents[:1], timings=timings)
        return first or _other(tx, lease, timings=timings, in_doubt=in_doubt)
    other = _other(tx, lease, timings=timings, in_doubt=in_doubt)
    return other or _take(tx, lease, incidents[:1], timings=timings)


def _other(
    tx: Transaction, lease: sa.Row[Any], *, timings: LeaseTimings, in_doubt: bool
) -> ChannelLease | None:
    """Everything except incidents: one message each, or up to 13 alerts in one where more than five wait."""
    channel = lease.channel
    items = waiting_alerts(tx, channel, limit=BUNDLE, in_order=in_doubt)
    if len(items) <= ALONE:
        return _take(tx, lease, waiting_others(tx, channel, limit=1, in_order=in_doubt), timings=timings)
    if lease.token % REST_EVERY == 0:
        rest = waiting_rest(tx, channel, limit=1, in_order=in_doubt)
        if taken := _take(tx, lease, rest, timings=timings):
            return taken
    fresh = tuple(one for one in items if not one.refusals)
    if len(fresh) < 2:  # what Slack has refused must not take others with it
        return _take(tx, lease, fresh or items[:1], timings=timings)
    # The token makes the key new for each attempt's set of alerts: one that is tried again may have others.
    return _take(tx, lease, fresh, timings=timings, bundle=f"b{lease.token}-{fresh[0].mark}")


def waits(tx: Transaction, channel: str, *, more_than: int) -> bool:
    return tx.execute(_WAITING, {"of": channel, "more_than": more_than}).first() is not None


def _take(
    tx: Transaction,
    lease: sa.Row[Any],
    items: tuple[Post, ...],
    *,
    timings: LeaseTimings,
    bundle: str = "",
    thread_ts: str = "",
) -> ChannelLease | None:
    if not items:
        return None
    thread = thread_ts or _thread_of(tx, items[0])
    values = {
        "ids": [item.id for item in items],
        "bundle": bundle,
        "thread_ts": thread,
        "token": lease.token,
        "tried_until": lease.lease_until + timings.doubt,
        "turned": False,  # it is drawn after this
    }
    tx.execute(_SENDING, values)
    return ChannelLease(
        channel=lease.channel,
        token=lease.token,
        posts=tuple(replace(item, bundle=bundle, thread_ts=thread) for item in items),
        thread_ts=thread,
    )


def _thread_of(tx: Transaction, item: Post) -> str:
    """What follows an alert belongs under its card, and the history of a change under its message."""
    if not (kind_of(item.kind).in_thread and item.alert_id):
        return item.thread_ts
    return tx.scalar(_THREAD, {"alert": item.alert_id, "of": item.channel}) or ""


def release(tx: Transaction, channel: str, token: int, *, due_at: float | None) -> None:
    """Give the channel back; it has its next turn at `due_at`, or when something is planned for it."""
    tx.execute(_HELD_LEASE, {"of": channel, "held": token, "lease_until": None, "due_at": due_at})


RATE_LIMITED = "ratelimited"
"""Slack's word for a call too many."""
LONGEST_DOUBT = 30.0
"""Seconds that a channel pauses at most after a post whose outcome is unknown."""
FIRST_TRIAL = 30.0
"""Seconds until a channel that refuses everything is tried again; the longer it has refused, the longer."""
LONGEST_TRIAL = 600.0
"""Seconds between two such tries, at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """It is in the channel, as message `ts`."""

    ts: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NotSent:
    """Nothing reached Slack, or it asked to wait; again after so many seconds."""

    after: float
    error: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unknown:
    """It may be there. `answered`: Slack has answered, so that nothing is under way any more."""

    error: str = ""
    answered: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelRefused:
    """Slack takes nothing for this channel, or nothing from this token."""

    error: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Unpostable:
    """Slack refuses this one message. `keyless`: it may be there, but has nothing by which it could be found."""

    error: str
    keyless: bool = False


Outcome = Sent | NotSent | Unknown | ChannelRefused | Unpostable


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """Whether the lease was still held, and whether its channel broke or recovered just now."""

    held: bool
    broke: bool = False
    recovered: bool = False
    gave_up: bool = False
    """Slack has refused this very message so often that it isn't tried again."""


Report = Callable[[ChannelLease, Outcome, Settled], PlannedPost | None]
"""Words the reports of an outcome to other places; planned in the transaction that records the outcome."""


class Outcomes(Repository):
    """The outcome of each lease."""

    def __init__(self, database: Database, timings: LeaseTimings) -> None:
        super().__init__(database)
        self._timings = timings

    async def settle(self, turn: ChannelLease, outcome: Outcome, *, report: Report | None = None) -> Settled:
        """Record an outcome and plan its reports.

        What waits in a channel that broke, or died in one that recovered, follows in portions, as much may wait there.
        A process that dies meanwhile leaves the rest to the next try of the channel, or to what revives dead letters.
        """
        settled = await self._settle(turn, outcome, report)
        if settled.held and isinstance(outcome, ChannelRefused):
            await self._refuse_all(turn.channel)
        if settled.recovered:
            await raise_dead(self.database, turn.channel)
        return settled

    @writes
    def _settle(
        self, tx: Transaction, turn: ChannelLease, outcome: Outcome, report: Report | None
    ) -> Settled:
        settled = _settle(tx, turn, outcome, timings=self._timings)
        if isinstance(outcome, NotSent) and outcome.error == RATE_LIMITED:
            slack_state.throttled_post(tx, turn.channel, outcome.after)
        if report and (planned := report(turn, outcome, settled)):
            outbox.plan(tx, planned, workspace=turn.posts[0].workspace)
        return settled

    async def close_channel(self, channel: str, error: str, *, report: Report, used: bool) -> None:
        """Slack says that a channel takes nothing any more, before anything was posted there.

        One that is not `used` by the settings matters only where something was subscribed or posted.
        """
        if await self._close(channel, error, report, used=used):
            await self._refuse_all(channel)

    async def _refuse_all(self, channel: str) -> None:
        while await self._refuse_some(channel) == AT_ONCE:
            pass

    @writes
    def _refuse_some(self, tx: Transaction, channel: str) -> int:
        """Mark a portion of what waits in a broken channel as refused; returns how many."""
        lease = tx.execute(_lease_of(channel)).one_or_none()
        if lease is None or not lease.trouble:  # it took a post meanwhile
            return 0
        return tx.execute(_REFUSED, {"of": channel, "error": lease.trouble}).rowcount

    @writes
    def _close(self, tx: Transaction, channel: str, error: str, report: Report, *, used: bool) -> bool:
        """Whether it broke just now."""
        if not (used or _is_used(tx, channel)):
            return False
        tx.execute(tx.insert_once(channel_leases), {"channel": channel})
        lease = tx.execute(_lease_of(channel)).one()
        if lease.trouble and not outbox.new_id(error):
            return False
        unsent = sa.exists().where(posts.c.channel == channel, ANY_UNSENT)
        due = tx.now + FIRST_TRIAL if tx.scalar(sa.select(unsent)) else None
        changed = {"trouble": error, "trouble_since": tx.now, "due_at": due}
        tx.execute(LEASE, {"of": channel, **changed})
        turn = ChannelLease(channel=channel, token=lease.token, posts=())
        if planned := report(turn, ChannelRefused(error=error), Settled(held=True, broke=True)):
            outbox.plan(tx, planned, workspace="")
        return True

    async def forget_unused_channels(self, used: Collection[str], *, errors: Collection[str]) -> None:
        """Give up channels that neither the settings (`used`) nor a subscription names.

        Only those with one of these errors, and those that have another id now.
        """
        for channel in await self._unused(used, errors):
            await outbox.give_up(self.database, channel)

    @reads
    def _unused(self, tx: Transaction, used: Collection[str], errors: Collection[str]) -> Sequence[str]:
        c = channel_leases.c
        named = sa.union(sa.select(subscriptions.c.channel), sa.select(digests.c.channel))
        ended = sa.or_(c.trouble.in_(errors), c.trouble.startswith(outbox.moved_to("")))
        unused = ended & c.channel.not_in(named) & c.channel.not_in(used)
        return tx.scalars(sa.select(c.channel).where(unused).order_by(c.channel)).all()

    async def open_channel(self, channel: str, *, report: Report) -> None:
        """Slack says that a channel takes posts again: what was refused there is posted and repainted now."""
        while await self._repaint(channel) == AT_ONCE:
            pass
        if await self._open(channel, report):
            await raise_dead(self.database, channel)

    @writes
    def _repaint(self, tx: Transaction, channel: str) -> int:
        return jobs.move_all(tx, PAINT, channel, sooner=tx.now)

    @writes
    def _open(self, tx: Transaction, channel: str, report: Report) -> bool:
        """Whether it was broken."""
        lease = tx.execute(_lease_of(channel)).one_or_none()
        if lease is None or not lease.trouble:
            return False
        changed = {"trouble": "", "trouble_since": None, "due_at": tx.now}
        tx.execute(LEASE, {"of": channel, **changed})
        turn = ChannelLease(channel=channel, token=lease.token, posts=())
        if planned := report(turn, Sent(ts=""), Settled(held=True, recovered=True)):
            outbox.plan(tx, planned, workspace="")
        return True


def _is_used(tx: Transaction, channel: str) -> bool:
    tables = (channel_leases, subscriptions, digests)
    return any(tx.scalar(sa.select(sa.exists().where(table.c.channel == channel))) for table in tables)


def _lease_of(channel: str) -> sa.Select[Any]:
    return sa.select(channel_leases).where(channel_leases.c.channel == channel).with_for_update()


_HELD = (
    sa.select(channel_leases)
    .where(channel_leases.c.channel == sa.bindparam("of"), channel_leases.c.token == sa.bindparam("held"))
    .with_for_update()
)
# In the order of their index: without it, PostgreSQL reads all that waits there for each portion.
_PORTION = sa.select(posts.c.id).where(READY_IN).order_by(posts.c.urgency.desc(), posts.c.id).limit(AT_ONCE)
_REFUSED = sa.update(posts).where(posts.c.id.in_(_PORTION)).values(state=State.DEAD)


def _settle(tx: Transaction, turn: ChannelLease, outcome: Outcome, *, timings: LeaseTimings) -> Settled:
    """Write the outcome. A turn whose lease was lost changes only what it knows for sure: that it was sent."""
    lease = tx.execute(_HELD, {"of": turn.channel, "held": turn.token}).one_or_none()
    if isinstance(outcome, Sent):
        _mark_sent(tx, turn, outcome.ts)
    if lease is None:
        outbox.wake(tx, [turn.channel])  # what waited because this was uncertain
        return Settled(held=False)
    if isinstance(outcome, ChannelRefused):
        return _break(tx, turn, lease, outcome)
    if not isinstance(outcome, Sent):
        after = _keep(tx, turn, outcome, timings=timings)
        if after is not None:
            if lease.trouble and isinstance(outcome, Unknown):
                after = _pause(lease, now=tx.now)
            release(tx, turn.channel, turn.token, due_at=tx.now + min(after, FARTHEST))
            return Settled(held=True)
    settled = _go_on(tx, turn, lease, timings=timings, works=isinstance(outcome, Sent))
    gave_up = isinstance(outcome, Unpostable) and turn.posts[0].refusals + 1 == MOST_REFUSALS
    return replace(settled, gave_up=gave_up)


def _keep(
    tx: Transaction,
    turn: ChannelLease,
    outcome: NotSent | Unknown | Unpostable,
    *,
    timings: LeaseTimings,
) -> float | None:
    """Mark what is not sent; returns the channel's pause, None when it goes on as after a message."""
    match outcome:
        case NotSent():
            _mark(tx, turn, state=State.READY, error=outcome.error)
            return outcome.after
        case Unknown():
            over = {"tried_until": tx.now} if outcome.answered else {}
            pause = timings.read_pause / 2
            dead_letters.look_for(tx, _DOUBTED, {**_ours(turn), "error": outcome.error, **over}, after=pause)
            return min(LONGEST_DOUBT, pause * 2.0 ** (_uncertain(tx, turn.channel) - 1))
        case Unpostable():
            keyless = {"unsure": True, "keyless": True} if outcome.keyless else {}
            tx.execute(_REFUSED_ITSELF, {**_ours(turn), "error": outcome.error, **keyless})
            return 0.0 if outcome.keyless else None


def _uncertain(tx: Transaction, channel: str) -> int:
    """How many messages are uncertain, up to ten: with each of them it is likelier that Slack is down.

    Posts that share a message count once, or one such message would hold up the channel.
    """
    message = sa.case((posts.c.bundle != "", posts.c.bundle), else_=posts.c.dedupe)
    which = sa.select(message).where(posts.c.channel == channel, UNCERTAIN).distinct().limit(10)
    return len(tx.scalars(which).all())


_MINE = posts.c.id.in_(sa.bindparam("ids", expanding=True)) & (posts.c.token == sa.bindparam("held"))
_TRIED = _MINE & posts.c.state.in_([State.SENDING, State.UNCERTAIN])
_MARK, _DOUBTED = sa.update(posts).where(_TRIED), dead_letters.doubted(_TRIED)
_REFUSED_ITSELF = _MARK.values(state=State.DEAD, refusals=posts.c.refusals + 1)
# Also when another process has given it up meanwhile, as long as none has tried it again.
_MARK_SENT = (
    sa.update(posts)
    .where(_MINE, posts.c.state.in_([State.SENDING, State.UNCERTAIN, State.READY, State.DEAD]))
    .returning(posts.c.alert_id, posts.c.kind)
)
_DRAWN = sa.select(posts.c.id, posts.c.version, posts.c.clicked).where(
    posts.c.id.in_(sa.bindparam("ids", expanding=True)), posts.c.state == State.SENT
)


def _ours(turn: ChannelLease) -> dict[str, Any]:
    return {"ids": [post.id for post in turn.posts], "held": turn.token}


def _mark(tx: Transaction, turn: ChannelLease, **values: Any) -> None:
    tx.execute(_MARK, {**_ours(turn), **values})


def _mark_sent(tx: Transaction, turn: ChannelLease, ts: str) -> None:
    values = {"state": State.SENT, "ts": ts, "sent_at": tx.now, "unsure": False, "error": ""}
    sent = tx.execute(_MARK_SENT, {**_ours(turn), **values}).all()
    drawn = {post.id: post.version for post in turn.posts}
    stale = [row for row in tx.execute(_DRAWN, {"ids": [*drawn]}) if row.version != drawn[row.id]]
    if stale:  # it was changed while it was posted
        outbox.put_paint(tx, {(turn.channel, ts)}, clicked=any(row.clicked for row in stale))
    look_now(tx, [row.alert_id for row in sent if row.kind == ALERT])


def _go_on(
    tx: Transaction,
    turn: ChannelLease,
    lease: sa.Row[Any],
    *,
    timings: LeaseTimings,
    works: bool,
) -> Settled:
    """After an answer: pace the lease, and end its trouble when it `works` again."""
    tat = tx.now + timings.period
    if lease.tat is not None and lease.tat - tx.now < SET_BACK:
        tat = max(lease.tat, tx.now) + timings.period
    values: dict[str, Any] = {"tat": tat}
    recovered = bool(lease.trouble) and works
    if recovered:
        values |= {"trouble": "", "trouble_since": None}
    tx.execute(LEASE, {"of": turn.channel, **values})
    due: float | None = max(tx.now, timings.opens_at(tat))
    if lease.trouble and not recovered:
        due = tx.now + _pause(lease, now=tx.now)
    elif not waits(tx, turn.channel, more_than=0):
        due = None
    release(tx, turn.channel, turn.token, due_at=due)
    return Settled(held=True, recovered=recovered)


def _pause(lease: sa.Row[Any], *, now: float) -> float:
    since = now if lease.trouble_since is None else lease.trouble_since
    return min(LONGEST_TRIAL, max(FIRST_TRIAL, now - since))


def _break(tx: Transaction, turn: ChannelLease, lease: sa.Row[Any], outcome: ChannelRefused) -> Settled:
    _mark(tx, turn, state=State.DEAD, error=outcome.error)
    since = lease.trouble_since if lease.trouble else tx.now
    # Slack answers that there is no channel of an old id; its new one is what helps.
    trouble = lease.trouble if outbox.new_id(lease.trouble) else outcome.error
    tx.execute(LEASE, {"of": turn.channel, "trouble": trouble, "trouble_since": since})
    release(tx, turn.channel, turn.token, due_at=tx.now + _pause(lease, now=tx.now))
    return Settled(held=True, broke=not lease.trouble)
