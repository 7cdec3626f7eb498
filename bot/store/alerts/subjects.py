"""How what alerts are about stands elsewhere: a sequence that was paused, a domain that recovers; and what deliveries told."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from bot.store.db.schema import alerts, posts, sightings
from bot.store.queue import deliveries

INTERESTED_FOR, PAUSED_FOR = 3 * 86_400.0, 21 * 86_400.0
"""Seconds after which a card is left as it is."""
MOST = 500
NAME = 300
"""Letters of a sequence's name that are kept with an alert."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertSubject:
    """An alert whose card shows how something else stands."""

    alert_id: str
    kind: str
    sequence: str
    domain: str
    standing: str
    received_at: float
    snoozed: bool


def watched(connection: sa.Connection, workspace: str, *, now: float) -> Sequence[AlertSubject]:
    """Interested replies that are not handled and paused domains that have not recovered, the newest first."""
    open_ = (
        (alerts.c.kind == "reply.interested")
        & alerts.c.handled_at.is_(None)
        & (alerts.c.sequence != "")
        & (alerts.c.received_at > now - INTERESTED_FOR)
    )
    paused = (
        (alerts.c.kind == "domain.paused")
        & alerts.c.recovered_at.is_(None)
        & (alerts.c.received_at > now - PAUSED_FOR)
    )
    query = (
        sa.select(alerts)
        .where(alerts.c.workspace == workspace, open_ | paused)
        .order_by(alerts.c.received_at.desc())
        .limit(MOST)
    )
    return [
        AlertSubject(
            alert_id=row.id,
            kind=row.kind,
            sequence=row.sequence,
            domain=row.domain,
            standing=row.standing,
            received_at=row.received_at,
            snoozed=row.snoozed_until is not None,
        )
        for row in connection.execute(query)
    ]


def stand(connection: sa.Connection, alert: str, standing: str, *, recovered: bool, now: float) -> bool:
    """Write down how it stands, and have the card painted when that is news; whether it was."""
    values: dict[str, Any] = {"standing": standing, "looked_at": now}
    news = alerts.c.standing != standing
    if recovered:
        values["recovered_at"] = now
        news = alerts.c.recovered_at.is_(None)
    changed = connection.execute(
        sa.update(alerts).where(alerts.c.id == alert, news).values(**values)
    ).rowcount
    if changed:
        deliveries.repaint(connection, [alert], now=now)
    return bool(changed)


def cards(connection: sa.Connection, alert: str) -> Sequence[tuple[str, str]]:
    """Workspace and channel of each card of an alert."""
    which = (posts.c.alert_id == alert) & (posts.c.kind == "alert")
    rows = connection.execute(sa.select(posts.c.workspace, posts.c.channel).where(which))
    return [(workspace, channel) for workspace, channel in rows]


def told_of(connection: sa.Connection, workspace: str, domain: str, *, since: float) -> Mapping[str, int]:
    """What deliveries told of a domain: how many of each kind, and how many of the bounces were hard."""
    which = (sightings.c.workspace == workspace) & (sightings.c.domain == domain) & (sightings.c.at >= since)
    kinds = sa.select(sightings.c.kind, sa.func.count()).where(which).group_by(sightings.c.kind)
    hard = sa.select(sa.func.count()).where(
        which, sightings.c.kind == "lead.bounced", sightings.c.detail.like("hard%")
    )
    counts = {kind: int(count) for kind, count in connection.execute(kinds)}
    return {**counts, "hard": int(connection.scalar(hard) or 0)}


def sequences_of(connection: sa.Connection, workspace: str, domain: str, *, since: float) -> Sequence[str]:
    """The sequences that sent from a domain, as far as deliveries told; the one with most first."""
    query = (
        sa.select(sightings.c.sequence)
        .where(sightings.c.workspace == workspace, sightings.c.domain == domain)
        .where(sightings.c.sequence != "", sightings.c.at >= since)
        .group_by(sightings.c.sequence)
        .order_by(sa.func.count().desc(), sightings.c.sequence)
        .limit(50)
    )
    return connection.scalars(query).all()
