"""The methods of the Web API, and the table of them; every other one answers `unknown_method`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from sandbox.slack import seed, views
from sandbox.slack.content import (
    checked_attachments,
    checked_blocks,
    checked_content,
    checked_metadata,
)
from sandbox.slack.errors import SlackError, refuse_if
from sandbox.slack.model import Channel, Json, Message, User
from sandbox.slack.web_api import validation
from sandbox.slack.web_api.call import Call, Method, warning

# Messages

MAX_UPDATE_TEXT = 4000


def _require_writable(call: Call, channel: Channel) -> None:
    refuse_if(channel.is_archived, "is_archived")
    if seed.BOT.id not in channel.members:
        scopes = call.workspace.settings.scopes
        refuse_if(channel.is_private or "chat:write.public" not in scopes, "not_in_channel")


def _take_post(call: Call, channel: Channel) -> None:
    """Count a message against the limit of its channel, and of the whole workspace.

    An app may post one message a second in a channel, and "several hundred messages per minute"
    in all (https://docs.slack.dev/reference/methods/chat.postMessage#rate_limiting).
    """
    settings, take = call.workspace.settings, call.workspace.limits.take
    if settings.messages_per_second > 0:
        # By the channel's id, so that its name has no limit of its own.
        take(f"messages in {channel.id}", rate=settings.messages_per_second, burst=settings.burst)
        minute = settings.workspace_messages_per_minute
        take("messages", rate=minute / 60, burst=max(1, round(minute)))


def _thread(call: Call, channel: Channel) -> str | None:
    """Return the first message of the thread to answer in. Raises `SlackError` (thread_not_found)."""
    ts = call.text("thread_ts")
    if not ts:
        return None
    parent = channel.messages.get(ts)
    if parent is None:
        raise SlackError("thread_not_found")
    return parent.thread_ts or parent.ts


def _posted(call: Call, channel: Channel, *, broadcast: bool = False, seen_by: str | None = None) -> Message:
    content = checked_content(call.args, call.workspace.block_problems)
    thread = _thread(call, channel)
    return call.workspace.post(
        channel,
        user=seed.BOT.id,
        app=seed.APP,
        thread_ts=thread,
        broadcast=thread is not None and broadcast,
        seen_by=seen_by,
        **content,
    )


def chat_post_message(call: Call) -> Json:
    """Post in a channel, by its id or name, in a thread, or to a person, by their id."""
    name = call.text("channel")
    is_person = name in call.workspace.users
    channel = call.workspace.direct(name) if is_person else call.channel(by_name=True)
    # Before anything else is looked at: a refused post counts against the limit as well.
    _take_post(call, channel)
    _require_writable(call, channel)
    message = _posted(call, channel, broadcast=call.flag("reply_broadcast"))
    call.delivery.message_posted(message, channel)
    note = {} if call.args.get("text") else warning("missing_text_in_message")
    shown = message.to_slack(with_metadata=True)
    return {"channel": channel.id, "ts": message.ts, "message": shown, **note}


def chat_post_ephemeral(call: Call) -> Json:
    """Post what one person sees; chat.update can't change it."""
    channel = call.channel(by_name=True)
    _require_writable(call, channel)
    user = str(call.require("user"))
    refuse_if(user not in channel.members, "user_not_in_channel")
    message = _posted(call, channel, seen_by=user)
    return {"message_ts": message.ts}


def _own_message(call: Call, *, error: str) -> Message:
    """Return the message to change or delete.

    In an archived channel these methods answer `is_inactive`, where posting answers `is_archived`
    (https://docs.slack.dev/reference/methods/chat.update). An ephemeral message has no ts that
    they know.
    """
    channel = call.channel()
    refuse_if(channel.is_archived, "is_inactive")
    message = call.workspace.message(channel, call.require("ts"))
    refuse_if(message.app is None, error)
    return message


def chat_update(call: Call) -> Json:
    """Change one of the bot's own messages in place."""
    message = _own_message(call, error="cant_update_message")
    call.workspace.change(message, **_changes(call, message))
    shown = message.to_slack(with_metadata=True)
    return {"channel": message.channel, "ts": message.ts, "text": message.text, "message": shown}


def _changes(call: Call, message: Message) -> dict[str, Any]:
    """Return the fields that change.

    Blocks that are not sent stay, unless a new text is; attachments that are not sent stay in any
    case (https://docs.slack.dev/reference/methods/chat.update).
    """
    args, check = call.args, call.workspace.block_problems
    text, blocks, attachments = (args.get(name) for name in ("text", "blocks", "attachments"))
    refuse_if(text is not None and len(str(text)) > MAX_UPDATE_TEXT, "msg_too_long")
    fields: dict[str, Any] = {}
    if text is not None:
        fields["text"] = str(text)
    if blocks is not None or text is not None:
        fields["blocks"] = checked_blocks(blocks, check)
    if attachments is not None:
        fields["attachments"] = checked_attachments(attachments, check)
    refuse_if(not any(fields.values()), "no_text")
    if "metadata" in args:
        fields["metadata"] = checked_metadata(args["metadata"])
    return fields


def chat_delete(call: Call) -> Json:
    """Delete one of the bot's own messages."""
    message = _own_message(call, error="cant_delete_message")
    call.workspace.delete(message)
    return {"channel": message.channel, "ts": message.ts}


def chat_permalink(call: Call) -> Json:
    """Return the address of a message on the stand-in's page."""
    channel = call.channel()
    message = call.workspace.message(channel, call.require("message_ts"))
    path = f"{call.workspace.origin}/archives/{channel.id}/p{message.ts.replace('.', '')}"
    suffix = f"?thread_ts={message.thread_ts}&cid={channel.id}" if message.is_reply else ""
    return {"channel": channel.id, "permalink": path + suffix}


# Conversations, their members and their messages

_KINDS = {"public_channel", "private_channel", "im", "mpim"}


def conversations_info(call: Call) -> Json:
    return {"channel": call.channel().to_slack(viewer=seed.BOT.id)}


def conversations_list(call: Call) -> Json:
    """List the conversations that the bot may know."""
    return _page(call, call.workspace.channels.values())


def users_conversations(call: Call) -> Json:
    """List the conversations of one person, or of the bot."""
    user = call.workspace.user(call.text("user", seed.BOT.id)).id
    found = [one for one in call.workspace.channels.values() if user in one.members]
    return _page(call, found)


def _page(call: Call, channels: Iterable[Channel]) -> Json:
    kinds = call.words("types", "public_channel")
    refuse_if(not set(kinds) <= _KINDS, "invalid_types")
    found = [one for one in channels if one.kind in kinds and call.is_visible(one)]
    if call.flag("exclude_archived"):
        found = [one for one in found if not one.is_archived]
    for channel in found:
        call.require_channel_scope(channel)
    page, metadata = call.page_of(found, max_limit=999)
    shown = [channel.to_slack(viewer=seed.BOT.id) for channel in page]
    return {"channels": shown, "response_metadata": metadata}


def conversations_history(call: Call) -> Json:
    """Return the messages of a channel, newest first; replies stay in their threads."""
    channel = call.own_channel()
    newest_first = reversed(channel.messages.values())
    return _messages(call, (message for message in newest_first if message.in_channel))


def conversations_replies(call: Call) -> Json:
    """Return a thread, oldest first; every page begins with its first message."""
    channel = call.own_channel()
    message = channel.messages.get(str(call.require("ts")))
    if message is None:
        raise SlackError("thread_not_found")
    root = channel.messages.get(message.thread_ts or "") or message
    answer = _messages(call, [channel.messages[ts] for ts in root.replies])
    shown = root.to_slack(with_metadata=call.flag("include_all_metadata"))
    return {**answer, "messages": [shown, *answer["messages"]]}


def _messages(call: Call, messages: Iterable[Message]) -> Json:
    limit = call.limit(max_limit=999)
    with_metadata = call.flag("include_all_metadata")
    found: list[Message] = []
    cursor = ""
    for message in _in_range(call, messages):
        if len(found) == limit:
            cursor = f"after:{found[-1].ts}"
            break
        found.append(message)
    return {
        "messages": [message.to_slack(with_metadata=with_metadata) for message in found],
        "has_more": bool(cursor),
        "response_metadata": {"next_cursor": cursor},
    }


def _in_range(call: Call, messages: Iterable[Message]) -> Iterator[Message]:
    """Leave out what is before the cursor, and what is not between `oldest` and `latest`.

    A message of exactly that time is only there with `inclusive`
    (https://docs.slack.dev/reference/methods/conversations.history).
    """
    word, _, skip_to = call.text("cursor", "after:").partition(":")
    refuse_if(word != "after" or (call.text("cursor") and not skip_to), "invalid_cursor")
    oldest, latest = _timestamp(call, "oldest", 0.0), _timestamp(call, "latest", float("inf"))
    inclusive = call.flag("inclusive")
    for message in messages:
        if skip_to:
            skip_to = "" if message.ts == skip_to else skip_to
            continue
        at = float(message.ts)
        if oldest < at < latest or (inclusive and at in (oldest, latest)):
            yield message


def _timestamp(call: Call, name: str, default: float) -> float:
    value = call.text(name)
    try:
        return float(value) if value else default
    except ValueError as error:
        raise SlackError(f"invalid_ts_{name}") from error


def conversations_join(call: Call) -> Json:
    """Enter a public channel."""
    channel = call.channel()
    refuse_if(channel.is_archived, "is_archived")
    refuse_if(channel.kind != "public_channel", "method_not_supported_for_channel_type")
    note = warning("already_in_channel")
    if seed.BOT.id not in channel.members:
        channel.members.append(seed.BOT.id)
        call.workspace.feed.publish("channels", {})
        call.delivery.member_joined(seed.BOT.id, channel)
        note = {}
    return {"channel": channel.to_slack(viewer=seed.BOT.id), **note}


def conversations_open(call: Call) -> Json:
    """Return the direct message with one person; groups of people are not played here."""
    names = call.words("users")
    refuse_if(not names, "users_list_not_supplied")
    refuse_if(any(name not in call.workspace.users for name in names), "user_not_found")
    refuse_if(len(names) > 1, "method_not_supported_for_channel_type")
    return {"channel": {"id": call.workspace.direct(names[0]).id}}


# Modals and Home


def views_open(call: Call) -> Json:
    """Open a modal for whoever acted."""
    # A view that Slack doesn't show leaves the trigger to be used again.
    views.checked_view(call.workspace, call.require("view"), kind="modal")
    trigger = call.workspace.triggers.get(str(call.require("trigger_id")))
    if trigger is None:
        raise SlackError("invalid_trigger_id")
    trigger.redeem(now=call.workspace.clock.now())
    return {"view": views.open_view(call.workspace, trigger.user, call.args["view"])}


def views_update(call: Call) -> Json:
    """Replace a view that is open."""
    found = call.workspace.views.get(call.text("view_id"))
    if found is None:
        raise SlackError("not_found")
    refuse_if(call.args.get("hash") not in (None, "", found["hash"]), "hash_conflict")
    return {"view": views.update_view(call.workspace, found, call.require("view"))}


def views_publish(call: Call) -> Json:
    """Set a person's Home."""
    user = call.workspace.users.get(str(call.require("user_id")))
    if user is None or user.is_bot:
        line = "user not found [json-pointer:/user_id]"
        raise SlackError("invalid_arguments", messages=[line])
    before = views.home_view(call.workspace, user.id) or {}
    refuse_if(call.args.get("hash") not in (None, "", before.get("hash")), "hash_conflict")
    return {"view": views.publish_home(call.workspace, user.id, call.require("view"))}


# Who the token belongs to, people and user groups

EMAIL_SCOPE = "users:read.email"


def auth_test(call: Call) -> Json:
    """Tell who the token belongs to; in an Enterprise organization with `enterprise_id`."""
    enterprise = call.workspace.settings.enterprise_id
    return {
        **({"enterprise_id": enterprise} if enterprise else {}),
        "url": f"{call.workspace.origin}/",
        "team": seed.TEAM.name,
        "user": seed.BOT.name,
        "team_id": seed.TEAM.id,
        "user_id": seed.BOT.id,
        "bot_id": seed.APP.bot_id,
        "app_id": seed.APP.id,
        "is_enterprise_install": False,
    }


def connections_open(call: Call) -> Json:
    """Return a Socket Mode address that works once, for half a minute."""
    refuse_if(call.workspace.sockets.disabled, "link_disabled")
    address = call.workspace.origin.replace("http://", "ws://")
    return {"url": f"{address}/link?ticket={call.workspace.sockets.ticket()}&app_id={seed.APP.id}"}


def _shown_user(user: User, call: Call) -> Json:
    """Without its scope a profile has no address (https://docs.slack.dev/reference/scopes/users.read.email)."""
    return user.to_slack(with_email=EMAIL_SCOPE in call.workspace.settings.scopes)


def _user(call: Call, name: Any) -> User:
    found = call.workspace.users.get(str(name))
    if found is None:
        raise SlackError("user_not_found")
    return found


def users_info(call: Call) -> Json:
    return {"user": _shown_user(_user(call, call.require("user")), call)}


def users_list(call: Call) -> Json:
    page, metadata = call.page_of(list(call.workspace.users.values()), max_limit=1000)
    return {
        "members": [_shown_user(user, call) for user in page],
        "response_metadata": metadata,
    }


def usergroups_users(call: Call) -> Json:
    group = call.workspace.groups.get(str(call.require("usergroup")))
    if group is None:
        raise SlackError("no_such_subteam")
    return {"users": group.users}


_READ, _HISTORY = "channels:read", "channels:history"

METHODS: dict[str, Method] = {
    "apps.connections.open": Method(connections_open, tier=1, takes="app"),
    "auth.test": Method(auth_test),
    "blocks.validate": Method(validation.blocks),
    "chat.delete": Method(chat_delete, "chat:write", tier=3),
    "chat.getPermalink": Method(chat_permalink),
    "chat.postEphemeral": Method(chat_post_ephemeral, "chat:write", tier=4),
    "chat.postMessage": Method(chat_post_message, "chat:write"),
    "chat.update": Method(chat_update, "chat:write", tier=3),
    "conversations.history": Method(conversations_history, None, _HISTORY, tier=3),
    "conversations.info": Method(conversations_info, None, _READ, tier=3),
    "conversations.join": Method(conversations_join, "channels:join", tier=3),
    "conversations.list": Method(conversations_list, None, _READ, tier=2),
    "conversations.open": Method(conversations_open, "im:write", tier=3),
    "conversations.replies": Method(conversations_replies, None, _HISTORY, tier=3),
    "usergroups.users.list": Method(usergroups_users, "usergroups:read", tier=2),
    "users.conversations": Method(users_conversations, _READ, _READ, tier=3),
    "users.info": Method(users_info, "users:read", tier=4),
    "users.list": Method(users_list, "users:read", tier=2),
    "views.open": Method(views_open, tier=4),
    "views.publish": Method(views_publish, tier=4),
    "views.update": Method(views_update, tier=4),
}
