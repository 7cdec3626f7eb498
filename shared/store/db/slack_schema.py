"""The tables about Slack: events and limits."""

from __future__ import annotations

import sqlalchemy as sa

from shared.store.db.columns import count, metadata, text, timestamp

slack_events = sa.Table(  # those that were taken: Slack sends one again that it thinks lost
    "slack_events",
    metadata,
    text("id", primary_key=True),
    timestamp("at", nullable=False),
)
sa.Index("ix_slack_events_at", slack_events.c.at)


def _time(name: str) -> sa.Column[float]:
    return sa.Column(name, sa.Double, nullable=False, server_default="0")


slack_limits = sa.Table(  # how fast a method of Slack may be called, by all bots that share the database
    "slack_limits",
    metadata,
    text("key", primary_key=True),  # a method, or a method and a channel
    _time("tat"),  # theoretical arrival time of GCRA: when the next call would be on schedule
    _time("closed_until"),  # Slack asked to wait, or keeps failing
    _time("slow_until"),  # until when a method is paced that was throttled
    count("failures"),  # in a row
    text("channel"),  # in which it was throttled last
    _time("throttled_at"),
)
