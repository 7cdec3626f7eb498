"""Which scope each Web API method asks for (docs.slack.dev/reference/methods)."""

from __future__ import annotations

from sandbox.slack.state.errors import Refusal
from sandbox.slack.state.model import Channel

NEEDED: dict[str, str | None] = {
    "auth.test": None,
    "apps.connections.open": None,
    "chat.postMessage": "chat:write",
    "chat.postEphemeral": "chat:write",
    "chat.update": "chat:write",
    "chat.delete": "chat:write",
    "chat.getPermalink": None,
    "conversations.info": "channels:read",
    "conversations.list": "channels:read",
    "conversations.members": "channels:read",
    "conversations.history": "channels:history",
    "conversations.replies": "channels:history",
    "conversations.join": "channels:join",
    "conversations.open": "im:write",
    "users.info": "users:read",
    "users.list": "users:read",
    "users.conversations": "channels:read",
    "usergroups.list": "usergroups:read",
    "usergroups.users.list": "usergroups:read",
    "views.open": None,
    "views.push": None,
    "views.update": None,
    "views.publish": None,
    "reactions.add": "reactions:write",
    "reactions.remove": "reactions:write",
    "files.getUploadURLExternal": "files:write",
    "files.completeUploadExternal": "files:write",
}

PUBLIC = "chat:write.public"
"""Lets the bot post to public channels that it is not in."""
ALL_SCOPES = frozenset(
    {scope for scope in NEEDED.values() if scope}
    | {"commands", "app_mentions:read", PUBLIC}
    | {"groups:read", "groups:history", "im:read", "im:history"}
)
"""What the app holds until a manifest asks for less."""


def require(scope: str | None, *, granted: frozenset[str]) -> None:
    """Raise `Refusal` (missing_scope) unless the app holds `scope`."""
    if scope and scope not in granted:
        raise Refusal("missing_scope", extra={"needed": scope, "provided": ",".join(sorted(granted))})


def for_channel(scope: str, channel: Channel) -> str:
    """`channels:history` is `groups:history` in a private channel and `im:history` in a direct message."""
    if channel.direct is not None:
        return scope.replace("channels:", "im:")
    return scope.replace("channels:", "groups:") if channel.is_private else scope
