"""Guardrails: which pauses of an incident were asked of the service, so that a person's pause is not told as the rule's."""

import sqlalchemy as sa
from alembic import op

revision = "0080"
down_revision = "0070"


def upgrade() -> None:
    """Add the ids; an act that is under way may have asked for all of its own."""
    requested = sa.Column("requested", sa.Text(), server_default="[]", nullable=False)
    op.add_column("guardrail_incidents", requested)
    op.execute("UPDATE guardrail_incidents SET requested = sequences WHERE state = 'acting'")
