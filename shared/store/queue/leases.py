"""What is posted to a channel next, and what becomes of it: one job of the kind `post` for each channel.

    ready -> sending -> sent
                     -> uncertain -> (see lookups)
                     -> dead -> (tried again now and then: sent)

Whoever has the job of a channel posts one message and records its outcome in the transaction that frees the channel.
Who lost it writes with an old token and changes nothing but what it knows for sure. A post that is found `sending` was
left by a process that died: its outcome is unknown, and while it is looked up the channel goes on with what does not
follow it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import sqlalchemy as sa

from shared.store import facts, jobs
from shared.store.db.engine import AT_ONCE, Database, Repository, Transaction, probes, reads, writes
from shared.store.db.schema import posts
from shared.store.facts import DIGEST, SUBSCRIPTION
from shared.store.jobs import ASKED_FOR, ORDINARY, PAINT, POST, Job, look_now
from shared.store.queue import dead_letters, outbox, slack_state
from shared.store.queue.dead_letters import MOST_REFUSALS, raise_dead
from shared.store.queue.outbox import ChannelState, PlannedPost, state_of
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
    token: int = 0
    posts: tuple[Post, ...] = ()
    thread_ts: str = ""
    job: Job | None = None
    """None: nobody posts, and Slack has said something about the channel."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Turn:
    """A channel that somebody has, as it stands."""

    job: Job
    until: float
    """The end of the lease."""
    state: ChannelState
    timings: LeaseTimings

    @property
    def channel(self) -> str:
        return self.job.key


class Posts:
    """As many posts as Slack takes, over all bots: any number, until it has throttled them."""

    def free(self, tx: Transaction) -> Mapping[int, int]:
        paced = slack_state.paced_posts(tx)
        return dict.fromkeys((ASKED_FOR, ORDINARY), paced.allowed) if paced else {}

    def took(self, tx: Transaction, count: int) -> None:
        if paced := slack_state.paced_posts(tx):
            slack_state.take(tx, paced.row, slack_state.POST, slack_state.POSTS, count=count)


class ChannelLeases(Repository):
    """The channels and who posts to each."""

    def __init__(self, database: Database, timings: LeaseTimings) -> None:
        super().__init__(database)
        self.timings = timings

    @writes
    def turn(self, tx: Transaction, job: Job) -> ChannelLease | None:
        """What is to be posted to a channel; None: nothing for now, or somebody else has it."""
        row = jobs.held(tx, job)
        if row is None:
            return None
        turn = _Turn(job=job, until=row.due_at, state=state_of(row), timings=self.timings)
        return _turn(tx, turn)

    @probes
    def broken(self, tx: Transaction) -> dict[str, str]:
        """Channels that reject posts, and what Slack says of each."""
        return outbox.broken_channels(tx)


def _turn(tx: Transaction, turn: _Turn) -> ChannelLease | None:
    # What was being sent when its lease ended may be in the channel, or still arrive.
    dead_letters.look_for(tx, _LEFT, {"of": turn.channel}, after=turn.timings.read_pause / 2)
    wait = _opens_at(turn, tx.now) - tx.now
    if wait > 0.0:
        jobs.again(tx, turn.job, after=wait, changed_after=wait, attempts=0)
        return None
    lease = _trial(tx, turn) or _answer(tx, turn) or _delivery(tx, turn)
    if lease is None:
        jobs.again(tx, turn.job, after=None, attempts=0)
    return lease


def _opens_at(turn: _Turn, now: float) -> float:
    """When the channel may have its next message; one that is scheduled far ahead was so before the clock was set back."""
    tat = turn.state.tat
    return turn.timings.opens_at(tat) if tat <= now + SET_BACK else now


_IN = posts.c.channel == sa.bindparam("of")
READY_IN = _IN & UNSENT & IS_READY
"""Posts of a channel that wait to be sent."""
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


def _trial(tx: Transaction, turn: _Turn) -> ChannelLease | None:
    """In a channel that refused everything, one dead letter is tried, another one each time."""
    return _take(tx, turn, dead_letter(tx, turn.channel)) if turn.state.trouble else None


def _answer(tx: Transaction, turn: _Turn) -> ChannelLease | None:
    """A person waits for it: before all alerts, and in a message of its own."""
    first = next_answer(tx, turn.channel)
    return _take(tx, turn, first, thread_ts=first[0].thread_ts) if first else None


