"""The bot's messages: planned once each, posted by the turns of their channels, looked for, updated, and posted again.

A row of `posts` is one message to one channel, or its share of a message that several alerts have in common.

    held -> ready -> sending -> sent
                             -> uncertain -> found in the channel or its thread: sent
                                          -> not found by two readings, when it can no longer arrive: ready
                                          -> not readable several times in a row: unsure
                             -> refused for itself: dead -> (tried again now and then)
                             -> refused for its channel: ready

Each channel has one job of the kind `post`. Whoever has it posts one message and records its outcome in the transaction
that frees the channel. Who lost it writes with an old token and changes nothing but what it knows for sure. A post that
is found `sending` was left by a process that died: its outcome is unknown, and while it is looked up the channel goes on
with what does not follow it.

A look-up is a job of the kind `lookup` for each channel or thread. One reading, under its lease, answers for all its
uncertain posts of about the same time; one that doesn't get to the end is begun again. Slack lets an app of one's own
read fifty pages a minute (https://docs.slack.dev/apis/web-api/rate-limits).

Whoever changes what a message shows raises the `version` of its posts and puts a job of the kind `paint`, whose key is
the channel and the `ts`; a change while it is drawn has it drawn again after that. A second update does no harm.

What Slack refuses to edit (`edit_window_closed`, a deleted message, and the like) is posted again: a card that a less
specific event of its reply posted never said what it should now, so it comes again, in the channel. What a person
changed is said in the card's thread, on a card that is repainted from then on, for a second card in the channel would
look like a second reply. The rest is dropped: counts, settled reminders (the card says it), an Undo (a click on it is
answered), and the recovery of a domain, which has a message of its own.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, field, fields, replace
from functools import partial
from typing import Any, Literal, get_args

import sqlalchemy as sa
from pydantic import TypeAdapter

from shared.api.events import Event, read_event
from shared.domain.alert import PRUNED, Alert
from shared.domain.wall_clock import moment
from shared.frozen import frozen
from shared.records import Actor, AuditEntry, Before
from shared.store import facts, jobs
from shared.store.db.engine import (
    AT_ONCE,
    Database,
    Repository,
    Transaction,
    method,
    portions,
    probes,
    reads,
    writes,
)
from shared.store.db.schema import alerts, audit, deliveries, literal, posts
from shared.store.db.schema import jobs as job_rows
from shared.store.facts import UPDATE
from shared.store.jobs import ASKED_FOR, ORDINARY, Job
from shared.store.post_kinds import ALERT, CURRENT, HISTORY, REPLACED, TURNED, kind_of, names

INCIDENT, AWAITED = 3, 4
"""The urgency of messages that are posted separately, before all others: of incidents, and before them of answers."""
BUNDLE = 13
"""Alerts that share one message: as many as fit with the beginning of each reply and two buttons."""
ALONE = 5
"""Alerts that may wait for a channel and still get a message each: it takes them in five seconds."""
FARTHEST_SECONDS = 3600.0
"""The farthest ahead that a channel may be due."""
SET_BACK_SECONDS = 60.0
"""No channel's schedule is ever further ahead: the clock was set back, and what was due then is due now."""
MOST_REFUSALS = 5
"""The number of tries of a post that Slack refuses, and not its channel."""
RATE_LIMITED = "ratelimited"
"""Slack's word for a call too many."""
LONGEST_DOUBT_SECONDS = 30.0
"""A channel pauses no longer after a post whose outcome is unknown."""
FIRST_TRIAL = 30.0
"""Seconds until a channel that refuses everything is tried again; the longer it has refused, the longer."""
LONGEST_TRIAL = 600.0
"""Seconds between two such tries, at most."""
READS = 2
"""Readings that must find nothing before an uncertain post is tried again."""
MOST_FAILED = 6
"""Look-ups in a row that read nothing, from which on a post counts as unsure."""
LONGEST_LOOKUP_PAUSE = 60.0
"""Seconds between two tries of a place that can't be read."""
FARTHEST_LOOKUP = 300.0
"""Seconds ahead that a look-up may be due at most; what is further was put off before the clock was set back."""
SAME_TIME_SECONDS = 900.0
"""Posts whose attempts are so many seconds apart share a reading; an old one would make it long for all."""
SOUGHT_AT_ONCE = 200
"""Posts that one reading looks for."""
PAUSE_SECONDS = 5.0
"""The pause until a message that could not be repainted is tried again."""
LONGEST_SECONDS = 120.0
"""The longest time for which a repaint is put off."""


State = Literal["ready", "sending", "sent", "uncertain", "unsure", "dead", "held"]
"""The state of a post: `unsure` is one that Slack may have and doesn't let the bot look up, `dead` one that it refuses."""
_UNDER_WAY: tuple[State, ...] = ("sending", "uncertain")
_MOVES: Mapping[str, tuple[tuple[State, ...], State]] = {
    "taken": (("ready",), "sending"),
    # Also where another process has given it up meanwhile.
    "sent": ((*_UNDER_WAY, "ready", "unsure", "dead"), "sent"),
    # As long as none has tried it again; what it showed at the attempt is not known any more.
    "found": (("uncertain", "ready", "unsure", "dead"), "sent"),
    "not sent": (_UNDER_WAY, "ready"),
    "refused": (_UNDER_WAY, "dead"),
    "unanswered": (_UNDER_WAY, "uncertain"),
    # By a process that lost its lease: it may be in the channel, or still arrive.
    "left": (("sending",), "uncertain"),
    "missing": (("uncertain",), "ready"),
    "unreadable": (("uncertain",), "unsure"),
    "revived": (("dead",), "ready"),
    "sought": (("unsure",), "uncertain"),
    "released": (("held",), "ready"),
}
"""The states that a post may have before each event, and the one that it has after it."""

