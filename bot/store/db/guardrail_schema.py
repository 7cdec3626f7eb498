"""The tables of guardrails. All times are Unix seconds."""

from __future__ import annotations

import sqlalchemy as sa

from bot.store.db.columns import Serial, metadata

rules = sa.Table(  # those that were added by a command
    "guardrails",
    metadata,
    sa.Column("workspace", sa.Text, primary_key=True, server_default=""),
    sa.Column("name", sa.Text, primary_key=True, server_default=""),
    sa.Column("sentence", sa.Text, nullable=False, server_default=""),
    sa.Column("added_by", sa.Text, nullable=False, server_default=""),
    sa.Column("added_name", sa.Text, nullable=False, server_default=""),
    sa.Column("added_at", sa.Double, nullable=False),
)

switches = sa.Table(  # rules that are off or snoozed; workspace and rule are empty for all rules
    "guardrail_switches",
    metadata,
    sa.Column("workspace", sa.Text, primary_key=True, server_default=""),
    sa.Column("rule", sa.Text, primary_key=True, server_default=""),
    sa.Column("by", sa.Text, nullable=False, server_default=""),
    sa.Column("at", sa.Double, nullable=False),
    sa.Column("until", sa.Double),  # NULL: until somebody turns it on
)

turns = sa.Table(  # one row per rule, locked while an incident begins, so that limits hold over processes
    "guardrail_turns",
    metadata,
    sa.Column("workspace", sa.Text, primary_key=True, server_default=""),
    sa.Column("rule", sa.Text, primary_key=True, server_default=""),
    sa.Column("at", sa.Double, nullable=False),
)

incidents = (
    sa.Table(  # one row per incident: claimed before the act, done with the message in one transaction
        "guardrail_incidents",
        metadata,
        sa.Column("id", Serial, primary_key=True, autoincrement=True),
        sa.Column("workspace", sa.Text, nullable=False, server_default=""),
        sa.Column("rule", sa.Text, nullable=False, server_default=""),
        sa.Column("sentence", sa.Text, nullable=False, server_default=""),
        sa.Column("action", sa.Text, nullable=False, server_default=""),
        sa.Column("subject", sa.Text, nullable=False, server_default=""),
        sa.Column("label", sa.Text, nullable=False, server_default=""),
        sa.Column("note", sa.Text, nullable=False, server_default=""),
        sa.Column("sequences", sa.Text, nullable=False, server_default="[]"),  # ids, as JSON
        sa.Column("state", sa.Text, nullable=False, server_default=""),
        sa.Column("began_at", sa.Double, nullable=False),
        sa.Column("held_at", sa.Double, nullable=False),  # when its condition held last
        sa.Column("ended_at", sa.Double),
        sa.Column("resumes_at", sa.Double),
        sa.Column("lease_until", sa.Double),
        sa.Column("token", sa.BigInteger, nullable=False, server_default="0"),
        sa.Column("attempts", sa.BigInteger, nullable=False, server_default="0"),
        sa.Column("undo", sa.Text, nullable=False, server_default=""),  # the nonce of its Undo
    )
)
_OPEN = incidents.c.ended_at.is_(None)
sa.Index(
    "ix_guardrail_incidents_open",
    incidents.c.workspace,
    incidents.c.rule,
    incidents.c.subject,
    unique=True,
    sqlite_where=_OPEN,
    postgresql_where=_OPEN,
)
sa.Index("ix_guardrail_incidents_began_at", incidents.c.workspace, incidents.c.began_at)
sa.Index("ix_guardrail_incidents_undo", incidents.c.undo)

samples = sa.Table(  # how far the counts of a service day stood, at most one row in each slot of a day
    "guardrail_samples",
    metadata,
    sa.Column("workspace", sa.Text, primary_key=True, server_default=""),
    sa.Column("day", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("slot", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("scope", sa.Text, primary_key=True, server_default=""),
    sa.Column("key", sa.Text, primary_key=True, server_default=""),
    sa.Column("at", sa.Double, nullable=False),
    sa.Column("sends", sa.BigInteger, nullable=False, server_default="0"),
    sa.Column("replies", sa.BigInteger, nullable=False, server_default="0"),
    sa.Column("positive", sa.BigInteger, nullable=False, server_default="0"),
    sa.Column("health", sa.Double),
)
sa.Index("ix_guardrail_samples_at", samples.c.at)
