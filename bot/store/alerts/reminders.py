"""Replies that wait too long, and snoozes that end: reminders and escalations.

A reply waits while `waiting_since` stands. `sweep` does what is due in one transaction, so that a reminder is
planned once, whatever the number of processes and however often they die.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

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
    """remind, escalate or back (from a snooze)."""
    waiting_since: float
    received_at: float
    round: int
    """How often its card was changed before, for all time."""
    by: str
    body: bytes | None
    bundled: bool
    """Its card shares a message with others: a storm."""


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
    ) -> int:
        """Plan the reminders that are due, and let go of what was held; returns how many there were."""
        rows = [
            *_woken(tx),
            *_nudged(tx, "remind", nudges=0, after=remind_after),
            *_nudged(tx, "escalate", nudges=1, after=escalate_after),
        ]
        ids = [row.id for row, _ in rows]
        outbox.repaint(tx, ids)
        cards = _cards(tx, ids)
        due = [_due(row, what, card) for row, what in rows for card in cards[row.id]]
        for workspace, planned in plan(due, tx.now):
            outbox.plan(tx, planned, workspace=workspace)
        return len(due) + outbox.release_held(tx)


def _woken(tx: Transaction) -> list[tuple[sa.Row[Any], str]]:
    """End the snoozes that have run out; by whom they were stays written."""
    which = sa.select(alerts.c.id).where(alerts.c.snoozed_until <= tx.now)
    woken = (
        sa.update(alerts)
        .where(alerts.c.id.in_(which.limit(AT_ONCE).with_for_update(skip_locked=True)))
        .values(snoozed_until=None, nudges=0, waiting_since=tx.now)
    )
    return [(row, "back") for row in tx.execute(woken.returning(*_COLUMNS)).all()]


def _nudged(tx: Transaction, what: str, *, nudges: int, after: float | None) -> list[tuple[sa.Row[Any], str]]:
    if after is None:
        return []
    shown = sa.select(posts.c.alert_id).where(
        posts.c.alert_id == alerts.c.id, posts.c.kind == "alert", posts.c.state == State.SENT
    )
    which = (
        sa.select(alerts.c.id)
        .where(alerts.c.waiting_since <= tx.now - after, alerts.c.nudges == nudges, shown.exists())
        .order_by(alerts.c.waiting_since)
        .limit(AT_ONCE)
        .with_for_update(skip_locked=True)
    )
    marked = sa.update(alerts).where(alerts.c.id.in_(which)).values(nudges=nudges + 1)
    return [(row, what) for row in tx.execute(marked.returning(*_COLUMNS)).all()]


_COLUMNS = (
    alerts.c.id,
    alerts.c.workspace,
    alerts.c.waiting_since,
    alerts.c.received_at,
    alerts.c.snoozed_name,
)


def _cards(tx: Transaction, names: Sequence[str]) -> defaultdict[str, list[Any]]:
    """The cards of these alerts that are in a channel."""
    found: defaultdict[str, list[Any]] = defaultdict(list)
    which = (posts.c.alert_id.in_(names)) & (posts.c.kind == "alert") & (posts.c.state == State.SENT)
    source = posts.join(alerts, alerts.c.id == posts.c.alert_id).join(
        deliveries, deliveries.c.id == alerts.c.delivery_id
    )
    columns = (
        posts.c.alert_id,
        posts.c.channel,
        posts.c.mention,
        posts.c.version,
        posts.c.bundle,
        deliveries.c.body,
    )
    query = sa.select(*columns).select_from(source).where(which).order_by(posts.c.id)
    for card in tx.execute(query) if names else ():
        found[card.alert_id].append(card)
    return found


def _due(row: sa.Row[Any], what: str, card: Any) -> Due:
    return Due(
        alert_id=row.id,
        workspace=row.workspace,
        channel=card.channel,
        mention=card.mention,
        what=what,
        waiting_since=row.waiting_since,
        received_at=row.received_at,
        round=card.version,
        by=row.snoozed_name,
        body=card.body,
        bundled=card.bundle != "",
    )