_c = posts.c


def is_in(state: State) -> sa.ColumnElement[bool]:
    """The posts in a state, in the words of the partial indexes: a database uses them for nothing else."""
    return _c.state == literal(state)


UNSENT = _c.state != literal("sent")
"""Unsent posts, in the words of their index: without it, all that a channel ever had would be read."""
ANY_UNSENT = UNSENT & _c.state.in_([state for state in get_args(State) if state != "sent"])
"""Unsent posts of a whole channel: all columns that are given decide between its indexes (see schema)."""
IS_COUNTED = _c.kind.not_in(names(awaited=True)) & UNSENT
"""Posts that count as waiting: a person sees for themselves that an answer hasn't come."""
_OF_CHANNEL = _c.channel == sa.bindparam("of")
READY_IN = _OF_CHANNEL & UNSENT & is_in("ready")
"""Posts of a channel that wait to be sent."""


# -- the rows that messages show: alerts with their deliveries, and entries of the audit


OWN = tuple(alerts.c[field.name] for field in fields(Alert) if field.name in alerts.c)
"""The columns of an alert without its delivery."""
COLUMNS = (*OWN, *(deliveries.c[name] for name in ("body", "found")))
_COLUMN_NAMES = tuple(column.name for column in COLUMNS)
ALERT_ROWS = sa.select(*COLUMNS).join(deliveries, deliveries.c.id == alerts.c.delivery_id)
"""Alerts with their deliveries."""


def alert_of(values: Sequence[Any]) -> Alert:
    """The alert with these values of `COLUMNS`, or of their beginning, which are its `OWN`."""
    columns = dict(zip(_COLUMN_NAMES, values, strict=False))
    body = columns.pop("body", None)
    event = read_event(body) if body else None
    return Alert(**columns, event=event if isinstance(event, Event) else PRUNED)


def read_alerts(
    tx: Transaction, query: sa.Select[Any], values: Mapping[str, Any] | None = None
) -> Sequence[Alert]:
    """The rows of a query on `OWN` columns or on `ALERT_ROWS`."""
    return [alert_of(row) for row in tx.execute(query, values)]


ENTRY_COLUMNS = tuple(audit.c)
"""The columns that a query needs for `entry_of`, in this order."""
_AS_KEPT = ("workspace", "command", "result", "effect", "reason", "undoes", "undone_by", "overtaken_by")
_ACTOR = {"actor_name": "name", "actor_id": "id", "face": "face", "channel": "channel", "via": "via"}
"""The columns of who did it, and the names of their values."""
_UNDOABLE = TypeAdapter(dict[str, Before])


def entry_of(values: Any) -> AuditEntry:
    """The entry of the audit that these values of `ENTRY_COLUMNS` are."""
    row = dict(zip(audit.c.keys(), values, strict=True))
    return AuditEntry(
        number=row["id"],
        at=moment(row["at"]),
        actor=Actor(**{name: row[column] for column, name in _ACTOR.items()}),
        sequences=tuple(json.loads(row["sequences"] or "[]")),
        undoable=read_undoable(row["undoable"]),
        **{name: row[name] for name in _AS_KEPT},
    )


def row_of(entry: AuditEntry) -> dict[str, Any]:
    """The row of a new entry."""
    return {
        **{name: getattr(entry, name) for name in _AS_KEPT},
        **{column: getattr(entry.actor, name) for column, name in _ACTOR.items()},
        "at": entry.at.timestamp(),
        "sequences": json.dumps(entry.sequences) if entry.sequences else "",
        "undoable": write_undoable(entry.undoable),
    }


def read_undoable(text: str) -> dict[str, Before]:
    """The sequences of `write_undoable`."""
    return _UNDOABLE.validate_json(text or "{}")


def write_undoable(undoable: Mapping[str, Before]) -> str:
    """JSON of the sequences that an Undo takes back; empty where there are none."""
    return _UNDOABLE.dump_json({**undoable}).decode() if undoable else ""


# -- the posts themselves


@frozen
class Post:
    """A message to one channel, with what is needed to draw it."""

    id: int
    dedupe: str
    workspace: str
    channel: str
    kind: str
    alert_id: str
    note: str
    bundle: str
    thread_ts: str
    ts: str
    version: int
    tried_until: float | None
    created_at: float
    refusals: int = 0
    failed_lookups: int = 0
    condensed: bool = False
    mention: str = ""
    change: AuditEntry | None = None
    """The change of sequences that it tells of, with what became of them since."""
    alert: Alert | None = None
    """Its alert; None where it belongs to none."""

    @property
    def key(self) -> str:
        """The key in the message's metadata, by which it is found again: the same in all processes."""
        return self.bundle or f"p{hashlib.sha256(self.dedupe.encode()).hexdigest()[:20]}"


_OWN = tuple(_c[field.name] for field in fields(Post) if field.name in _c)
_NAMES = tuple(column.name for column in _OWN)
_CHANGE = len(_NAMES)
_ALERT = _CHANGE + len(ENTRY_COLUMNS)
"""The places at which the columns of a post's change and of its alert begin."""


def drawable() -> sa.Select[Any]:
    """Posts with all that is needed to draw them."""
    source = posts.outerjoin(alerts, alerts.c.id == _c.alert_id)
    source = source.outerjoin(deliveries, deliveries.c.id == alerts.c.delivery_id)
    source = source.outerjoin(audit, audit.c.id == _c.undo)
    return sa.select(*_OWN, *ENTRY_COLUMNS, *COLUMNS).select_from(source)


