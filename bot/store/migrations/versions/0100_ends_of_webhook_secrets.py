"""When the secret of a webhook subscription ends."""

import sqlalchemy as sa
from alembic import op

revision = "0100"
down_revision = "0090"


def upgrade() -> None:
    op.add_column("webhook_subscriptions", sa.Column("ends_at", sa.Double(), nullable=True))
