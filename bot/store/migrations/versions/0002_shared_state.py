"""Webhook subscriptions, which database this is, and the running bots."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Create three tables."""
    op.create_table(
        "webhook_subscriptions",
        sa.Column("workspace", sa.Text(), server_default="", nullable=False),
        sa.Column("id", sa.Text(), server_default="", nullable=False),
        sa.Column("url", sa.Text(), server_default="", nullable=False),
        sa.Column("events", sa.Text(), server_default="", nullable=False),
        sa.Column("secret", sa.Text(), server_default="", nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("workspace", "id"),
    )
    op.create_table(
        "instance",
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("id", sa.Text(), server_default="", nullable=False),
        sa.PrimaryKeyConstraint("number"),
    )
    op.create_table(
        "bot_processes",
        sa.Column("id", sa.Text(), server_default="", nullable=False),
        sa.Column("host", sa.Text(), server_default="", nullable=False),
        sa.Column("seen_at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
