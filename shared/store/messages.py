"""The bot's messages: planned once each, held during quiet hours, updated when their content changes, and posted again.

A row of `posts` is one message to one channel, or its share of a message that several alerts have in common. Whoever
changes what a message shows raises the `version` of its posts and puts a job of the kind `paint`, whose key is the
channel and the `ts`; a change while it is drawn has it drawn again after that. A second update does no harm.

What Slack refuses to edit (`edit_window_closed`, a deleted message, and the like) is posted again: a card that a less
specific event of its reply posted never said what it should now, so it comes again, in the channel. What a person
changed is said in the card's thread, on a card that is repainted from then on, for a second card in the channel would
look like a second reply. The rest is dropped: counts, settled reminders (the card says it), an Undo (a click on it is
answered), and the recovery of a domain, which has a message of its own.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import fields
from enum import StrEnum
from types import MappingProxyType
from typing import Any

import sqlalchemy as sa

from shared.domain.alert import Alert
from shared.frozen import frozen
from shared.records.audit import AuditEntry
from shared.store import facts, jobs, rows, slack_limits
from shared.store.db.engine import AT_ONCE, Database, Repository, Transaction, reads, writes
from shared.store.db.schema import NOW, alerts, audit, deliveries, posts
from shared.store.db.schema import jobs as job_rows
from shared.store.jobs import ASKED_FOR, ORDINARY, PAINT, POST, RELEASE, Job
from shared.store.post_kinds import ALERT, CURRENT, HISTORY, POSTS, REPLACED, TURNED, names
from shared.store.slack_limits import UPDATE

INCIDENT = 3
"""The urgency of a message that is posted separately, before all others, and never shares a message."""
PAUSE_SECONDS = 5.0
"""The pause until a message that could not be repainted is tried again."""
LONGEST_SECONDS = 600.0
"""The longest time for which a repaint is put off."""
EMPTY: Mapping[str, Any] = MappingProxyType({})


class State(StrEnum):
    """The state of a post."""

    READY = "ready"
    SENDING = "sending"
    SENT = "sent"
    UNCERTAIN = "uncertain"
    DEAD = "dead"
    HELD = "held"


_c = posts.c


def is_in(state: State) -> sa.ColumnElement[bool]:
    """The posts in a state, in the words of the partial indexes: a database uses them for nothing else."""
    return _c.state == sa.literal(state.value, literal_execute=True)


def is_of_kind(kind: str) -> sa.ColumnElement[bool]:
    """The posts of a kind, in the words of the partial indexes."""
    return _c.kind == sa.literal(kind, literal_execute=True)


UNSENT = _c.state != sa.literal(State.SENT.value, literal_execute=True)
"""Unsent posts, in the words of their index: without it, all that a channel ever had would be read."""
ANY_UNSENT = UNSENT & _c.state.in_([state for state in State if state != State.SENT])
"""Unsent posts of a whole channel: all columns that are given decide between its indexes (see schema)."""
IS_COUNTED = _c.kind.not_in(names(awaited=True)) & UNSENT
"""Posts that count as waiting: a person sees for themselves that an answer hasn't come."""
_OF_CHANNEL = _c.channel == sa.bindparam("of")
READY_IN = _OF_CHANNEL & UNSENT & is_in(State.READY)
"""Posts of a channel that wait to be sent."""


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
    attempts: int
    lookups: int
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
    def mark(self) -> str:
        """A short name of the post, the same in all processes."""
        return hashlib.sha256(self.dedupe.encode()).hexdigest()[:20]

    @property
    def key(self) -> str:
        """The key in the message's metadata, by which it is found again."""
        return self.bundle or f"p{self.mark}"


_OWN = tuple(_c[field.name] for field in fields(Post) if field.name in _c)
_NAMES = tuple(column.name for column in _OWN)
_CHANGE = len(_NAMES)
_ALERT = _CHANGE + len(rows.ENTRY_COLUMNS)
"""The places at which the columns of a post's change and of its alert begin."""


def drawable() -> sa.Select[Any]:
    """Posts with all that is needed to draw them."""
    source = posts.outerjoin(alerts, alerts.c.id == _c.alert_id)
    source = source.outerjoin(deliveries, deliveries.c.id == alerts.c.delivery_id)
    source = source.outerjoin(audit, audit.c.id == _c.undo)
    return sa.select(*_OWN, *rows.ENTRY_COLUMNS, *rows.COLUMNS).select_from(source)


