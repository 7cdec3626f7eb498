"""Keep what people chose for themselves."""

import sqlalchemy as sa
from alembic import op

revision = "0240"
down_revision = "0230"


def upgrade() -> None:
    op.create_table(
        "people",
        sa.Column("person", sa.Text, primary_key=True, nullable=False, server_default=""),
        *(
            sa.Column(name, sa.Text, nullable=False, server_default="")
            for name in ("channel", "notify", "quiet", "zone", "digest")
        ),
        sa.Column("due_at", sa.Double),
    )
    op.execute("CREATE INDEX ix_people_due_at ON people (due_at)")
