"""Drop the tokens of assistants and the index for their limits: assistants only read, on stdio."""

from alembic import op

revision = "0280"
down_revision = "0270"


def upgrade() -> None:
    op.execute("DROP INDEX ix_audit_assistants")
    op.drop_table("assistant_tokens")
