"""Remember interested leads by a hash of their address, and when the service last listed them."""

import hashlib
import time

import sqlalchemy as sa
from alembic import op

revision = "0130"
down_revision = "0110"

KNOWN = sa.table("known_leads", sa.column("workspace"), sa.column("lead"), sa.column("seen_at"))
SEEN = sa.text("seen_at IS NOT NULL")


def upgrade() -> None:
    """Replace the addresses; those of leads that are still listed are seen again with the next look."""
    op.add_column("known_leads", sa.Column("seen_at", sa.Double(), nullable=True))
    connection = op.get_bind()
    known = connection.execute(sa.select(KNOWN.c.workspace, KNOWN.c.lead).where(KNOWN.c.lead != "")).all()
    hashed = (
        sa.update(KNOWN)
        .where(KNOWN.c.workspace == sa.bindparam("of_workspace"), KNOWN.c.lead == sa.bindparam("of_lead"))
        .values(lead=sa.bindparam("key"), seen_at=sa.bindparam("now"))
    )
    rows = [
        {
            "of_workspace": row.workspace,
            "of_lead": row.lead,
            "key": hashlib.sha256(row.lead.encode("utf-8", "surrogatepass")).hexdigest(),
            "now": time.time(),
        }
        for row in known
    ]
    if rows:
        connection.execute(hashed, rows)
    op.create_index(
        "ix_known_leads_seen_at", "known_leads", ["seen_at"], sqlite_where=SEEN, postgresql_where=SEEN
    )
