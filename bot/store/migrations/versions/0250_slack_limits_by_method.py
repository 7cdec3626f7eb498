"""Index the limits of a method of Slack over all Slack workspaces."""

from alembic import op

revision = "0250"
down_revision = "0240"


def upgrade() -> None:
    place = "strpos" if op.get_bind().dialect.name == "postgresql" else "instr"
    op.execute(
        f'CREATE INDEX ix_slack_limits_method ON slack_limits (substr("key", {place}("key", \'/\') + 1))'
    )
