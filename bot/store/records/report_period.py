"""What the bot recorded over a range of days, for the client report: positive replies, incidents, changes."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import sqlalchemy as sa

from bot.store.alerts.changes import changes_between
from bot.store.db.engine import Transaction
from bot.store.db.schema import alerts, deliveries, posts
from shared.api.events import Event, read_event
from shared.domain.records import Incident, PeriodRecords, PositiveReply


def read_period(tx: Transaction, workspace: str, since: float, until: float) -> PeriodRecords:
    """From one moment until before another."""
    c = alerts.c
    within = (c.workspace == workspace) & (c.received_at >= since) & (c.received_at < until)
    replies = (
        sa.select(alerts, deliveries.c.body)
        .join(deliveries, deliveries.c.id == c.delivery_id)
        .where(within, c.kind == "reply.interested")
        .order_by(c.received_at)
    )
    paused = sa.select(alerts).where(within, c.kind == "domain.paused").order_by(c.received_at)
    spikes = (
        sa.select(posts.c.created_at, posts.c.note)
        .where(posts.c.workspace == workspace, posts.c.kind == "spike")
        .where(posts.c.created_at >= since, posts.c.created_at < until)
    )
    incidents = [_paused_domain(row) for row in tx.execute(paused)]
    incidents += [_spike(at, note) for at, note in tx.execute(spikes)]
    return PeriodRecords(
        positive=[_positive_reply(row) for row in tx.execute(replies)],
        incidents=sorted(incidents, key=lambda one: one.at),
        changes=changes_between(tx, workspace, since, until),
    )


def _positive_reply(row: sa.Row[Any]) -> PositiveReply:
    """Its texts are unknown once the body of the delivery is pruned."""
    event = read_event(row.body or b"")
    lead = event.lead if isinstance(event, Event) else None
    touched = min(filter(None, (row.claimed_at, row.handled_at)), default=None)
    return PositiveReply(
        at=_moment(row.received_at),
        sequence=row.sequence,
        touched_after=None if touched is None else timedelta(seconds=max(0.0, touched - row.received_at)),
        lead=lead.name if lead else "",
        company=(lead.company if lead else None) or "",
        email=row.email,
    )


def _paused_domain(row: sa.Row[Any]) -> Incident:
    return Incident(
        at=_moment(row.received_at),
        text=f"The service paused {row.domain}" if row.domain else "The service paused a domain",
        handled_by=row.acked_name,
        handled_at=None if row.acked_at is None else _moment(row.acked_at),
        recovered_at=None if row.recovered_at is None else _moment(row.recovered_at),
    )


def _spike(at: float, note: str) -> Incident:
    return Incident(at=_moment(at), text=str(json.loads(note).get("title", "")))


def _moment(at: float) -> datetime:
    return datetime.fromtimestamp(at, UTC)
