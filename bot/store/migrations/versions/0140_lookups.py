"""Look-ups of uncertain posts, apart from the posts of their channels."""

import sqlalchemy as sa
from alembic import op

revision = "0140"
down_revision = "0130"
UNCERTAIN = sa.text("state = 'uncertain'")


def upgrade() -> None:
    """Create the table of look-ups, and have one for each place that has uncertain posts."""
    op.add_column("posts", sa.Column("keyless", sa.Boolean(), server_default=sa.false(), nullable=False))
    op.add_column("posts", sa.Column("failed_lookups", sa.BigInteger(), server_default="0", nullable=False))
    op.create_index(
        "ix_posts_uncertain",
        "posts",
        ["channel", "thread_ts"],
        sqlite_where=UNCERTAIN,
        postgresql_where=UNCERTAIN,
    )
    op.create_table(
        "lookups",
        sa.Column("channel", sa.Text(), server_default="", nullable=False),
        sa.Column("thread_ts", sa.Text(), server_default="", nullable=False),
        sa.Column("due_at", sa.Double(), nullable=False),
        sa.Column("lease_until", sa.Double(), nullable=True),
        sa.Column("token", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("position", sa.Text(), server_default="", nullable=False),
        sa.Column("began_at", sa.Double(), nullable=True),
        sa.Column("around", sa.Double(), nullable=True),
        sa.PrimaryKeyConstraint("channel", "thread_ts"),
    )
    op.execute(
        "INSERT INTO lookups (channel, thread_ts, due_at)"
        " SELECT DISTINCT channel, thread_ts, 0.0 FROM posts WHERE state = 'uncertain'"
    )
