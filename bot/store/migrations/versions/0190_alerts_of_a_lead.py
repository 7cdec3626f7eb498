"""Mark alerts whose delivery has not come yet, and index the newest alerts of a lead, and the bodies to forget."""

import sqlalchemy as sa
from alembic import op

revision = "0190"
down_revision = "0180"


def upgrade() -> None:
    op.add_column("alerts", sa.Column("undelivered", sa.Boolean, nullable=False, server_default=sa.false()))
    op.execute(
        "UPDATE alerts SET undelivered = true WHERE delivery_id IN (SELECT id FROM deliveries WHERE found)"
    )
    op.execute("CREATE INDEX ix_alerts_lead ON alerts (workspace, email, received_at)")
    is_postgresql = op.get_bind().dialect.name == "postgresql"
    which, kept = ("undelivered", "NOT pending") if is_postgresql else ("undelivered = 1", "pending = 0")
    op.execute(f"CREATE INDEX ix_alerts_undelivered ON alerts (email, undelivered) WHERE {which}")
    op.execute("DROP INDEX ix_deliveries_body")
    body = f"(pending, received_at) WHERE {kept} AND body IS NOT NULL"
    op.execute(f"CREATE INDEX ix_deliveries_body ON deliveries {body}")
