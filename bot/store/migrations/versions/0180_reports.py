"""Indexes for unclaimed replies by page, and for reports over a time."""

from alembic import op

revision = "0180"
down_revision = "0170"


def upgrade() -> None:
    op.execute("DROP INDEX ix_alerts_open")
    op.execute("CREATE INDEX ix_alerts_kind ON alerts (workspace, kind, received_at)")
    op.execute(
        "CREATE INDEX ix_alerts_unclaimed ON alerts (workspace, received_at, id)"
        " WHERE kind = 'reply.interested' AND waiting_since IS NOT NULL"
    )
    op.execute(
        "CREATE INDEX ix_alerts_claimed_at ON alerts (workspace, claimed_at) WHERE claimed_at IS NOT NULL"
    )
    op.execute(
        "CREATE INDEX ix_alerts_handled_at ON alerts (workspace, handled_at) WHERE handled_at IS NOT NULL"
    )
    op.execute("CREATE INDEX ix_audit_changes ON audit (workspace, at) WHERE sequences != ''")