def read_posts(
    tx: Transaction, query: sa.Select[Any], values: Mapping[str, Any] | None = None
) -> tuple[Post, ...]:
    """The rows of a query on `drawable`."""
    return tuple(
        Post(
            **dict(zip(_NAMES, row, strict=False)),
            change=None if row[_CHANGE] is None else entry_of(row[_CHANGE:_ALERT]),
            alert=None if row[_ALERT] is None else alert_of(row[_ALERT:]),
        )
        for row in tx.execute(query, values)
    )


@frozen
class PlannedPost:
    """A message to come: at most one per `dedupe`."""

    dedupe: str
    channel: str
    kind: str = ALERT
    urgency: int = 0
    note: str = ""
    condensed: bool = False
    mention: str = ""
    held_until: float | None = None
    """It is kept back until then: a quiet time."""
    alert_id: str = ""
    """The alert whose card has the thread into which a message of the bot's own belongs."""
    thread_ts: str = ""
    """The thread in which the person asked that this answers."""
    undo: int = 0
    """The entry of the audit that its Undo button takes back."""


_PLANNED = tuple(field.name for field in fields(PlannedPost))
Planned = Sequence[tuple[str, PlannedPost]]
"""Messages to come, with their workspaces."""


def plan(tx: Transaction, planned: Planned) -> None:
    """Have messages posted, each once for all that plan it.

    Their channels get a turn; one that is pacing itself or in trouble keeps its time.
    """
    rows = [
        {
            **{name: getattr(post, name) for name in _PLANNED},
            "workspace": workspace,
            "state": "ready" if post.held_until is None else "held",
            "created_at": tx.now,
        }
        for workspace, post in planned
    ]
    if rows:
        tx.execute(tx.insert_once(posts), rows)
    jobs.put(tx, "post", *(post.channel for _, post in planned))
    held = {post.channel: post.held_until for _, post in planned if post.held_until is not None}
    for channel, until in sorted(held.items()):
        jobs.put(tx, "release", channel, at=until, how="sooner")


@frozen
class ChannelState:
    """The state that the job of a channel carries: its pace, and its trouble."""

    tat: float = 0.0
    """The theoretical arrival time of GCRA: when the next message would be on schedule."""
    trouble: str = ""
    """Slack's word for why it takes nothing; empty: it does."""
    trouble_since: float = 0.0
    moved_to: str = ""
    """The id that Slack has given the channel instead of this one, which the settings still name."""


def state_of(payload: Mapping[str, Any]) -> ChannelState:
    """The state of a channel from what its job carries; a newer version may have put more there."""
    return ChannelState(**{field.name: payload[field.name] for field in _STATE if field.name in payload})


_STATE = fields(ChannelState)


def channel_of(
    tx: Transaction, channel: str, *, locked: bool = True
) -> tuple[Job, ChannelState] | tuple[None, ChannelState]:
    """The job of a channel, `locked` until the end of the transaction, and its state; None: it has no job."""
    job = jobs.find(tx, "post", "", channel, locked=locked)
    return (job, state_of(job.payload)) if job else (None, ChannelState())


def broken_channels(tx: Transaction) -> dict[str, str]:
    """Channels that reject posts, and what Slack says of each."""
    channels = sa.select(job_rows.c.key, job_rows.c.payload).where(job_rows.c.kind == "post")
    troubles = {row.key: state_of(facts.read(row.payload)).trouble for row in tx.execute(channels)}
    return {channel: trouble for channel, trouble in sorted(troubles.items()) if trouble}


_MOVED = tuple(
    _c[name] for name in ("id", "version", "clicked", "channel", "thread_ts", "ts", "alert_id", "kind")
)


def move(
    tx: Transaction, event: str, which: sa.ColumnElement[bool], *, after: float = 0.0, **values: Any
) -> Sequence[sa.Row[Any]]:
    """Change posts by an event, and have done what follows from their new state.

    Returns those that it changed; none where nothing follows from that. `after`: seconds until those that are uncertain
    are looked for, or as soon as others there.
    """
    before, state = _MOVES[event]
    entered: Mapping[State, dict[str, Any]] = {
        "ready": {"lookups": 0, "held_until": None},
        "sending": {"turned": False},
        "uncertain": {"lookups": 0},
        "sent": {"error": "", "failed_lookups": 0, "sent_at": tx.now},
    }
    moved = sa.update(posts).where(which, _c.state.in_(before))
    moved = moved.values({"state": state, **entered.get(state, {}), **values})
    if state == "sending":  # nothing follows from it, so that nothing is read back in each turn
        tx.execute(moved)
        return ()
    rows = tx.execute(moved.returning(*_MOVED)).all()
    if state == "ready":
        jobs.put(tx, "post", *(row.channel for row in rows))
    elif state == "uncertain":
        keys = [f"{row.channel}/{row.thread_ts}" for row in rows]
        jobs.put(tx, "lookup", *keys, at=tx.now + after, how="sooner")
    elif state == "sent":
        jobs.put(tx, "remind", *(row.alert_id for row in rows if row.kind == ALERT), how="sooner")
    return rows


_REPAINTED = _c.kind.in_(names(repainted=True)) & sa.not_(_c.frozen)


def repaint(tx: Transaction, alerts: Sequence[str], *, clicked: bool = False) -> None:
    """Have every message of these alerts drawn again; `clicked`: ahead of those that no person waits for."""
    if alerts:
        redraw(tx, _c.alert_id.in_(alerts) & _REPAINTED, clicked=clicked)


