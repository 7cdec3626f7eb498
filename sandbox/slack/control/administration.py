"""What the platform does, for the control API: settings, faults, time, sockets, membership, tokens, events."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from dataclasses import asdict, fields, replace
from functools import partial
from typing import Any

from sandbox.slack.control import reports
from sandbox.slack.state import given, seed
from sandbox.slack.state.errors import InvalidActionError
from sandbox.slack.state.faults import RESPONSE_URL, Fault
from sandbox.slack.state.model import Channel, Json, User
from sandbox.slack.state.own_world import read_world
from sandbox.slack.web_api.calls import METHODS
from sandbox.slack.workspace import Workspace

Body = dict[str, Any]


async def reset(workspace: Workspace, body: Body) -> Json:
    """`{everything}`: forget what happened; with `everything`, start over."""
    workspace.reset(everything=bool(body.get("everything")))
    return {}


async def keep(workspace: Workspace, body: Body) -> Json:
    """Make the present settings, people and channels those that a full reset returns to."""
    workspace.keep()
    return {}


async def world(workspace: Workspace, body: Body) -> Json:
    """`{team, users, groups, channels}`: start over with custom people and channels."""
    workspace.change_world(read_world(body, [one.app for one in workspace.installations]))
    return await reports.state(workspace, {})


async def app(workspace: Workspace, body: Body) -> Json:
    """`{manifest, name, request_url, channels}` installs another app; `{app, remove: true}` takes one away."""
    if body.get("remove"):
        workspace.remove_app(workspace.installation(body["app"]))
        return {"apps": [one.app.name for one in workspace.installations]}
    url = _own_url(body.get("request_url"))
    joins = None if body.get("channels") is None else given.words(body["channels"], "channels")
    name = given.text(body.get("name"), "name")
    added = workspace.add_app(given.section(body, "manifest"), name=name, joins=joins)
    added.settings.request_url = url
    return {"app": reports.app(added) | reports.credentials(added)}


def _own_url(url: Any) -> str | None:
    if url is not None and not str(url).startswith(("http://127.0.0.1", "http://localhost")):
        raise InvalidActionError("url: only http:// on this machine")
    return url and str(url)


async def request_url(workspace: Workspace, body: Body) -> Json:
    """`{url, verify}`: where the bot is; with `verify` only if it answers Slack's challenge."""
    url, to = _own_url(body["url"]), workspace.installation(body.get("app"))
    if body.get("verify") and not await to.delivery.challenge(str(url)):
        raise InvalidActionError("url: didn't answer the challenge")
    to.settings.request_url = url
    return {"request_url": url}


_NUMBERS = (
    "messages_per_second",
    "workspace_messages_per_minute",
    "answers_per_second",
    "tier_factor",
    "ack_seconds",
)
_SETTINGS: dict[str, Callable[[Any, str], Any]] = {
    **dict.fromkeys(_NUMBERS, given.number),
    "enterprise_id": given.text,
    "loads_options": lambda value, _: bool(value),
    **dict.fromkeys(("burst", "answers_burst"), partial(given.number, kind=int)),
    "commands": partial(given.objects, key="command"),
    "shortcuts": partial(given.objects, key="callback_id"),
    "redirect_urls": given.words,
    "retry_seconds": lambda value, at: tuple(given.number(one, at) for one in value),
    **dict.fromkeys(("events", "refused_blocks"), lambda value, at: frozenset(given.words(value, at))),
}


async def change_settings(workspace: Workspace, body: Body) -> Json:
    """Any of the numbers and lists of the settings, those of `app` where it is named; answers all of them."""
    settings = workspace.installation(body.get("app")).settings
    wanted = {name: value for name, value in body.items() if name != "app"}
    known = [name for name in _SETTINGS if hasattr(settings, name)]
    if unknown := set(wanted) - set(known):
        raise InvalidActionError(f"unknown: {', '.join(sorted(unknown))}; there are: {', '.join(known)}")
    fresh = {name: _SETTINGS[name](value, name) for name, value in wanted.items()}
    for name, value in fresh.items():
        setattr(settings, name, value)
    workspace.feed.publish("settings", {})
    return {"settings": settings.to_json()}


async def manifest(workspace: Workspace, body: Body) -> Json:
    """An app manifest as JSON, with `app` for another than the first one: all that it says takes effect."""
    of = workspace.installation(body.get("app"))
    workspace.read_manifest(of, body)
    return {"settings": of.settings.to_json()}


async def faults(workspace: Workspace, body: Body) -> Json:
    """`{method, kind, ...}` adds a fault; `{clear: true}` takes all away. Answers what is pending."""
    pending = workspace.faults.pending
    if body.get("clear"):
        pending.clear()
    else:
        fault = Fault.from_json(body)
        if fault.method not in {*METHODS, "*", RESPONSE_URL}:
            near = difflib.get_close_matches(fault.method, METHODS, n=1)
            raise InvalidActionError(
                f"method: there is no {fault.method}" + (f"; did you mean {near[0]}?" if near else "")
            )
        pending.append(fault)
    return {"pending": [asdict(fault) for fault in pending]}


async def clock(workspace: Workspace, body: Body) -> Json:
    """`{advance: seconds}`: let time pass."""
    workspace.clock.advance(float(body["advance"]))
    return {"now": workspace.clock.now()}