def read_posts(
    tx: Transaction, query: sa.Select[Any], values: Mapping[str, Any] | None = None
) -> tuple[Post, ...]:
    """The rows of a query on `drawable`."""
    return tuple(
        Post(
            **dict(zip(_NAMES, row, strict=False)),
            change=None if row[_CHANGE] is None else rows.entry_of(row[_CHANGE:_ALERT]),
            alert=rows.alert_of(row[_ALERT:]),
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


def plan(tx: Transaction, planned: PlannedPost, *, workspace: str) -> None:
    """Have a message posted, once for all that plan it."""
    plan_rows(tx, [post_row(planned, workspace=workspace, alert=planned.alert_id, now=tx.now)])


def post_row(planned: PlannedPost, *, workspace: str, alert: str, now: float) -> dict[str, Any]:
    """The row of a message to come, about an alert."""
    return {
        **{name: getattr(planned, name) for name in _PLANNED},
        "kind": POSTS[planned.kind].name,
        "workspace": workspace,
        "alert_id": alert,
        "state": (State.READY if planned.held_until is None else State.HELD).value,
        "created_at": now,
    }


def plan_rows(tx: Transaction, planned: Sequence[dict[str, Any]]) -> None:
    """Insert them and give their channels a turn; one that is pacing itself or in trouble keeps its time."""
    if not planned:
        return
    tx.execute(tx.insert_once(posts), planned)
    wake(tx, [row["channel"] for row in planned])
    held = {row["channel"]: row["held_until"] for row in planned if row["held_until"] is not None}
    for channel, until in sorted(held.items()):
        jobs.put(tx, RELEASE, channel, at=until, how="sooner")


def wake(tx: Transaction, channels: Iterable[str]) -> None:
    """Give these channels a turn to post."""
    jobs.put_all(tx, POST, {*channels}, at=tx.now, how="keep")


@frozen
class ChannelState:
    """The state that the job of a channel carries: its pace, and its trouble."""

    tat: float = 0.0
    """The theoretical arrival time of GCRA: when the next message would be on schedule."""
    trouble: str = ""
    """Slack's word for why it takes nothing; empty: it does."""
    trouble_since: float = 0.0
    turns: int = 0
    """The number of turns that it had."""


def state_of(payload: Mapping[str, Any]) -> ChannelState:
    """The state of a channel from what its job carries; a newer version may have put more there."""
    return ChannelState(**{field.name: payload[field.name] for field in _STATE if field.name in payload})


_STATE = fields(ChannelState)


def channel_of(
    tx: Transaction, channel: str, *, locked: bool = True
) -> tuple[Job, ChannelState] | tuple[None, ChannelState]:
    """The job of a channel, `locked` until the end of the transaction, and its state; None: it has no job."""
    job = jobs.find(tx, POST, "", channel, locked=locked)
    return (job, state_of(job.payload)) if job else (None, ChannelState())


def broken_channels(tx: Transaction) -> dict[str, str]:
    """Channels that reject posts, and what Slack says of each."""
    channels = sa.select(job_rows.c.key, job_rows.c.payload).where(job_rows.c.kind == POST)
    troubles = {row.key: state_of(facts.read(row.payload)).trouble for row in tx.execute(channels)}
    return {channel: trouble for channel, trouble in sorted(troubles.items()) if trouble}


_AGAIN = {
    "version": _c.version + 1,
    "clicked": sa.or_(_c.clicked, sa.bindparam("by_click", type_=sa.Boolean)),
}
_SHOWS = (_c.channel, _c.ts, _c.state)
_REPAINT = (
    sa.update(posts)
    .where(_c.alert_id.in_(sa.bindparam("names", expanding=True)))
    .where(_c.kind.in_(names(repainted=True)), sa.not_(_c.frozen))
    .values(_AGAIN)
    .returning(*_SHOWS)
)


def repaint(tx: Transaction, alerts: Sequence[str], *, clicked: bool = False) -> None:
    """Have every message of these alerts drawn again; `clicked`: ahead of those that no person waits for."""
    if alerts:
        _draw(tx, tx.execute(_REPAINT, {"names": alerts, "by_click": clicked}), clicked=clicked)


def redraw(
    tx: Transaction,
    which: sa.ColumnElement[bool],
    *,
    clicked: bool = False,
    values: Mapping[str, Any] = EMPTY,
) -> int:
    """Have these posts drawn again, with other values; returns how many there are."""
    again = sa.update(posts).where(which).values({**_AGAIN, **values}).returning(*_SHOWS)
    return _draw(tx, tx.execute(again, {"by_click": clicked}), clicked=clicked)


def _draw(tx: Transaction, changed: Iterable[Any], *, clicked: bool) -> int:
    """Have changed posts repainted; what isn't in Slack yet is drawn as it is when it is sent."""
    drawn = [*changed]
    put_paint(tx, {(row.channel, row.ts) for row in drawn if row.state == State.SENT}, clicked=clicked)
    return len(drawn)


def put_paint(tx: Transaction, messages: Collection[tuple[str, str]], *, clicked: bool = False) -> None:
    """Have messages, by channel and `ts`, updated."""
    keys = [f"{channel}/{ts}" for channel, ts in messages]
    jobs.put_all(tx, PAINT, keys, at=tx.now, how="sooner", rank=ASKED_FOR if clicked else ORDINARY)


_MOVED = "channel_id_changed: now "


def moved_to(new: str) -> str:
    """The trouble of a channel whose id Slack has changed, in the words of `status` and /readyz."""
    return f"{_MOVED}{new}"


def new_id(trouble: str) -> str:
    """The id that a channel with this trouble has now; empty for any other trouble."""
    return trouble.removeprefix(_MOVED) if trouble.startswith(_MOVED) else ""


async def give_up(database: Database, channel: str) -> None:
    """Drop what a broken channel never took, and then its trouble; a channel that works keeps all.

    What waits for a channel under its old id is posted under the new one.
    """
    await database.drain(lambda tx: _readdress_some(tx, channel))
    await database.drain(lambda tx: _drop_some(tx, channel))


def _readdress_some(tx: Transaction, old: str) -> int:
    """Have a portion of what waits for an old id posted under the new one; returns how many.

    Where an alert is there already, it stays.
    """
    new = new_id(channel_of(tx, old)[1].trouble)
    there = posts.alias()
    is_there = sa.exists().where(there.c.channel == new, there.c.alert_id == _c.alert_id)
    moves = sa.or_(_c.alert_id == "", sa.not_(is_there))
    some = sa.select(_c.id).where(_c.channel == old, ANY_UNSENT, moves).limit(AT_ONCE)
    again = {"channel": new, "state": State.READY, "error": "", "attempts": 0, "refusals": 0}
    moved = tx.update(posts, _c.id.in_(some), **again) if new else 0
    if moved:
        wake(tx, [new])
    return moved


def _drop_some(tx: Transaction, channel: str) -> int:
    """Drop a portion of what a broken channel never took; returns how many."""
    if not channel_of(tx, channel)[1].trouble:
        return 0
    some = sa.select(_c.id).where(_c.channel == channel, ANY_UNSENT).limit(AT_ONCE)
    dropped = tx.execute(sa.delete(posts).where(_c.id.in_(some))).rowcount
    if dropped < AT_ONCE:
        jobs.drop(tx, POST, "", channel)  # an attempt under way says nothing any more
    return dropped


_HELD = _OF_CHANNEL & (_c.state == State.HELD)
_OVER = sa.select(_c.id).where(_HELD, _c.held_until <= NOW).order_by(_c.held_until).limit(AT_ONCE)
_RELEASED = sa.update(posts).where(_c.id.in_(_OVER)).values(state=State.READY, held_until=None)
_NEXT_HELD = (
    sa.select(_c.held_until).where(_HELD, _c.held_until.is_not(None)).order_by(_c.held_until).limit(1)
)


class Outbox(Repository):
    """Messages to come."""

    @writes
    def plan(self, tx: Transaction, workspace: str, planned: PlannedPost) -> None:
        """Have a message posted."""
        plan(tx, planned, workspace=workspace)

    @writes
    def release(self, tx: Transaction, job: Job) -> bool:
        """Let go of a portion of a channel's posts whose quiet hours are over; returns whether there were any."""
        released = tx.execute(_RELEASED, {"of": job.key, "now": tx.now}).rowcount > 0
        if released:
            wake(tx, [job.key])
        following = tx.scalar(_NEXT_HELD, {"of": job.key})
        if following is not None or not jobs.done(tx, job):
            jobs.again(tx, job, after=max(0.0, (following or tx.now) - tx.now), attempts=0)
        return released

    @reads
    def reaches(self, tx: Transaction, channel: str) -> bool:
        """True if the bot has posted in a channel, and Slack did not refuse it since."""
        sent = sa.select(_c.id).where(_c.channel == channel, _c.ts > "").limit(1)
        _, state = channel_of(tx, channel, locked=False)
        return tx.scalar(sent) is not None and not state.trouble


def renew_unsure(tx: Transaction, ids: Collection[int]) -> None:
    """Post again what may be in Slack as the card of a less specific event, and can't be looked up."""
    unsure = (_c.state == State.DEAD) & _c.unsure & _c.turned
    for row in tx.execute(sa.select(posts).where(_c.id.in_(ids), unsure).with_for_update()).all():
        tx.update(
            posts, _c.id == row.id, kind=REPLACED, state=State.SENT, unsure=False
        )  # it stays, for repeats of its event
        _plan_card(tx, row)


def _renew(tx: Transaction, row: sa.Row[Any]) -> bool:
    """Plan what is posted instead of a post that nobody can edit; False: nothing is."""
    if row.turned and row.kind == ALERT:
        tx.update(posts, _c.id == row.id, kind=REPLACED, turned=False)
        _plan_card(tx, row)
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
    plan(tx, successor, workspace=row.workspace)
    return True


def _plan_card(tx: Transaction, row: sa.Row[Any]) -> None:
    """The card itself, which also says what a note in the thread of the old one would; one of both mentions people."""
    note = (_c.alert_id == row.alert_id) & (_c.channel == row.channel) & (_c.kind == TURNED)
    tx.execute(sa.delete(posts).where(note, _c.state.in_([State.READY, State.HELD])))
    noted = tx.scalar(sa.select(sa.exists().where(note)))
    card = PlannedPost(
        dedupe=f"{row.dedupe}:anew",
        channel=row.channel,
        urgency=row.urgency,
        condensed=row.condensed,
        mention="" if noted else row.mention,
        held_until=row.held_until if row.held_until and row.held_until > tx.now else None,
        alert_id=row.alert_id,
    )
    plan(tx, card, workspace=row.workspace)


_MESSAGE = (
    drawable().where(_c.channel == sa.bindparam("channel"), _c.ts == sa.bindparam("ts")).order_by(_c.id)
)
_SHOWN = (
    sa.update(posts)
    .where(_c.id == sa.bindparam("post"), _c.version == sa.bindparam("drawn"))
    .values(clicked=False, turned=False)
)
_TELLS = sa.select(_c.id).where(
    _c.undo == sa.bindparam("change"), _c.undo != sa.literal(0, literal_execute=True), _c.kind != HISTORY
)


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
        tx.execute(_SHOWN, [{"post": post.id, "drawn": post.version} for post in message])
        slack_limits.succeed(tx, UPDATE)
        slack_limits.succeed(tx, f"{UPDATE} {message[0].channel}")
        jobs.finish(tx, job)

    @writes
    def refused(self, tx: Transaction, job: Job, message: Sequence[Post]) -> bool:
        """Slack lets nobody edit this message: returns whether something is posted instead, once for each post."""
        slack_limits.succeed(tx, UPDATE)  # it does answer
        jobs.finish(tx, job)
        mine = _c.id.in_([post.id for post in message])
        refused = tx.execute(sa.select(posts).where(mine).order_by(_c.id).with_for_update()).all()
        tx.update(posts, mine, clicked=False)
        renewed = [_renew(tx, row) for row in refused]  # each, also after the first
        return any(renewed)

    @writes
    def throttled(self, tx: Transaction, job: Job, *, seconds: float) -> None:
        """Slack asked to wait with all repaints of whatever channel."""
        slack_limits.close(tx, UPDATE, seconds)
        jobs.again(tx, job, after=0.0, rank=job.rank)

    async def failed(self, job: Job, channel: str, *, channel_refuses: bool) -> None:
        """Try again later: all of a channel that refuses it, or everything when Slack does not answer."""
        until = await self._fail(job, channel if channel_refuses else "")
        if channel_refuses:
            await self.database.drain(lambda tx: jobs.move_all(tx, PAINT, channel, at=until, later=True))

    @writes
    def _fail(self, tx: Transaction, job: Job, channel: str) -> float:
        """Returns when it is tried again."""
        seconds = PAUSE_SECONDS
        if channel:
            seconds = slack_limits.fail(tx, f"{UPDATE} {channel}")
        else:
            slack_limits.fail(tx, UPDATE, first=1.0, longest=60.0)
        jobs.again(tx, job, after=min(seconds, LONGEST_SECONDS), rank=job.rank)
        return tx.now + seconds

    @writes
    def request(self, tx: Transaction, places: Collection[str], ts: str) -> bool:
        """Queue a message's repaint; returns whether it is one of the bot's, and can be edited."""
        return redraw(tx, _is_editable(places, ts), clicked=True) > 0

    @reads
    def shows(self, tx: Transaction, change: int) -> bool:
        """True if a message of the bot tells of this change, and says what becomes of it."""
        return tx.scalar(_TELLS.limit(1), {"change": change}) is not None

    @reads
    def covers(self, tx: Transaction, places: Collection[str], ts: str) -> bool:
        """True if a message is the bot's, and repainted when its content has changed."""
        return tx.scalar(sa.select(_c.id).where(_is_editable(places, ts)).limit(1)) is not None


def _is_editable(places: Collection[str], ts: str) -> sa.ColumnElement[bool]:
    return _c.channel.in_(places) & (_c.ts == ts) & sa.not_(_c.frozen) & (_c.kind != REPLACED)
