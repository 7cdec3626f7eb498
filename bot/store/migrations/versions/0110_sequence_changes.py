"""Changes of one sequence follow each other, over all processes."""

import sqlalchemy as sa
from alembic import op

revision = "0110"
down_revision = "0100"


def upgrade() -> None:
    op.create_table(
        "sequence_changes",
        sa.Column("workspace", sa.Text(), server_default="", nullable=False),
        sa.Column("sequence", sa.Text(), server_default="", nullable=False),
        sa.Column("token", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("revision", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("locked_until", sa.Double(), nullable=True),
        sa.Column("asked", sa.Text(), server_default="", nullable=False),
        sa.Column("confirmed", sa.Text(), server_default="", nullable=False),
        sa.Column("pause_late_until", sa.Double(), nullable=True),
        sa.Column("resume_late_until", sa.Double(), nullable=True),
        sa.PrimaryKeyConstraint("workspace", "sequence"),
    )
