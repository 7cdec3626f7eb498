"""Acknowledgements of paused domains, and those without one."""

from __future__ import annotations

from collections.abc import Callable

import sqlalchemy as sa

from bot.store.alerts.reminders import posted_cards
from bot.store.db.columns import NOW
from bot.store.db.engine import Repository, Transaction, writes
from bot.store.db.schema import alerts, posts
from bot.store.queue import outbox
from bot.store.queue.alert_row import OWN, AlertChange, Due, read_alerts
from bot.store.queue.outbox import PlannedPost
from bot.store.queue.post_kinds import ALERT, UNACKNOWLEDGED
from bot.store.queue.posts import State
from shared.api.event_kinds import ACKNOWLEDGED
from shared.domain.records import Actor

AT_ONCE = 50
"""Domains looked at in one sweep."""
LONGEST = 4 * 3600.0
"""Seconds between two reminders of one domain, at most."""


_DUE = alerts.c.ack_due_at <= NOW
_SETTLE = (
    sa.update(alerts)
    .where(_DUE, sa.or_(alerts.c.acked_at.is_not(None), alerts.c.recovered_at.is_not(None)))
    .values(ack_due_at=None)
)
_SHOWN = sa.exists().where(
    posts.c.alert_id == alerts.c.id, posts.c.kind == ALERT, posts.c.state == State.SENT
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
    def acknowledge(self, tx: Transaction, alert: str, actor: Actor) -> AlertChange | None:
        """Put a person's name on it unless it has one; None if the paused domain doesn't exist."""
        which = (alerts.c.id == alert) & (alerts.c.kind.in_(ACKNOWLEDGED))
        free = which & alerts.c.acked_at.is_(None) & alerts.c.recovered_at.is_(None)
        taken = {"acked_name": actor.name, "acked_at": tx.now, "ack_due_at": None}
        changed = tx.execute(sa.update(alerts).where(free).values(**taken)).rowcount == 1
        if changed:
            outbox.repaint(tx, [alert], clicked=True)
        row = next(iter(read_alerts(tx, sa.select(*OWN).where(which))), None)
        return None if row is None else AlertChange(alert=row, changed=changed)

    @writes
    def sweep(
        self,
        tx: Transaction,
        plan: Callable[[Due, float], PlannedPost],
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
        reminders = posted_cards(tx, UNACKNOWLEDGED, [row.id for row in found])
        for one in reminders:
            outbox.plan(tx, plan(one, tx.now), workspace=one.alert.workspace)
        return len(reminders)
