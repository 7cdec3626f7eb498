"""Index what is due, so that no statement reads what is not."""

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"

INDEXES = (
    (
        "ix_alerts_claimed_by",
        "alerts",
        ["claimed_by", "claimed_at"],
        "claimed_by != '' AND handled_at IS NULL",
    ),
    (
        "ix_alerts_not_recovered",
        "alerts",
        ["received_at", "workspace"],
        "kind = 'domain.paused' AND recovered_at IS NULL",
    ),
    ("ix_alerts_nudges", "alerts", ["nudges", "waiting_since"], "waiting_since IS NOT NULL"),
    (
        "ix_alerts_unhandled",
        "alerts",
        ["received_at", "workspace"],
        "kind = 'reply.interested' AND handled_at IS NULL",
    ),
    ("ix_answers_at", "answers", ["at"], ""),
    ("ix_digests_due_at", "digests", ["due_at"], ""),
    ("ix_lanes_due_at", "lanes", ["due_at"], "due_at IS NOT NULL"),
    ("ix_lanes_trouble", "lanes", ["channel"], "trouble != ''"),
    ("ix_posts_dead", "posts", ["channel"], "state = 'dead'"),
    ("ix_posts_held_until", "posts", ["held_until"], "held_until IS NOT NULL"),
    ("ix_questions_ends_at", "questions", ["ends_at"], ""),
    ("ix_sightings_workspace", "sightings", ["workspace", "at"], ""),
)
ROUTED: dict[str, Any] = {"sqlite_where": sa.text("pending = 0"), "postgresql_where": sa.text("NOT pending")}
WITH_BODY: dict[str, Any] = {
    "sqlite_where": sa.text("pending = 0 AND body IS NOT NULL"),
    "postgresql_where": sa.text("NOT pending AND body IS NOT NULL"),
}


def upgrade() -> None:
    """Create the indexes, and the time at which each digest is looked at next."""
    op.add_column("digests", sa.Column("due_at", sa.Double(), server_default="0", nullable=False))
    op.drop_index("ix_alerts_waiting_since", "alerts")
    for name, table, columns, where in INDEXES:
        only: dict[str, Any] = (
            {"sqlite_where": sa.text(where), "postgresql_where": sa.text(where)} if where else {}
        )
        op.create_index(name, table, columns, unique=False, **only)
    op.create_index("ix_deliveries_body", "deliveries", ["received_at"], unique=False, **WITH_BODY)
    op.create_index("ix_deliveries_last_at", "deliveries", ["workspace", "last_at"], unique=False, **ROUTED)