def _delivery(tx: Transaction, turn: _Turn) -> ChannelLease | None:
    in_doubt = tx.execute(_UNCERTAIN, {"of": turn.channel}).first() is not None
    incidents = waiting_incidents(tx, turn.channel, limit=MANY_INCIDENTS, in_order=in_doubt)
    many = len(incidents) == MANY_INCIDENTS
    if many and turn.state.turns % 2:
        return _other(tx, turn, in_doubt=in_doubt) or _take(tx, turn, incidents[:1])
    return _take(tx, turn, incidents[:1]) or _other(tx, turn, in_doubt=in_doubt)


def _other(tx: Transaction, turn: _Turn, *, in_doubt: bool) -> ChannelLease | None:
    """Everything except incidents: one message each, or up to 13 alerts in one where more than five wait."""
    channel = turn.channel
    items = waiting_alerts(tx, channel, limit=BUNDLE, in_order=in_doubt)
    if len(items) <= ALONE:
        return _take(tx, turn, waiting_others(tx, channel, limit=1, in_order=in_doubt))
    if turn.state.turns % REST_EVERY == 0 and (
        taken := _take(tx, turn, waiting_rest(tx, channel, limit=1, in_order=in_doubt))
    ):
        return taken
    fresh = tuple(one for one in items if not one.refusals)
    if len(fresh) < 2:  # what Slack has refused must not take others with it
        return _take(tx, turn, fresh or items[:1])
    # The token makes the key new for each attempt's set of alerts: one that is tried again may have others.
    return _take(tx, turn, fresh, bundle=f"b{turn.job.token}-{fresh[0].mark}")


def waits(tx: Transaction, channel: str, *, more_than: int) -> bool:
    return tx.execute(_WAITING, {"of": channel, "more_than": more_than}).first() is not None


def _take(
    tx: Transaction, turn: _Turn, items: tuple[Post, ...], *, bundle: str = "", thread_ts: str = ""
) -> ChannelLease | None:
    if not items:
        return None
    thread = thread_ts or _thread_of(tx, items[0])
    values = {
        "ids": [item.id for item in items],
        "bundle": bundle,
        "thread_ts": thread,
        "token": turn.job.token,
        "tried_until": turn.until + turn.timings.doubt,
        "turned": False,  # it is drawn after this
    }
    tx.execute(_SENDING, values)
    return ChannelLease(
        channel=turn.channel,
        token=turn.job.token,
        job=turn.job,
        posts=tuple(replace(item, bundle=bundle, thread_ts=thread) for item in items),
        thread_ts=thread,
    )


def _thread_of(tx: Transaction, item: Post) -> str:
    """What follows an alert belongs under its card, and the history of a change under its message."""
    if not (kind_of(item.kind).in_thread and item.alert_id):
        return item.thread_ts
    return tx.scalar(_THREAD, {"alert": item.alert_id, "of": item.channel}) or ""


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
        row = jobs.find(tx, POST, "", channel, locked=True)
        trouble = state_of(row).trouble if row else ""
        if not trouble:  # it took a post meanwhile
            return 0
        return tx.execute(_REFUSED, {"of": channel, "error": trouble}).rowcount

    @writes
    def _close(self, tx: Transaction, channel: str, error: str, report: Report, *, used: bool) -> bool:
        """Whether it broke just now."""
        row = jobs.find(tx, POST, "", channel, locked=True)
        if row is None:
            if not (used or channel in _named(tx)):
                return False
            outbox.wake(tx, [channel])
            row = jobs.find(tx, POST, "", channel, locked=True)
        state = state_of(row)
        if state.trouble and not outbox.new_id(error):
            return False
        unsent = sa.exists().where(posts.c.channel == channel, ANY_UNSENT)
        due = tx.now + FIRST_TRIAL if tx.scalar(sa.select(unsent)) else None
        jobs.note(tx, row, asdict(replace(state, trouble=error, trouble_since=tx.now)), due_at=due)
        lease = ChannelLease(channel=channel)
        if planned := report(lease, ChannelRefused(error=error), Settled(held=True, broke=True)):
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
        kept = {*used, *_named(tx)}
        return [
            channel
            for channel, trouble in outbox.broken_channels(tx).items()
            if channel not in kept and (trouble in errors or outbox.new_id(trouble))
        ]

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
        if not reopen(tx, channel):
            return False
        lease = ChannelLease(channel=channel)
        if planned := report(lease, Sent(ts=""), Settled(held=True, recovered=True)):
            outbox.plan(tx, planned, workspace="")
        return True


