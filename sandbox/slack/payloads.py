"""The bodies that Slack sends to an app (https://docs.slack.dev/reference/interaction-payloads)."""

from __future__ import annotations

import re
import secrets
from typing import Any

from sandbox.slack import seed
from sandbox.slack.model import Channel, Json, Message, User
from sandbox.slack.workspace import Workspace

ENTERPRISE = "Outbound Holding"


def interaction(
    kind: str,
    workspace: Workspace,
    *,
    user: User,
    channel: Channel | None = None,
    **fields: Any,
) -> Json:
    """Return an interaction with the fields that all have; `fields` are those of its kind."""
    enterprise = workspace.settings.enterprise_id
    payload: Json = {
        "type": kind,
        "user": {
            "id": user.id,
            "username": user.name,
            "name": user.name,
            "team_id": user.team_id,
        },
        "api_app_id": seed.APP.id,
        "team": {"id": seed.TEAM.id, "domain": seed.TEAM.domain},
        "enterprise": {"id": enterprise, "name": ENTERPRISE} if enterprise else None,
        "is_enterprise_install": False,
    }
    if channel is not None:
        payload["channel"] = {"id": channel.id, "name": _channel_name(channel)}
    # A message's time is its ts; a shortcut is used nowhere, and has only a moment.
    if kind == "shortcut":
        payload["action_ts"] = f"{secrets.randbelow(10**10)}.000000"
    return payload | fields


def _channel_name(channel: Channel) -> str:
    if channel.direct:
        return "directmessage"
    return "privategroup" if channel.is_private else channel.name


def slash_command(
    command: str,
    text: str,
    workspace: Workspace,
    user: User,
    channel: Channel,
    **handed_out: str,
) -> Json:
    """Return the form of a slash command; every value is a string."""
    enterprise = workspace.settings.enterprise_id
    return {
        "team_id": seed.TEAM.id,
        "team_domain": seed.TEAM.domain,
        **({"enterprise_id": enterprise} if enterprise else {}),
        "channel_id": channel.id,
        "channel_name": _channel_name(channel),
        "user_id": user.id,
        "user_name": user.name,
        "command": command,
        "text": text,
        "api_app_id": seed.APP.id,
        "is_enterprise_install": "false",
        **handed_out,
    }


def event_callback(event: Json, workspace: Workspace, *, event_id: str) -> Json:
    """Return the envelope of the Events API; an event that comes again keeps its `event_id`."""
    enterprise = workspace.settings.enterprise_id
    authorization = {
        "enterprise_id": enterprise or None,
        "team_id": seed.TEAM.id,
        "user_id": seed.BOT.id,
        "is_bot": True,
        "is_enterprise_install": False,
    }
    return {
        "team_id": seed.TEAM.id,
        **({"enterprise_id": enterprise} if enterprise else {}),
        "api_app_id": seed.APP.id,
        "event": event,
        "type": "event_callback",
        "event_id": event_id or f"Ev{secrets.token_hex(5).upper()}",
        "event_time": int(workspace.clock.now()),
        "authorizations": [authorization],
    }


def from_team(payload: Json, team: str) -> Json:
    """Return a request as it comes from people of another Slack team; without a team it stays."""
    # The person's id stays: that of a stranger may be the same as that of one of us.
    if not team:
        return payload
    changed = dict(payload)
    if "team_id" in changed:
        changed["team_id"] = team
    for name, key in (("team", "id"), ("user", "team_id"), ("event", "team")):
        if isinstance(changed.get(name), dict):
            changed[name] = {**changed[name], key: team}
    return changed


def container(message: Message | None, view: Json) -> Json:
    """Return where an element is: in a message, or else in a view."""
    if message is None:
        return {"type": "view", "view_id": view["id"]}
    found: Json = {
        "type": "message",
        "message_ts": message.ts,
        "channel_id": message.channel,
        "is_ephemeral": message.seen_by is not None,
    }
    if message.is_reply:
        found["thread_ts"] = message.thread_ts
    return found


def escaped(text: str, workspace: Workspace) -> str:
    """Return what a command with `should_escape` receives for what was typed.

    That is ids for `#name` and `@name`, links for addresses, and entities
    (https://docs.slack.dev/messaging/formatting-message-text).
    """
    users = {user.name: user.id for user in workspace.users.values()}
    channels = {channel.name: channel.id for channel in workspace.channels.values()}

    def named(ids: dict[str, str], sign: str, match: re.Match[str]) -> str:
        known = ids.get(match[1])
        return f"<{sign}{known}|{match[1]}>" if known else match[0]

    # First, or the signs of the links below would be taken for what was typed.
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    text = re.sub(r"(?<![\w<|/@])(https?://[^\s<>|]+)", r"<\1>", text)
    text = re.sub(r"(?<![\w<|/:@.+-])([\w.+-]+@[\w-]+(?:\.[\w-]+)+)", r"<mailto:\1|\1>", text)
    text = re.sub(r"(?<!\S)#([\w-]+)", lambda match: named(channels, "#", match), text)
    return re.sub(r"(?<!\S)@([\w-]+)", lambda match: named(users, "@", match), text)
