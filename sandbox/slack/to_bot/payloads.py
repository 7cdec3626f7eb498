"""The bodies that Slack sends to an app (docs.slack.dev/reference/interaction-payloads)."""

from __future__ import annotations

import re
import secrets
from typing import Any

from sandbox.slack.state.model import Channel, Json, Message, User
from sandbox.slack.to_bot.installation import Installation
from sandbox.slack.world.world import World

ENTERPRISE = "Outbound Holding"


def interaction(
    kind: str,
    world: World,
    to: Installation,
    *,
    user: User,
    trigger_id: str | None = None,
    channel: Channel | None = None,
    **fields: Any,
) -> Json:
    """An interaction of a kind, with the fields that the kind has beside the common ones."""
    team, enterprise = world.team, world.settings.enterprise_id
    payload: Json = {
        "type": kind,
        "user": {"id": user.id, "username": user.name, "name": user.name, "team_id": user.team_id},
        "api_app_id": to.app.id,
        "token": to.credentials.verification_token,
        "team": {"id": team.id, "domain": team.domain, **_of_enterprise(enterprise)},
        "enterprise": {"id": enterprise, "name": ENTERPRISE} if enterprise else None,
        "is_enterprise_install": False,
    }
    if trigger_id is not None:
        payload["trigger_id"] = trigger_id
    if channel is not None:
        payload["channel"] = _channel(channel)
    if kind in ("shortcut", "message_action"):
        payload["action_ts"] = f"{secrets.randbelow(10**10)}.000000"
    return payload | fields


def _of_enterprise(enterprise: str) -> Json:
    return {"enterprise_id": enterprise, "enterprise_name": ENTERPRISE} if enterprise else {}


def _channel(channel: Channel) -> Json:
    name = "directmessage" if channel.direct else "privategroup" if channel.is_private else channel.name
    return {"id": channel.id, "name": name}


def escaped(text: str, *, users: dict[str, str], channels: dict[str, str]) -> str:
    """What a command with `should_escape` receives: ids for `#name` and `@name`, links for addresses, entities.

    Slack's own parsing of messages is what escapes: docs.slack.dev/messaging/formatting-message-text.
    """
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    text = re.sub(r"(?<![\w<|/@])(https?://[^\s<>|]+)", lambda m: f"<{m[1]}>", text)
    text = re.sub(
        r"(?<![\w<|/:@.+-])([\w.+-]+@[\w-]+(?:\.[\w-]+)+)", lambda m: f"<mailto:{m[1]}|{m[1]}>", text
    )
    text = re.sub(
        r"(?<!\S)#([\w-]+)", lambda m: f"<#{channels[m[1]]}|{m[1]}>" if m[1] in channels else m[0], text
    )
    return re.sub(r"(?<!\S)@([\w-]+)", lambda m: f"<@{users[m[1]]}|{m[1]}>" if m[1] in users else m[0], text)


def slash_command(
    command: str,
    text: str,
    world: World,
    to: Installation,
    *,
    user: User,
    channel: Channel,
    trigger_id: str,
    response_url: str,
) -> Json:
    """The form of a slash command; every value is a string."""
    return {
        "token": to.credentials.verification_token,
        "team_id": world.team.id,
        "team_domain": world.team.domain,
        **_of_enterprise(world.settings.enterprise_id),
        "channel_id": channel.id,
        "channel_name": _channel(channel)["name"],
        "user_id": user.id,
        "user_name": user.name,
        "command": command,
        "text": text,
        "api_app_id": to.app.id,
        "is_enterprise_install": "false",
        "response_url": response_url,
        "trigger_id": trigger_id,
    }


def message_container(message: Message) -> Json:
    container = {
        "type": "message",
        "message_ts": message.ts,
        "channel_id": message.channel,
        "is_ephemeral": message.seen_by is not None,
    }
    return container | ({"thread_ts": message.thread_ts} if message.is_reply else {})


def event_callback(event: Json, world: World, to: Installation, *, event_id: str) -> Json:
    """The envelope of the Events API; `event_id` stays the same over redeliveries."""
    enterprise = world.settings.enterprise_id
    return {
        "token": to.credentials.verification_token,
        "team_id": world.team.id,
        **({"enterprise_id": enterprise} if enterprise else {}),
        "api_app_id": to.app.id,
        "event": event,
        "type": "event_callback",
        "event_id": event_id or f"Ev{secrets.token_hex(5).upper()}",
        "event_time": int(world.clock.now()),
        "authorizations": [
            {
                "enterprise_id": enterprise or None,
                "team_id": world.team.id,
                "user_id": to.app.user,
                "is_bot": True,
                "is_enterprise_install": False,
            }
        ],
        "is_ext_shared_channel": False,
    }


def action_of(block: Json, element: Json, value: Json, *, now: float) -> Json:
    """One entry of `actions`."""
    action: Json = {"action_id": element["action_id"], "block_id": block["block_id"], **value}
    for name in ("text", "value", "style"):
        if element["type"] == "button" and name in element:
            action[name] = element[name]
    if element.get("placeholder"):
        action["placeholder"] = element["placeholder"]
    return {**action, "action_ts": f"{now:.6f}"}
