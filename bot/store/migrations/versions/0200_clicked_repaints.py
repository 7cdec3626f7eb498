"""Index the repaints that people wait for."""

from alembic import op

revision = "0200"
down_revision = "0190"


def upgrade() -> None:
    clicked = "clicked" if op.get_bind().dialect.name == "postgresql" else "clicked = 1"
    which = f"repaint_at IS NOT NULL AND {clicked}"
    op.execute(f"CREATE INDEX ix_posts_clicked ON posts (clicked, repaint_at) WHERE {which}")
