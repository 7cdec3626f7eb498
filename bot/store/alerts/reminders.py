"""Reminders and escalations of unclaimed replies, and the ends of snoozes.

A reply waits while `waiting_since` is set. `sweep` plans what is due in one transaction, so that a reminder is planned
once, with any number of processes and crashes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from bot.store.db.columns import NOW, SECONDS
from bot.store.db.engine import Repository, Transaction, writes
from bot.store.db.schema import alerts, deliveries, posts
from bot.store.queue import alert_row, outbox
from bot.store.queue.alert_row import Due
from bot.store.queue.outbox import PlannedPost
from bot.store.queue.post_kinds import ALERT
from bot.store.queue.posts import State
from shared.api.event_kinds import CLAIMABLE

AT_ONCE = 200
"""Alerts looked at in one sweep."""


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
            "back": tx.scalars(_WAKE, {"now": tx.now}).all(),
            "remind": _nudge(tx, _NUDGE, {"nudged": 0}, after=remind_after),
            "escalate": _nudge(tx, _NUDGE, {"nudged": 1}, after=escalate_after),
            "unfinished": _nudge(tx, _NUDGE_CLAIMER, {}, after=unfinished_after),
        }
        outbox.repaint(tx, [alert for ids in marked.values() for alert in ids])
        due = [one for what, ids in marked.items() for one in posted_cards(tx, what, ids)]
        for workspace, planned in plan(due, tx.now):
            outbox.plan(tx, planned, workspace=workspace)
        return len(due) + outbox.release_held(tx)


_SHOWN = sa.select(posts.c.alert_id).where(
    posts.c.alert_id == alerts.c.id, posts.c.kind == ALERT, posts.c.state == State.SENT
)


def _marked(due: sa.Select[Any], values: Mapping[str, Any]) -> Any:
    which = due.limit(AT_ONCE).with_for_update(skip_locked=True)
    return sa.update(alerts).where(alerts.c.id.in_(which)).values(**values).returning(alerts.c.id)


_WAKE = _marked(
    sa.select(alerts.c.id).where(alerts.c.snoozed_until <= NOW),
    {
        "snoozed_until": None,  # by whom it was snoozed stays written
        "nudges": 0,
        "waiting_since": sa.case((alerts.c.kind.in_(CLAIMABLE), NOW), else_=None),
    },
)
_NUDGE = _marked(
    sa.select(alerts.c.id)
    .where(
        alerts.c.waiting_since <= NOW - SECONDS, alerts.c.nudges == sa.bindparam("nudged"), _SHOWN.exists()
    )
    .order_by(alerts.c.waiting_since),
    {"nudges": sa.bindparam("nudged", type_=sa.BigInteger) + 1},
)
_NUDGE_CLAIMER = _marked(
    sa.select(alerts.c.id)
    .where(
        alerts.c.claimed_by != sa.literal("", literal_execute=True),
        alerts.c.handled_at.is_(None),
        alerts.c.claim_nudges == sa.literal(0, literal_execute=True),
        alerts.c.claimed_at <= NOW - SECONDS,
        _SHOWN.exists(),
    )
    .order_by(alerts.c.claimed_at),
    {"claim_nudges": 1},
)


def _nudge(
    tx: Transaction, statement: Any, values: Mapping[str, Any], *, after: float | None
) -> Sequence[str]:
    if after is None:
        return ()
    return tx.scalars(statement, {**values, "now": tx.now, "seconds": after}).all()


_CARDS = (
    sa.select(
        *(posts.c[name] for name in ("channel", "mention", "version")),
        (posts.c.bundle != "").label("bundled"),
        *alert_row.COLUMNS,
    )
    .join(alerts, alerts.c.id == posts.c.alert_id)
    .join(deliveries, deliveries.c.id == alerts.c.delivery_id)
    .where(
        posts.c.alert_id.in_(sa.bindparam("ids", expanding=True)),
        posts.c.kind == ALERT,
        posts.c.state == State.SENT,
    )
    .order_by(posts.c.id)
)


def posted_cards(tx: Transaction, what: str, ids: Sequence[str]) -> list[Due]:
    """One for each card of these alerts that is in a channel."""
    rows = tx.execute(_CARDS, {"ids": [*ids]}) if ids else ()
    due = []
    for channel, mention, version, bundled, *values in rows:
        if alert := alert_row.alert_of(values):
            card = {"channel": channel, "mention": mention, "round": version, "bundled": bundled}
            due.append(Due(alert=alert, what=what, **card))
    return due