def redraw(tx: Transaction, which: sa.ColumnElement[bool], *, clicked: bool = False, **values: Any) -> int:
    """Have these posts drawn again, with other values; returns how many there are.

    What isn't in Slack yet is drawn as it is when it is sent.
    """
    by_click = {"clicked": True} if clicked else {}
    changed = sa.update(posts).where(which).values(version=_c.version + 1, **by_click, **values)
    drawn = tx.execute(changed.returning(_c.channel, _c.ts, _c.state)).all()
    put_paint(tx, {(row.channel, row.ts) for row in drawn if row.state == "sent"}, clicked=clicked)
    return len(drawn)


def put_paint(tx: Transaction, messages: Collection[tuple[str, str]], *, clicked: bool = False) -> None:
    """Have messages, by channel and `ts`, updated."""
    keys = [f"{channel}/{ts}" for channel, ts in messages]
    jobs.put(tx, "paint", *keys, how="sooner", rank=ASKED_FOR if clicked else ORDINARY)


def drop_some(tx: Transaction, channel: str) -> int:
    """Drop a portion of what a broken channel never took; what waits for an old id is posted under the new one.

    Returns how many. Where the alert stands under the new id already, it is dropped.
    """
    state = channel_of(tx, channel)[1]
    if not state.trouble:
        return 0
    if state.moved_to:
        there = posts.alias()
        stands = sa.exists().where(there.c.channel == state.moved_to, there.c.alert_id == _c.alert_id)
        unsent = sa.select(_c.id).where(_c.channel == channel, ANY_UNSENT)
        moves = unsent.where(sa.or_(_c.alert_id == "", sa.not_(stands))).limit(AT_ONCE)
        anew = {"state": "ready", "error": "", "refusals": 0}
        moved = tx.update(posts, _c.id.in_(moves), channel=state.moved_to, **anew)
        jobs.put(tx, "post", state.moved_to)
        if moved == AT_ONCE:
            return moved
    some = sa.select(_c.id).where(_c.channel == channel, ANY_UNSENT).limit(AT_ONCE)
    dropped = tx.delete(posts, _c.id.in_(some))
    if dropped < AT_ONCE:
        jobs.drop(tx, "post", "", channel)  # an attempt under way says nothing any more
    return dropped


@frozen
class LeaseTimings:
    """The pace of a channel and the times of its lease, in seconds."""

    period: float = 1.0
    """Between messages of a channel (Slack, rate limits); a rested one takes two at once, as Slack does and a little more."""
    lease: float = 10.0
    """Longer than any call that is made under it."""
    read_pause: float = 2.0
    """Between look-ups of an uncertain message: what was accepted is in the history by then."""
    doubt: float = 10.0
    """The time after its lease in which an attempt that was never answered may still turn up."""

    @property
    def patience(self) -> float:
        """The longest time that a call under the lease may take."""
        return 0.8 * self.lease

    @property
    def longest(self) -> float:
        """The time after the claim in which an attempt may still turn up."""
        return self.lease + self.doubt


@frozen
class ChannelLease:
    """The posts that the holder of a channel's job is to post within its lease, as one message."""

    channel: str
    job: Job
    posts: tuple[Post, ...]


@frozen
class Sent:
    """It is in the channel, as message `ts`."""

    ts: str


@frozen
class NotSent:
    """Nothing reached Slack, or it asked to wait; again after so many seconds."""

    after: float
    error: str = ""


@frozen
class Unknown:
    """It may be there. `answered`: Slack has answered, so that nothing is under way any more."""

    error: str = ""
    answered: bool = False


@frozen
class ChannelRefused:
    """Slack takes nothing for this channel, or nothing from this token."""

    error: str
    moved_to: str = ""
    """The id that the channel has now."""


@frozen
class Unpostable:
    """Slack refuses this one message."""

    error: str


Outcome = Sent | NotSent | Unknown | ChannelRefused | Unpostable


Report = Callable[[str, Sequence[Post], Outcome], PlannedPost | None]
"""Words what other places learn where a channel breaks or recovers, or Slack refuses a message for good.

It is planned in the transaction that records the outcome.
"""


@frozen
class Lookup:
    """A place to read, and the posts to look for, as long as this process has the job."""

    job: Job
    channel: str
    thread_ts: str
    posts: tuple[Post, ...]
    since: float
    """The time at which the first of the attempts began, or earlier; Unix seconds by the store's clock, which may be wrong."""
    began_at: float
    """The time at which the reading began: what arrives later may be missing in it."""


@frozen
class Look:
    """The result of a look-up."""

    found: Mapping[str, str] = field(default_factory=dict)
    """The `ts` of messages by the key of their posts."""
    complete: bool = False
    """It was read to the end: what is not found is not there."""
    error: str = ""
    """The reason why it was not."""
    after: float | None = None
    """Slack asked to wait so many seconds."""
    hidden: bool = False
    """Slack does not show it, and asking again soon would not help."""


_UNCERTAIN, _DEAD = is_in("uncertain"), is_in("dead")
IS_GIVEN_UP = _c.refusals >= literal(MOST_REFUSALS)
"""Slack refuses this very post, for good. Nothing tries it again but a new start of the bot."""

# The queries over what is not sent are built once: this takes longer than their execution. Each reads an index in its
# own order, and so what it returns, however much waits in the channel.
_BEFORE = posts.alias("before")
# What belongs into the thread of an uncertain card comes after it: the card's `ts` is the thread.
_FOLLOWS_UNCERTAIN = (
    sa.exists()
    .where(
        _BEFORE.c.channel == _c.channel,
        _BEFORE.c.state == literal("uncertain"),
        _BEFORE.c.id < _c.id,
        # As an expression, so that no engine reads all that an alert, or none, ever had.
        _BEFORE.c.alert_id + "" == _c.alert_id,
        _c.alert_id != "",
    )
    .correlate(posts)
)


