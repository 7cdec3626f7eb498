"""chat.*: the messages that the bot posts, changes and deletes."""

from __future__ import annotations

from typing import Any

from sandbox.slack.state.errors import SlackError, refuse_if
from sandbox.slack.state.model import Channel, Json, Message
from sandbox.slack.web_api.calls import Call, method, warning
from sandbox.slack.world.message_checks import checked_blocks, checked_metadata, content

MAX_UPDATE_TEXT = 4000


def writable(call: Call) -> Channel:
    """The channel, where the bot may post; raises `SlackError`."""
    channel = call.channel()
    refuse_if(channel.is_archived, "is_archived")
    if call.bot not in channel.members:
        open_to_apps = not channel.is_private and "chat:write.public" in call.settings.scopes
        refuse_if(not open_to_apps, "not_in_channel")
    return channel


def thread_of(call: Call, channel: Channel) -> str | None:
    """The first message of the thread to answer in; raises `SlackError` (thread_not_found)."""
    ts = call.args.get("thread_ts")
    if not ts:
        return None
    parent = channel.messages.get(str(ts))
    if parent is None:
        raise SlackError("thread_not_found")
    return parent.thread_ts or parent.ts


@method("chat.postMessage", scope="chat:write")
def post_message(call: Call) -> Json:
    """Post a message in a channel, a thread or a direct message."""
    call.by.rate_limiter.take_post(
        str(call.args.get("channel")), call.world.settings, now=call.workspace.clock.now()
    )
    channel = writable(call)
    checked = content(call.args, check=call.world.block_problems)
    thread = thread_of(call, channel)
    broadcast = thread is not None and call.flag("reply_broadcast")
    message = call.world.post(
        channel,
        user=call.bot,
        **checked,
        thread_ts=thread,
        broadcast=broadcast,
        subtype="thread_broadcast" if broadcast else None,
        app=call.app,
    )
    call.workspace.events.message_posted(message, channel=channel)
    shown = message.to_slack(with_metadata=True)
    note = {} if call.args.get("text") else warning("missing_text_in_message")
    return {"channel": channel.id, "ts": message.ts, "message": shown, **note}


@method("chat.postEphemeral", scope="chat:write", tier=4)
def post_ephemeral(call: Call) -> Json:
    """Post a message that one person sees; it has no history and cannot be changed by `chat.update`."""
    channel = writable(call)
    user = call.world.users.get(str(call.require("user")))
    if user is None or user.id not in channel.members:
        raise SlackError("user_not_in_channel")
    checked = content(call.args, check=call.world.block_problems)
    message = call.world.post(
        channel,
        user=call.bot,
        **checked,
        thread_ts=thread_of(call, channel),
        app=call.app,
        seen_by=user.id,
    )
    return {"message_ts": message.ts}


def _own(call: Call, *, error: str) -> Message:
    """The message to change or delete.

    In an archived channel these answer `is_inactive`, where posting answers `is_archived`
    (https://docs.slack.dev/reference/methods/chat.update).
    """
    channel = call.channel()
    refuse_if(channel.is_archived, "is_inactive")
    # An ephemeral message has no ts that chat.update or chat.delete would know.
    message = call.world.message(channel, call.require("ts"))
    if message.app != call.app:
        raise SlackError(error)
    return message


@method("chat.update", scope="chat:write", tier=3)
def update(call: Call) -> Json:
    """Change one of the bot's own messages in place."""
    message = _own(call, error="cant_update_message")
    fields = _changes(call, message)
    call.world.change(message, **fields)
    shown = message.to_slack(with_metadata=True)
    return {"channel": message.channel, "ts": message.ts, "text": message.text, "message": shown}


def _changes(call: Call, message: Message) -> dict[str, Any]:
    text = call.args.get("text")
    if text is not None and len(str(text)) > MAX_UPDATE_TEXT:
        raise SlackError("msg_too_long")
    if text is None and not any(call.args.get(name) for name in ("blocks", "attachments")):
        raise SlackError("no_text")
    fields: dict[str, Any] = {"text": message.text if text is None else str(text)}
    # Blocks that are not sent stay, unless new text is; then the text is all that is left.
    if call.args.get("blocks") is not None or text is not None:
        blocks = call.args.get("blocks")
        fields["blocks"] = checked_blocks(blocks, check=call.world.block_problems)
    refuse_if(not fields["text"] and not fields.get("blocks"), "no_text")
    if "metadata" in call.args:
        fields["metadata"] = checked_metadata(call.args["metadata"])
    return fields


@method("chat.delete", scope="chat:write", tier=3)
def delete(call: Call) -> Json:
    """Delete one of the bot's own messages."""
    message = _own(call, error="cant_delete_message")
    call.world.delete(message)
    return {"channel": message.channel, "ts": message.ts}


@method("chat.getPermalink")
def permalink(call: Call) -> Json:
    """An address of a message on the stand-in's page."""
    channel = call.channel()
    message = call.world.message(channel, call.require("message_ts"))
    path = f"{call.workspace.origin}/archives/{channel.id}/p{message.ts.replace('.', '')}"
    suffix = f"?thread_ts={message.thread_ts}&cid={channel.id}" if message.is_reply else ""
    return {"channel": channel.id, "permalink": path + suffix}


@method("chat.meMessage", scope="chat:write", tier=3)
def me_message(call: Call) -> Json:
    """Say what the bot does, in the third person."""
    channel, text = call.own_channel(), str(call.args.get("text") or "")
    refuse_if(channel.is_archived, "is_archived")
    refuse_if(not text, "no_text")
    message = call.world.post(channel, user=call.bot, text=text, app=call.app, subtype="me_message")
    return {"channel": channel.id, "ts": message.ts}
