"""Which version of the program brought the schema where it is."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Create the table; `bot.store.db.migrate` fills it."""
    op.create_table(
        "releases",
        sa.Column("revision", sa.Text(), server_default="", nullable=False),
        sa.Column("version", sa.Text(), server_default="", nullable=False),
        sa.Column("at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("revision"),
    )
