"""Modals and Home."""

from __future__ import annotations

from sandbox.slack import views
from sandbox.slack.errors import SlackError, refuse_if
from sandbox.slack.model import Json
from sandbox.slack.web_api.call import Call


def views_open(call: Call) -> Json:
    """Open a modal for whoever acted."""
    return _open(call, push=False)


def views_push(call: Call) -> Json:
    """Put a modal over the one in front."""
    return _open(call, push=True)


def _open(call: Call, *, push: bool) -> Json:
    # A view that Slack doesn't show leaves the trigger to be used again.
    views.checked_view(call.workspace, call.require("view"), kind="modal")
    trigger = call.workspace.triggers.get(str(call.require("trigger_id")))
    if trigger is None:
        raise SlackError("invalid_trigger_id")
    trigger.redeem(now=call.workspace.clock.now())
    return {"view": views.open_view(call.workspace, trigger.user, call.args["view"], push=push)}


def views_update(call: Call) -> Json:
    """Replace a view that is open."""
    found = call.workspace.views.get(call.text("view_id"))
    if found is None:
        raise SlackError("not_found")
    refuse_if(call.args.get("hash") not in (None, "", found["hash"]), "hash_conflict")
    return {"view": views.update_view(call.workspace, found, call.require("view"))}


def views_publish(call: Call) -> Json:
    """Set a person's Home."""
    user = call.workspace.users.get(str(call.require("user_id")))
    if user is None or user.is_bot:
        line = "user not found [json-pointer:/user_id]"
        raise SlackError("invalid_arguments", messages=[line])
    before = views.home_view(call.workspace, user.id) or {}
    refuse_if(call.args.get("hash") not in (None, "", before.get("hash")), "hash_conflict")
    return {"view": views.publish_home(call.workspace, user.id, call.require("view"))}