def _waiting(*which: sa.ColumnElement[bool], by: Sequence[Any], most: int = 1) -> sa.Select[Any]:
    return drawable().where(READY_IN, *which, sa.not_(_FOLLOWS_UNCERTAIN)).order_by(*by).limit(most)


_BY_URGENCY = (_c.urgency.desc(), _c.id)
_URGENT = _waiting(_c.urgency >= INCIDENT, by=_BY_URGENCY)
_ALERTS = _waiting(_c.kind == literal(ALERT), _c.urgency < INCIDENT, by=_BY_URGENCY, most=BUNDLE)
# By an expression, for which there is no index: SQLite would take that by urgency, and sort all that waits.
_REST = _waiting(_c.kind != literal(ALERT), _c.urgency + 0 < INCIDENT, by=(_c.id,))
_LEFT = sa.select(_c.id).where(_OF_CHANNEL, UNSENT, _c.state == "sending")
_THREAD = sa.select(sa.case((_c.thread_ts != "", _c.thread_ts), else_=_c.ts)).where(
    _c.alert_id == sa.bindparam("alert"), _OF_CHANNEL, _c.kind == ALERT
)


_TRIED_AT = sa.func.coalesce(_c.tried_until, _c.created_at)


class Posting(Repository):
    """The channels, who posts to each, and the places with uncertain posts."""

    def __init__(self, database: Database, timings: LeaseTimings) -> None:
        super().__init__(database)
        self.timings = timings

    @writes
    def turn(self, tx: Transaction, job: Job) -> ChannelLease | None:
        """Take what is to be posted to a channel; None for nothing now, or where someone else has it."""
        state = _held(tx, job)
        if state is None:
            return None
        if left := tx.scalars(_LEFT, {"of": job.key}).all():
            move(tx, "left", _c.id.in_(left), after=self.timings.read_pause / 2)
        wait = max(0.0, state.tat - self.timings.period - tx.now)
        chosen = () if wait else _next(tx, job.key, state)
        if not chosen:
            jobs.again(tx, job, after=wait or None, changed_after=wait)
            return None
        # The token makes the key new for each attempt's set of alerts: one that is tried again may have others.
        bundle = f"b{job.token}-{chosen[0].id}" if len(chosen) > 1 else ""
        thread, first = chosen[0].thread_ts, chosen[0]
        if first.alert_id and kind_of(first.kind).in_thread:  # what follows an alert belongs under its card
            thread = tx.scalar(_THREAD, {"alert": first.alert_id, "of": job.key}) or ""
        until = (job.due_at or tx.now) + self.timings.doubt
        these = _c.id.in_([post.id for post in chosen])
        attempt: dict[str, Any] = {"token": job.token, "tried_until": until}
        move(tx, "taken", these, **attempt, bundle=bundle, thread_ts=thread)
        taken = tuple(replace(post, bundle=bundle, thread_ts=thread) for post in chosen)
        return ChannelLease(channel=job.key, job=job, posts=taken)

    broken = probes(method(broken_channels))

    @writes
    def settle(
        self, tx: Transaction, turn: ChannelLease, outcome: Outcome, *, report: Report | None = None
    ) -> bool:
        """Record an outcome and plan its report; returns whether it is news about the channel, or the end of the post.

        A turn whose lease was lost changes only what it knows for sure: that it was sent.
        """
        state = _held(tx, turn.job)
        if isinstance(outcome, Sent):
            drawn = {post.id: post.version for post in turn.posts}
            _mark_sent(tx, "sent", _attempt(turn), dict.fromkeys(drawn, outcome.ts), drawn)
        if state is None:
            jobs.put(tx, "post", turn.channel)  # what waited because this was uncertain
            return False
        is_news = self._settle_held(tx, turn, state, outcome)
        if is_news:
            _tell(tx, report, turn.channel, turn.posts, outcome)
        return is_news

    def _settle_held(
        self, tx: Transaction, turn: ChannelLease, state: ChannelState, outcome: Outcome
    ) -> bool:
        ours = _attempt(turn)
        trial = min(LONGEST_TRIAL, max(FIRST_TRIAL, tx.now - (state.trouble_since or tx.now)))
        is_news, after, sleeps = False, trial, False
        match outcome:
            case Sent():
                is_news = bool(state.trouble)
                state = replace(state, trouble="", trouble_since=0.0, moved_to="")
            case Unpostable():
                move(tx, "refused", ours, error=outcome.error, refusals=_c.refusals + 1)
                is_news = turn.posts[0].refusals + 1 == MOST_REFUSALS  # it isn't tried again
            case NotSent():
                move(tx, "not sent", ours, error=outcome.error)
                after = outcome.after
            case Unknown():
                over = {"tried_until": tx.now} if outcome.answered else {}
                pause = self.timings.read_pause / 2
                move(tx, "unanswered", ours, after=pause, error=outcome.error, **over)
                # With each uncertain message in a row it is likelier that Slack is down.
                if not state.trouble:
                    after = min(LONGEST_DOUBT_SECONDS, pause * 2.0 ** min(turn.job.attempts - 1, 16))
            case ChannelRefused():
                move(tx, "not sent", ours, error=outcome.error)
                is_news = not state.trouble
                # For an old id Slack answers that the channel doesn't exist; that it has a new one is what helps.
                trouble = state.trouble if state.moved_to else outcome.error
                state = replace(state, trouble=trouble, trouble_since=state.trouble_since or tx.now)
        if isinstance(outcome, Sent | Unpostable):  # Slack answered: the channel keeps its pace
            state = replace(state, tat=max(state.tat, tx.now) + self.timings.period)
            if not state.trouble:
                after = max(0.0, state.tat - self.timings.period - tx.now)
                waits = sa.select(_c.id).where(READY_IN).limit(1)
                sleeps = tx.scalar(waits, {"of": turn.channel}) is None
        after = min(after, FARTHEST_SECONDS)
        jobs.again(
            tx,
            turn.job,
            after=None if sleeps else after,
            changed_after=after,
            attempts=turn.job.attempts if isinstance(outcome, Unknown | NotSent) else 0,
            payload=asdict(state),
        )
        return is_news

    @writes
    def close_channel(
        self, tx: Transaction, channel: str, refused: ChannelRefused, *, report: Report, used: bool
    ) -> None:
        """Slack says that a channel takes nothing any more, before anything was posted there.

        One that is not `used` by the settings matters only where something was subscribed or posted.
        """
        if used or channel in _named(tx):
            jobs.put(tx, "post", channel)
        job, state = channel_of(tx, channel)
        if job is None or (state.trouble and not refused.moved_to):
            return
        broken = replace(state, trouble=refused.error, trouble_since=tx.now, moved_to=refused.moved_to)
        # Where nothing waits, it finds that out then, and sleeps.
        jobs.note(tx, job, asdict(broken), due_at=tx.now + FIRST_TRIAL)
        _tell(tx, report, channel, (), refused)

    async def forget_unused_channels(self, used: Collection[str], *, errors: Collection[str]) -> None:
        """Give up channels that neither the settings (`used`) nor a subscription names.

        Only those with one of these errors.
        """
        kept = {*used, *await self.database.read(_named)}
        for channel, trouble in (await self.broken()).items():
            if channel not in kept and trouble in errors:
                await self.database.drain(partial(drop_some, channel=channel))

    @writes
    def open_channel(self, tx: Transaction, channel: str, *, report: Report) -> None:
        """Slack says that a channel takes posts again: what waited there is posted now."""
        if _reopen(tx, channel):
            _tell(tx, report, channel, (), Sent(ts=""))

    @writes
    def try_given_up(self, tx: Transaction) -> None:
        """Try again what Slack refused for good; only at a start."""
        tx.update(posts, _DEAD & IS_GIVEN_UP, refusals=0)

    async def revive(self) -> int:
        """Have dead letters sent, or looked for, again; returns how many."""
        stuck = sa.select(_c.id).where(sa.or_(_DEAD, is_in("unsure")), sa.not_(IS_GIVEN_UP))
        # Sorted here: for an order by id SQLite would read the whole table.
        ids = sorted(await self.database.read(lambda tx: tx.scalars(stuck).all()))
        return sum([await self.database.write(partial(_revive, ids=some)) for some in portions(ids)])

    @writes
    def place(self, tx: Transaction, job: Job) -> Lookup | None:
        """Take what is to be looked for in a place; None for nothing now, or where someone else has it."""
        if not jobs.held(tx, job):
            return None
        channel, _, thread_ts = job.key.partition("/")
        mine = _uncertain_at(channel, thread_ts)
        # Further ahead than it can be: the clock was set back, and the wait starts again.
        latest = tx.now + self.timings.longest
        tx.update(posts, mine & (_c.tried_until > latest), tried_until=latest)
        first = sa.select(_TRIED_AT).where(mine).order_by(_c.failed_lookups, _TRIED_AT.desc()).limit(1)
        if (around := tx.scalar(first)) is None:
            jobs.finish(tx, job)
            return None
        near = _TRIED_AT.between(around - SAME_TIME_SECONDS, around + SAME_TIME_SECONDS)
        group = read_posts(tx, drawable().where(mine, near).order_by(_c.id).limit(SOUGHT_AT_ONCE))
        closed = facts.closed_until(tx, _method(thread_ts)) - tx.now
        if closed > 0:
            wait = min(closed, FARTHEST_LOOKUP)
            jobs.again(tx, job, after=wait, changed_after=wait)
            return None
        since = min(post.tried_until or post.created_at for post in group) - self.timings.longest
        return Lookup(
            job=job,
            channel=channel,
            thread_ts=thread_ts,
            posts=group,
            since=since,
            began_at=tx.now,
        )

    @writes
    def settle_lookup(
        self, tx: Transaction, lookup: Lookup, look: Look, *, report: Report | None = None
    ) -> bool:
        """Record what was seen, and let the channel go on with what waited for it; returns whether that has recovered.

        A process that lost its lease meanwhile tells only what it found.
        """
        there = {post.id: look.found[post.key] for post in lookup.posts if post.key in look.found}
        _mark_sent(tx, "found", _c.id.in_(there), there, {})
        if jobs.held(tx, lookup.job):
            missing = [post.id for post in lookup.posts if post.id not in there]
            _mark_missing(tx, lookup, look, missing)
            renew_unsure(tx, missing)
            self._put_off(tx, lookup, look)
        tried = [post.tried_until or post.created_at for post in lookup.posts if post.id in there]
        recovered = bool(there) and _reopen(tx, lookup.channel, proven_at=max(tried) - self.timings.longest)
        if recovered:
            _tell(tx, report, lookup.channel, lookup.posts, Sent(ts=""))
        return recovered

    def _put_off(self, tx: Transaction, lookup: Lookup, look: Look) -> None:
        """Free the place until it is due again."""
        failed = min(post.failed_lookups for post in lookup.posts)
        pause = self.timings.read_pause
        if look.after is not None:
            pause = look.after
            facts.close(tx, _method(lookup.thread_ts), look.after)
        elif look.error:
            pause = min(LONGEST_LOOKUP_PAUSE, pause * 2.0**failed)
        if tx.has(_uncertain_at(lookup.channel, lookup.thread_ts)):
            after = min(pause, FARTHEST_LOOKUP)
            jobs.again(tx, lookup.job, after=after, changed_after=after)
        else:
            jobs.finish(tx, lookup.job)
        jobs.put(tx, "post", lookup.channel)


