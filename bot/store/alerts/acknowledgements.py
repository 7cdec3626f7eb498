"""Acknowledgements of paused domains, and those without one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import sqlalchemy as sa

from bot.store.db.columns import NOW
from bot.store.db.engine import Repository, Transaction, writes
from bot.store.db.schema import alerts, posts
from bot.store.queue import outbox
from bot.store.queue.outbox import PlannedPost
from bot.store.queue.posts import State
from shared.domain.records import Actor

AT_ONCE = 50
"""Domains looked at in one sweep."""
LONGEST = 4 * 3600.0
"""Seconds between two reminders of one domain, at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Acknowledged:
    """A paused domain, who takes care of it, and whether this act changed that."""

    workspace: str
    domain: str
    name: str
    at: float | None
    recovered: bool
    changed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Unacknowledged:
    """The card of a paused domain in one channel, whose thread is due a reminder."""

    alert_id: str
    workspace: str
    domain: str
    channel: str
    received_at: float
    round: int


_DUE = alerts.c.ack_due_at <= NOW
_SETTLE = (
    sa.update(alerts)
    .where(_DUE, sa.or_(alerts.c.acked_at.is_not(None), alerts.c.recovered_at.is_not(None)))
    .values(ack_due_at=None)
)
_SHOWN = sa.exists().where(
    posts.c.alert_id == alerts.c.id, posts.c.kind == "alert", posts.c.state == State.SENT
)
_OPEN = (
    sa.select(alerts.c.id, alerts.c.ack_reminders)
    .where(_DUE, _SHOWN)
    .order_by(alerts.c.ack_due_at)
    .limit(AT_ONCE)
    .with_for_update(skip_locked=True)
)


class Acknowledgements(Repository):
    """Paused domains and who takes care of each."""

    @writes
    def acknowledge(self, tx: Transaction, alert: str, actor: Actor) -> Acknowledged | None:
        """Put a person's name on it unless it has one; None if the paused domain doesn't exist."""
        which = (alerts.c.id == alert) & (alerts.c.kind == "domain.paused")
        free = which & alerts.c.acked_at.is_(None) & alerts.c.recovered_at.is_(None)
        taken = {"acked_name": actor.name, "acked_at": tx.now, "ack_due_at": None}
        changed = tx.execute(sa.update(alerts).where(free).values(**taken)).rowcount == 1
        if changed:
            outbox.repaint(tx, [alert], clicked=True)
        row = tx.execute(sa.select(alerts).where(which)).one_or_none()
        if row is None:
            return None
        return Acknowledged(
            workspace=row.workspace,
            domain=row.domain,
            name=row.acked_name,
            at=row.acked_at,
            recovered=row.recovered_at is not None,
            changed=changed,
        )

    @writes
    def sweep(
        self,
        tx: Transaction,
        plan: Callable[[Unacknowledged, float], PlannedPost],
        *,
        remind_after: float,
    ) -> int:
        """Plan the reminders that are due, each later than the one before; returns how many there were."""
        tx.execute(_SETTLE, {"now": tx.now})
        found = tx.execute(_OPEN, {"now": tx.now}).all()
        for row in found:
            pause = min(LONGEST, remind_after * 2.0 ** min(row.ack_reminders + 1, 16))
            later = {"ack_due_at": tx.now + pause, "ack_reminders": row.ack_reminders + 1}
            tx.execute(sa.update(alerts).where(alerts.c.id == row.id).values(**later))
        reminders = _cards(tx, [row.id for row in found])
        for one in reminders:
            outbox.plan(tx, plan(one, tx.now), workspace=one.workspace)
        return len(reminders)


def _cards(tx: Transaction, ids: Sequence[str]) -> list[Unacknowledged]:
    if not ids:
        return []
    query = (
        sa.select(
            alerts.c.id.label("alert_id"),
            *(alerts.c[name] for name in ("workspace", "domain", "received_at")),
            alerts.c.ack_reminders.label("round"),
            posts.c.channel,
        )
        .join(posts, posts.c.alert_id == alerts.c.id)
        .where(alerts.c.id.in_(ids), posts.c.kind == "alert", posts.c.state == State.SENT)
        .order_by(posts.c.id)
    )
    return [Unacknowledged(**row._asdict()) for row in tx.execute(query)]
