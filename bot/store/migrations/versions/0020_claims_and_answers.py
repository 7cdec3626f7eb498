"""Why a reply was closed, how often its claimer was reminded, and answers that the queue posts and repaints."""

import sqlalchemy as sa
from alembic import op

revision = "0020"
down_revision = "0010"


def upgrade() -> None:
    """Add the columns; what was claimed before is not brought up now."""
    op.add_column("alerts", sa.Column("closed_reason", sa.Text(), server_default="", nullable=False))
    op.add_column("alerts", sa.Column("claim_nudges", sa.BigInteger(), server_default="0", nullable=False))
    op.execute("UPDATE alerts SET claim_nudges = 1 WHERE claimed_by != ''")
    op.add_column("questions", sa.Column("given_name", sa.Text(), server_default="", nullable=False))
    op.add_column("questions", sa.Column("overtaken_by", sa.Text(), server_default="", nullable=False))
    op.add_column("posts", sa.Column("undo", sa.Text(), server_default="", nullable=False))
    unfinished = "claimed_by != '' AND handled_at IS NULL AND claim_nudges = 0"
    for name, table, column, where in (
        ("ix_alerts_unfinished", "alerts", "claimed_at", unfinished),
        ("ix_posts_undo", "posts", "undo", "undo != ''"),
        ("ix_posts_answers", "posts", "created_at", "kind = 'answer'"),
    ):
        op.create_index(
            name,
            table,
            [column],
            unique=False,
            sqlite_where=sa.text(where),
            postgresql_where=sa.text(where),
        )
