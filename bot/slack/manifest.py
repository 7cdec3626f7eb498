"""The app manifest, made from the table of commands.

Every scope has its reason, for teams that review the app.
"""

from __future__ import annotations

from typing import Any

from shared.commands import COMMANDS

ADDRESS = "https://YOUR-BOT.example/slack/events"
HINT, DESCRIPTION = 1000, 2000

SCOPES = {
    "commands": "the /outreach command and the buttons' menus",
    "chat:write": "post alerts and update them",
    "chat:write.public": "post to public channels without an invitation",
    "channels:history": "find an alert when Slack didn't confirm its post, before a retry",
    "groups:history": "the same in private channels",
    "channels:join": "join a subscribed public channel, to find its own alerts there",
    "channels:read": "look up channels by name, and notice when one is archived or renamed",
    "groups:read": "the same for private channels",
    "users:read": "check whether someone is a member or a guest before a change, and name who made it",
    "usergroups:read": "use user groups in the role settings",
    "im:history": "answer direct messages to the bot",
    "im:write": "find and update a reminder in a person's direct messages with the bot",
    "app_mentions:read": "understand commands in threads, where slash commands do not work",
}
SPARE = {
    "im:write": "it can't find or update older reminders in direct messages",
    "channels:join": "it can't look for its own alerts in public channels where it wasn't invited",
    "chat:write.public": "it posts only in channels it was invited to",
}
"""Scopes without which less is convenient and nothing fails, and what is so without them."""
EVENTS = (
    "app_home_opened",
    "app_mention",
    "app_uninstalled",
    "channel_archive",
    "channel_id_changed",
    "channel_left",
    "channel_rename",
    "channel_unarchive",
    "group_archive",
    "group_left",
    "group_rename",
    "group_unarchive",
    "member_joined_channel",
    "message.im",
    "tokens_revoked",
)
SHORTCUTS = {
    "status": ("Outreach status", "Overview of sequences, inboxes and alerts"),
    "pause_form": ("Pause a sequence", "Choose a sequence, for how long, and why"),
}


def manifest(address: str = ADDRESS, *, socket_mode: bool = False) -> dict[str, Any]:
    """The app as Slack is to know it; over Socket Mode it has no address."""

    def at(key: str) -> dict[str, str]:
        return {} if socket_mode else {key: address}

    return {
        "_metadata": {"major_version": 2, "minor_version": 1},
        "display_information": {
            "name": "Outreach",
            "description": "Interested replies, sequences, inboxes and stats of your cold-email outreach",
            "background_color": "#1d3557",
            "long_description": _ABOUT,
        },
        "features": {
            "app_home": {
                "home_tab_enabled": True,
                "messages_tab_enabled": True,
                "messages_tab_read_only_enabled": False,
            },
            "bot_user": {"display_name": "outreach", "always_online": True},
            "slash_commands": [
                {
                    "command": "/outreach",
                    **at("url"),
                    "description": "Sequences, inboxes, stats and alerts",
                    "usage_hint": usage_hint(),
                    "should_escape": True,
                }
            ],
            "shortcuts": [
                {"name": name, "type": "global", "callback_id": callback, "description": description}
                for callback, (name, description) in SHORTCUTS.items()
            ],
        },
        "oauth_config": {"scopes": {"bot": list(SCOPES)}},
        "settings": {
            "event_subscriptions": {**at("request_url"), "bot_events": list(EVENTS)},
            "interactivity": {
                "is_enabled": True,
                **at("request_url"),
                # External selects ask here for their options; without it their menus stay empty over HTTP.
                # https://docs.slack.dev/reference/app-manifest
                **at("message_menu_options_url"),
            },
            "org_deploy_enabled": False,
            "socket_mode_enabled": socket_mode,
            "token_rotation_enabled": False,
        },
    }


_ABOUT = (
    "Posts interested replies and paused sending domains to your channel within a second, once each, with "
    "buttons to claim the reply and to pause its sequence. The /outreach command shows and changes the sequences, "
    "inboxes and leads of the outreach service, and shows its stats. Every change names who made it, in the "
    "channel and in the audit. Guests can only view; people from other organizations see nothing by default."
)


def usage_hint() -> str:
    return " | ".join(COMMANDS)[:HINT]


def render(address: str = ADDRESS, *, socket_mode: bool = False) -> str:
    """The manifest as YAML, with a reason beside each scope."""
    import yaml  # late: a bot that runs needs none

    app = manifest(address, socket_mode=socket_mode)
    body = yaml.safe_dump(app, sort_keys=False, allow_unicode=True, width=110)
    for scope, why in SCOPES.items():
        body = body.replace(f"    - {scope}\n", f"    - {scope}  # {why}\n")
    return body