async def sockets(workspace: Workspace, body: Body) -> Json:
    """`{act}`: cut, refresh, warn, silence, speak, disable, enable."""
    act, sockets = str(body["act"]), workspace.installation(body.get("app")).sockets
    if act == "cut":
        return {"connections": sockets.cut()}
    if act in ("refresh", "warn"):
        reason = "refresh_requested" if act == "refresh" else "warning"
        return {"connections": await sockets.disconnect(reason)}
    if act in ("silence", "speak"):
        sockets.silent = act == "silence"
    elif act in ("disable", "enable"):
        sockets.disabled = act == "disable"
        if sockets.disabled:
            await sockets.disconnect("link_disabled")
    else:
        raise InvalidActionError("act is one of cut, refresh, warn, silence, speak, disable, enable")
    return {"connections": len(sockets.ready)}


async def token(workspace: Workspace, body: Body) -> Json:
    """`{revoked, uninstalled}`: take the token back (the bot hears of it), or give it again."""
    of, revoked = workspace.installation(body.get("app")), bool(body.get("revoked", True))
    if revoked and not of.revoked:
        kinds = ("app_uninstalled", "tokens_revoked") if body.get("uninstalled") else ("tokens_revoked",)
        workspace.events.revoked(of, kinds)
    of.revoked = revoked
    return {"revoked": revoked}


async def uninstall(workspace: Workspace, body: Body) -> Json:
    """`{order}`: an admin removes the app. Its two events come in no fixed order (`order`: their names)."""
    of = workspace.installation(body.get("app"))
    workspace.events.revoked(of, body.get("order") or ("app_uninstalled", "tokens_revoked"))
    workspace.uninstall(of)
    return {"installed": False}


async def scopes(workspace: Workspace, body: Body) -> Json:
    """`{set}`, `{add}` or `{remove}`: what the app may do."""
    now = workspace.installation(body.get("app")).settings
    words = {name: frozenset(given.words(body.get(name), name)) for name in ("set", "add", "remove")}
    granted = words["set"] if "set" in body else now.scopes
    now.scopes = (granted | words["add"]) - words["remove"]
    workspace.feed.publish("settings", {})
    return {"scopes": sorted(now.scopes)}


async def channel(workspace: Workspace, body: Body) -> Json:
    """`{channel, archived}`, `{channel, name}` or `{channel, id}`: archive, unarchive or rename it, or change its id."""
    found = workspace.world.channel(str(body["channel"]))
    if "name" in body or "id" in body:
        return _call_channel(workspace, found, body)
    archived = bool(body.get("archived", True))
    if found.is_archived != archived:
        found.is_archived = archived
        workspace.events.channel_archived(found, by=str(body.get("user") or seed.ANN.id))
        workspace.feed.publish("channels", {})
    return {"channel": found.to_slack(viewer=workspace.first.app.user)}


def _call_channel(workspace: Workspace, channel: Channel, body: Body) -> Json:
    if "name" in body:
        channel.name = str(body["name"])
        workspace.events.channel_renamed(channel)
    else:
        old = workspace.world.change_id(channel, str(body["id"]))
        workspace.events.channel_id_changed(old, channel=channel)
    workspace.feed.publish("channels", {})
    return {"channel": channel.to_slack(viewer=workspace.first.app.user)}


async def members(workspace: Workspace, body: Body) -> Json:
    """`{channel, invite | remove}`: someone, or the bot, comes or goes."""
    found = workspace.world.channel(str(body["channel"]))
    if "invite" in body:
        joining = workspace.world.user(str(body["invite"])).id
        if joining not in found.members:
            found.members.append(joining)
            workspace.events.member_joined(joining, channel=found, inviter=str(body.get("by") or seed.ANN.id))
    else:
        leaving = workspace.world.user(str(body["remove"])).id
        if leaving in found.members:
            found.members.remove(leaving)
            workspace.events.member_left(leaving, channel=found)
    workspace.feed.publish("channels", {})
    return {"members": list(found.members)}


async def user(workspace: Workspace, body: Body) -> Json:
    """`{user, ...}`: change a user, or add one; any field of a user. `deleted`: true deactivates them."""
    known = {field.name for field in fields(User)} - {"id"}
    changed = {name: value for name, value in body.items() if name != "user"}
    if unknown := set(changed) - known:
        raise InvalidActionError(
            f"unknown: {', '.join(sorted(unknown))}; there are: {', '.join(sorted(known))}"
        )
    users, name = workspace.world.users, str(body["user"])
    known_by_name = next((one for one in users.values() if one.name == name.lstrip("@")), None)
    found = users.get(name) or known_by_name or User(id=name, name=name.lower(), real_name=name)
    users[found.id] = replace(found, **changed)
    workspace.events.fire("user_change", user=users[found.id].to_slack(), cache_ts=int(workspace.clock.now()))
    workspace.feed.publish("settings", {})
    return {"user": users[found.id].to_slack()}


async def event(workspace: Workspace, body: Body) -> Json:
    """`{event: {type, ...}, event_id}`: send any event, subscribed to or not, or one again that was sent before."""
    wanted, to = dict(body["event"]), workspace.installation(body.get("app"))
    kind = str(wanted.pop("type"))
    workspace.events.send(to, kind, event_id=str(body.get("event_id") or ""), **wanted)
    return {}
