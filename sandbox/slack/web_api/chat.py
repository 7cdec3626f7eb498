"""The messages that the bot posts, changes and deletes."""

from __future__ import annotations

from typing import Any

from sandbox.slack import seed
from sandbox.slack.content import (
    checked_attachments,
    checked_blocks,
    checked_content,
    checked_metadata,
)
from sandbox.slack.errors import SlackError, refuse_if
from sandbox.slack.model import Channel, Json, Message
from sandbox.slack.web_api.call import Call, warning

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
    settings, now = call.workspace.settings, call.workspace.clock.now()
    if settings.messages_per_second <= 0:
        return
    take = call.workspace.limits.take
    rate = settings.messages_per_second
    # By the channel's id, so that its name has no limit of its own.
    take(f"messages in {channel.id}", rate=rate, burst=settings.burst, now=now)
    minute = settings.workspace_messages_per_minute
    take("messages", rate=minute / 60, burst=max(1, round(minute)), now=now)


def _thread(call: Call, channel: Channel) -> str | None:
    """Return the first message of the thread to answer in. Raises `SlackError` (thread_not_found)."""
    ts = call.text("thread_ts")
    if not ts:
        return None
    parent = channel.messages.get(ts)
    if parent is None:
        raise SlackError("thread_not_found")
    return parent.thread_ts or parent.ts


def post_message(call: Call) -> Json:
    """Post in a channel, by its id or name, in a thread, or to a person, by their id."""
    name = call.text("channel")
    is_person = name in call.workspace.users
    channel = call.workspace.direct(name) if is_person else call.channel(by_name=True)
    _take_post(call, channel)
    _require_writable(call, channel)
    content = checked_content(call.args, call.workspace.block_problems)
    thread = _thread(call, channel)
    message = call.workspace.post(
        channel,
        user=seed.BOT.id,
        app=seed.APP,
        thread_ts=thread,
        broadcast=thread is not None and call.flag("reply_broadcast"),
        **content,
    )
    call.delivery.message_posted(message, channel)
    note = {} if call.args.get("text") else warning("missing_text_in_message")
    shown = message.to_slack(with_metadata=True)
    return {"channel": channel.id, "ts": message.ts, "message": shown, **note}


def post_ephemeral(call: Call) -> Json:
    """Post what one person sees; chat.update can't change it."""
    channel = call.channel(by_name=True)
    _require_writable(call, channel)
    user = str(call.require("user"))
    refuse_if(user not in channel.members, "user_not_in_channel")
    message = call.workspace.post(
        channel,
        user=seed.BOT.id,
        app=seed.APP,
        thread_ts=_thread(call, channel),
        seen_by=user,
        **checked_content(call.args, call.workspace.block_problems),
    )
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


def update(call: Call) -> Json:
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


def delete(call: Call) -> Json:
    """Delete one of the bot's own messages."""
    message = _own_message(call, error="cant_delete_message")
    call.workspace.delete(message)
    return {"channel": message.channel, "ts": message.ts}


def permalink(call: Call) -> Json:
    """Return the address of a message on the stand-in's page."""
    channel = call.channel()
    message = call.workspace.message(channel, call.require("message_ts"))
    path = f"{call.workspace.origin}/archives/{channel.id}/p{message.ts.replace('.', '')}"
    suffix = f"?thread_ts={message.thread_ts}&cid={channel.id}" if message.is_reply else ""
    return {"channel": channel.id, "permalink": path + suffix}
