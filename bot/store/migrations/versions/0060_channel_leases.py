"""The table of what each channel's lease is, by its name in the program."""

import sqlalchemy as sa
from alembic import op

revision = "0060"
down_revision = "0050"

DUE, TROUBLED = sa.text("due_at IS NOT NULL"), sa.text("trouble != ''")


def upgrade() -> None:
    """Rename the table and its indexes."""
    op.drop_index("ix_lanes_due_at", "lanes")
    op.drop_index("ix_lanes_trouble", "lanes")
    op.rename_table("lanes", "channel_leases")
    if op.get_bind().dialect.name == "postgresql":
        op.execute("ALTER INDEX lanes_pkey RENAME TO channel_leases_pkey")
    table = "channel_leases"
    op.create_index("ix_channel_leases_due_at", table, ["due_at"], sqlite_where=DUE, postgresql_where=DUE)
    op.create_index(
        "ix_channel_leases_trouble", table, ["channel"], sqlite_where=TROUBLED, postgresql_where=TROUBLED
    )
