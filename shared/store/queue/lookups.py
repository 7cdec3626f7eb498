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

import sqlalchemy as sa

from shared.store import jobs
from shared.store.db.columns import NOW
from shared.store.db.engine import Database, Repository, Transaction, probes, writes
from shared.store.db.schema import jobs as job_rows
from shared.store.db.schema import posts
from shared.store.jobs import LOOKUP, Job, look_now
from shared.store.queue import outbox, slack_state
from shared.store.queue.dead_letters import raise_dead
from shared.store.queue.leases import ChannelLease, LeaseTimings, Report, Sent, Settled, reopen
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
SLOW_SECONDS = 1.0
"""How long a place waits while another is read, where Slack has throttled the method."""
AT_ONCE = 200
"""Posts that one reading looks for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lookup:
    """A place to read, and the posts to look for, as long as this process has the job."""

    job: Job
    channel: str
    thread_ts: str
    posts: tuple[Post, ...]
    since: float
    """When the first of the attempts began, or earlier; Unix seconds by the store's clock, which may be wrong."""
    age: float
    """Seconds since then."""
    position: str = ""
    """Where the reading goes on, as the `Look` before left it; empty: a new one begins."""
    began_at: float = 0.0
    """When the reading began: it proves nothing about posts that are uncertain only since."""
    around: float = 0.0
    """The attempt whose time it reads."""


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
    def place(self, tx: Transaction, job: Job) -> Lookup | None:
        """What is to be looked for where; None: nothing for now, or somebody else has it."""
        return _place(tx, job, timings=self._timings) if jobs.hold(tx, job) else None

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
        held = jobs.hold(tx, lookup.job)
        if held:
            if look.complete:
                _mark_absent(tx, missing, began_at=lookup.began_at)
            elif look.hidden:
                _give_up(tx, missing, look.error)
            elif _is_failure(look):
                _count_failure(tx, missing, look.error)
            outbox.renew_unsure(tx, missing)
            _put_off(tx, lookup, look, timings=self._timings)
        began = [
            (post.tried_until or post.created_at) - self._timings.longest
            for post in lookup.posts
            if post.id in found
        ]
        recovered = bool(found) and reopen(tx, lookup.channel, proven_at=max(began))
        settled = Settled(held=held, recovered=recovered)
        if recovered and report:
            turn = ChannelLease(channel=lookup.channel, posts=lookup.posts)
            if planned := report(turn, Sent(ts=next(iter(found.values()))), settled):
                outbox.plan(tx, planned, workspace=lookup.posts[0].workspace)
        return settled


def _uncertain_at(channel: str, thread_ts: str) -> sa.ColumnElement[bool]:
    return (posts.c.channel == channel) & (posts.c.thread_ts == thread_ts) & UNCERTAIN


_TRIED = sa.func.coalesce(posts.c.tried_until, posts.c.created_at)


def _place(tx: Transaction, job: Job, *, timings: LeaseTimings) -> Lookup | None:
    channel, _, thread_ts = job.key.partition("/")
    mine = _uncertain_at(channel, thread_ts)
    # Further ahead than it can be: the clock was set back, and the wait starts again.
    for column, latest in ((posts.c.tried_until, tx.now + timings.longest), (posts.c.doubted_at, tx.now)):
        tx.execute(sa.update(posts).where(mine, column > latest).values({column: latest}))
    around, began_at, position = (job.payload.get(name) for name in ("around", "began_at", "position"))
    group = _group(tx, mine, around) if position and around else ()
    if not group:
        first = sa.select(_TRIED).where(mine).order_by(posts.c.failed_lookups, _TRIED.desc()).limit(1)
        around, began_at, position = tx.scalar(first), tx.now, ""
        if around is None:
            jobs.finish(tx, job)
            return None
        group = _group(tx, mine, around)
    if wait := _wait(tx, job, thread_ts):
        jobs.again(tx, job, after=wait, changed_after=wait, attempts=0)
        return None
    since = min(post.tried_until or post.created_at for post in group) - timings.longest
    return Lookup(
        job=job,
        channel=channel,
        thread_ts=thread_ts,
        posts=group,
        since=since,
        age=max(0.0, tx.now - since),
        position=position or "",
        began_at=began_at or tx.now,
        around=around or tx.now,
    )


def _group(tx: Transaction, mine: sa.ColumnElement[bool], around: float) -> tuple[Post, ...]:
    near = _TRIED.between(around - SAME_TIME, around + SAME_TIME)
    return read_posts(tx, drawable().where(mine, near).order_by(posts.c.id).limit(AT_ONCE))


def _method(thread_ts: str) -> str:
    return slack_state.REPLIES if thread_ts else slack_state.HISTORY


def _wait(tx: Transaction, job: Job, thread_ts: str) -> float:
    """Seconds that a place must wait: Slack closed the method, or has throttled it, and another place is being read."""
    limit = slack_state.read_limit(tx, _method(thread_ts))
    if limit is None:
        return 0.0
    if closed := slack_state.closed_for(limit, now=tx.now):
        return min(closed, FARTHEST)
    slow = slack_state.is_slow(limit, now=tx.now)
    return SLOW_SECONDS if slow and tx.scalar(_READ_BEFORE, {"now": tx.now, "job": job.id}) else 0.0


_READ_BEFORE = (
    sa.select(job_rows.c.id)
    .where(job_rows.c.kind == LOOKUP, job_rows.c.token != 0, job_rows.c.due_at > NOW)
    .where(job_rows.c.id < sa.bindparam("job"))  # of two that are claimed together, one goes on
    .limit(1)
)


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
    counts = sa.or_(posts.c.doubted_at.is_(None), posts.c.doubted_at <= began_at)
    readings = posts.c.lookups + sa.case((counts, 1), else_=0)
    enough = (readings >= READS) & late & counts
    tx.execute(
        sa.update(posts)
        .where(posts.c.id.in_(missing), UNCERTAIN)
        .values(
            lookups=sa.case((enough, 0), else_=readings),
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
    if tx.scalar(sa.select(posts.c.id).where(_uncertain_at(lookup.channel, lookup.thread_ts)).limit(1)):
        after = min(pause, FARTHEST)
        payload = {"position": position, "began_at": lookup.began_at, "around": lookup.around}
        jobs.again(tx, lookup.job, after=after, changed_after=after, attempts=0, payload=payload)
    else:
        jobs.finish(tx, lookup.job)
    outbox.wake(tx, [lookup.channel])
