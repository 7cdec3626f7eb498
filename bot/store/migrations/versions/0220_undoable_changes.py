"""Keep which sequences of a change an undo takes back."""

import sqlalchemy as sa
from alembic import op

revision = "0220"
down_revision = "0210"


def upgrade() -> None:
    op.add_column("audit", sa.Column("undoable", sa.Text, nullable=False, server_default=""))
