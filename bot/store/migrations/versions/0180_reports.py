"""Indexes for unclaimed replies by page, for reports over a time, and for the sequences on open cards."""

from alembic import op

revision = "0180"
down_revision = "0170"


def upgrade() -> None:
    op.execute("DROP INDEX ix_alerts_open")
    op.execute("DROP INDEX ix_alerts_unhandled")
    op.execute(
        "CREATE INDEX ix_alerts_sequence ON alerts (workspace, sequence, standing, received_at)"
        " WHERE kind = 'reply.interested' AND handled_at IS NULL AND sequence != ''"
    )
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
