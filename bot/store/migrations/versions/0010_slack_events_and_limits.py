"""Remember Slack's events over restarts, moved channels, and what Slack lets an app do for now."""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0004"


def _text(name: str) -> sa.Column[str]:
    return sa.Column(name, sa.Text(), server_default="", nullable=False)


def upgrade() -> None:
    """Create the tables, and mark the repaints that a person waits for."""
    op.create_table(
        "slack_events",
        _text("id"),
        sa.Column("at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ix_slack_events_at", "slack_events", ["at"], unique=False)
    op.create_table("moved_channels", _text("old"), _text("new"), sa.PrimaryKeyConstraint("old"))
    op.create_table(
        "slack_limits",
        _text("key"),
        sa.Column("tat", sa.Double(), server_default="0", nullable=False),
        sa.Column("closed_until", sa.Double(), server_default="0", nullable=False),
        sa.Column("slow_until", sa.Double(), server_default="0", nullable=False),
        sa.Column("failures", sa.BigInteger(), server_default="0", nullable=False),
        _text("channel"),
        sa.Column("throttled_at", sa.Double(), server_default="0", nullable=False),
        sa.PrimaryKeyConstraint("key"),
    )
    op.add_column("posts", sa.Column("clicked", sa.Boolean(), server_default=sa.false(), nullable=False))
