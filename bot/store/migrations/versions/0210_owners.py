"""Keep who assigned a reply, whose turn it is, and who is away."""

import sqlalchemy as sa
from alembic import op

revision = "0210"
down_revision = "0200"


def _text(name: str, *, key: bool = False) -> sa.Column[str]:
    return sa.Column(name, sa.Text, primary_key=key, nullable=False, server_default="")


def upgrade() -> None:
    for name in ("assigned_name", "rota", "owner", "owner_name", "passed"):
        op.add_column("alerts", _text(name))
    op.add_column("alerts", sa.Column("turn_ends_at", sa.Double))
    op.execute("CREATE INDEX ix_alerts_turn_ends_at ON alerts (turn_ends_at) WHERE turn_ends_at IS NOT NULL")
    op.create_table("rota_turns", _text("rota", key=True), _text("part", key=True), _text("last"))
    op.create_table(
        "absences",
        _text("person", key=True),
        _text("name"),
        sa.Column("since", sa.Double, nullable=False),
        sa.Column("until", sa.Double),
    )
