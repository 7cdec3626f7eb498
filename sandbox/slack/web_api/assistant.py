"""assistant.threads.* and streams of text: what apps with an AI assistant call."""

from __future__ import annotations

from typing import Any

from sandbox.slack.state.errors import SlackError, refuse_if
from sandbox.slack.state.model import Channel, Json, Message
from sandbox.slack.web_api.calls import Call, method
from sandbox.slack.web_api.chat import writable
from sandbox.slack.world.message_checks import checked_blocks, checked_metadata

_MAX_PROMPTS = 4
_MAX_STREAMED = 12_000
"""Characters of `markdown_text` (https://docs.slack.dev/reference/methods/chat.appendStream)."""
_CHUNKS = {"markdown_text", "task_update", "plan_update", "blocks"}


def _thread(call: Call) -> Json:
    """What is known of an assistant's thread; raises `SlackError` (channel_not_found, invalid_thread_ts)."""
    name, ts = call.args.get("channel_id"), str(call.args.get("thread_ts") or "")
    if not isinstance(name, str) or not name:
        raise SlackError("channel_not_found")
    channel = call.world.bot_channel(name, call.app)
    refuse_if(ts not in channel.messages, "invalid_thread_ts")
    return call.world.assistant.setdefault(f"{channel.id}/{ts}", {})


@method("assistant.threads.setStatus", scope="chat:write")
def set_status(call: Call) -> Json:
    """What the assistant is doing; an empty status takes it away, as the next message does."""
    _thread(call)["status"] = str(call.args.get("status") or "")
    return {}


@method("assistant.threads.setTitle", scope="assistant:write", tier=4)
def set_title(call: Call) -> Json:
    """What the thread is about."""
    _thread(call)["title"] = str(call.require("title"))
    return {}


@method("assistant.threads.setSuggestedPrompts", scope="assistant:write", tier=4)
def set_prompts(call: Call) -> Json:
    """Up to four things to ask."""
    thread, prompts = _thread(call), call.require("prompts")
    if not isinstance(prompts, list) or not 1 <= len(prompts) <= _MAX_PROMPTS:
        raise SlackError("invalid_arguments", messages=["must have 1 to 4 items [json-pointer:/prompts]"])
    for place, one in enumerate(prompts):
        if not isinstance(one, dict) or not one.get("title") or not one.get("message"):
            raise SlackError(
                "invalid_arguments", messages=[f"title and message [json-pointer:/prompts/{place}]"]
            )
    thread["prompts"] = prompts
    return {}


@method("chat.startStream", scope="chat:write", tier=2)
def start_stream(call: Call) -> Json:
    """Begin a message in a thread that grows; in a channel it names whom it is for."""
    channel = writable(call)
    thread = str(call.require("thread_ts"))
    if channel.direct is None:
        for name in ("recipient_user_id", "recipient_team_id"):
            if not call.args.get(name):
                raise SlackError(f"missing_{name}")
        refuse_if(call.args["recipient_user_id"] not in call.world.users, "user_not_found")
    message = call.world.post(
        channel, user=call.bot, text=_text(call), thread_ts=thread, app=call.app, streaming=True
    )
    return {"channel": channel.id, "ts": message.ts}


def _text(call: Call) -> str:
    """The new text, of `markdown_text` and of chunks."""
    chunks = call.args.get("chunks") or []
    if not isinstance(chunks, list) or not all(
        isinstance(one, dict) and one.get("type") in _CHUNKS for one in chunks
    ):
        raise SlackError("invalid_chunks")
    text = str(call.args.get("markdown_text") or "") + "".join(str(one.get("text") or "") for one in chunks)
    refuse_if(len(text) > _MAX_STREAMED, "msg_too_long")
    return text


def _streaming(call: Call) -> tuple[Channel, Message]:
    channel = call.channel()
    message = call.world.message(channel, call.require("ts"))
    refuse_if(message.app != call.app, "message_not_owned_by_app")
    refuse_if(not message.streaming, "message_not_in_streaming_state")
    return channel, message


@method("chat.appendStream", scope="chat:write", tier=4)
def append_stream(call: Call) -> Json:
    """Add to a message that grows."""
    channel, message = _streaming(call)
    more = _text(call)
    refuse_if(not more and not call.args.get("chunks"), "no_text")
    call.world.change(message, text=message.text + more)
    return {"channel": channel.id, "ts": message.ts}


@method("chat.stopStream", scope="chat:write", tier=2)
def stop_stream(call: Call) -> Json:
    """End a message that grows, perhaps with blocks under its text."""
    channel, message = _streaming(call)
    fields: dict[str, Any] = {"text": message.text + _text(call), "streaming": False}
    blocks = checked_blocks(call.args.get("blocks"), check=call.world.block_problems)
    if blocks:
        fields["blocks"] = blocks
    if call.args.get("metadata"):
        fields["metadata"] = checked_metadata(call.args["metadata"])
    call.world.change(message, **fields)
    return {"channel": channel.id, "ts": message.ts, "message": message.to_slack(with_metadata=True)}
