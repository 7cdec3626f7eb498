"""What is posted anew where Slack refuses to edit a message: `edit_window_closed`, a deleted message, and the like.

A card that a less specific event of its reply posted never said what it should now: it is posted anew, in the
channel. What a person changed is said in the card's thread, on a card that is repainted from then on, for a second
card in the channel would look like a second reply. The rest is dropped: counts, the summary of a storm (its thread has
every alert), settled reminders (the card says it), an Undo (a click on it is answered), the end of a spike, and the
recovery of a domain, which has a message of its own.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import sqlalchemy as sa

from bot.store.db.engine import Transaction
from bot.store.db.schema import posts
from bot.store.queue import outbox
from bot.store.queue.outbox import PlannedPost
from bot.store.queue.post_kinds import ALERT, CURRENT, REPLACED, TURNED
from bot.store.queue.posts import State


def renew_refused(tx: Transaction, ids: Collection[int]) -> bool:
    """Plan what is to be posted instead of these posts of a message; each is replaced once. Whether there is any."""
    mine = sa.select(posts).where(posts.c.id.in_(ids)).order_by(posts.c.id).with_for_update()
    rows = tx.execute(mine).all()
    tx.execute(sa.update(posts).where(posts.c.id.in_(ids)).values(repaint_at=None, clicked=sa.false()))
    renewed = [_renew(tx, row) for row in rows]  # each, also after the first
    return any(renewed)


def renew_unsure(tx: Transaction, ids: Collection[int]) -> None:
    """Post anew what may be in Slack as the card of a less specific event, and can't be looked up."""
    unsure = (posts.c.state == State.DEAD) & posts.c.unsure & posts.c.turned
    rows = tx.execute(sa.select(posts).where(posts.c.id.in_(ids), unsure).with_for_update()).all()
    for row in rows:  # it stays, for repeats of its event
        done = {"kind": REPLACED, "state": State.SENT, "unsure": False, "repaint_at": None}
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
    outbox.plan(tx, successor, workspace=row.workspace)
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
    outbox.plan(tx, card, workspace=row.workspace)
