"""The cards of alerts that stand in a channel, which is what reminders follow."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import sqlalchemy as sa

from shared.store import jobs
from shared.store.db.engine import Transaction
from shared.store.db.schema import alerts, deliveries, posts
from shared.store.jobs import REMIND
from shared.store.queue import alert_row
from shared.store.queue.alert_row import Due
from shared.store.queue.post_kinds import ALERT
from shared.store.queue.posts import State

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


def look_now(tx: Transaction, alerts_: Collection[str]) -> None:
    """Have somebody look when reminders of these alerts are due: their card stands, or an act changed them."""
    jobs.put_all(tx, REMIND, alerts_, at=tx.now, how="sooner")
