"""The tables of guardrails. All times are Unix seconds."""

from __future__ import annotations

import sqlalchemy as sa

from shared.store.db.columns import count, metadata, partial_index, serial, text, timestamp

incidents = (
    sa.Table(  # one row per incident: written before the act, done with the message in one transaction
        "guardrail_incidents",
        metadata,
        serial(),
        text("workspace"),
        text("rule"),
        text("sentence"),
        text("action"),
        text("subject"),
        text("label"),
        text("note"),
        sa.Column("sequences", sa.Text, nullable=False, server_default="[]"),  # ids, as JSON
        text("state"),
        timestamp("began_at", nullable=False),
        timestamp("held_at", nullable=False),  # when its condition held last
        timestamp("ended_at"),
        timestamp("resumes_at"),
        count("change"),  # the entry of the audit whose Undo rests its rule
        text("domain"),  # whose trouble it is, in small letters; empty: it is told by itself
        text("told"),  # the dedupe of the message that tells of it; empty: its domain's card does
    )
)
_OPEN = incidents.c.ended_at.is_(None)
partial_index(
    "ix_guardrail_incidents_open",
    incidents.c.workspace,
    incidents.c.rule,
    incidents.c.subject,
    unique=True,
    where=_OPEN,
)
sa.Index("ix_guardrail_incidents_began_at", incidents.c.workspace, incidents.c.began_at)
sa.Index("ix_guardrail_incidents_change", incidents.c.change)

samples = sa.Table(  # how far the counts of a service day stood, at most one row in each slot of a day
    "guardrail_samples",
    metadata,
    text("workspace", primary_key=True),
    sa.Column("day", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("slot", sa.BigInteger, primary_key=True, autoincrement=False),
    text("scope", primary_key=True),
    text("key", primary_key=True),
    timestamp("at", nullable=False),
    count("sends"),
    count("replies"),
    count("positive"),
    timestamp("health"),
)
sa.Index("ix_guardrail_samples_at", samples.c.at)
