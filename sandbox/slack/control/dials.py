"""The control API's dials: settings, faults, time, sockets, membership, tokens, events."""

from __future__ import annotations

from dataclasses import asdict, fields, replace
from typing import TYPE_CHECKING, Any

from sandbox.slack.people.people import ImpossibleActError
from sandbox.slack.state import seed
from sandbox.slack.state.faults import Fault
from sandbox.slack.state.model import Json, User

if TYPE_CHECKING:
    from sandbox.slack.server import SlackStandIn

Body = dict[str, Any]


def shown_settings(standin: SlackStandIn) -> Json:
    """The settings as JSON."""
    now = standin.settings
    return {
        "request_url": now.request_url,
        "enterprise_id": now.enterprise_id,
        "scopes": sorted(now.scopes),
        "revoked": now.revoked,
        "messages_per_second": now.messages_per_second,
        "burst": now.burst,
        "answers_per_second": now.answers_per_second,
        "answers_burst": now.answers_burst,
        "tier_factor": now.tier_factor,
        "ack_seconds": now.ack_seconds,
        "retry_seconds": list(now.retry_seconds),
        "events": sorted(now.events),
        "commands": list(now.commands),
        "shortcuts": list(now.shortcuts),
    }


async def reset(standin: SlackStandIn, body: Body) -> Json:
    standin.reset()
    return {}


async def request_url(standin: SlackStandIn, body: Body) -> Json:
    """`{url, verify}`: where the bot is; with `verify` only if it answers Slack's challenge."""
    url = body["url"]
    if url is not None and not str(url).startswith(("http://127.0.0.1", "http://localhost")):
        raise ImpossibleActError("url: only http:// on this machine")
    if body.get("verify") and not await standin.delivery.challenge(str(url)):
        raise ImpossibleActError("url: did not answer the challenge")
    standin.settings.request_url = url
    return {"request_url": url}


async def change_settings(standin: SlackStandIn, body: Body) -> Json:
    """Any of the numbers and lists of the settings; answers all of them."""
    casts: dict[str, Any] = {
        "enterprise_id": str,
        "messages_per_second": float,
        "burst": int,
        "answers_per_second": float,
        "answers_burst": int,
        "tier_factor": float,
        "ack_seconds": float,
        "retry_seconds": lambda value: tuple(float(one) for one in value),
        "events": lambda value: frozenset(map(str, value)),
        "commands": tuple,
        "shortcuts": tuple,
    }
    unknown = set(body) - set(casts)
    if unknown:
        raise ImpossibleActError(f"unknown: {', '.join(sorted(unknown))}; there are: {', '.join(casts)}")
    fresh = {name: casts[name](value) for name, value in body.items()}
    for name, value in fresh.items():
        setattr(standin.settings, name, value)
    standin.feed.publish("settings", {})
    return {"settings": shown_settings(standin)}


async def manifest(standin: SlackStandIn, body: Body) -> Json:
    """An app manifest as JSON: its commands, shortcuts, events and scopes take effect."""
    features, settings = body.get("features") or {}, body.get("settings") or {}
    now = standin.settings
    now.commands = tuple(features.get("slash_commands") or ())
    now.shortcuts = tuple(features.get("shortcuts") or ())
    now.events = frozenset((settings.get("event_subscriptions") or {}).get("bot_events") or ())
    granted = ((body.get("oauth_config") or {}).get("scopes") or {}).get("bot")
    if granted is not None:
        now.scopes = frozenset(granted)
    standin.feed.publish("settings", {})
    return {"settings": shown_settings(standin)}


async def faults(standin: SlackStandIn, body: Body) -> Json:
    """`{method, kind, ...}` adds a fault; `{clear: true}` takes all away. Answers what is pending."""
    pending = standin.workspace.faults.pending
    if body.get("clear"):
        pending.clear()
    else:
        pending.append(Fault.from_json(body))
    return {"pending": [asdict(fault) for fault in pending]}


