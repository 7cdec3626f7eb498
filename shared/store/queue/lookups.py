"""Look-ups of uncertain posts, which have a schedule of their own while their channels go on.

    uncertain -> found in the channel or its thread: sent
              -> not found by two readings, when it can no longer arrive: ready
              -> not readable several times in a row: dead and unsure, looked up again when dead letters are

One reading of a place, which is a channel or a thread, answers for all its uncertain posts of about the same time. It
may take several turns, of different processes: Slack lets some apps read one page of 15 messages a minute
(https://docs.slack.dev/apis/web-api/rate-limits).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

import sqlalchemy as sa

from shared.store.db.columns import NOW, SECONDS
from shared.store.db.engine import Database, Repository, Transaction, probes, writes
from shared.store.db.schema import channel_leases, lookups, posts
from shared.store.queue import outbox, slack_state
from shared.store.queue.cards import look_now
from shared.store.queue.dead_letters import raise_dead
from shared.store.queue.leases import ChannelLease, LeaseTimings, Report, Sent, Settled
from shared.store.queue.post_kinds import ALERT
from shared.store.queue.posts import UNCERTAIN, Post, State, drawable, read_posts

READS = 2
"""Readings that must find nothing before an uncertain post is tried again."""
MOST_FAILED = 6
"""Look-ups in a row that read nothing, from which on a post counts as unsure."""
LONGEST_PAUSE = 60.0
"""Seconds between two tries of a place that can't be read."""
FARTHEST = 300.0
"""Seconds ahead that a look-up may be due at most; what is further was put off before the clock was set back."""
SAME_TIME = 900.0
"""Posts whose attempts are so many seconds apart share a reading; an old one would make it long for all."""
AT_ONCE = 200
"""Posts that one reading looks for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lookup:
    """A place to read within a lease, and the posts to look for."""

    channel: str
    thread_ts: str
    token: int
    posts: tuple[Post, ...]
    since: float
    """When the first of the attempts began, or earlier; Unix seconds by the store's clock, which may be wrong."""
    age: float
    """Seconds since then."""
    position: str = ""
    """Where the reading goes on, as the `Look` before left it; empty: a new one begins."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """What a look-up saw."""

    found: Mapping[str, str] = field(default_factory=dict)
    """The `ts` of messages by the key of their posts."""
    complete: bool = False
    """It was read to the end: what is not found is not there."""
    position: str = ""
    """Where to read on."""
    pages: int = 0
    """How many were read this time."""
    error: str = ""
    after: float | None = None
    """Slack asked to wait so many seconds."""
    hidden: bool = False
    """Slack does not show it, and asking again soon would not help."""


class Lookups(Repository):
    """The places with uncertain posts."""

    def __init__(self, database: Database, timings: LeaseTimings) -> None:
        super().__init__(database)
        self._timings = timings

    @writes
    def claim(self, tx: Transaction, *, limit: int) -> tuple[Lookup, ...]:
        """Lease up to `limit` places that are due."""
        rows = tx.execute(_DUE, {"now": tx.now, "seconds": self._timings.lease, "limit": limit}).all()
        found = (_lease(tx, row, timings=self._timings) for row in rows)
        return tuple(one for one in found if one)

    @writes  # it writes nothing, but would wait behind long reports among the readers
    def next_in(self, tx: Transaction) -> float | None:
        """Seconds until a place is due; None: no post is uncertain."""
        when = tx.scalar(_NEXT, {"now": tx.now, "seconds": self._timings.lease})
        return None if when is None else max(0.0, min(float(when) - tx.now, FARTHEST))

    @probes
    def counts(self, tx: Transaction) -> dict[str, int]:
        """How many posts are uncertain, and how many of them are unsure because they can't be looked up."""
        dead = posts.c.state == sa.literal(State.DEAD.value, literal_execute=True)
        counted = {"uncertain": UNCERTAIN, "unsure": dead & posts.c.unsure}
        query = sa.select(sa.func.count()).select_from(posts)
        return {name: tx.scalar(query.where(which)) or 0 for name, which in counted.items()}

    async def settle(self, lookup: Lookup, look: Look, *, report: Report | None = None) -> Settled:
        """Record what was seen, and let the channel go on with what waited for it.

        A process that lost its lease meanwhile tells only what it found.
        """
        settled = await self._settle(lookup, look, report)
        if settled.recovered:
            await raise_dead(self.database, lookup.channel)
        return settled

    @writes
    def _settle(self, tx: Transaction, lookup: Lookup, look: Look, report: Report | None) -> Settled:
        found = {post.id: look.found[post.key] for post in lookup.posts if post.key in look.found}
        missing = [post.id for post in lookup.posts if post.id not in found]
        _mark_found(tx, found)
        mine = _at(lookup.channel, lookup.thread_ts) & (lookups.c.token == lookup.token)
        row = tx.execute(sa.select(lookups).where(mine).with_for_update()).one_or_none()
        if row is not None:
            if look.complete:
                _mark_absent(tx, missing, began_at=row.began_at)
            elif look.hidden:
                _give_up(tx, missing, look.error)
            elif _is_failure(look):
                _count_failure(tx, missing, look.error)
            outbox.renew_unsure(tx, missing)
            _put_off(tx, lookup, look, timings=self._timings)
        recovered = bool(found) and _go_on(tx, lookup, found, timings=self._timings)
        settled = Settled(held=row is not None, recovered=recovered)
        if recovered and report:
            token = tx.scalar(
                sa.select(channel_leases.c.token).where(channel_leases.c.channel == lookup.channel)
            )
            turn = ChannelLease(channel=lookup.channel, token=token or 0, posts=lookup.posts)
            if planned := report(turn, Sent(ts=next(iter(found.values()))), settled):
                outbox.plan(tx, planned, workspace=lookup.posts[0].workspace)
        return settled


