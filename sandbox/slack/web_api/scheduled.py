"""chat.scheduleMessage and its siblings: messages that are posted later."""

from __future__ import annotations

import secrets

from sandbox.slack.state.errors import SlackError, refuse_if
from sandbox.slack.state.model import Json
from sandbox.slack.web_api.calls import Call, method, page_of
from sandbox.slack.web_api.chat import thread_of, writable
from sandbox.slack.world.message_checks import content

_MAX_AHEAD = 120 * 86_400
_WINDOW_SECONDS = 300
_MAX_IN_WINDOW = 30


@method("chat.scheduleMessage", scope="chat:write", tier=3)
def schedule(call: Call) -> Json:
    """Post a message up to 120 days from now (https://docs.slack.dev/reference/methods/chat.scheduleMessage)."""
    channel = writable(call)
    due = _due(call)
    refuse_if(not due.isdecimal(), "invalid_time")
    at, now = int(due), call.workspace.clock.now()
    refuse_if(at <= now, "time_in_past")
    refuse_if(at > now + _MAX_AHEAD, "time_too_far")
    checked = content(call.args, check=call.world.block_problems)
    near = [
        one
        for one in call.world.scheduled.values()
        if one["channel_id"] == channel.id and abs(one["post_at"] - at) < _WINDOW_SECONDS
    ]
    refuse_if(len(near) >= _MAX_IN_WINDOW, "restricted_too_many")
    thread = thread_of(call, channel)
    name = f"Q{secrets.token_hex(5).upper()}"
    call.world.scheduled[name] = {
        "id": name,
        "channel_id": channel.id,
        "post_at": at,
        "date_created": int(now),
        "text": checked["text"],
        "message": {
            "user": call.bot,
            "app": call.app,
            **checked,
            "thread_ts": thread,
        },
    }
    shown = {"text": checked["text"], "type": "delayed_message", "bot_id": call.app.bot_id}
    return {"channel": channel.id, "scheduled_message_id": name, "post_at": at, "message": shown}


def _due(call: Call) -> str:
    value = call.require("post_at")
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


@method("chat.deleteScheduledMessage", scope="chat:write", tier=3)
def delete_scheduled(call: Call) -> Json:
    """Take back a message that has not been posted yet."""
    channel, name = call.channel(), str(call.require("scheduled_message_id"))
    known = call.world.scheduled.get(name)
    if known is None or known["channel_id"] != channel.id or known["message"]["app"] != call.app:
        raise SlackError("invalid_scheduled_message_id")
    del call.world.scheduled[name]
    return {}


@method("chat.scheduledMessages.list", tier=3)
def list_scheduled(call: Call) -> Json:
    """The messages that are still to be posted, the next first."""
    mine = [one for one in call.world.scheduled.values() if one["message"]["app"] == call.app]
    rows = sorted(mine, key=lambda one: one["post_at"])
    if call.args.get("channel"):
        wanted = call.world.channels.get(str(call.args["channel"]))
        if wanted is None:
            raise SlackError("invalid_channel")
        rows = [one for one in rows if one["channel_id"] == wanted.id]
    page, cursor = page_of(rows, call, default=100, max_limit=1000)
    shown = [{name: value for name, value in one.items() if name != "message"} for one in page]
    return {"scheduled_messages": shown, "response_metadata": {"next_cursor": cursor}}
