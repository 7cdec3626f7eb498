"""List Slack workspaces that installed the bot, and set their access."""

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0040"
down_revision = "0030"


def _text(*names: str, nullable: bool = True) -> list[sa.Column[Any]]:
    return [sa.Column(name, sa.Text(), nullable=nullable) for name in names]


def _bot() -> list[sa.Column[Any]]:
    return [
        sa.Column("id", sa.Integer(), primary_key=True, autoincrement=True),
        *_text("client_id", "app_id", nullable=False),
        *_text("enterprise_id", "enterprise_name", "team_id", "team_name"),
        *_text("bot_token", "bot_id", "bot_user_id", "bot_scopes", "bot_refresh_token"),
        sa.Column("bot_token_expires_at", sa.DateTime(), nullable=True),
        sa.Column("is_enterprise_install", sa.Boolean(), nullable=False),
        sa.Column("installed_at", sa.DateTime(), nullable=False),
    ]


def upgrade() -> None:
    """Create the tables of the SDK's installation store, the states of its flow, and who may see what."""
    op.create_table("slack_bots", *_bot())
    op.create_index("ix_slack_bots_team_id", "slack_bots", ["client_id", "team_id"])
    op.create_table(
        "slack_installations",
        *_bot(),
        *_text("enterprise_url"),
        *_text("user_id", nullable=False),
        *_text("user_token", "user_scopes", "user_refresh_token"),
        sa.Column("user_token_expires_at", sa.DateTime(), nullable=True),
        *_text("incoming_webhook_url", "incoming_webhook_channel", "incoming_webhook_channel_id"),
        *_text("incoming_webhook_configuration_url", "token_type"),
    )
    op.create_index("ix_slack_installations_team_id", "slack_installations", ["client_id", "team_id"])
    op.create_table(
        "slack_oauth_states",
        sa.Column("state", sa.LargeBinary(), primary_key=True),
        sa.Column("expires_at", sa.Double(), nullable=False),
    )
    op.create_table(
        "slack_team_workspaces",
        sa.Column("team", sa.Text(), server_default="", nullable=False),
        sa.Column("workspace", sa.Text(), server_default="", nullable=False),
        sa.PrimaryKeyConstraint("team", "workspace"),
    )