c = lookups.c
_IS_FREE = sa.or_(c.lease_until.is_(None), c.lease_until <= NOW, c.lease_until > NOW + SECONDS)
_DUE = (
    sa.select(lookups)
    .where(sa.or_(c.due_at <= NOW, c.due_at > NOW + FARTHEST), _IS_FREE)
    .order_by(c.due_at)
    .limit(sa.bindparam("limit"))
    .with_for_update(skip_locked=True)
)
_NEXT = sa.select(sa.func.min(sa.case((_IS_FREE, c.due_at), else_=c.lease_until)))


def _at(channel: str, thread_ts: str) -> sa.ColumnElement[bool]:
    return (lookups.c.channel == channel) & (lookups.c.thread_ts == thread_ts)


def _uncertain_at(channel: str, thread_ts: str) -> sa.ColumnElement[bool]:
    return (posts.c.channel == channel) & (posts.c.thread_ts == thread_ts) & UNCERTAIN


_TRIED = sa.func.coalesce(posts.c.tried_until, posts.c.created_at)


def _lease(tx: Transaction, row: sa.Row[Any], *, timings: LeaseTimings) -> Lookup | None:
    here, mine = _at(row.channel, row.thread_ts), _uncertain_at(row.channel, row.thread_ts)
    latest = tx.now + timings.longest  # further ahead: the clock was set back, and the wait starts again
    tx.execute(sa.update(posts).where(mine, posts.c.tried_until > latest).values(tried_until=latest))
    around, began_at, position = row.around, row.began_at, row.position
    group = _group(tx, mine, around) if position else ()
    if not group:
        first = sa.select(_TRIED).where(mine).order_by(posts.c.failed_lookups, _TRIED.desc()).limit(1)
        around, began_at, position = tx.scalar(first), tx.now, ""
        if around is None:
            tx.execute(sa.delete(lookups).where(here))
            return None
        group = _group(tx, mine, around)
    if wait := _wait(tx, row):
        tx.execute(sa.update(lookups).where(here).values(due_at=tx.now + wait))
        return None
    values = {"position": position, "began_at": began_at, "around": around, "token": row.token + 1}
    tx.execute(sa.update(lookups).where(here).values(lease_until=tx.now + timings.lease, **values))
    since = min(post.tried_until or post.created_at for post in group) - timings.longest
    return Lookup(
        channel=row.channel,
        thread_ts=row.thread_ts,
        token=row.token + 1,
        posts=group,
        since=since,
        age=max(0.0, tx.now - since),
        position=position,
    )


def _group(tx: Transaction, mine: sa.ColumnElement[bool], around: float) -> tuple[Post, ...]:
    near = _TRIED.between(around - SAME_TIME, around + SAME_TIME)
    return read_posts(tx, drawable().where(mine, near).order_by(posts.c.id).limit(AT_ONCE))


def _method(thread_ts: str) -> str:
    return slack_state.REPLIES if thread_ts else slack_state.HISTORY


def _wait(tx: Transaction, row: sa.Row[Any]) -> float:
    """Seconds that a place must wait: Slack closed the method, or has throttled it, and another place is being read."""
    limit = slack_state.read_limit(tx, _method(row.thread_ts))
    if limit is None:
        return 0.0
    if closed := slack_state.closed_for(limit, now=tx.now):
        return min(closed, FARTHEST)
    if not slack_state.is_slow(limit, now=tx.now):
        return 0.0
    same = (c.thread_ts != "") if row.thread_ts else (c.thread_ts == "")
    leased = sa.select(sa.func.max(c.lease_until)).where(same, c.lease_until > tx.now)
    until = tx.scalar(leased)
    return 0.0 if until is None else min(1.0, float(until) - tx.now)


