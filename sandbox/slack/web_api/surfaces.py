"""Modals and Home."""

from __future__ import annotations

from sandbox.slack.errors import SlackError, refuse_if
from sandbox.slack.model import Json
from sandbox.slack.views import (
    checked_view,
    find_view,
    home_view,
    open_view,
    publish_home,
    update_view,
)
from sandbox.slack.web_api.call import Call


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
