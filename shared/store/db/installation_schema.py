"""The tables about this installation: its database, its running bots, its webhook subscriptions."""

from __future__ import annotations

import sqlalchemy as sa

from shared.store.db.columns import metadata, text, timestamp

webhook_subscriptions = sa.Table(  # those made by `webhooks create`; the service shows a secret only once
    "webhook_subscriptions",
    metadata,
    text("workspace", primary_key=True),
    text("id", primary_key=True),
    text("url"),
    text("events"),  # JSON
    text("secret"),  # as it is, or encrypted with the key of the settings
    timestamp("created_at", nullable=False),
    timestamp("ends_at"),  # from when on its deliveries are refused; NULL: never
)

instance = sa.Table(  # one row: which database this is
    "instance",
    metadata,
    sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
    text("id"),
    text("reminder_times"),  # those that the due times of the reminders were computed with
)

bot_processes = sa.Table(  # the running bots, by their heartbeat
    "bot_processes",
    metadata,
    text("id", primary_key=True),
    text("host"),
    timestamp("seen_at", nullable=False),
)

alembic_version = sa.Table(  # one row: the newest migration that was applied, or that the tables were created with
    "alembic_version", metadata, sa.Column("version_num", sa.String(32), nullable=False),
    sa.PrimaryKeyConstraint("version_num", name="alembic_version_pkc"),
)  # fmt: skip

releases = sa.Table(  # which version of the program brought the schema to a revision
    "releases",
    metadata,
    text("revision", primary_key=True),
    text("version"),
    timestamp("at", nullable=False),
)
