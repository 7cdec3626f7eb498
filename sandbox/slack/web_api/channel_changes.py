"""conversations.*: what changes a conversation and who is in it (docs.slack.dev/reference/methods?query=conversations)."""

from __future__ import annotations

import re
import secrets
from typing import Any

from sandbox.slack.state.errors import SlackError, refuse_if
from sandbox.slack.state.model import Channel, Json
from sandbox.slack.web_api.calls import Call, method

_MAX_NAME = 80
_MAX_TOPIC = 250
_MAX_GROUP = 8


def _name(call: Call) -> str:
    """A name for a channel: at most 80 lowercase letters, digits, hyphens and underscores, and none that is taken."""
    name = str(call.args.get("name") or "").lstrip("#")
    refuse_if(not name, "invalid_name_required")
    refuse_if(len(name) > _MAX_NAME, "invalid_name_maxlength")
    refuse_if(not re.search(r"\w", name.replace("_", "")), "invalid_name_punctuation")
    refuse_if(name != name.lower() or not re.fullmatch(r"[\w-]+", name), "invalid_name_specials")
    refuse_if(any(channel.name == name for channel in call.world.channels.values()), "name_taken")
    return name


def _place(call: Call, *, archived: bool = False) -> Channel:
    """The channel to change: no direct message, the bot is in it, and it is not archived."""
    channel = call.channel()
    refuse_if(channel.direct or channel.is_mpim, "method_not_supported_for_channel_type")
    refuse_if(call.bot not in channel.members, "not_in_channel")
    refuse_if(channel.is_archived and not archived, "is_archived")
    return channel


def _changed(call: Call, channel: Channel) -> Json:
    call.workspace.feed.publish("channels", {})
    return {"channel": channel.to_slack(viewer=call.bot)}


@method("conversations.create", tier=2)
def create(call: Call) -> Json:
    """A new channel, with the bot alone in it."""
    private = call.flag("is_private")
    call.require_scope("groups:write" if private else "channels:manage")
    fresh = Channel(
        id=f"C{secrets.token_hex(5).upper()}",
        name=_name(call),
        members=[call.bot],
        is_private=private,
        created=int(call.workspace.clock.now()),
    )
    call.world.channels[fresh.id] = fresh
    return _changed(call, fresh)


@method("conversations.invite", channel_scope="channels:manage", scope_suffix=".invites", tier=3)
def invite(call: Call) -> Json:
    """Let people in; one who can't be invited stops all, unless `force` is set."""
    channel = _place(call)
    names = [name for name in str(call.args.get("users") or "").split(",") if name]
    refuse_if(not names, "no_user")
    refused = {name: error for name in names if (error := _refusal(call, channel, name))}
    if refused and not (call.flag("force") and len(refused) < len(names)):
        errors = [{"user": name, "ok": False, "error": error} for name, error in refused.items()]
        raise SlackError(next(iter(refused.values())), extra={"errors": errors})
    for name in names:
        if name not in refused:
            channel.members.append(name)
            call.workspace.events.member_joined(name, channel=channel, inviter=call.bot)
    return _changed(call, channel)


def _refusal(call: Call, channel: Channel, name: str) -> str | None:
    if name == call.bot:
        return "cant_invite_self"
    if name not in call.world.users:
        return "user_not_found"
    return "already_in_channel" if name in channel.members else None


@method("conversations.kick", channel_scope="channels:manage", tier=3)
def kick(call: Call) -> Json:
    """Remove a user."""
    channel = _place(call)
    name = str(call.args.get("user") or "")
    refuse_if(name == call.bot, "cant_kick_self")
    refuse_if(name not in call.world.users, "user_not_found")
    refuse_if(channel.name == "general", "cant_kick_from_general")
    refuse_if(name not in channel.members, "not_in_channel")
    channel.members.remove(name)
    call.workspace.events.member_left(name, channel=channel)
    call.workspace.feed.publish("channels", {})
    return {}


@method("conversations.leave", channel_scope="channels:manage", tier=3)
def leave(call: Call) -> Json:
    """Go; where the bot is not, the answer has no error and is not ok.

    https://docs.slack.dev/reference/methods/conversations.leave
    """
    channel = call.channel()
    refuse_if(channel.direct, "method_not_supported_for_channel_type")
    refuse_if(channel.is_archived, "is_archived")
    if call.bot not in channel.members:
        return {"ok": False, "not_in_channel": True}
    refuse_if(channel.name == "general", "cant_leave_general")
    refuse_if(channel.members == [call.bot] and channel.is_private, "last_member")
    channel.members.remove(call.bot)
    call.workspace.events.member_left(call.bot, channel=channel)
    call.workspace.feed.publish("channels", {})
    return {}


