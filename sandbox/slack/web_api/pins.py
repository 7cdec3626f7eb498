"""pins.*, bookmarks.*, reactions.get and .list: what is attached to messages and channels."""

from __future__ import annotations

import re
import secrets

from sandbox.slack.state.errors import SlackError, refuse_if
from sandbox.slack.state.model import Channel, Json, Message
from sandbox.slack.web_api.calls import Call, method, page_of

_MAX_PINS = 100
_MAX_BOOKMARKS = 100
_TS = re.compile(r"\d+\.\d+")


def _message(call: Call, channel: Channel) -> Message:
    ts = call.args.get("timestamp")
    refuse_if(not ts, "no_item_specified")
    refuse_if(not _TS.fullmatch(str(ts)), "bad_timestamp")
    return call.world.message(channel, ts)


@method("pins.add", scope="pins:write", tier=2)
def pins_add(call: Call) -> Json:
    """Pin a message."""
    channel = call.own_channel()
    message = _message(call, channel)
    refuse_if(message.ts in channel.pins, "already_pinned")
    refuse_if(len(channel.pins) >= _MAX_PINS, "too_many_pins")
    channel.pins.append(message.ts)
    call.workspace.events.pin_changed(message, by=call.bot, added=True)
    return {}


@method("pins.remove", scope="pins:write", tier=2)
def pins_remove(call: Call) -> Json:
    """Take a pin off."""
    channel = call.channel()
    message = _message(call, channel)
    refuse_if(message.ts not in channel.pins, "no_pin")
    channel.pins.remove(message.ts)
    call.workspace.events.pin_changed(message, by=call.bot, added=False)
    return {}


@method("pins.list", scope="pins:read", tier=2)
def pins_list(call: Call) -> Json:
    """The pinned messages of a channel, the newest pin first."""
    channel = call.channel()
    found = [channel.messages[ts] for ts in reversed(channel.pins) if ts in channel.messages]
    return {
        "items": [
            {"type": "message", "channel": channel.id, "message": one.to_slack(), "created_by": call.bot}
            for one in found
        ]
    }


@method("reactions.get", scope="reactions:read", tier=3)
def reactions_get(call: Call) -> Json:
    """A message with its reactions."""
    refuse_if(not call.args.get("channel"), "no_item_specified")
    channel = call.channel()
    return {"type": "message", "channel": channel.id, "message": _message(call, channel).to_slack()}


@method("reactions.list", scope="reactions:read", tier=2)
def reactions_list(call: Call) -> Json:
    """The messages to which a user reacted."""
    user = str(call.args.get("user") or call.bot)
    refuse_if(user not in call.world.users, "user_not_found")
    found = [
        {"type": "message", "channel": channel.id, "message": message.to_slack()}
        for channel in call.world.channels.values()
        for message in channel.messages.values()
        if call.bot in channel.members and any(user in users for users in message.reactions.values())
    ]
    page, cursor = page_of(found, call, default=100, max_limit=1000)
    return {"items": page, "response_metadata": {"next_cursor": cursor}}


def _place(call: Call) -> Channel:
    name = call.args.get("channel_id")
    if not isinstance(name, str) or not name:
        raise SlackError("channel_not_found")
    return call.world.bot_channel(name, call.app)


def _bookmark(call: Call) -> tuple[Channel, Json]:
    channel = _place(call)
    name = str(call.args.get("bookmark_id") or "")
    found = next((one for one in channel.bookmarks if one["id"] == name), None)
    if found is None:
        raise SlackError("not_found")
    return channel, found


def _link(call: Call) -> str:
    link = str(call.args.get("link") or "")
    refuse_if(not re.match(r"https?://\S+$", link), "invalid_link")
    return link


@method("bookmarks.add", scope="bookmarks:write", tier=2)
def bookmarks_add(call: Call) -> Json:
    """A link at the top of a channel."""
    channel, title = _place(call), str(call.require("title"))
    refuse_if(call.require("type") != "link", "invalid_bookmark_type")
    refuse_if(len(channel.bookmarks) >= _MAX_BOOKMARKS, "too_many_bookmarks")
    now = int(call.workspace.clock.now())
    fresh: Json = {
        "id": f"Bk{secrets.token_hex(5).upper()}",
        "channel_id": channel.id,
        "title": title,
        "link": _link(call),
        "emoji": str(call.args.get("emoji") or ""),
        "type": "link",
        "date_created": now,
        "date_updated": 0,
        "last_updated_by_user_id": call.bot,
        "last_updated_by_team_id": call.world.team.id,
    }
    channel.bookmarks.append(fresh)
    return {"bookmark": dict(fresh)}


@method("bookmarks.edit", scope="bookmarks:write", tier=2)
def bookmarks_edit(call: Call) -> Json:
    """Another title, link or emoji."""
    _, found = _bookmark(call)
    changes = {name: str(call.args[name]) for name in ("title", "emoji") if call.args.get(name)}
    if call.args.get("link"):
        changes["link"] = _link(call)
    found |= {**changes, "date_updated": int(call.workspace.clock.now())}
    return {"bookmark": dict(found)}


@method("bookmarks.list", scope="bookmarks:read", tier=3)
def bookmarks_list(call: Call) -> Json:
    return {"bookmarks": [dict(one) for one in _place(call).bookmarks]}


@method("bookmarks.remove", scope="bookmarks:write", tier=2)
def bookmarks_remove(call: Call) -> Json:
    channel, found = _bookmark(call)
    channel.bookmarks.remove(found)
    return {}
