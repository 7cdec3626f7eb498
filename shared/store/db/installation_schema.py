"""The tables of the migrations."""

from __future__ import annotations

import sqlalchemy as sa

from shared.store.db.columns import metadata, text, timestamp

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
