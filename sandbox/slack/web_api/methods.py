"""The table of methods; every other one answers `unknown_method`."""

from __future__ import annotations

from sandbox.slack.web_api import chat, conversations, surfaces, users, validation
from sandbox.slack.web_api.call import Method

_READ, _HISTORY = "channels:read", "channels:history"

METHODS: dict[str, Method] = {
    "api.test": Method(users.api_test, tier=4, takes="nothing"),
    "apps.connections.open": Method(users.connections_open, tier=1, takes="app"),
    "apps.manifest.validate": Method(validation.manifest, tier=3, takes="config"),
    "auth.test": Method(users.auth_test),
    "blocks.validate": Method(validation.blocks),
    "chat.delete": Method(chat.delete, "chat:write", tier=3),
    "chat.getPermalink": Method(chat.permalink),
    "chat.postEphemeral": Method(chat.post_ephemeral, "chat:write", tier=4),
    "chat.postMessage": Method(chat.post_message, "chat:write"),
    "chat.update": Method(chat.update, "chat:write", tier=3),
    "conversations.history": Method(conversations.history, None, _HISTORY, tier=3),
    "conversations.info": Method(conversations.info, None, _READ, tier=3),
    "conversations.invite": Method(conversations.invite, None, "channels:manage", tier=3),
    "conversations.join": Method(conversations.join, "channels:join", tier=3),
    "conversations.list": Method(conversations.listed, None, _READ, tier=2),
    "conversations.open": Method(conversations.opened, "im:write", tier=3),
    "conversations.replies": Method(conversations.replies, None, _HISTORY, tier=3),
    "usergroups.list": Method(users.groups, "usergroups:read", tier=2),
    "usergroups.users.list": Method(users.group_users, "usergroups:read", tier=2),
    "users.conversations": Method(conversations.of_user, _READ, _READ, tier=3),
    "users.info": Method(users.info, "users:read", tier=4),
    "users.list": Method(users.listed, "users:read", tier=2),
    "users.lookupByEmail": Method(users.lookup_by_email, users.EMAIL_SCOPE, tier=3),
    "users.profile.get": Method(users.profile, "users.profile:read", tier=4),
    "views.open": Method(surfaces.views_open, tier=4),
    "views.publish": Method(surfaces.views_publish, tier=4),
    "views.push": Method(surfaces.views_push, tier=4),
    "views.update": Method(surfaces.views_update, tier=4),
}
