"""Modals and Home tabs: what Slack accepts as a view, and the stack of modals that a person has open."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import Any, Literal

from sandbox.slack.blockkit.blocks import Surface, problems
from sandbox.slack.blockkit.elements import plain
from sandbox.slack.blockkit.rules import Rule, anything, boolean, problem, shape, string
from sandbox.slack.state.errors import SlackError, refuse_if
from sandbox.slack.state.feed import Entry
from sandbox.slack.state.model import App, Json, Team
from sandbox.slack.world.world import World, with_ids

MAX_DEPTH = 3
MAX_VIEW_BYTES = 250_000


def _view(required: dict[str, Rule], /, **optional: Rule) -> Rule:
    return shape(
        {**required, "blocks": anything},
        private_metadata=string(3000),
        callback_id=string(255),
        external_id=string(255),
        submit=plain(24),
        close=plain(24),
        **optional,
    )


_MODAL = _view({"title": plain(24)}, clear_on_close=boolean, notify_on_close=boolean, submit_disabled=boolean)
_HOME = _view({}, title=plain(24))


def checked(view: Any, *, kind: str, check: Callable[..., list[str]] = problems) -> Json:
    """`view` if Slack would take it; raises `SlackError` (invalid_arguments, view_too_large)."""
    if not isinstance(view, dict):
        raise SlackError("invalid_arguments", messages=["must be an object [json-pointer:/view]"])
    found = view_problems(view, kind=kind, check=check)
    if found:
        raise SlackError("invalid_arguments", messages=found, extra={"errors": found})
    refuse_if(len(str(view)) > MAX_VIEW_BYTES, "view_too_large")
    return view


def view_problems(
    view: Json, *, kind: str, at: str = "/view", check: Callable[..., list[str]] = problems
) -> list[str]:
    """What Slack would refuse in a view."""
    if view.get("type") != kind:
        return [problem(f"must be {kind}", f"{at}/type")]
    found = list((_MODAL if kind == "modal" else _HOME)(view, at))
    surface: Surface = "modal" if kind == "modal" else "home"
    found += check(view.get("blocks"), surface=surface, at=f"{at}/blocks")
    if kind == "modal" and not view.get("submit") and _has_inputs(view.get("blocks")):
        found.append(problem("missing required field: submit", f"{at}/submit"))
    return found


def _has_inputs(blocks: Any) -> bool:
    return isinstance(blocks, list) and any(isinstance(b, dict) and b.get("type") == "input" for b in blocks)


def stored(view: Json, *, app: App, team: Team, name: str | None = None) -> Json:
    """A view object as Slack returns it, with its ids, hash and empty state."""
    identity = name or f"V{secrets.token_hex(5).upper()}"
    return {
        "id": identity,
        "team_id": team.id,
        "app_id": app.id,
        "app_installed_team_id": team.id,
        "bot_id": app.bot_id,
        "type": view["type"],
        "title": view.get("title"),
        "submit": view.get("submit"),
        "close": view.get("close"),
        "blocks": with_ids(view["blocks"]),
        "private_metadata": view.get("private_metadata") or "",
        "callback_id": view.get("callback_id") or "",
        "external_id": view.get("external_id") or "",
        "state": {"values": {}},
        "hash": f"{secrets.randbelow(10**10)}.{secrets.token_hex(4)}",
        "clear_on_close": bool(view.get("clear_on_close")),
        "notify_on_close": bool(view.get("notify_on_close")),
        "root_view_id": identity,
        "previous_view_id": None,
    }


class Views:
    """The views in front of people."""

    def __init__(self, world: World) -> None:
        self._world = world

    def _checked(self, view: Any, *, kind: str) -> Json:
        return checked(view, kind=kind, check=self._world.block_problems)

    def top(self, user: str) -> Json | None:
        stack = self._world.stacks.get(user) or []
        return self._world.views[stack[-1]] if stack else None

    def open(self, user: str, view: Any, *, app: App) -> Json:
        """Show a new modal instead of any that is open."""
        fresh = stored(self._checked(view, kind="modal"), app=app, team=self._world.team)
        self._require_new_external_id(fresh)
        self._drop(user)
        return self._show(user, fresh)

    def push(self, user: str, view: Any, *, app: App) -> Json:
        """Show a modal over the one in front; raises `SlackError` (push_limit_reached) over three."""
        stack = self._world.stacks.get(user) or []
        refuse_if(not stack or self._world.views[stack[-1]]["app_id"] != app.id, "not_found")
        refuse_if(len(stack) >= MAX_DEPTH, "push_limit_reached")
        fresh = stored(self._checked(view, kind="modal"), app=app, team=self._world.team)
        self._require_new_external_id(fresh)
        fresh |= {"root_view_id": stack[0], "previous_view_id": stack[-1]}
        return self._show(user, fresh)

    def _show(self, user: str, view: Json) -> Json:
        self._world.views[view["id"]] = view
        self._world.stacks.setdefault(user, []).append(view["id"])
        self._keep(user, view)
        self._announce(user)
        return view

    def _keep(self, user: str, view: Json) -> None:
        title = (view["title"] or {}).get("text") or ""
        kind: Literal["view", "home"] = "home" if view["type"] == "home" else "view"
        entry = Entry(
            at=self._world.clock.now(), kind=kind, user=user, text=title, blocks=view["blocks"], ts=view["id"]
        )
        self._world.transcript.add(entry)

    def _require_new_external_id(self, view: Json) -> None:
        name = view["external_id"]
        refuse_if(
            name and any(other["external_id"] == name for other in self._world.views.values()),
            "duplicate_external_id",
        )

    def find(self, app: App, *, view_id: Any = None, external_id: Any = None) -> Json:
        """A view of an app by its own or the app's id; raises `SlackError` (not_found)."""
        for view in [one for one in self._world.views.values() if one["app_id"] == app.id]:
            if view["id"] == view_id or (external_id and view["external_id"] == external_id):
                return view
        raise SlackError("not_found")

    def update(self, old: Json, view: Any, *, app: App) -> Json:
        """Exchange a view in its place, keeping its id and what was typed into the blocks that stay."""
        kind = old["type"]
        fresh = stored(self._checked(view, kind=kind), app=app, team=self._world.team, name=old["id"])
        fresh |= {"root_view_id": old["root_view_id"], "previous_view_id": old["previous_view_id"]}
        self._world.views[old["id"]] = fresh
        if kind == "home":
            for (user, _), home in self._world.homes.items():
                if home == old["id"]:
                    self._keep(user, fresh)
                    self._world.feed.publish("home", fresh, only_for=user)
            return fresh
        for user, stack in self._world.stacks.items():
            if old["id"] in stack:
                self._keep(user, fresh)
                self._announce(user)
        return fresh

    def home(self, user: str, app: App) -> Json | None:
        return self._world.views.get(self._world.homes.get((user, app), ""))

    def publish(self, user: str, view: Any, *, app: App) -> Json:
        """Set the Home tab of `user`."""
        home = self._world.homes.get((user, app))
        fresh = stored(self._checked(view, kind="home"), app=app, team=self._world.team, name=home)
        self._world.views[fresh["id"]] = fresh
        self._world.homes[user, app] = fresh["id"]
        self._keep(user, fresh)
        self._world.feed.publish("home", fresh, only_for=user)
        return fresh

    def close(self, user: str) -> Json | None:
        """Take away the modal in front; the one under it shows again."""
        stack = self._world.stacks.get(user) or []
        gone = self._world.views.pop(stack.pop()) if stack else None
        self._announce(user)
        return gone

    def clear(self, user: str) -> None:
        self._drop(user)
        self._announce(user)

    def _drop(self, user: str) -> None:
        for name in self._world.stacks.pop(user, []):
            self._world.views.pop(name, None)

    def _announce(self, user: str) -> None:
        depth = len(self._world.stacks.get(user) or [])
        self._world.feed.publish("view", {"view": self.top(user), "depth": depth}, only_for=user)
