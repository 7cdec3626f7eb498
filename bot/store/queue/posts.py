"""Messages to come and messages posted, as the store holds them, with all that their drawing needs."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import sqlalchemy as sa

from bot.store.db.engine import Transaction
from bot.store.db.schema import alerts, deliveries, posts


class State(StrEnum):
    """How a post stands."""

    READY = "ready"
    SENDING = "sending"
    SENT = "sent"
    UNCERTAIN = "uncertain"
    DEAD = "dead"
    HELD = "held"


NUDGES = ("reminder", "escalation", "back")
"""Kinds of message that ask for an alert to be claimed, and show when it was."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Post:
    """A message to one channel, with what is needed to draw it."""

    id: int
    dedupe: str
    workspace: str
    channel: str
    kind: str
    alert_id: str
    note: str
    bundle: str
    storm: int
    thread_ts: str
    ts: str
    version: int
    attempts: int
    lookups: int
    tried_until: float | None
    created_at: float
    body: bytes | None
    found: bool
    seen: int
    received_at: float
    claimed_by: str
    claimed_name: str
    claimed_at: float | None
    condensed: bool = False
    mention: str = ""
    waiting_since: float | None = None
    nudges: int = 0
    snoozed_until: float | None = None
    snoozed_name: str = ""
    handled_name: str = ""
    handled_at: float | None = None
    standing: str = ""
    recovered_at: float | None = None

    @property
    def mark(self) -> str:
        """A hash that identifies this post, across databases too."""
        return hashlib.sha256(self.dedupe.encode()).hexdigest()[:20]


def load(
    tx: Transaction,
    channel: str,
    state: State,
    *,
    limit: int,
    urgent_first: bool = False,
    only: int = 0,
    bundle: str = "",
    sure: bool = False,
    least_tried: bool = False,
) -> tuple[Post, ...]:
    """Posts of a channel in one state, the first planned first."""
    query = drawable().where(posts.c.channel == channel, posts.c.state == state).limit(limit)
    if only:
        query = query.where(posts.c.id == only)
    if bundle:
        query = query.where(posts.c.bundle == bundle)
    if sure:
        query = query.where(sa.not_(posts.c.unsure))
    if urgent_first:
        query = query.order_by(posts.c.urgency.desc())
    if least_tried:
        query = query.order_by(posts.c.attempts)
    return tuple(read_post(row) for row in tx.execute(query.order_by(posts.c.id)))


def drawable() -> sa.Select[Any]:
    """Posts joined with all that their drawing needs."""
    source = posts.outerjoin(alerts, alerts.c.id == posts.c.alert_id).outerjoin(
        deliveries, deliveries.c.id == alerts.c.delivery_id
    )
    return sa.select(
        posts,
        alerts.c.claimed_by,
        alerts.c.claimed_name,
        alerts.c.claimed_at,
        alerts.c.received_at,
        alerts.c.waiting_since,
        alerts.c.nudges,
        alerts.c.snoozed_until,
        alerts.c.snoozed_name,
        alerts.c.handled_name,
        alerts.c.handled_at,
        alerts.c.standing,
        alerts.c.recovered_at,
        deliveries.c.body,
        deliveries.c.found,
        deliveries.c.seen,
    ).select_from(source)


def read_post(row: sa.Row[Any]) -> Post:
    """One row of `drawable`."""
    return Post(
        id=row.id,
        dedupe=row.dedupe,
        workspace=row.workspace,
        channel=row.channel,
        kind=row.kind,
        alert_id=row.alert_id,
        note=row.note,
        bundle=row.bundle,
        storm=row.storm,
        thread_ts=row.thread_ts,
        ts=row.ts,
        version=row.version,
        attempts=row.attempts,
        lookups=row.lookups,
        tried_until=row.tried_until,
        created_at=row.created_at,
        body=row.body,
        found=bool(row.found),
        seen=row.seen or 0,
        received_at=row.received_at or row.created_at,
        claimed_by=row.claimed_by or "",
        claimed_name=row.claimed_name or "",
        claimed_at=row.claimed_at,
        condensed=row.condensed,
        mention=row.mention,
        waiting_since=row.waiting_since,
        nudges=row.nudges or 0,
        snoozed_until=row.snoozed_until,
        snoozed_name=row.snoozed_name or "",
        handled_name=row.handled_name or "",
        handled_at=row.handled_at,
        standing=row.standing or "",
        recovered_at=row.recovered_at,
    )
