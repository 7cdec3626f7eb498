"""views.* and reactions.*: modals, Home tabs and the bot's reactions."""

from __future__ import annotations

import re

from sandbox.slack.state.errors import SlackError, refuse_if
from sandbox.slack.state.model import Json, Message
from sandbox.slack.state.triggers import Trigger
from sandbox.slack.web_api.calls import Call, method
from sandbox.slack.world.views import checked

_EMOJI = re.compile(r"[a-z0-9_+'-]{1,100}(::skin-tone-[2-6])?")


def _trigger(call: Call) -> Trigger:
    name = call.args.get("interactivity_pointer") or call.require("trigger_id")
    return call.world.triggers.redeem(str(name), app=call.app, now=call.workspace.clock.now())


@method("views.open", tier=4)
def views_open(call: Call) -> Json:
    """Open a modal for whoever acted."""
    # A view that Slack would not show leaves the trigger to be used again.
    checked(call.require("view"), kind="modal", check=call.world.block_problems)
    trigger = _trigger(call)
    view = call.workspace.people.views.open(trigger.user, call.args["view"], app=call.app)
    trigger.opened = view["id"]
    return {"view": view}


@method("views.push", tier=4)
def views_push(call: Call) -> Json:
    """Put a modal over the one in front."""
    checked(call.require("view"), kind="modal", check=call.world.block_problems)
    trigger = _trigger(call)
    view = call.workspace.people.views.push(trigger.user, call.args["view"], app=call.app)
    trigger.opened = view["id"]
    return {"view": view}


@method("views.update", tier=4)
def views_update(call: Call) -> Json:
    """Exchange a view that is open."""
    found = call.workspace.people.views.find(
        call.app, view_id=call.args.get("view_id"), external_id=call.args.get("external_id")
    )
    refuse_if(call.args.get("hash") and call.args["hash"] != found["hash"], "hash_conflict")
    return {"view": call.workspace.people.views.update(found, call.require("view"), app=call.app)}


@method("views.publish", tier=4)
def views_publish(call: Call) -> Json:
    """Set a person's Home tab."""
    user = call.world.users.get(str(call.require("user_id")))
    if user is None or user.is_bot:
        raise SlackError("invalid_arguments", messages=["user not found [json-pointer:/user_id]"])
    views = call.workspace.people.views
    old = views.home(user.id, call.app)
    if call.args.get("hash") and (old is None or call.args["hash"] != old["hash"]):
        raise SlackError("hash_conflict")
    return {"view": views.publish(user.id, call.require("view"), app=call.app)}


def _target(call: Call) -> tuple[Message, str]:
    name = str(call.require("name")).strip(":")
    refuse_if(not _EMOJI.fullmatch(name), "invalid_name")
    channel = call.own_channel()
    refuse_if(channel.is_archived, "is_archived")
    return call.world.message(channel, call.require("timestamp")), name


@method("reactions.add", scope="reactions:write", tier=3)
def reactions_add(call: Call) -> Json:
    """React as the bot."""
    message, name = _target(call)
    refuse_if(call.bot in message.reactions.get(name, []), "already_reacted")
    message.reactions.setdefault(name, []).append(call.bot)
    call.world.announce(message, kind="message_changed")
    return {}


@method("reactions.remove", scope="reactions:write", tier=2)
def reactions_remove(call: Call) -> Json:
    """Remove the bot's reaction."""
    message, name = _target(call)
    refuse_if(call.bot not in message.reactions.get(name, []), "no_reaction")
    message.reactions[name].remove(call.bot)
    if not message.reactions[name]:
        del message.reactions[name]
    call.world.announce(message, kind="message_changed")
    return {}
