"""What the bot recorded over a range of days, for the client report: positive replies, incidents, changes."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import sqlalchemy as sa

from bot.store.alerts.changes import changes_between
from bot.store.db.engine import Transaction
from bot.store.db.schema import alerts, posts
from bot.store.queue.alert_row import ALERT_ROWS, OWN, AlertRow, read_alerts
from bot.store.queue.post_kinds import SPIKE
from shared.api.event_kinds import INTERESTED, PAUSED
from shared.domain.records import Incident, PeriodRecords, PositiveReply


def read_period(tx: Transaction, workspace: str, since: float, until: float) -> PeriodRecords:
    """From one moment until before another."""
    c = alerts.c
    within = (c.workspace == workspace) & (c.received_at >= since) & (c.received_at < until)
    replies = ALERT_ROWS.where(within, c.kind == INTERESTED).order_by(c.received_at)
    paused = sa.select(*OWN).where(within, c.kind == PAUSED).order_by(c.received_at)
    spikes = (
        sa.select(posts.c.created_at, posts.c.note)
        .where(posts.c.workspace == workspace, posts.c.kind == SPIKE)
        .where(posts.c.created_at >= since, posts.c.created_at < until)
    )
    incidents = [_paused_domain(row) for row in read_alerts(tx, paused)]
    incidents += [_spike(at, note) for at, note in tx.execute(spikes)]
    return PeriodRecords(
        positive=[_positive_reply(row) for row in read_alerts(tx, replies)],
        incidents=sorted(incidents, key=lambda one: one.at),
        changes=changes_between(tx, workspace, since, until),
    )


def _positive_reply(alert: AlertRow) -> PositiveReply:
    """Its texts are unknown once the body of the delivery is pruned."""
    touched = min(filter(None, (alert.claimed_at, alert.handled_at)), default=None)
    return PositiveReply(
        at=alert.received,
        sequence=alert.sequence,
        touched_after=None if touched is None else timedelta(seconds=max(0.0, touched - alert.received_at)),
        lead=alert.event.lead.name,
        company=alert.event.lead.company or "",
        email=alert.email,
    )


def _paused_domain(alert: AlertRow) -> Incident:
    return Incident(
        at=alert.received,
        text=f"The service paused {alert.domain}" if alert.domain else "The service paused a domain",
        handled_by=alert.acked_name,
        handled_at=None if alert.acked_at is None else _moment(alert.acked_at),
        recovered_at=None if alert.recovered_at is None else _moment(alert.recovered_at),
    )


def _spike(at: float, note: str) -> Incident:
    return Incident(at=_moment(at), text=str(json.loads(note).get("title", "")))


def _moment(at: float) -> datetime:
    return datetime.fromtimestamp(at, UTC)
