"""Post incidents first, merge the events of one reply, and let paused domains be acknowledged."""

import sqlalchemy as sa
from alembic import op

revision = "0030"
down_revision = "0020"

INCIDENTS = sa.text("urgency >= 3 AND state != 'sent'")
ACK_DUE = sa.text("ack_due_at IS NOT NULL")


def upgrade() -> None:
    """Add the columns and the indexes of what is due."""
    for name in ("reply", "acked_name"):
        op.add_column("alerts", sa.Column(name, sa.Text(), server_default="", nullable=False))
    for name in ("acked_at", "ack_due_at"):
        op.add_column("alerts", sa.Column(name, sa.Double(), nullable=True))
    op.add_column("alerts", sa.Column("ack_reminders", sa.BigInteger(), server_default="0", nullable=False))
    op.create_index(
        "ix_alerts_ack_due_at", "alerts", ["ack_due_at"], sqlite_where=ACK_DUE, postgresql_where=ACK_DUE
    )
    op.create_index(
        "ix_posts_incidents",
        "posts",
        ["channel", "id"],
        sqlite_where=INCIDENTS,
        postgresql_where=INCIDENTS,
    )
