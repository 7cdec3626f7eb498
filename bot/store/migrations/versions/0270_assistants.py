"""Keep who acted through an assistant, and the tokens of assistants."""

import sqlalchemy as sa
from alembic import op

revision = "0270"
down_revision = "0260"


def upgrade() -> None:
    op.add_column("audit", sa.Column("via", sa.Text, nullable=False, server_default=""))
    op.execute("CREATE INDEX ix_audit_acts ON audit (workspace, id) WHERE effect != 'read'")
    op.execute("CREATE INDEX ix_audit_read ON audit (workspace, id) WHERE effect = 'read'")
    op.execute("CREATE INDEX ix_audit_assistants ON audit (actor_id, actor_name, at) WHERE via != ''")
    op.create_table(
        "assistant_tokens",
        sa.Column("id", sa.Text, primary_key=True, nullable=False, server_default=""),
        *(
            sa.Column(name, sa.Text, nullable=False, server_default="")
            for name in ("name", "hash", "role", "workspaces", "created_by")
        ),
        sa.Column("created_at", sa.Double, nullable=False),
        sa.Column("expires_at", sa.Double, nullable=False),
        sa.Column("revoked_at", sa.Double),
        sa.Column("used_at", sa.Double),
    )