def _held(tx: Transaction, job: Job) -> ChannelState | None:
    """The state of a channel that is still ours, locked until the end of the transaction; None: it isn't."""
    held = jobs.held(tx, job)
    if held is None:
        return None
    state = state_of(held.payload)
    return replace(state, tat=0.0) if state.tat > tx.now + SET_BACK_SECONDS else state


def _next(tx: Transaction, channel: str, state: ChannelState) -> tuple[Post, ...]:
    """The posts that the channel gets next: what a person waits for, incidents, the rest; in trouble one that tries it."""
    of = {"of": channel}
    if first := read_posts(tx, _URGENT, of):
        return first
    alerts, rest = read_posts(tx, _ALERTS, of), read_posts(tx, _REST, of)
    oldest = sorted((*alerts, *rest), key=lambda post: post.id)[:1]
    # However many alerts come, something else, like a reminder, waits only for those that were there before it.
    if len(alerts) <= ALONE or oldest == [*rest] or state.trouble:
        return tuple(oldest)
    fresh = tuple(post for post in alerts if not post.refusals)
    # What Slack has refused must not take others with it.
    return fresh if len(fresh) > 1 else (fresh or alerts)[:1]


def _tell(
    tx: Transaction, report: Report | None, channel: str, posts: Sequence[Post], outcome: Outcome
) -> None:
    """Have other places learn what an outcome changed."""
    if report and (told := report(channel, posts, outcome)):
        plan(tx, [(posts[0].workspace if posts else "", told)])


