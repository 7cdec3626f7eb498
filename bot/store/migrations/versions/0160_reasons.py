"""The reason of a pause, apart from the texts of its entry in the audit."""

import re

import sqlalchemy as sa
from alembic import op

revision = "0160"
down_revision = "0150"

TYPED = re.compile(r"\breason:? +(?P<mark>[\"']?)(?P<text>.+?)(?P=mark)(?: +@[\w.-]+)?$", re.IGNORECASE)


def upgrade() -> None:
    """Add the column, and fill it from the texts as they were read until now."""
    op.add_column("audit", sa.Column("reason", sa.Text(), server_default="", nullable=False))
    connection = op.get_bind()
    query = "SELECT id, command, result FROM audit WHERE effect = 'paused'"
    filled = []
    for row in connection.execute(sa.text(query)).all():
        typed = TYPED.search(row.command)
        reason = (row.result.split("; reason: ", 1)[1:] or [""])[0] or (typed["text"] if typed else "")
        filled += [{"id": row.id, "reason": reason}] if reason else []
    if filled:
        connection.execute(sa.text("UPDATE audit SET reason = :reason WHERE id = :id"), filled)
