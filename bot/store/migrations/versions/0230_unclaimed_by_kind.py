"""Have SQLite find unclaimed replies in their own index: it took the one of all alerts of a kind."""

from alembic import op

revision = "0230"
down_revision = "0220"


def upgrade() -> None:
    op.execute("DROP INDEX ix_alerts_unclaimed")
    op.execute(
        "CREATE INDEX ix_alerts_unclaimed ON alerts (workspace, kind, received_at, id, waiting_since)"
        " WHERE kind = 'reply.interested' AND waiting_since IS NOT NULL"
    )