def _reopen(tx: Transaction, channel: str, *, proven_at: float = math.inf) -> bool:
    """End the trouble of a channel that took a post at this time; False: it had none, or has it since."""
    job, state = channel_of(tx, channel)
    if job is None or not state.trouble or proven_at < state.trouble_since:
        return False
    jobs.note(tx, job, asdict(replace(state, trouble="", trouble_since=0.0, moved_to="")), due_at=tx.now)
    return True


def _named(tx: Transaction) -> set[str]:
    """The channels that have a subscription or a digest."""
    subscribed = {json.loads(fact.key)[0] for fact in facts.listed(tx, "subscription")}
    return subscribed | {fact.key.partition("/")[2] for fact in facts.listed(tx, "digest")}


def _revive(tx: Transaction, ids: Sequence[int]) -> int:
    these = _c.id.in_(ids)
    return len(move(tx, "sought", these)) + len(move(tx, "revived", these))


def _attempt(turn: ChannelLease) -> sa.ColumnElement[bool]:
    """The posts of a turn, as long as nobody has tried them again since."""
    return _c.id.in_([post.id for post in turn.posts]) & (_c.token == turn.job.token)


def _mark_sent(
    tx: Transaction,
    event: str,
    which: sa.ColumnElement[bool],
    there: Mapping[int, str],
    drawn: Mapping[int, int],
) -> None:
    """Mark posts as sent; `drawn`: the versions that are there."""
    if there:
        sent = move(tx, event, which, ts=sa.case({**there}, value=_c.id))
        # It was changed while it was posted.
        stale = [row for row in sent if row.version != drawn.get(row.id)]
        clicked = any(row.clicked for row in stale)
        put_paint(tx, {(row.channel, row.ts) for row in stale}, clicked=clicked)


def _uncertain_at(channel: str, thread_ts: str) -> sa.ColumnElement[bool]:
    return (_c.channel == channel) & (_c.thread_ts == thread_ts) & _UNCERTAIN


def _method(thread_ts: str) -> str:
    return facts.REPLIES if thread_ts else facts.HISTORY


def _mark_missing(tx: Transaction, lookup: Lookup, look: Look, missing: Collection[int]) -> None:
    """Write down what a reading that didn't find them says of posts."""
    lost = _c.id.in_(missing) & _UNCERTAIN
    if look.complete:
        # To be sent again after enough readings, of which the last began when the attempt could no longer arrive.
        tx.update(posts, lost, failed_lookups=0, lookups=_c.lookups + 1)
        until = _c.tried_until
        late = sa.or_(until.is_(None), until <= min(lookup.began_at, tx.now))
        move(tx, "missing", lost & late & (_c.lookups >= READS))
    elif look.error:
        failed = MOST_FAILED if look.hidden else _c.failed_lookups + 1
        tx.update(posts, lost, failed_lookups=failed, error=look.error)
        move(tx, "unreadable", lost & (_c.failed_lookups >= MOST_FAILED))