async def clock(standin: SlackStandIn, body: Body) -> Json:
    """`{advance: seconds}`: let time pass."""
    standin.clock.advance(float(body["advance"]))
    return {"now": standin.clock.now()}


async def sockets(standin: SlackStandIn, body: Body) -> Json:
    """`{act}`: cut, refresh, warn, silence, speak, disable, enable."""
    act, links = str(body["act"]), standin.sockets
    if act == "cut":
        return {"connections": links.cut()}
    if act in ("refresh", "warn"):
        reason = "refresh_requested" if act == "refresh" else "warning"
        return {"connections": await links.disconnect(reason)}
    if act in ("silence", "speak"):
        links.silent = act == "silence"
    elif act in ("disable", "enable"):
        links.disabled = act == "disable"
        if links.disabled:
            await links.disconnect("link_disabled")
    else:
        raise ImpossibleActError("act is one of cut, refresh, warn, silence, speak, disable, enable")
    return {"connections": len(links.ready)}


async def token(standin: SlackStandIn, body: Body) -> Json:
    """`{revoked}`: take the token back (the bot hears of it), or give it again."""
    revoked = bool(body.get("revoked", True))
    if revoked and not standin.settings.revoked:
        standin.workspace.events.fire("tokens_revoked", tokens={"oauth": [], "bot": [seed.BOT.id]})
    standin.settings.revoked = revoked
    return {"revoked": revoked}


async def scopes(standin: SlackStandIn, body: Body) -> Json:
    """`{set}`, `{add}` or `{remove}`: what the app may do."""
    now = standin.settings
    granted = frozenset(body["set"]) if "set" in body else now.scopes
    now.scopes = (granted | frozenset(body.get("add") or ())) - frozenset(body.get("remove") or ())
    standin.feed.publish("settings", {})
    return {"scopes": sorted(now.scopes)}


async def channel(standin: SlackStandIn, body: Body) -> Json:
    """`{channel, archived}`: archive it or bring it back."""
    space = standin.workspace
    found = space.world.channel(str(body["channel"]))
    archived = bool(body.get("archived", True))
    if found.is_archived != archived:
        found.is_archived = archived
        space.events.archived(found, by=str(body.get("user") or seed.ANN.id))
        standin.feed.publish("channels", {})
    return {"channel": found.to_slack(viewer=seed.BOT.id)}


async def members(standin: SlackStandIn, body: Body) -> Json:
    """`{channel, invite | remove}`: someone, or the bot, comes or goes."""
    space = standin.workspace
    found = space.world.channel(str(body["channel"]))
    if "invite" in body:
        joining = space.world.user(str(body["invite"])).id
        if joining not in found.members:
            found.members.append(joining)
            space.events.joined(joining, channel=found, inviter=str(body.get("by") or seed.ANN.id))
    else:
        leaving = space.world.user(str(body["remove"])).id
        if leaving in found.members:
            found.members.remove(leaving)
            space.events.left(leaving, channel=found)
    standin.feed.publish("channels", {})
    return {"members": list(found.members)}


async def user(standin: SlackStandIn, body: Body) -> Json:
    """`{user, ...}`: change somebody, or add them; any field of a user."""
    known = {field.name for field in fields(User)} - {"id"}
    changed = {name: value for name, value in body.items() if name != "user"}
    if unknown := set(changed) - known:
        raise ImpossibleActError(
            f"unknown: {', '.join(sorted(unknown))}; there are: {', '.join(sorted(known))}"
        )
    users, name = standin.workspace.world.users, str(body["user"])
    found = users.get(name) or User(id=name, name=name.lower(), real_name=name)
    users[name] = replace(found, **changed)
    standin.feed.publish("settings", {})
    return {"user": users[name].to_slack()}


async def event(standin: SlackStandIn, body: Body) -> Json:
    """`{event: {type, ...}}`: send any event, subscribed to or not."""
    wanted = dict(body["event"])
    kind = str(wanted.pop("type"))
    standin.workspace.events.fire(kind, subscribed_only=False, **wanted)
    return {}
