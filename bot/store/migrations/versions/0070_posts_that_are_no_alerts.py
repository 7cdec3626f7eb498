"""Find the old messages that are no alerts: reminders, digests and notes are deleted as answers are."""

import sqlalchemy as sa
from alembic import op

revision = "0070"
down_revision = "0060"

NO_ALERTS = sa.text("kind != 'alert'")


def upgrade() -> None:
    """Index all of them by their time, in the place of the answers alone."""
    op.drop_index("ix_posts_answers", "posts")
    op.create_index(
        "ix_posts_no_alerts", "posts", ["created_at"], sqlite_where=NO_ALERTS, postgresql_where=NO_ALERTS
    )
