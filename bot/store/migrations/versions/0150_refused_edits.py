"""Cards that Slack lets nobody edit."""

import sqlalchemy as sa
from alembic import op

revision = "0150"
down_revision = "0140"


def upgrade() -> None:
    for name in ("turned", "frozen"):
        op.add_column("posts", sa.Column(name, sa.Boolean(), server_default=sa.false(), nullable=False))
