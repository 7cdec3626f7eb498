"""Guardrails: rules, switches, incidents and the counts they are judged by; the inbox of every delivery counted."""

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0050"
down_revision = "0040"

SERIAL = sa.BigInteger().with_variant(sa.Integer, "sqlite")
OPEN: dict[str, Any] = {
    "sqlite_where": sa.text("ended_at IS NULL"),
    "postgresql_where": sa.text("ended_at IS NULL"),
}


def _text(name: str, default: str = "") -> sa.Column[str]:
    return sa.Column(name, sa.Text(), server_default=default, nullable=False)


def _number(name: str) -> sa.Column[int]:
    return sa.Column(name, sa.BigInteger(), server_default="0", nullable=False)


def _moment(name: str, *, nullable: bool = True) -> sa.Column[float]:
    return sa.Column(name, sa.Double(), nullable=nullable)


def upgrade() -> None:
    """Create five tables and a column."""
    op.add_column("sightings", _text("inbox"))
    op.create_table(
        "guardrails",
        *(_text(name) for name in ("workspace", "name", "sentence", "added_by", "added_name")),
        _moment("added_at", nullable=False),
        sa.PrimaryKeyConstraint("workspace", "name"),
    )
    op.create_table(
        "guardrail_switches",
        *(_text(name) for name in ("workspace", "rule", "by")),
        _moment("at", nullable=False),
        _moment("until"),
        sa.PrimaryKeyConstraint("workspace", "rule"),
    )
    op.create_table(
        "guardrail_turns",
        *(_text(name) for name in ("workspace", "rule")),
        _moment("at", nullable=False),
        sa.PrimaryKeyConstraint("workspace", "rule"),
    )
    words = ("workspace", "rule", "sentence", "action", "subject", "label", "note")
    op.create_table(
        "guardrail_incidents",
        sa.Column("id", SERIAL, autoincrement=True, nullable=False),
        *(_text(name) for name in words),
        _text("sequences", "[]"),
        _text("state"),
        _moment("began_at", nullable=False),
        _moment("held_at", nullable=False),
        *(_moment(name) for name in ("ended_at", "resumes_at", "lease_until")),
        _number("token"),
        _number("attempts"),
        _text("undo"),
        sa.PrimaryKeyConstraint("id"),
    )
    incidents = "guardrail_incidents"
    op.create_index(
        "ix_guardrail_incidents_open", incidents, ["workspace", "rule", "subject"], unique=True, **OPEN
    )
    op.create_index("ix_guardrail_incidents_began_at", incidents, ["workspace", "began_at"])
    op.create_index("ix_guardrail_incidents_undo", incidents, ["undo"])
    op.create_table(
        "guardrail_samples",
        _text("workspace"),
        sa.Column("day", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("slot", sa.BigInteger(), autoincrement=False, nullable=False),
        _text("scope"),
        _text("key"),
        _moment("at", nullable=False),
        *(_number(name) for name in ("sends", "replies", "positive")),
        _moment("health"),
        sa.PrimaryKeyConstraint("workspace", "day", "slot", "scope", "key"),
    )
    op.create_index("ix_guardrail_samples_at", "guardrail_samples", ["at"])