def _described(call: Call, part: str) -> Json:
    channel, text = _place(call), str(call.require(part))
    refuse_if(len(text) > _MAX_TOPIC, "too_long")
    setattr(channel, part, text)
    posted: dict[str, Any] = {"subtype": f"channel_{part}", "text": f"set the channel {part}: {text}"}
    call.world.post(channel, user=call.bot, **posted)
    return _changed(call, channel)


@method("conversations.setTopic", channel_scope="channels:manage", scope_suffix=".topic", tier=2)
def set_topic(call: Call) -> Json:
    """The line under the channel's name."""
    return _described(call, "topic")


@method("conversations.setPurpose", channel_scope="channels:manage", scope_suffix=".topic", tier=2)
def set_purpose(call: Call) -> Json:
    """The description of the channel."""
    return _described(call, "purpose")


@method("conversations.archive", channel_scope="channels:manage", tier=2)
def archive(call: Call) -> Json:
    """Close a channel, but keep it."""
    channel = _place(call, archived=True)
    refuse_if(channel.is_archived, "already_archived")
    refuse_if(channel.name == "general", "cant_archive_general")
    return _archived(call, channel, archived=True)


@method("conversations.unarchive", channel_scope="channels:manage", tier=2)
def unarchive(call: Call) -> Json:
    """Open a closed channel again."""
    channel = call.channel()
    refuse_if(channel.direct or channel.is_mpim, "method_not_supported_for_channel_type")
    refuse_if(not channel.is_archived, "not_archived")
    return _archived(call, channel, archived=False)


def _archived(call: Call, channel: Channel, *, archived: bool) -> Json:
    channel.is_archived = archived
    call.workspace.events.channel_archived(channel, by=call.bot)
    call.workspace.feed.publish("channels", {})
    return {}


@method("conversations.rename", channel_scope="channels:manage", tier=2)
def rename(call: Call) -> Json:
    """Another name, for a channel that the bot created.

    https://docs.slack.dev/reference/methods/conversations.rename
    """
    channel = _place(call)
    refuse_if(channel.members[0] != call.bot, "not_authorized")
    channel.name = _name(call)
    call.workspace.events.channel_renamed(channel)
    return _changed(call, channel)


@method("conversations.mark", channel_scope="channels:manage", tier=3)
def mark(call: Call) -> Json:
    """How far the bot has read."""
    channel, ts = call.own_channel(), str(call.require("ts"))
    refuse_if(not re.fullmatch(r"\d+(\.\d+)?", ts), "invalid_timestamp")
    call.world.read_until[call.bot, channel.id] = ts
    return {}


@method("conversations.close", channel_scope="channels:manage", tier=2)
def close(call: Call) -> Json:
    """Close a direct message; its history stays."""
    if not (channel := call.channel()).direct and not channel.is_mpim:
        raise SlackError("method_not_supported_for_channel_type")
    return {}


@method("conversations.open", scope="im:write", tier=3)
def open_conversation(call: Call) -> Json:
    """The direct message with one person, or the group of up to eight."""
    names = [name for name in str(call.args.get("users") or "").split(",") if name]
    if not names:
        given = call.args.get("channel")
        refuse_if(not given, "users_list_not_supplied")
        names = [call.channel().direct or ""]
    names = list(dict.fromkeys(names))
    refuse_if(len(names) > _MAX_GROUP, "too_many_users")
    opened = call.world.direct(names[0], call.app) if len(names) == 1 else _group(call, names)
    shown = opened.to_slack(viewer=call.bot) if call.flag("return_im") else {"id": opened.id}
    return {"channel": shown, "no_op": False, "already_open": False}


def _group(call: Call, names: list[str]) -> Channel:
    """The group direct message of these people and the bot, the same one each time."""
    call.require_scope("mpim:write")
    people = [call.world.users.get(name) for name in names]
    known = [one for one in people if one is not None]
    refuse_if(len(known) < len(names), "user_not_found")
    members = {one.id for one in known} | {call.bot}
    for channel in call.world.channels.values():
        if channel.is_mpim and set(channel.members) == members:
            return channel
    label = "--".join(sorted(one.name for one in known))
    fresh = Channel(
        id=f"G{secrets.token_hex(5).upper()}",
        name=f"mpdm-{label}-1",
        members=[*(one.id for one in known), call.bot],
        is_private=True,
        is_mpim=True,
        created=int(call.workspace.clock.now()),
    )
    call.world.channels[fresh.id] = fresh
    call.workspace.feed.publish("channels", {})
    return fresh
