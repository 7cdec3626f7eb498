"""The bodies that Slack sends to an app (docs.slack.dev/reference/interaction-payloads)."""

from __future__ import annotations

import re
import secrets

from sandbox.slack.state import seed
from sandbox.slack.state.model import Channel, Json, Message, User
from sandbox.slack.state.rendering import to_slack

TEAM = seed.TEAM


def _people(user: User) -> Json:
    return {"id": user.id, "username": user.name, "name": user.name, "team_id": user.team_id}


def _frame(kind: str, *, user: User, token: str, trigger_id: str | None) -> Json:
    frame: Json = {
        "type": kind,
        "user": _people(user),
        "api_app_id": TEAM.app_id,
        "token": token,
        "team": {"id": TEAM.id, "domain": TEAM.domain},
        "enterprise": None,
        "is_enterprise_install": False,
    }
    return frame if trigger_id is None else {**frame, "trigger_id": trigger_id}


def _place(channel: Channel) -> Json:
    name = "directmessage" if channel.direct else "privategroup" if channel.is_private else channel.name
    return {"id": channel.id, "name": name}


def escaped(text: str, *, users: dict[str, str], channels: dict[str, str]) -> str:
    """`#name` and `@name` as the ids that a command with `should_escape` receives."""
    text = re.sub(
        r"(?<!\S)#([\w-]+)", lambda m: f"<#{channels[m[1]]}|{m[1]}>" if m[1] in channels else m[0], text
    )
    return re.sub(r"(?<!\S)@([\w-]+)", lambda m: f"<@{users[m[1]]}|{m[1]}>" if m[1] in users else m[0], text)


def slash_command(
    command: str,
    text: str,
    *,
    user: User,
    channel: Channel,
    token: str,
    trigger_id: str,
    response_url: str,
) -> Json:
    """The form of a slash command; every value is a string."""
    return {
        "token": token,
        "team_id": TEAM.id,
        "team_domain": TEAM.domain,
        "channel_id": channel.id,
        "channel_name": _place(channel)["name"],
        "user_id": user.id,
        "user_name": user.name,
        "command": command,
        "text": text,
        "api_app_id": TEAM.app_id,
        "is_enterprise_install": "false",
        "response_url": response_url,
        "trigger_id": trigger_id,
    }


def message_actions(
    action: Json,
    *,
    user: User,
    channel: Channel,
    message: Message,
    state: Json,
    token: str,
    trigger_id: str,
    response_url: str,
) -> Json:
    """block_actions of an element in a message; an ephemeral one does not show its content."""
    ephemeral = message.seen_by is not None
    container = {
        "type": "message",
        "message_ts": message.ts,
        "channel_id": channel.id,
        "is_ephemeral": ephemeral,
    }
    if message.is_reply:
        container["thread_ts"] = message.thread_ts
    frame = _frame("block_actions", user=user, token=token, trigger_id=trigger_id)
    shown = {} if ephemeral else {"message": to_slack(message)}
    return {
        **frame,
        "container": container,
        "channel": _place(channel),
        **shown,
        "state": state,
        "response_url": response_url,
        "actions": [action],
    }


def view_actions(action: Json, *, user: User, view: Json, state: Json, token: str, trigger_id: str) -> Json:
    """block_actions of an element in a modal or on the Home tab."""
    return {
        **_frame("block_actions", user=user, token=token, trigger_id=trigger_id),
        "container": {"type": "view", "view_id": view["id"]},
        "view": {**view, "state": state},
        "actions": [action],
    }


def view_submission(view: Json, *, user: User, state: Json, token: str, trigger_id: str) -> Json:
    """view_submission with everything that was filled in."""
    return {
        **_frame("view_submission", user=user, token=token, trigger_id=trigger_id),
        "view": {**view, "state": state},
        "response_urls": [],
    }


def view_closed(view: Json, *, user: User, token: str, cleared: bool) -> Json:
    frame = _frame("view_closed", user=user, token=token, trigger_id=None)
    return {**frame, "view": view, "is_cleared": cleared}


def suggestion(
    element: Json, *, block_id: str, value: str, user: User, token: str, container: Json, view: Json | None
) -> Json:
    frame = _frame("block_suggestion", user=user, token=token, trigger_id=None)
    asked = {"action_id": element["action_id"], "block_id": block_id, "value": value, "container": container}
    return {**frame, **asked, **({"view": view} if view else {})}


def global_shortcut(callback_id: str, *, user: User, token: str, trigger_id: str) -> Json:
    frame = _frame("shortcut", user=user, token=token, trigger_id=trigger_id)
    return {**frame, "callback_id": callback_id, "action_ts": f"{secrets.randbelow(10**10)}.000000"}


def message_shortcut(
    callback_id: str,
    *,
    user: User,
    channel: Channel,
    message: Message,
    token: str,
    trigger_id: str,
    response_url: str,
) -> Json:
    """message_action: a shortcut from a message's menu."""
    return {
        **_frame("message_action", user=user, token=token, trigger_id=trigger_id),
        "callback_id": callback_id,
        "channel": _place(channel),
        "message_ts": message.ts,
        "message": to_slack(message),
        "response_url": response_url,
        "action_ts": f"{secrets.randbelow(10**10)}.000000",
    }


def event_callback(event: Json, *, token: str, now: float) -> Json:
    """The envelope of the Events API; `event_id` stays the same over redeliveries."""
    return {
        "token": token,
        "team_id": TEAM.id,
        "api_app_id": TEAM.app_id,
        "event": event,
        "type": "event_callback",
        "event_id": f"Ev{secrets.token_hex(5).upper()}",
        "event_time": int(now),
        "authorizations": [
            {
                "enterprise_id": None,
                "team_id": TEAM.id,
                "user_id": TEAM.bot_user,
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
