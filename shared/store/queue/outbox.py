"""The outbox: messages planned once each, held during quiet hours, updated when their content changes, and posted anew.

What Slack refuses to edit (`edit_window_closed`, a deleted message, and the like) is posted anew: a card that a less
specific event of its reply posted never said what it should now, so it comes again, in the channel. What a person
changed is said in the card's thread, on a card that is repainted from then on, for a second card in the channel would
look like a second reply. The rest is dropped: counts, settled
reminders (the card says it), an Undo (a click on it is answered), and the recovery of a domain,
which has a message of its own.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from types import MappingProxyType
from typing import Any

import sqlalchemy as sa

from shared.store import jobs
from shared.store.db.columns import NOW
from shared.store.db.engine import AT_ONCE, Database, Repository, Transaction, reads, writes
from shared.store.db.schema import jobs as job_rows
from shared.store.db.schema import posts
from shared.store.jobs import ASKED_FOR, ORDINARY, PAINT, POST, RELEASE, Job
from shared.store.queue.post_kinds import ALERT, CURRENT, POSTS, REPLACED, TURNED, names
from shared.store.queue.posts import ANY_UNSENT, State


@dataclass(frozen=True, slots=True, kw_only=True)
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
    """Of a message of the bot's own that belongs into the thread of that alert's card."""
    thread_ts: str = ""
    """Of an answer: the thread in which the person asked."""
    undo: int = 0
    """The entry of the audit that its Undo button takes back."""


def plan(tx: Transaction, planned: PlannedPost, *, workspace: str) -> None:
    plan_rows(tx, [post_row(planned, workspace=workspace, alert=planned.alert_id, now=tx.now)])


def post_row(planned: PlannedPost, *, workspace: str, alert: str, now: float) -> dict[str, Any]:
    return {
        "dedupe": planned.dedupe,
        "workspace": workspace,
        "channel": planned.channel,
        "kind": POSTS[planned.kind].name,
        "alert_id": alert,
        "note": planned.note,
        "urgency": planned.urgency,
        "state": "ready" if planned.held_until is None else "held",
        "condensed": planned.condensed,
        "mention": planned.mention,
        "held_until": planned.held_until,
        "thread_ts": planned.thread_ts,
        "undo": planned.undo,
        "created_at": now,
    }


def plan_rows(tx: Transaction, rows: Sequence[dict[str, Any]]) -> None:
    """Insert them and give their channels a turn; one that is pacing itself or in trouble keeps its time."""
    if not rows:
        return
    tx.execute(tx.insert_once(posts), rows)
    wake(tx, [row["channel"] for row in rows])
    held = {row["channel"]: row["held_until"] for row in rows if row["held_until"] is not None}
    for channel, until in sorted(held.items()):
        jobs.put(tx, RELEASE, channel, at=until, how="sooner")


def wake(tx: Transaction, channels: Iterable[str]) -> None:
    """Give these channels a turn to post."""
    jobs.put_all(tx, POST, {*channels}, at=tx.now, how="keep")


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelState:
    """What the job of a channel carries: how fast it may go, and what is wrong with it."""

    tat: float = 0.0
    """The theoretical arrival time of GCRA: when the next message would be on schedule."""
    trouble: str = ""
    """Slack's word for why it takes nothing; empty: it does."""
    trouble_since: float = 0.0
    turns: int = 0
    """How many it had."""


def state_of(row: Any) -> ChannelState:
    """The state of a channel from the row of its job."""
    payload = jobs.read_payload(row.payload)
    return ChannelState(**{name: payload[name] for name in _STATE if name in payload})


_STATE = tuple(field.name for field in fields(ChannelState))
_CHANNELS = sa.select(job_rows.c.key, job_rows.c.payload).where(job_rows.c.kind == POST)


def broken_channels(tx: Transaction) -> dict[str, str]:
    """Channels that reject posts, and what Slack says of each."""
    states = {row.key: state_of(row) for row in tx.execute(_CHANNELS)}
    return {channel: one.trouble for channel, one in sorted(states.items()) if one.trouble}


EMPTY: Mapping[str, Any] = MappingProxyType({})
_AGAIN = {
    "version": posts.c.version + 1,
    "clicked": sa.or_(posts.c.clicked, sa.bindparam("by_click", type_=sa.Boolean)),
}
_SHOWS = (posts.c.channel, posts.c.ts, posts.c.state)
_REPAINT = (
    sa.update(posts)
    .where(posts.c.alert_id.in_(sa.bindparam("names", expanding=True)))
    .where(posts.c.kind.in_(names(repainted=True)), sa.not_(posts.c.frozen))
    .values(_AGAIN)
    .returning(*_SHOWS)
)


def repaint(tx: Transaction, names: Sequence[str], *, clicked: bool = False) -> None:
    """Have every message of these alerts drawn anew; `clicked`: ahead of those that no person waits for."""
    if names:
        _draw(tx, tx.execute(_REPAINT, {"names": names, "by_click": clicked}), clicked=clicked)


def redraw(
    tx: Transaction,
    which: sa.ColumnElement[bool],
    *,
    clicked: bool = False,
    values: Mapping[str, Any] = EMPTY,
) -> int:
    """The same for these posts, with other values; returns how many there are."""
    again = sa.update(posts).where(which).values({**_AGAIN, **values}).returning(*_SHOWS)
    return _draw(tx, tx.execute(again, {"by_click": clicked}), clicked=clicked)