class Outbox(Repository):
    """Messages to come."""

    plan = writes(method(plan))

    @writes
    def release(self, tx: Transaction, job: Job) -> bool:
        """Let go of a portion of a channel's posts whose quiet hours are over; returns whether there were any."""
        held = (_c.channel == job.key) & (_c.state == "held") & _c.held_until.is_not(None)
        first = sa.select(_c.id).where(held).order_by(_c.held_until)
        over = first.where(_c.held_until <= tx.now).limit(AT_ONCE)
        released = bool(move(tx, "released", _c.id.in_(over)))
        following = tx.scalar(first.with_only_columns(_c.held_until).limit(1))
        if following is not None or not jobs.done(tx, job):
            jobs.again(tx, job, after=max(0.0, (following or tx.now) - tx.now))
        return released

    @reads
    def reaches(self, tx: Transaction, channel: str) -> bool:
        """True if the bot has posted in a channel, and Slack did not refuse it since."""
        _, state = channel_of(tx, channel, locked=False)
        return tx.has((_c.channel == channel) & (_c.ts > "")) and not state.trouble


def renew_unsure(tx: Transaction, ids: Collection[int]) -> None:
    """Post again what may be in Slack as the card of a less specific event, and can't be looked up."""
    unsure = (_c.state == "unsure") & _c.turned
    for row in tx.execute(sa.select(posts).where(_c.id.in_(ids), unsure).with_for_update()).all():
        _replace_card(tx, row)


def _renew(tx: Transaction, row: sa.Row[Any]) -> bool:
    """Plan what is posted instead of a post that nobody can edit; False: nothing is."""
    if row.turned and row.kind == ALERT:
        _replace_card(tx, row)
        return True
    if not row.clicked or row.frozen or row.kind not in {ALERT, CURRENT}:
        return False
    # The card stays the head of its thread, which is where its successor and all follow-ups go.
    tx.update(posts, _c.id == row.id, **({"frozen": True} if row.kind == ALERT else {"kind": REPLACED}))
    successor = PlannedPost(
        dedupe=f"{row.dedupe}:{CURRENT}",
        channel=row.channel,
        kind=CURRENT,
        urgency=row.urgency,
        alert_id=row.alert_id,
    )
    plan(tx, [(row.workspace, successor)])
    return True


def _replace_card(tx: Transaction, row: sa.Row[Any]) -> None:
    """Plan the card anew, which also says what a note in the thread of the old one would; one of both mentions people."""
    # It stays, for repeats of its event.
    tx.update(posts, _c.id == row.id, kind=REPLACED, state="sent", turned=False)
    note = (_c.alert_id == row.alert_id) & (_c.channel == row.channel) & (_c.kind == TURNED)
    tx.delete(posts, note & _c.state.in_(["ready", "held"]))
    noted = tx.has(note)
    card = PlannedPost(
        dedupe=f"{row.dedupe}:anew",
        channel=row.channel,
        urgency=row.urgency,
        condensed=row.condensed,
        mention="" if noted else row.mention,
        held_until=row.held_until if row.held_until and row.held_until > tx.now else None,
        alert_id=row.alert_id,
    )
    plan(tx, [(row.workspace, card)])


_MESSAGE = (
    drawable().where(_c.channel == sa.bindparam("channel"), _c.ts == sa.bindparam("ts")).order_by(_c.id)
)


def tells_of(change: int) -> sa.ColumnElement[bool]:
    """The messages that tell of a change of sequences, and say what becomes of it."""
    # In the words of the index.
    told = (_c.undo == change) & (_c.undo != literal(0))
    return told & (_c.kind != HISTORY)


class Repaints(Repository):
    """Posted messages that no longer show the present state."""

    @reads
    def message(self, tx: Transaction, job: Job) -> tuple[Post, ...]:
        """All posts that share the message of a job; none where they are gone."""
        channel, _, ts = job.key.partition("/")
        return read_posts(tx, _MESSAGE, {"channel": channel, "ts": ts})

    @writes
    def done(self, tx: Transaction, job: Job, message: Sequence[Post]) -> None:
        """These are shown as they were read; what changed since stays due."""
        for post in message:
            as_drawn = (_c.id == post.id) & (_c.version == post.version)
            tx.update(posts, as_drawn, clicked=False, turned=False)
        jobs.finish(tx, job)

    @writes
    def refused(self, tx: Transaction, job: Job, message: Sequence[Post]) -> bool:
        """Slack lets nobody edit this message: returns whether something is posted instead, once for each post."""
        jobs.finish(tx, job)
        mine = _c.id.in_([post.id for post in message])
        refused = tx.execute(sa.select(posts).where(mine).order_by(_c.id).with_for_update()).all()
        tx.update(posts, mine, clicked=False)
        renewed = [_renew(tx, row) for row in refused]  # each, also after the first
        return any(renewed)

    @writes
    def throttled(self, tx: Transaction, job: Job, *, seconds: float) -> None:
        """Slack asked to wait with all repaints of whatever channel."""
        facts.close(tx, UPDATE, seconds)
        jobs.again(tx, job, after=0.0, attempts=job.attempts, rank=job.rank)

    @writes
    def failed(self, tx: Transaction, job: Job) -> None:
        """Try again later, the later the more tries there were; Slack's pace holds however many fail."""
        after = min(LONGEST_SECONDS, PAUSE_SECONDS * 2.0 ** min(job.attempts - 1, 16))
        jobs.again(tx, job, after=after, attempts=job.attempts, rank=job.rank)

    @reads
    def shows(self, tx: Transaction, change: int) -> bool:
        """True if a message of the bot tells of this change, and says what becomes of it."""
        return tx.has(tells_of(change))

    @reads
    def covers(self, tx: Transaction, places: Collection[str], ts: str) -> bool:
        """True if a message is the bot's, and repainted when its content has changed."""
        return tx.has(_c.channel.in_(places) & (_c.ts == ts) & sa.not_(_c.frozen) & (_c.kind != REPLACED))
