"""What is forgotten, and when: words early, hashes late, since a hash is the only guard against a replay."""

from __future__ import annotations

from dataclasses import dataclass

import sqlalchemy as sa

from bot.store.db.schema import alerts, answers, arrivals, audit, deliveries, posts, sightings

BODIES = 30 * 86_400.0
"""Seconds that what leads wrote is kept."""
HASHES = 90 * 86_400.0
"""Seconds that a delivery is known again; the sender gives up after one day."""
AT_ONCE = 2_000
"""Rows that one transaction forgets, so that the intake never waits long."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pruned:
    """How much was forgotten; `more` is left for the next time."""

    bodies: int
    deliveries: int
    more: bool


def prune(connection: sa.Connection, *, bodies_before: float, hashes_before: float) -> Pruned:
    """Forget one portion."""
    bodies = _forget_words(connection, before=bodies_before)
    gone = _forget_deliveries(connection, before=hashes_before)
    for table, at in (
        (arrivals, arrivals.c.at),
        (answers, answers.c.at),
        (audit, audit.c.at),
        (sightings, sightings.c.at),
    ):
        key = next(iter(table.primary_key.columns))
        old = sa.select(key).where(at < hashes_before).limit(AT_ONCE)
        connection.execute(sa.delete(table).where(key.in_(old)))
    return Pruned(bodies=bodies, deliveries=gone, more=AT_ONCE in {bodies, gone})


def _forget_words(connection: sa.Connection, *, before: float) -> int:
    old = sa.select(deliveries.c.id).where(
        deliveries.c.received_at < before, deliveries.c.body.is_not(None), sa.not_(deliveries.c.pending)
    )
    query = sa.update(deliveries).where(deliveries.c.id.in_(old.limit(AT_ONCE))).values(body=None)
    return connection.execute(query).rowcount


def _forget_deliveries(connection: sa.Connection, *, before: float) -> int:
    """Those whose messages are all sent, with their alerts and posts."""
    unsent = sa.select(posts.c.alert_id).where(posts.c.state != "sent", posts.c.alert_id != "")
    busy = sa.select(alerts.c.delivery_id).where(alerts.c.id.in_(unsent))
    routed = sa.not_(deliveries.c.pending)
    old = sa.select(deliveries.c.id).where(
        routed, deliveries.c.last_at < before, deliveries.c.id.not_in(busy)
    )
    ids = connection.execute(old.limit(AT_ONCE)).scalars().all()
    names = sa.select(alerts.c.id).where(alerts.c.delivery_id.in_(ids))
    connection.execute(sa.delete(posts).where(posts.c.alert_id.in_(names)))
    connection.execute(sa.delete(alerts).where(alerts.c.delivery_id.in_(ids)))
    return connection.execute(sa.delete(deliveries).where(deliveries.c.id.in_(ids))).rowcount
