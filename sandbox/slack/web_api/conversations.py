"""Channels, their members and their messages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sandbox.slack import seed
from sandbox.slack.errors import SlackError, refuse_if
from sandbox.slack.model import Channel, Json, Message
from sandbox.slack.web_api.call import Call, warning

_KINDS = {"public_channel", "private_channel", "im", "mpim"}


def info(call: Call) -> Json:
    return {"channel": call.channel().to_slack(viewer=seed.BOT.id)}


def listed(call: Call) -> Json:
    """List the conversations that the bot may know."""
    return _page(call, call.workspace.channels.values())


def of_user(call: Call) -> Json:
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


def history(call: Call) -> Json:
    """Return the messages of a channel, newest first; replies stay in their threads."""
    channel = call.own_channel()
    newest_first = reversed(channel.messages.values())
    return _messages(call, (message for message in newest_first if message.in_channel))


def replies(call: Call) -> Json:
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
        "pin_count": 0,
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


def join(call: Call) -> Json:
    """Enter a public channel."""
    channel = call.channel()
    refuse_if(channel.is_archived, "is_archived")
    refuse_if(channel.kind != "public_channel", "method_not_supported_for_channel_type")
    shown = {"channel": channel.to_slack(viewer=seed.BOT.id)}
    if seed.BOT.id in channel.members:
        return {**shown, **warning("already_in_channel")}
    channel.members.append(seed.BOT.id)
    call.workspace.feed.publish("channels", {})
    call.delivery.member_joined(seed.BOT.id, channel)
    return {"channel": channel.to_slack(viewer=seed.BOT.id)}


def opened(call: Call) -> Json:
    """Return the direct message with one person; groups of people are not played here."""
    names = call.words("users")
    refuse_if(not names, "users_list_not_supplied")
    refuse_if(any(name not in call.workspace.users for name in names), "user_not_found")
    refuse_if(len(names) > 1, "method_not_supported_for_channel_type")
    channel = call.workspace.direct(names[0])
    shown = channel.to_slack(viewer=seed.BOT.id) if call.flag("return_im") else {"id": channel.id}
    return {"channel": shown, "no_op": False, "already_open": False}


def invite(call: Call) -> Json:
    """Let people in; one who can't be invited stops all."""
    channel = call.own_channel()
    refuse_if(channel.direct, "method_not_supported_for_channel_type")
    refuse_if(channel.is_archived, "is_archived")
    names = call.words("users")
    refuse_if(not names, "no_user")
    for name in names:
        refuse_if(name == seed.BOT.id, "cant_invite_self")
        refuse_if(name not in call.workspace.users, "user_not_found")
        refuse_if(name in channel.members, "already_in_channel")
    for name in names:
        channel.members.append(name)
        call.delivery.member_joined(name, channel, inviter=seed.BOT.id)
    call.workspace.feed.publish("channels", {})
    return {"channel": channel.to_slack(viewer=seed.BOT.id)}
