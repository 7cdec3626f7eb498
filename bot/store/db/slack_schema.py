"""The tables about Slack: events and limits, installations and what each team may see."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa

from bot.store.db.columns import count, metadata, slash_at, text, timestamp

slack_events = sa.Table(  # those that were taken, by Slack's own id: it sends one again that it thinks lost
    "slack_events",
    metadata,
    text("id", primary_key=True),
    timestamp("at", nullable=False),
)
sa.Index("ix_slack_events_at", slack_events.c.at)


def _time(name: str) -> sa.Column[float]:
    return sa.Column(name, sa.Double, nullable=False, server_default="0")


slack_limits = sa.Table(  # how fast a method of Slack may be called, by all bots that share the database
    "slack_limits",
    metadata,
    text("key", primary_key=True),  # a method, or a method and a channel
    _time("tat"),  # theoretical arrival time of GCRA: when the next call would be on schedule
    _time("closed_until"),  # Slack asked to wait, or keeps failing
    _time("slow_until"),  # until when a method is paced that was throttled
    count("failures"),  # in a row
    text("channel"),  # in which it was throttled last
    _time("throttled_at"),
)
METHOD = sa.func.substr(slack_limits.c.key, slash_at(slack_limits.c.key) + sa.literal_column("1"))
"""The key without its Slack workspace, in the words of its index."""
sa.Index("ix_slack_limits_method", METHOD)


def _installed_bot() -> list[sa.Column[Any]]:
    """What the SDK's installation store keeps of a bot; tokens are encrypted, and longer than it expects."""
    return [
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=True),
        *(sa.Column(name, sa.Text, nullable=False) for name in ("client_id", "app_id")),
        *(sa.Column(f"{of}_{what}", sa.Text) for of in ("enterprise", "team") for what in ("id", "name")),
        *(
            sa.Column(f"bot_{what}", sa.Text)
            for what in ("token", "id", "user_id", "scopes", "refresh_token")
        ),
        sa.Column("bot_token_expires_at", sa.DateTime),
        sa.Column("is_enterprise_install", sa.Boolean, nullable=False),
        sa.Column("installed_at", sa.DateTime, nullable=False),
    ]


slack_bots = sa.Table("slack_bots", metadata, *_installed_bot())
sa.Index("ix_slack_bots_team_id", slack_bots.c.client_id, slack_bots.c.team_id)

_WEBHOOK = ("incoming_webhook_url", "incoming_webhook_channel", "incoming_webhook_channel_id")
slack_installations = sa.Table(  # the same, with who installed it
    "slack_installations",
    metadata,
    *_installed_bot(),
    sa.Column("enterprise_url", sa.Text),
    sa.Column("user_id", sa.Text, nullable=False),
    *(sa.Column(name, sa.Text) for name in ("user_token", "user_scopes", "user_refresh_token")),
    sa.Column("user_token_expires_at", sa.DateTime),
    *(sa.Column(name, sa.Text) for name in (*_WEBHOOK, "incoming_webhook_configuration_url", "token_type")),
)
sa.Index("ix_slack_installations_team_id", slack_installations.c.client_id, slack_installations.c.team_id)

slack_oauth_states = sa.Table(  # those of installations that are done, as long as they would be valid
    "slack_oauth_states",
    metadata,
    sa.Column("state", sa.LargeBinary, primary_key=True),  # sha256 of what the browser holds
    timestamp("expires_at", nullable=False),
)

slack_team_workspaces = sa.Table(  # the outreach workspaces that each Slack workspace may see
    "slack_team_workspaces",
    metadata,
    text("team", primary_key=True),
    text("workspace", primary_key=True),
)
