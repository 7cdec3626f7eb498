"""Modals and Home: what Slack accepts as a view, and what a person has open.

The bot pushes no view onto another, so nothing here keeps a stack of them.
"""

from __future__ import annotations

import secrets
from typing import Any

from sandbox.slack import seed
from sandbox.slack.blockkit import SHAPES, Surface, check_shape, problem, problems
from sandbox.slack.content import Check
from sandbox.slack.errors import SlackError, refuse_if
from sandbox.slack.model import Json
from sandbox.slack.workspace import Workspace, with_ids

MAX_VIEW_CHARACTERS = 250_000


def view_problems(view: Json, *, kind: str, at: str = "/view", check: Check = problems) -> list[str]:
    """List what Slack refuses in a view of this kind, `modal` or `home`."""
    if view.get("type") != kind:
        return [problem(f"must be {kind}", f"{at}/type")]
    surface: Surface = "modal" if kind == "modal" else "home"
    blocks = view.get("blocks")
    found = list(check_shape(SHAPES["views"][kind], view, at))
    found += check(blocks, surface=surface, at=f"{at}/blocks")
    if kind == "modal" and not view.get("submit") and _has_inputs(blocks):
        found.append(problem("missing required field: submit", f"{at}/submit"))
    return found


def _has_inputs(blocks: Any) -> bool:
    if not isinstance(blocks, list):
        return False
    return any(isinstance(block, dict) and block.get("type") == "input" for block in blocks)


def checked_view(workspace: Workspace, view: Any, *, kind: str) -> Json:
    """Return a view that Slack takes. Raises `SlackError` (invalid_arguments, view_too_large)."""
    if not isinstance(view, dict):
        raise SlackError("invalid_arguments", messages=["must be an object [json-pointer:/view]"])
    if found := view_problems(view, kind=kind, check=workspace.block_problems):
        raise SlackError("invalid_arguments", messages=found, extra={"errors": found})
    # Slack doesn't say how it counts; this is close to the JSON that was sent.
    refuse_if(len(str(view)) > MAX_VIEW_CHARACTERS, "view_too_large")
    return view


def _stored(view: Json, *, id_: str = "") -> Json:
    """Return a view object as Slack answers it, with its ids, its hash and an empty state."""
    id_ = id_ or f"V{secrets.token_hex(5).upper()}"
    texts = ("private_metadata", "callback_id")
    return {
        "id": id_,
        "team_id": seed.TEAM.id,
        "app_id": seed.APP.id,
        "bot_id": seed.APP.bot_id,
        "type": view["type"],
        "blocks": with_ids(view["blocks"]),
        **{name: view.get(name) for name in ("title", "submit", "close")},
        **{name: view.get(name) or "" for name in texts},
        "state": {"values": {}},
        "hash": f"{secrets.randbelow(10**10)}.{secrets.token_hex(4)}",
    }


def top_view(workspace: Workspace, user: str) -> Json | None:
    """Return the modal in front of someone."""
    return workspace.views.get(workspace.modals.get(user, ""))


def home_view(workspace: Workspace, user: str) -> Json | None:
    return workspace.views.get(workspace.homes.get(user, ""))


def open_view(workspace: Workspace, user: str, view: Any) -> Json:
    """Show a modal instead of the one that is open. Raises `SlackError`."""
    fresh = _stored(checked_view(workspace, view, kind="modal"))
    workspace.views.pop(workspace.modals.get(user, ""), None)
    workspace.views[fresh["id"]] = fresh
    workspace.modals[user] = fresh["id"]
    _announce(workspace, user)
    return fresh


def update_view(workspace: Workspace, old: Json, view: Any) -> Json:
    """Replace a view where it stands; it keeps its id. Raises `SlackError`."""
    fresh = _stored(checked_view(workspace, view, kind=old["type"]), id_=old["id"])
    workspace.views[old["id"]] = fresh
    for user, home in workspace.homes.items():
        if home == old["id"]:
            workspace.feed.publish("home", fresh, only_for=user)
    for user, modal in workspace.modals.items():
        if modal == old["id"]:
            _announce(workspace, user)
    return fresh


def publish_home(workspace: Workspace, user: str, view: Any) -> Json:
    """Set someone's Home. Raises `SlackError`."""
    checked = checked_view(workspace, view, kind="home")
    fresh = _stored(checked, id_=workspace.homes.get(user, ""))
    workspace.views[fresh["id"]] = fresh
    workspace.homes[user] = fresh["id"]
    workspace.feed.publish("home", fresh, only_for=user)
    return fresh


def close_view(workspace: Workspace, user: str) -> None:
    """Take away the modal in front."""
    workspace.views.pop(workspace.modals.pop(user, ""), None)
    _announce(workspace, user)


def _announce(workspace: Workspace, user: str) -> None:
    workspace.feed.publish("view", {"view": top_view(workspace, user)}, only_for=user)