def _draw(tx: Transaction, changed: Iterable[sa.Row[str, str, str]], *, clicked: bool) -> int:
    """What isn't in Slack yet is drawn as it is when it is sent."""
    rows = [*changed]
    put_paint(tx, {(row.channel, row.ts) for row in rows if row.state == State.SENT}, clicked=clicked)
    return len(rows)


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
    while await database.write(lambda tx: _give_up_some(tx, channel)):
        pass


def _give_up_some(tx: Transaction, channel: str) -> bool:
    """Drop a portion of it; whether more is left."""
    row = jobs.find(tx, POST, "", channel, locked=True)
    trouble = state_of(row).trouble if row else ""
    if row is None or not trouble:
        return False
    if (new := new_id(trouble)) and _readdress(tx, channel, new) == AT_ONCE:
        return True
    some = sa.select(posts.c.id).where(posts.c.channel == channel, ANY_UNSENT).limit(AT_ONCE)
    if tx.execute(sa.delete(posts).where(posts.c.id.in_(some))).rowcount == AT_ONCE:
        return True
    jobs.drop(tx, POST, "", channel)  # an attempt under way says nothing any more
    return False


def _readdress(tx: Transaction, old: str, new: str) -> int:
    """Have a portion of what waits for `old` posted in `new`, unless the alert is there already; returns how many."""
    there = posts.alias()
    is_there = sa.exists().where(there.c.channel == new, there.c.alert_id == posts.c.alert_id)
    moves = sa.or_(posts.c.alert_id == "", sa.not_(is_there))
    some = sa.select(posts.c.id).where(posts.c.channel == old, ANY_UNSENT, moves).limit(AT_ONCE)
    again = {"channel": new, "state": State.READY, "error": "", "attempts": 0, "refusals": 0}
    moved = tx.execute(sa.update(posts).where(posts.c.id.in_(some)).values(**again)).rowcount
    if moved:
        wake(tx, [new])
    return moved


_OF_CHANNEL = (posts.c.channel == sa.bindparam("of")) & (posts.c.state == State.HELD)
_RELEASED = (
    sa.update(posts)
    .where(
        posts.c.id.in_(
            sa.select(posts.c.id)
            .where(_OF_CHANNEL, posts.c.held_until <= NOW)
            .order_by(posts.c.held_until)
            .limit(AT_ONCE)
        )
    )
    .values(state=State.READY, held_until=None)
)
_NEXT_HELD = sa.select(posts.c.held_until).where(_OF_CHANNEL, posts.c.held_until.is_not(None))
_FIRST_HELD = _NEXT_HELD.order_by(posts.c.held_until).limit(1)


class Outbox(Repository):
    """Messages to come."""

    @writes
    def plan(self, tx: Transaction, workspace: str, planned: PlannedPost) -> None:
        plan(tx, planned, workspace=workspace)

    @writes
    def release(self, tx: Transaction, job: Job) -> bool:
        """Let go of a portion of a channel's posts whose quiet hours are over; returns whether there were any."""
        released = tx.execute(_RELEASED, {"of": job.key, "now": tx.now}).rowcount > 0
        if released:
            wake(tx, [job.key])
        following = tx.scalar(_FIRST_HELD, {"of": job.key})
        if following is not None or not jobs.done(tx, job):
            jobs.again(tx, job, after=max(0.0, (following or tx.now) - tx.now), attempts=0)
        return released

    @reads
    def reaches(self, tx: Transaction, channel: str) -> bool:
        """Whether the bot has posted in a channel, and Slack did not refuse it since."""
        sent = sa.select(posts.c.id).where(posts.c.channel == channel, posts.c.ts > "").limit(1)
        row = jobs.find(tx, POST, "", channel)
        return tx.execute(sent).first() is not None and not (row and state_of(row).trouble)


def renew_refused(tx: Transaction, ids: Collection[int]) -> bool:
    """Plan what is to be posted instead of these posts of a message; each is replaced once. Whether there is any."""
    mine = sa.select(posts).where(posts.c.id.in_(ids)).order_by(posts.c.id).with_for_update()
    rows = tx.execute(mine).all()
    tx.execute(sa.update(posts).where(posts.c.id.in_(ids)).values(clicked=sa.false()))
    renewed = [_renew(tx, row) for row in rows]  # each, also after the first
    return any(renewed)


def renew_unsure(tx: Transaction, ids: Collection[int]) -> None:
    """Post anew what may be in Slack as the card of a less specific event, and can't be looked up."""
    unsure = (posts.c.state == State.DEAD) & posts.c.unsure & posts.c.turned
    rows = tx.execute(sa.select(posts).where(posts.c.id.in_(ids), unsure).with_for_update()).all()
    for row in rows:  # it stays, for repeats of its event
        done = {"kind": REPLACED, "state": State.SENT, "unsure": False}
        tx.execute(sa.update(posts).where(posts.c.id == row.id).values(**done))
        _plan_card(tx, row)


def _renew(tx: Transaction, row: sa.Row[Any]) -> bool:
    if row.turned and row.kind == ALERT:
        tx.execute(sa.update(posts).where(posts.c.id == row.id).values(kind=REPLACED, turned=False))
        _plan_card(tx, row)
        return True
    if not row.clicked or row.frozen or row.kind not in {ALERT, CURRENT}:
        return False
    # The card stays the head of its thread, which is where its successor and all follow-ups go.
    frozen = {"frozen": True} if row.kind == ALERT else {"kind": REPLACED}
    tx.execute(sa.update(posts).where(posts.c.id == row.id).values(**frozen))
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
    note = (posts.c.alert_id == row.alert_id) & (posts.c.channel == row.channel) & (posts.c.kind == TURNED)
    tx.execute(sa.delete(posts).where(note, posts.c.state.in_([State.READY, State.HELD])))
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
