"""What each entry of the audit came to, and which sequences it paused or resumed, apart from its text."""

import json
import re

import sqlalchemy as sa
from alembic import op

revision = "0090"
down_revision = "0080"

CHANGE = re.compile(r"\W*(pause|resume)\b", re.IGNORECASE)
WORD = re.compile(r"[^\s(),:;]+")


def upgrade() -> None:
    """Add the columns, and fill them from the texts as they were read until now."""
    for name in ("effect", "sequences"):
        op.add_column("audit", sa.Column(name, sa.Text(), server_default="", nullable=False))
    op.execute("UPDATE audit SET effect = 'refused' WHERE substr(result, 1, 9) = 'refused: '")
    op.execute("UPDATE audit SET effect = 'failed' WHERE substr(result, 1, 8) = 'failed: '")
    connection = op.get_bind()
    rows = connection.execute(sa.text("SELECT id, command, result FROM audit WHERE effect = ''")).all()
    filled = [
        {
            "id": row.id,
            "effect": "paused" if change[1].lower() == "pause" else "resumed",
            "sequences": json.dumps(WORD.findall(row.result)),
        }
        for row in rows
        if (change := CHANGE.match(row.command))
    ]
    if filled:
        update = "UPDATE audit SET effect = :effect, sequences = :sequences WHERE id = :id"
        connection.execute(sa.text(update), filled)
