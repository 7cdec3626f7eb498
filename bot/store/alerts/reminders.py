"""Reminders and escalations of unclaimed replies, and the ends of snoozes.

A reply waits while `waiting_since` is set. `sweep` plans what is due in one transaction, so that a reminder is planned
once, with any number of processes and crashes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import sqlalchemy as sa

from bot.store.db.engine import Repository, Transaction, writes
from bot.store.db.schema import alerts, deliveries, posts
from bot.store.queue import outbox
from bot.store.queue.outbox import PlannedPost
from bot.store.queue.posts import State

AT_ONCE = 200
"""Alerts looked at in one sweep."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Due:
    """An alert that is due a reminder in the thread of its card in one channel."""

    alert_id: str
    workspace: str
    channel: str
    mention: str
    what: str
    """remind, escalate, back (from a snooze) or unfinished (claimed, and not done)."""
    waiting_since: float
    received_at: float
    round: int
    """How often its card was changed before, for all time."""
    by: str
    body: bytes | None
    bundled: bool
    """Its card shares a message with others: a storm."""
    claimed_by: str = ""
    claimed_name: str = ""
    claimed_at: float | None = None


class Reminders(Repository):
    """Reminders that are due."""

    @writes
    def sweep(
        self,
        tx: Transaction,
        plan: Callable[[Sequence[Due], float], Sequence[tuple[str, PlannedPost]]],
        *,
        remind_after: float | None,
        escalate_after: float | None,
        unfinished_after: float | None = None,
    ) -> int:
        """Plan the reminders that are due, and let go of what was held; returns how many there were."""
        marked = {
            "back": _wake(tx),
            "remind": _nudge(tx, nudges=0, after=remind_after),
            "escalate": _nudge(tx, nudges=1, after=escalate_after),
            "unfinished": _nudge_claimer(tx, after=unfinished_after),
        }
        outbox.repaint(tx, [alert for ids in marked.values() for alert in ids])
        due = [one for what, ids in marked.items() for one in _due(tx, what, ids)]
        for workspace, planned in plan(due, tx.now):
            outbox.plan(tx, planned, workspace=workspace)
        return len(due) + outbox.release_held(tx)


def _wake(tx: Transaction) -> Sequence[str]:
    """End the snoozes that have run out; by whom they were stays written."""
    which = sa.select(alerts.c.id).where(alerts.c.snoozed_until <= tx.now)
    claimable = sa.case((alerts.c.kind == "reply.interested", tx.now), else_=None)
    woken = (
        sa.update(alerts)
        .where(alerts.c.id.in_(which.limit(AT_ONCE).with_for_update(skip_locked=True)))
        .values(snoozed_until=None, nudges=0, waiting_since=claimable)
    )
    return tx.scalars(woken.returning(alerts.c.id)).all()


def _nudge(tx: Transaction, *, nudges: int, after: float | None) -> Sequence[str]:
    if after is None:
        return ()
    which = (
        sa.select(alerts.c.id)
        .where(alerts.c.waiting_since <= tx.now - after, alerts.c.nudges == nudges, _SHOWN.exists())
        .order_by(alerts.c.waiting_since)
        .limit(AT_ONCE)
        .with_for_update(skip_locked=True)
    )
    marked = sa.update(alerts).where(alerts.c.id.in_(which)).values(nudges=nudges + 1)
    return tx.scalars(marked.returning(alerts.c.id)).all()


def _nudge_claimer(tx: Transaction, *, after: float | None) -> Sequence[str]:
    if after is None:
        return ()
    which = (
        sa.select(alerts.c.id)
        .where(
            alerts.c.claimed_by != sa.literal("", literal_execute=True),
            alerts.c.handled_at.is_(None),
            alerts.c.claim_nudges == sa.literal(0, literal_execute=True),
            alerts.c.claimed_at <= tx.now - after,
            _SHOWN.exists(),
        )
        .order_by(alerts.c.claimed_at)
        .limit(AT_ONCE)
        .with_for_update(skip_locked=True)
    )
    marked = sa.update(alerts).where(alerts.c.id.in_(which)).values(claim_nudges=1)
    return tx.scalars(marked.returning(alerts.c.id)).all()


_SHOWN = sa.select(posts.c.alert_id).where(
    posts.c.alert_id == alerts.c.id, posts.c.kind == "alert", posts.c.state == State.SENT
)


def _due(tx: Transaction, what: str, ids: Sequence[str]) -> list[Due]:
    """One for each card of these alerts that is in a channel."""
    query = (
        sa.select(
            posts.c.alert_id,
            *(posts.c[name] for name in ("channel", "mention")),
            posts.c.version.label("round"),
            (posts.c.bundle != "").label("bundled"),
            sa.func.coalesce(alerts.c.waiting_since, 0.0).label("waiting_since"),
            *(alerts.c[name] for name in ("workspace", "received_at")),
            alerts.c.snoozed_name.label("by"),
            *(alerts.c[name] for name in ("claimed_by", "claimed_name", "claimed_at")),
            deliveries.c.body,
        )
        .join(alerts, alerts.c.id == posts.c.alert_id)
        .join(deliveries, deliveries.c.id == alerts.c.delivery_id)
        .where(posts.c.alert_id.in_(ids), posts.c.kind == "alert", posts.c.state == State.SENT)
        .order_by(posts.c.id)
    )
    return [Due(what=what, **row._asdict()) for row in tx.execute(query)] if ids else []