def reopen(tx: Transaction, channel: str, *, proven_at: float = math.inf) -> bool:
    """End the trouble of a channel that took a post at this time; False: it had none, or has it since."""
    row = jobs.find(tx, POST, "", channel, locked=True)
    state = state_of(row) if row else ChannelState()
    if row is None or not state.trouble or proven_at < state.trouble_since:
        return False
    jobs.note(tx, row, asdict(replace(state, trouble="", trouble_since=0.0)), due_at=tx.now)
    return True


def _named(tx: Transaction) -> set[str]:
    """The channels that have a subscription or a digest."""
    subscribed = {json.loads(one.key)[0] for one in facts.listed(tx, SUBSCRIPTION)}
    return subscribed | {one.key.partition("/")[2] for one in facts.listed(tx, DIGEST)}


# In the order of their index: without it, PostgreSQL reads all that waits there for each portion.
_PORTION = sa.select(posts.c.id).where(READY_IN).order_by(posts.c.urgency.desc(), posts.c.id).limit(AT_ONCE)
_REFUSED = sa.update(posts).where(posts.c.id.in_(_PORTION)).values(state=State.DEAD)


def _settle(tx: Transaction, lease: ChannelLease, outcome: Outcome, *, timings: LeaseTimings) -> Settled:
    """Write the outcome. A turn whose lease was lost changes only what it knows for sure: that it was sent."""
    row = jobs.held(tx, lease.job) if lease.job else None
    if isinstance(outcome, Sent):
        _mark_sent(tx, lease, outcome.ts)
    if row is None or lease.job is None:
        outbox.wake(tx, [lease.channel])  # what waited because this was uncertain
        return Settled(held=False)
    state = replace(state_of(row), turns=state_of(row).turns + 1)
    turn = _Turn(job=lease.job, until=row.due_at, state=state, timings=timings)
    if isinstance(outcome, ChannelRefused):
        return _break(tx, turn, lease, outcome)
    if not isinstance(outcome, Sent):
        after = _keep(tx, lease, outcome, timings=timings)
        if after is not None:
            if state.trouble and isinstance(outcome, Unknown):
                after = _pause(state, now=tx.now)
            _free(tx, turn, state, after=min(after, FARTHEST))
            return Settled(held=True)
    settled = _go_on(tx, turn, works=isinstance(outcome, Sent))
    gave_up = isinstance(outcome, Unpostable) and lease.posts[0].refusals + 1 == MOST_REFUSALS
    return replace(settled, gave_up=gave_up)


def _free(
    tx: Transaction, turn: _Turn, state: ChannelState, *, after: float | None, slot: float = 0.0
) -> None:
    """Give the channel back; it has its next turn after so many seconds, or when something is planned for it.

    `slot`: where something was planned meanwhile, it waits so long: for its pace.
    """
    changed = slot if after is None else after
    jobs.again(tx, turn.job, after=after, changed_after=changed, attempts=0, payload=asdict(state))


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


def _go_on(tx: Transaction, turn: _Turn, *, works: bool) -> Settled:
    """After an answer: pace the channel, and end its trouble when it `works` again."""
    state = turn.state
    scheduled = state.tat if state.tat - tx.now < SET_BACK else 0.0
    tat = max(scheduled, tx.now) + turn.timings.period
    slot = max(0.0, turn.timings.opens_at(tat) - tx.now)
    recovered = bool(state.trouble) and works
    if recovered:
        state = replace(state, trouble="", trouble_since=0.0)
    after: float | None = slot
    if state.trouble:
        after = _pause(state, now=tx.now)
    elif not waits(tx, turn.channel, more_than=0):
        after = None
    _free(tx, turn, replace(state, tat=tat), after=after, slot=slot)
    return Settled(held=True, recovered=recovered)


def _pause(state: ChannelState, *, now: float) -> float:
    since = state.trouble_since if state.trouble else now
    return min(LONGEST_TRIAL, max(FIRST_TRIAL, now - since))


def _break(tx: Transaction, turn: _Turn, lease: ChannelLease, outcome: ChannelRefused) -> Settled:
    _mark(tx, lease, state=State.DEAD, error=outcome.error)
    before = turn.state
    # Slack answers that there is no channel of an old id; its new one is what helps.
    trouble = before.trouble if outbox.new_id(before.trouble) else outcome.error
    since = before.trouble_since if before.trouble else tx.now
    state = replace(before, trouble=trouble, trouble_since=since)
    _free(tx, turn, state, after=_pause(before, now=tx.now))
    return Settled(held=True, broke=not before.trouble)
