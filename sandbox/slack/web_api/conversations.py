"""conversations.*: channels, their members and their messages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sandbox.slack.state.errors import SlackError, refuse_if
from sandbox.slack.state.model import Channel, Json, Message
from sandbox.slack.web_api.calls import Call, method, page_of, warning

_KINDS = {"public_channel", "private_channel", "im", "mpim"}


@method("conversations.info", channel_scope="channels:read", tier=3)
def info(call: Call) -> Json:
    channel = call.channel()
    return {"channel": channel.to_slack(viewer=call.bot)}


@method("conversations.list", channel_scope="channels:read", tier=2)
def listing(call: Call) -> Json:
    """The conversations that the bot may know, by kind."""
    wanted = [kind.strip() for kind in str(call.args.get("types") or "public_channel").split(",")]
    refuse_if(not set(wanted) <= _KINDS, "invalid_types")
    found = [
        channel
        for channel in call.world.channels.values()
        if channel.kind in wanted
        and _visible(call, channel)
        and not (call.flag("exclude_archived") and channel.is_archived)
    ]
    return _channels(call, found)


def _visible(call: Call, channel: Channel) -> bool:
    return channel.kind == "public_channel" or call.bot in channel.members


def _channels(call: Call, found: list[Channel]) -> Json:
    for channel in found:
        call.require_channel_scope(channel)
    page, cursor = page_of(found, call, default=100, max_limit=999)
    shown = [channel.to_slack(viewer=call.bot) for channel in page]
    return {"channels": shown, "response_metadata": {"next_cursor": cursor}}


@method("users.conversations", scope="channels:read", channel_scope="channels:read", tier=3)
def of_user(call: Call) -> Json:
    """The conversations of one user."""
    user = str(call.args.get("user") or call.bot)
    call.world.user(user)
    wanted = str(call.args.get("types") or "public_channel").split(",")
    found = [
        one
        for one in call.world.channels.values()
        if user in one.members and one.kind in wanted and _visible(call, one)
    ]
    return _channels(call, found)


@method("conversations.members", channel_scope="channels:read", tier=4)
def members(call: Call) -> Json:
    channel = call.channel()
    page, cursor = page_of(channel.members, call, default=100, max_limit=999)
    return {"members": page, "response_metadata": {"next_cursor": cursor}}


@method("conversations.history", channel_scope="channels:history", tier=3)
def history(call: Call) -> Json:
    """The messages of a channel, newest first; replies stay in their threads."""
    channel = call.own_channel()
    newest_first = (message for message in reversed(channel.messages.values()) if message.in_channel)
    return _messages(call, newest_first)


@method("conversations.replies", channel_scope="channels:history", tier=3)
def replies(call: Call) -> Json:
    """A thread; every page begins with its first message."""
    channel = call.own_channel()
    parent = channel.messages.get(str(call.require("ts")))
    if parent is None:
        raise SlackError("thread_not_found")
    root = channel.messages.get(parent.thread_ts or "") or parent
    answer = _messages(call, [channel.messages[ts] for ts in root.replies])
    answer["messages"].insert(0, root.to_slack(with_metadata=call.flag("include_all_metadata")))
    return answer


def _messages(call: Call, messages: Iterable[Message]) -> Json:
    limit = call.limit(100, max_limit=999)
    found: list[Message] = []
    more = False
    for message in _between(call, messages):
        if len(found) == limit:
            more = True
            break
        found.append(message)
    shown = [message.to_slack(with_metadata=call.flag("include_all_metadata")) for message in found]
    cursor = f"after:{found[-1].ts}" if more else ""
    return {"messages": shown, "has_more": more, "pin_count": 0, "response_metadata": {"next_cursor": cursor}}


def _between(call: Call, messages: Iterable[Message]) -> Iterator[Message]:
    oldest, latest = _timestamp(call, "oldest"), _timestamp(call, "latest")
    inclusive = call.flag("inclusive")
    skip_to = _cursor_ts(call)
    for message in messages:
        if skip_to is not None:
            skip_to = None if message.ts == skip_to else skip_to
            continue
        at = float(message.ts)
        late = latest is not None and (at > latest or (at == latest and not inclusive))
        early = oldest is not None and (at < oldest or (at == oldest and not inclusive))
        if not late and not early:
            yield message


def _cursor_ts(call: Call) -> str | None:
    cursor = str(call.args.get("cursor") or "")
    if not cursor:
        return None
    word, _, ts = cursor.partition(":")
    refuse_if(word != "after" or not ts, "invalid_cursor")
    return ts


def _timestamp(call: Call, name: str) -> float | None:
    value = call.args.get(name)
    if value in (None, ""):
        return None
    try:
        return float(str(value))
    except ValueError as error:
        raise SlackError(f"invalid_ts_{name}") from error


@method("conversations.join", scope="channels:join", tier=3)
def join(call: Call) -> Json:
    """Enter a public channel."""
    channel = call.channel()
    refuse_if(channel.is_archived, "is_archived")
    refuse_if(channel.is_private or channel.direct, "method_not_supported_for_channel_type")
    if call.bot in channel.members:
        return {"channel": channel.to_slack(viewer=call.bot), **warning("already_in_channel")}
    channel.members.append(call.bot)
    call.workspace.feed.publish("channels", {})
    call.workspace.events.member_joined(call.bot, channel=channel)
    return {"channel": channel.to_slack(viewer=call.bot)}