def _is_failure(look: Look) -> bool:
    """One that Slack throttled after a page was read has got further; all others would come to an end nowhere."""
    return bool(look.error) and (look.after is None or not look.pages)


def _mark_found(tx: Transaction, found: Mapping[int, str]) -> None:
    """Also what another process has given up meanwhile, as long as none has tried it again."""
    untried = posts.c.id.in_(found) & posts.c.state.in_([State.UNCERTAIN, State.READY, State.DEAD])
    if found:
        values = {"state": State.SENT, "sent_at": tx.now, "unsure": False, "error": "", "failed_lookups": 0}
        # It shows the state at the attempt, which is not known any more: repaint it.
        ts = sa.case(dict(found), value=posts.c.id)
        marked = sa.update(posts).where(untried).values(ts=ts, **values)
        sent = tx.execute(marked.returning(posts.c.alert_id, posts.c.kind, posts.c.channel, posts.c.ts)).all()
        outbox.put_paint(tx, {(row.channel, row.ts) for row in sent})
        look_now(tx, [row.alert_id for row in sent if row.kind == ALERT])


def _mark_absent(tx: Transaction, missing: Collection[int], *, began_at: float) -> None:
    """To be sent again after enough readings, of which the last began when the attempt could no longer arrive."""
    until = posts.c.tried_until
    late = sa.or_(until.is_(None), (until <= began_at) & (until <= tx.now))
    enough = (posts.c.lookups + 1 >= READS) & late
    tx.execute(
        sa.update(posts)
        .where(posts.c.id.in_(missing), UNCERTAIN)
        .values(
            lookups=sa.case((enough, 0), else_=posts.c.lookups + 1),
            state=sa.case((enough, State.READY.value), else_=State.UNCERTAIN.value),
            unsure=sa.not_(enough),
            failed_lookups=0,
        )
    )


def _give_up(tx: Transaction, missing: Collection[int], error: str) -> None:
    lost = sa.update(posts).where(posts.c.id.in_(missing), UNCERTAIN)
    tx.execute(lost.values(state=State.DEAD, error=error, failed_lookups=MOST_FAILED))


def _count_failure(tx: Transaction, missing: Collection[int], error: str) -> None:
    failed = posts.c.failed_lookups + 1
    tx.execute(
        sa.update(posts)
        .where(posts.c.id.in_(missing), UNCERTAIN)
        .values(
            failed_lookups=failed,
            error=error,
            state=sa.case((failed >= MOST_FAILED, State.DEAD.value), else_=State.UNCERTAIN.value),
        )
    )


def _put_off(tx: Transaction, lookup: Lookup, look: Look, *, timings: LeaseTimings) -> None:
    """Free the place until it is due again."""
    failed = min(post.failed_lookups for post in lookup.posts)
    pause = 0.0 if look.position else timings.read_pause
    if look.after is not None:
        pause = look.after
        slack_state.throttled_read(tx, _method(lookup.thread_ts), look.after)
    elif _is_failure(look):
        pause = min(LONGEST_PAUSE, timings.read_pause * 2.0**failed)
    position = "" if look.hidden else look.position
    here = _at(lookup.channel, lookup.thread_ts)
    if tx.scalar(sa.select(posts.c.id).where(_uncertain_at(lookup.channel, lookup.thread_ts)).limit(1)):
        due = tx.now + min(pause, FARTHEST)
        tx.execute(sa.update(lookups).where(here).values(due_at=due, lease_until=None, position=position))
    else:
        tx.execute(sa.delete(lookups).where(here))
    outbox.wake(tx, [lookup.channel])


def _go_on(tx: Transaction, lookup: Lookup, found: Mapping[int, str], *, timings: LeaseTimings) -> bool:
    """Whether its channel, which was broken, takes posts again."""
    here = channel_leases.c.channel == lookup.channel
    lease = tx.execute(sa.select(channel_leases).where(here).with_for_update()).one_or_none()
    if lease is None:
        return False
    began = [
        (post.tried_until or post.created_at) - timings.longest for post in lookup.posts if post.id in found
    ]
    if not lease.trouble or (lease.trouble_since is not None and max(began) < lease.trouble_since):
        return False
    values = {"trouble": "", "trouble_since": None, "due_at": tx.now}
    tx.execute(sa.update(channel_leases).where(here).values(**values))
    return True
