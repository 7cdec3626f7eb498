"""Modals, Home and the bot's reactions."""

from __future__ import annotations

import re

from sandbox.slack import seed
from sandbox.slack.errors import SlackError, refuse_if
from sandbox.slack.model import Json, Message
from sandbox.slack.views import (
    checked_view,
    find_view,
    home_view,
    open_view,
    publish_home,
    update_view,
)
from sandbox.slack.web_api.call import Call

_EMOJI = re.compile(r"[a-z0-9_+'-]{1,100}(::skin-tone-[2-6])?")


def views_open(call: Call) -> Json:
    """Open a modal for whoever acted."""
    return _open(call, push=False)


def views_push(call: Call) -> Json:
    """Put a modal over the one in front."""
    return _open(call, push=True)


def _open(call: Call, *, push: bool) -> Json:
    # A view that Slack doesn't show leaves the trigger to be used again.
    checked_view(call.workspace, call.require("view"), kind="modal")
    name = call.args.get("interactivity_pointer") or call.require("trigger_id")
    trigger = call.workspace.triggers.get(str(name))
    if trigger is None:
        raise SlackError("invalid_trigger_id")
    trigger.redeem(now=call.workspace.clock.now())
    return {"view": open_view(call.workspace, trigger.user, call.args["view"], push=push)}


def views_update(call: Call) -> Json:
    """Replace a view that is open."""
    known = {name: call.args.get(name) for name in ("view_id", "external_id")}
    found = find_view(call.workspace, **known)
    refuse_if(call.args.get("hash") not in (None, "", found["hash"]), "hash_conflict")
    return {"view": update_view(call.workspace, found, call.require("view"))}


def views_publish(call: Call) -> Json:
    """Set a person's Home."""
    user = call.workspace.users.get(str(call.require("user_id")))
    if user is None or user.is_bot:
        line = "user not found [json-pointer:/user_id]"
        raise SlackError("invalid_arguments", messages=[line])
    before = home_view(call.workspace, user.id) or {}
    refuse_if(call.args.get("hash") not in (None, "", before.get("hash")), "hash_conflict")
    return {"view": publish_home(call.workspace, user.id, call.require("view"))}


def _target(call: Call) -> tuple[Message, str, bool]:
    """Return the message, the emoji, and whether the bot has reacted with it."""
    name = str(call.require("name")).strip(":")
    refuse_if(not _EMOJI.fullmatch(name), "invalid_name")
    channel = call.own_channel()
    refuse_if(channel.is_archived, "is_archived")
    message = call.workspace.message(channel, call.require("timestamp"))
    return message, name, seed.BOT.id in message.reactions.get(name, [])


def reactions_add(call: Call) -> Json:
    message, name, is_there = _target(call)
    refuse_if(is_there, "already_reacted")
    call.workspace.react(message, name, user=seed.BOT.id)
    return {}


def reactions_remove(call: Call) -> Json:
    message, name, is_there = _target(call)
    refuse_if(not is_there, "no_reaction")
    call.workspace.react(message, name, user=seed.BOT.id)
    return {}
