"""Messages as the Web API returns them to the bot, and as the page and the control API show them."""

from __future__ import annotations

from sandbox.slack.state import seed
from sandbox.slack.state.model import Json, Message


def to_slack(message: Message, *, with_metadata: bool = False) -> Json:
    """A message object as conversations.history returns it."""
    body: Json = {"type": "message", "ts": message.ts, "user": message.user, "text": message.text}
    body["team"] = seed.TEAM.id
    if message.by_app:
        body |= {"bot_id": seed.TEAM.bot_id, "app_id": seed.TEAM.app_id}
        body["bot_profile"] = {"id": seed.TEAM.bot_id, "app_id": seed.TEAM.app_id, "name": "Outreach"}
    optional = {
        "subtype": message.subtype,
        "blocks": message.blocks,
        "attachments": message.attachments,
        "files": message.files,
        "metadata": message.metadata if with_metadata else None,
        "edited": {"user": message.user, "ts": message.edited_at} if message.edited_at else None,
        "reactions": [
            {"name": name, "users": users, "count": len(users)} for name, users in message.reactions.items()
        ],
    }
    body |= {name: value for name, value in optional.items() if value}
    return body | _threading(message)


def _threading(message: Message) -> Json:
    if message.is_reply:
        return {"thread_ts": message.thread_ts, "parent_user_id": None}
    if not message.replies:
        return {}
    return {
        "thread_ts": message.ts,
        "reply_count": len(message.replies),
        "reply_users": list(message.repliers),
        "reply_users_count": len(message.repliers),
        "latest_reply": message.replies[-1],
        "subscribed": False,
    }


def shown(message: Message) -> Json:
    """All that is known of a message: for people and for tests, not for the bot."""
    return {
        **to_slack(message, with_metadata=True),
        "channel": message.channel,
        "ephemeral": message.seen_by is not None,
        "seen_by": message.seen_by,
        "in_channel": message.in_channel,
        "posted_at": message.posted_at,
        "by_app": message.by_app,
        "revisions": list(message.revisions),
    }
