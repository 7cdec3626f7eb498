"""chat.*: what the bot says, changes and takes back."""

from __future__ import annotations

from typing import Any

from sandbox.slack.state import seed
from sandbox.slack.state.errors import Refusal
from sandbox.slack.state.model import Channel, Json, Message
from sandbox.slack.state.rate_limits import Buckets
from sandbox.slack.state.rendering import to_slack
from sandbox.slack.state.scopes import PUBLIC
from sandbox.slack.web_api.calls import Call, method
from sandbox.slack.world.message_checks import checked_blocks, checked_metadata, content

MOST_TEXT_OF_UPDATE = 4000


def paced(buckets: Buckets, call: Call) -> None:
    """One message a second in a channel, few more at once; raises `Refusal` (ratelimited) with `Retry-After`."""
    rate, burst = call.settings.messages_per_second, call.settings.burst
    channel = str(call.args.get("channel"))
    buckets.take(f"messages in {channel}", rate=rate, burst=burst, now=call.world.clock.now())


def _writable(call: Call) -> Channel:
    channel = call.channel()
    if channel.is_archived:
        raise Refusal("is_archived")
    if seed.BOT.id not in channel.members:
        open_to_apps = not channel.is_private and PUBLIC in call.settings.scopes
        if not open_to_apps:
            raise Refusal("not_in_channel")
    return channel


def _thread(call: Call, channel: Channel) -> str | None:
    ts = call.args.get("thread_ts")
    if not ts:
        return None
    parent = channel.messages.get(str(ts))
    if parent is None:
        raise Refusal("thread_not_found")
    return parent.thread_ts or parent.ts


@method("chat.postMessage")
def post_message(call: Call) -> Json:
    """Say something in a channel, a thread or a direct message."""
    channel = _writable(call)
    said = content(call.args)
    thread = _thread(call, channel)
    broadcast = thread is not None and call.flag("reply_broadcast")
    message = call.world.post(
        channel,
        user=seed.BOT.id,
        text=said.text,
        blocks=said.blocks,
        attachments=said.attachments,
        metadata=said.metadata,
        thread_ts=thread,
        broadcast=broadcast,
        subtype="thread_broadcast" if broadcast else None,
        by_app=True,
    )
    shown = to_slack(message, with_metadata=True)
    return {"channel": channel.id, "ts": message.ts, "message": shown, **_warning(call)}


def _warning(call: Call) -> Json:
    if call.args.get("text"):
        return {}
    note = "missing_text_in_message"
    return {"warning": note, "response_metadata": {"warnings": [note]}}


@method("chat.postEphemeral")
def post_ephemeral(call: Call) -> Json:
    """Say something that one person sees; it has no history and cannot be changed by `chat.update`."""
    channel = _writable(call)
    user = call.world.users.get(str(call.require("user")))
    if user is None or user.id not in channel.members:
        raise Refusal("user_not_in_channel")
    said = content(call.args)
    message = call.world.post(
        channel,
        user=seed.BOT.id,
        text=said.text,
        blocks=said.blocks,
        attachments=said.attachments,
        thread_ts=_thread(call, channel),
        by_app=True,
        seen_by=user.id,
    )
    return {"message_ts": message.ts}


def _own(call: Call, *, refusal: str) -> Message:
    channel = call.channel()
    if channel.is_archived:
        raise Refusal("is_archived")
    # An ephemeral message has no ts that chat.update or chat.delete would know.
    message = call.world.message(channel, call.require("ts"))
    if not message.by_app:
        raise Refusal(refusal)
    return message


@method("chat.update")
def update(call: Call) -> Json:
    """Change one of the bot's own messages in place."""
    message = _own(call, refusal="cant_update_message")
    fields = _changes(call, message)
    call.world.change(message, **fields)
    shown = to_slack(message, with_metadata=True)
    return {"channel": message.channel, "ts": message.ts, "text": message.text, "message": shown}


def _changes(call: Call, message: Message) -> dict[str, Any]:
    text = call.args.get("text")
    if text is not None and len(str(text)) > MOST_TEXT_OF_UPDATE:
        raise Refusal("msg_too_long")
    if text is None and not any(call.args.get(name) for name in ("blocks", "attachments")):
        raise Refusal("no_text")
    fields: dict[str, Any] = {"text": message.text if text is None else str(text)}
    # Blocks that are not sent stay, unless new text is; then the text is all that is left.
    if call.args.get("blocks") is not None or text is not None:
        fields["blocks"] = checked_blocks(call.args.get("blocks"))
    if not fields["text"] and not fields.get("blocks"):
        raise Refusal("no_text")
    if "metadata" in call.args:
        fields["metadata"] = checked_metadata(call.args["metadata"])
    return fields


@method("chat.delete")
def delete(call: Call) -> Json:
    """Take one of the bot's own messages back."""
    message = _own(call, refusal="cant_delete_message")
    call.world.delete(message)
    return {"channel": message.channel, "ts": message.ts}


@method("chat.getPermalink")
def permalink(call: Call) -> Json:
    """An address of a message on the stand-in's page."""
    channel = call.channel()
    message = call.world.message(channel, call.require("message_ts"))
    path = f"{call.origin}/archives/{channel.id}/p{message.ts.replace('.', '')}"
    suffix = f"?thread_ts={message.thread_ts}&cid={channel.id}" if message.is_reply else ""
    return {"channel": channel.id, "permalink": path + suffix}
